// SPDX-License-Identifier: MIT
/*
 * A cache of 256 MiB that saves itself in the background, as many do: it forks, and the child
 * writes its snapshot. Meanwhile each page that the parent writes to is copied first, so cheap
 * updates become page faults. The cache triggers a dump when a round of updates took too long.
 */
#include "../incident.h"

#include <signal.h>
#include <sys/mman.h>

#define CACHE_BYTES ((size_t)256 << 20)
#define PAGE	    4096
#define NORMAL_MS   900
#define SNAPSHOTS   3

static char *cache;

/* Writes one value to each page; returns milliseconds. */
static __attribute__((noinline)) double update_all(void)
{
	double began = ms_now();

	for (size_t i = 0; i < CACHE_BYTES; i += PAGE)
		cache[i + (i / PAGE) % PAGE]++;
	return ms_now() - began;
}

static pid_t start_snapshot(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	name_me("snapshot");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		pause(); /* simulates writing to a slow disk */
}

int main(void)
{
	double began, usual = 1e9, took, worst = 0;
	pid_t pid;

	name_me("cached");
	cache = mmap(NULL, CACHE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (cache == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	madvise(cache, CACHE_BYTES, MADV_NOHUGEPAGE);
	update_all();
	began = ms_now();
	while (ms_now() - began < NORMAL_MS) {
		took = update_all();
		usual = took < usual ? took : usual;
		sleep_ms(20);
	}
	for (int i = 0; i < SNAPSHOTS; i++) {
		pid = start_snapshot();
		took = update_all();
		worst = took > worst ? took : worst;
		if (i == SNAPSHOTS - 1)
			incident("a round of updates took %.0f ms, usual %.0f ms", worst, usual);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return 0;
}
