// SPDX-License-Identifier: MIT
/*
 * Causes the conditions that measuring rules watch. Each line on stdin is a command, which runs
 * until the next one. For each it prints one line: the time (CLOCK_MONOTONIC, ns) right before the
 * cause, and the command.
 *
 *	eat MIB			allocates and touches that much more memory
 *	free			frees all of it
 *	burn PERCENT		of one CPU, in turns of 100 ms
 *	thrash FILE		touches all pages of a file, again and again
 *	sync FILE		writes to a file and waits for the disk, again and again
 *	crowd LOAD		64 threads that count for the load average and need no CPU; the
 *				time is when /proc/loadavg was above LOAD
 *	append FILE TEXT	appends a line
 *	exit CODE		ends; the end of stdin also ends it
 */
#include "tests/helpers/now.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TURN_NS 100000000ull

#define CROWD 64

struct chunk {
	void *at;
	size_t n;
};

static struct chunk chunks[64];
static size_t nr_chunks;

/* The next command is there, or stdin has ended. */
static int is_over(int ms)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};

	return poll(&p, 1, ms) > 0;
}

static void eat(const char *mib)
{
	size_t n = (size_t)atol(mib) << 20;
	void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
			-1, 0);

	if (at != MAP_FAILED && nr_chunks < sizeof(chunks) / sizeof(chunks[0]))
		chunks[nr_chunks++] = (struct chunk){at, n};
}

static void give_back(void)
{
	while (nr_chunks) {
		nr_chunks--;
		munmap(chunks[nr_chunks].at, chunks[nr_chunks].n);
	}
}

static void burn(const char *percent)
{
	uint64_t busy = TURN_NS / 100 * (uint64_t)atoi(percent);

	do {
		uint64_t end = now_ns() + busy;

		while (now_ns() < end)
			;
	} while (!is_over((int)((TURN_NS - busy) / 1000000)));
}

static void thrash(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	const volatile char *at;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return;
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return;
	while (!is_over(0))
		for (off_t i = 0; i < st.st_size; i += 4096)
			(void)at[i];
}

static void sync_again(const char *file)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	static char block[1 << 20];

	while (fd >= 0 && !is_over(0)) {
		if (pwrite(fd, block, sizeof(block), 0) < 0 || fdatasync(fd))
			break;
		block[0]++;
	}
	if (fd >= 0)
		close(fd);
}

/* The parent of a vfork() child sleeps uninterruptibly, which counts as load. */
static void *wait_in_vfork(void *arg)
{
	volatile pid_t *pid = arg;
	pid_t child = vfork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		*pid = getpid();
		for (;;)
			pause();
	}
	waitpid(child, NULL, 0);
	return NULL;
}

static double load_now(void)
{
	char text[64] = "";
	int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		perror("/proc/loadavg");
	if (fd >= 0)
		close(fd);
	return atof(text);
}

static void crowd(const char *load)
{
	pthread_t thread[CROWD];
	volatile pid_t pid[CROWD] = {0};
	int n = 0, is_above = 0;

	while (n < CROWD && !pthread_create(&thread[n], NULL, wait_in_vfork, (void *)&pid[n]))
		n++;
	while (!is_over(2))
		if (!is_above && load_now() > atof(load)) {
			is_above = 1;
			printf("%llu crowd %s\n", (unsigned long long)now_ns(), load);
			fflush(stdout);
		}
	while (n--) {
		while (!pid[n])
			usleep(1000);
		kill(pid[n], SIGKILL);
		pthread_join(thread[n], NULL);
	}
}

static void append(char *file)
{
	char *text = strchr(file, ' ');
	int fd;

	if (!text)
		return;
	*text = '\0';
	*strchr(text + 1, '\0') = '\n';
	fd = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	/* The newline has replaced the NUL. */
	if (write(fd, text + 1, strcspn(text + 1, "\n") + 1) < 0)
		perror(file);
	close(fd);
}

static void run(char *command)
{
	char *arg = strchr(command, ' ');

	if (!strncmp(command, "crowd ", 6)) {
		crowd(arg + 1);
		return;
	}
	printf("%llu %s\n", (unsigned long long)now_ns(), command);
	fflush(stdout);
	if (!arg)
		give_back();
	else if (!strncmp(command, "eat ", 4))
		eat(arg + 1);
	else if (!strncmp(command, "burn ", 5))
		burn(arg + 1);
	else if (!strncmp(command, "thrash ", 7))
		thrash(arg + 1);
	else if (!strncmp(command, "sync ", 5))
		sync_again(arg + 1);
	else if (!strncmp(command, "append ", 7))
		append(arg + 1);
	else if (!strncmp(command, "exit ", 5))
		_exit(atoi(arg + 1));
}

/* Reads byte by byte, so that the next command stays in the pipe for poll(). */
static int next_command(char *line, size_t size)
{
	size_t n = 0;

	while (n < size - 2 && read(0, line + n, 1) == 1)
		if (line[n++] == '\n')
			break;
	if (!n || line[n - 1] != '\n')
		return 0;
	line[n - 1] = line[n] = '\0';
	return 1;
}

int main(void)
{
	char line[1024];

	while (next_command(line, sizeof(line)))
		run(line);
	return 0;
}
