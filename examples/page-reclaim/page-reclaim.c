// SPDX-License-Identifier: MIT
/*
 * A search service and its backup run in one container with a memory limit of 96 MiB. The index of
 * the service, 48 MiB, is in the page cache, so a search takes some milliseconds. Then the backup
 * reads hundreds of megabytes, each block twice: once to copy it, once for a checksum. Its pages
 * push the index out, and the lookups of a search have to read from the disk again.
 */
#include "../incident.h"

#include "../cgroup.h"

#include <signal.h>
#include <stdatomic.h>

#define MIB	  ((size_t)1 << 20)
#define PAGE	  4096
#define INDEX	  (48 * MIB)
#define ARCHIVE	  (384 * MIB)
#define BLOCK	  (8 * MIB)
#define LOOKUPS	  2000 /* of a search */
#define NORMAL_MS 1000
#define LIMIT_MS  200

static atomic_flag told = ATOMIC_FLAG_INIT;
static atomic_bool done;
static char block[BLOCK];
static int index_fd;

/* A file whose pages are on the disk, and none of them in memory. */
static int make_file(const char *dir, size_t bytes)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/page-reclaim.XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	unlink(path);
	memset(block, 'x', sizeof(block));
	for (size_t n = 0; n < bytes; n += sizeof(block))
		if (write(fd, block, sizeof(block)) != sizeof(block)) {
			perror(path);
			exit(1);
		}
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

static __attribute__((noinline)) void read_entry(int fd, size_t page)
{
	char entry[PAGE];

	if (pread(fd, entry, sizeof(entry), (off_t)(page * PAGE)) != PAGE) {
		perror("index");
		exit(1);
	}
}

/* Milliseconds that a search took. */
static __attribute__((noinline)) double search(uint32_t *random)
{
	double began = ms_now();

	for (int i = 0; i < LOOKUPS; i++) {
		*random = *random * 1664525 + 1013904223;
		read_entry(index_fd, (*random >> 8) % (INDEX / PAGE));
	}
	return ms_now() - began;
}

static void *run_searches(void *arg)
{
	uint32_t random = (uint32_t)(uintptr_t)&arg;
	double took;

	while (!done) {
		took = search(&random);
		if (took > LIMIT_MS && !atomic_flag_test_and_set(&told)) {
			incident("a search took %.0f ms, limit %d ms", took, LIMIT_MS);
			done = true;
		}
		sleep_ms(5);
	}
	return arg;
}

static void run_service(int index, int ready)
{
	pthread_t other;
	uint32_t random = 1;

	index_fd = index;
	for (size_t page = 0; page < INDEX / PAGE; page++)
		read_entry(index, page);
	posix_fadvise(index, 0, 0, POSIX_FADV_RANDOM);
	for (int i = 0; i < 20; i++)
		search(&random); /* each page twice and more */
	if (write(ready, "!", 1) != 1)
		exit(1);
	other = start(run_searches, NULL);
	run_searches(NULL);
	pthread_join(other, NULL);
}

static __attribute__((noinline)) void copy_block(int fd, size_t at)
{
	if (pread(fd, block, sizeof(block), (off_t)at) < 0)
		exit(1);
}

static __attribute__((noinline)) void verify_block(int fd, size_t at)
{
	if (pread(fd, block, sizeof(block), (off_t)at) < 0)
		exit(1);
}

static void run_backup(int archive, int ready)
{
	char c;

	if (read(ready, &c, 1) != 1)
		return;
	sleep_ms(NORMAL_MS);
	for (;;)
		for (size_t at = 0; at < ARCHIVE; at += BLOCK) {
			copy_block(archive, at);
			verify_block(archive, at);
		}
}

static pid_t start_in(const struct group *g, const char *name, void (*run)(int, int), int fd,
		      int ready)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	signal(SIGTERM, SIG_DFL);
	name_me(name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (group_enter(g))
		_exit(77);
	run(fd, ready);
	_exit(0);
}

static void on_term(int sig)
{
	(void)sig; /* it only ends waitpid() */
}

int main(int argc, char **argv)
{
	static const struct group_limit limit = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
						 "100663296", "memory.max", "100663296"};
	const char *dir = argc > 1 ? argv[1] : ".";
	struct sigaction term = {.sa_handler = on_term};
	int ready[2], status = 0, index, archive;
	pid_t searcher, backup;
	struct group g;

	if (group_make(&g, "searcher", &limit)) {
		perror("no control group with a memory limit (root is needed)");
		group_remove(&g);
		return 77;
	}
	sigaction(SIGTERM, &term, NULL);
	if (pipe2(ready, O_CLOEXEC))
		return 1;
	index = make_file(dir, INDEX);
	archive = make_file(dir, ARCHIVE);
	backup = start_in(&g, "backup", run_backup, archive, ready[0]);
	searcher = start_in(&g, "searcher", run_service, index, ready[1]);
	if (waitpid(searcher, &status, 0) != searcher) {
		kill(searcher, SIGKILL);
		waitpid(searcher, &status, 0);
	}
	kill(backup, SIGKILL);
	waitpid(backup, NULL, 0);
	group_remove(&g);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
