// SPDX-License-Identifier: MIT
/*
 * A load that does known things a known number of times, so that a test can count them in a dump:
 *
 *	probe_many()                 called 1000 times
 *	probe_few()                  called 100 times, by probe_outer(), by main()
 *	SIGUSR1, SIGUSR2             sent to itself 300 and 7 times
 *	a mapping of 200 pages       each touched once, in user mode
 *	nanosleep                    50 times, each a switch to another task
 *	probe_burn()                 SECONDS (argument 1, default 0.3) of CPU time in user mode
 *
 * Prints "pages START END", "stack START END" and "sleeps NR", addresses in hexadecimal.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define NR_PAGES  200
#define NR_SLEEPS 50

int probe_many(int i);
int probe_few(int i);
int probe_outer(int i);
void probe_burn(double seconds);

static volatile uintptr_t sink;

/* Using the frame's address makes the compiler keep a frame pointer in any build. */
#define KEEP_FRAME() (sink = (uintptr_t)__builtin_frame_address(0))

__attribute__((noinline)) int probe_many(int i)
{
	KEEP_FRAME();
	return i + 1;
}

__attribute__((noinline)) int probe_few(int i)
{
	KEEP_FRAME();
	return i + 2;
}

/* Makes the stack deeper than the bytes that a sample copies, whatever lies above main(). */
__attribute__((noinline)) int probe_outer(int i)
{
	volatile char room[8192];
	int v;

	room[0] = room[sizeof(room) - 1] = (char)i;
	__asm__ volatile("" : : "r"(room) : "memory"); /* keeps the whole array */
	KEEP_FRAME();
	v = probe_few(i);
	return v + room[0]; /* no tail call */
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void probe_burn(double seconds)
{
	double end = cpu_seconds() + seconds;

	KEEP_FRAME();
	while (cpu_seconds() < end)
		for (int i = 0; i < 1000000; i++)
			sink += (uintptr_t)i;
}

static int touch_pages(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = NR_PAGES * page;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return 1;
	/* One fault per page: no huge pages and no fault-around. */
	madvise(p, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < NR_PAGES; i++)
		((volatile char *)p)[i * page] = 1;
	printf("pages %" PRIxPTR " %" PRIxPTR "\n", (uintptr_t)p, (uintptr_t)p + bytes);
	return 0;
}

static void print_stack(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	uint64_t from, to;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "[stack]") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2)
			printf("stack %" PRIx64 " %" PRIx64 "\n", from, to);
	if (f)
		fclose(f);
}

static void sleep_often(void)
{
	struct timespec t = {0, 100000};

	for (int i = 0; i < NR_SLEEPS; i++)
		nanosleep(&t, NULL);
	printf("sleeps %d\n", NR_SLEEPS);
}

int main(int argc, char **argv)
{
	KEEP_FRAME();
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	for (int i = 0; i < 1000; i++)
		sink += (uintptr_t)probe_many(i);
	for (int i = 0; i < 100; i++)
		sink += (uintptr_t)probe_outer(i);
	for (int i = 0; i < 300; i++)
		raise(SIGUSR1);
	for (int i = 0; i < 7; i++)
		raise(SIGUSR2);
	if (touch_pages())
		return 1;
	sleep_often();
	probe_burn(argc > 1 ? atof(argv[1]) : 0.3);
	print_stack();
	return 0;
}
