// SPDX-License-Identifier: MIT
/*
 * Scale: what a large host or a hostile neighbour makes the recorder know. Everything ends with
 * stdin or with this process.
 *
 *	load_scale live COUNT     processes that share memory, so that each costs the kernel little
 *	load_scale threads COUNT  the same as threads of one process
 *	load_scale maps COUNT     executable mappings, in as many processes as vm.max_map_count asks for
 *	load_scale forks RATE     RATE children a second until the first line; prints their number
 *
 * Each process or thread is named "p<tid>" and calls getpgid(tid) when it starts; live ones and
 * threads again for each line on stdin. Prints "ready" when all have started, and "done" for each
 * line when all have run.
 */
#include "tests/helpers/now.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES  16384
#define MAPS_A_CHILD 50000

static _Atomic uint32_t round_nr, nr_ran;
static pid_t parent;

static void futex(_Atomic uint32_t *at, int op, uint32_t value)
{
	syscall(SYS_futex, at, op, value, NULL, NULL, 0);
}

static void say(void)
{
	int tid = (int)syscall(SYS_gettid);
	char name[16];

	snprintf(name, sizeof(name), "p%d", tid);
	prctl(PR_SET_NAME, name);
	syscall(SYS_getpgid, tid);
}

static void end_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getpid() != parent && getppid() != parent)
		_exit(1);
}

static int sleeper(void *arg)
{
	uint32_t seen = 0;

	end_with_parent();
	for (;;) {
		say();
		nr_ran++;
		futex(&nr_ran, FUTEX_WAKE, 1);
		while (round_nr == seen)
			futex(&round_nr, FUTEX_WAIT, seen);
		seen = round_nr;
	}
	return 0;
}

static void wait_for(uint32_t count)
{
	for (uint32_t n; (n = nr_ran) < count;)
		futex(&nr_ran, FUTEX_WAIT, n);
}

/* Lines of stdin are rounds; at its end, all children are killed. */
static int rounds(const pid_t *pids, uint32_t nr_pids, uint32_t count)
{
	char line[64];

	wait_for(count);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		nr_ran = 0;
		round_nr++;
		futex(&round_nr, FUTEX_WAKE, INT32_MAX);
		wait_for(count);
		puts("done");
		fflush(stdout);
	}
	for (uint32_t i = 0; i < nr_pids; i++)
		kill(pids[i], SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	return 0;
}

static int start_sleepers(uint32_t count, int flags)
{
	bool are_threads = flags & CLONE_THREAD;
	char *stacks = mmap(NULL, (size_t)count * STACK_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	pid_t *pids = calloc(count, sizeof(*pids));

	if (stacks == MAP_FAILED || !pids)
		return 1;
	for (uint32_t i = 0; i < count; i++) {
		pids[i] = clone(sleeper, stacks + (size_t)(i + 1) * STACK_BYTES, flags, NULL);
		if (pids[i] < 0) {
			fprintf(stderr, "load_scale: only %u could be started: %s\n", i,
				strerror(errno));
			for (uint32_t k = 0; !are_threads && k < i; k++)
				kill(pids[k], SIGKILL);
			return 1;
		}
	}
	return rounds(pids, are_threads ? 0 : count, count);
}

static void map_many(uint32_t count)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	say();
	for (uint32_t i = 0; i < count; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			_exit(1);
}

static int start_mappers(uint32_t count)
{
	uint32_t nr = (count + MAPS_A_CHILD - 1) / MAPS_A_CHILD;
	pid_t *pids = calloc(nr, sizeof(*pids));
	_Atomic uint32_t *ran =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char line[64];

	for (uint32_t i = 0; i < nr; i++) {
		uint32_t mine = i + 1 < nr ? MAPS_A_CHILD : count - i * MAPS_A_CHILD;

		pids[i] = fork();
		if (pids[i])
			continue;
		end_with_parent();
		map_many(mine);
		(*ran)++;
		for (;;)
			pause();
	}
	while (*ran < nr)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		;
	for (uint32_t i = 0; i < nr; i++)
		kill(pids[i], SIGKILL);
	return 0;
}

static int fork_at(uint32_t rate)
{
	struct pollfd in = {.events = POLLIN};
	uint64_t began = now_ns();
	uint32_t n = 0;

	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, 0) <= 0) {
		while (n < (now_ns() - began) * rate / 1000000000u) {
			pid_t pid = fork();

			if (!pid) {
				say();
				_exit(0);
			}
			n += pid > 0;
			while (waitpid(-1, NULL, WNOHANG) > 0)
				;
		}
		usleep(1000);
	}
	while (wait(NULL) > 0)
		;
	printf("%u\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	uint32_t count = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
	const char *what = argc > 1 ? argv[1] : "";

	parent = getpid();
	if (!strcmp(what, "live"))
		return start_sleepers(count, CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD);
	if (!strcmp(what, "threads"))
		return start_sleepers(count, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
						     CLONE_THREAD | CLONE_SYSVSEM);
	if (!strcmp(what, "maps"))
		return start_mappers(count);
	if (!strcmp(what, "forks"))
		return fork_at(count);
	return 2;
}
