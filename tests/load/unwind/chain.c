// SPDX-License-Identifier: MIT
/*
 * A program with known call paths, for it_unwind.sh, which builds it in many ways. It says
 * "ready" and goes on until it is ended, or as often as its argument says.
 *
 *	main ─ outer ┬─ middle ─ inner ─ leaf
 *	             ├─ library ─ (one ─ two in shared libraries) ─ inner ─ leaf
 *	             ├─ sort ─ (qsort) ─ compare
 *	             ├─ interrupted ─ (raise) ─ handler ─ inner ─ leaf
 *	             └─ timed ─ (clock_gettime)
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ALONE __attribute__((noinline))
#define TURNS 20000

volatile unsigned long sink;

void leaf(int turns);
void inner(int turns);
void middle(int turns);
void library(int turns);
void sort(void);
void interrupted(void);
void timed(int turns);
void outer(int turns);
void one(void (*call)(int), int turns);

#ifndef WITH_LIBRARIES
ALONE void two(void (*call)(int), int turns)
{
	call(turns);
	sink++;
}

ALONE void one(void (*call)(int), int turns)
{
	two(call, turns);
	sink++;
}
#endif

ALONE void leaf(int turns)
{
	char local[64];

	for (int i = 0; i < turns; i++) {
		sink += (unsigned long)i * (unsigned long)i;
		local[i & 63] = (char)i;
	}
	sink += (unsigned long)local[3];
}

ALONE void inner(int turns)
{
	volatile long local[8];

	local[turns & 7] = turns;
	leaf(turns);
	sink += (unsigned long)local[3];
}

ALONE void middle(int turns)
{
	/* The size is unknown to the compiler, so the function needs a frame pointer. */
	volatile char *local = __builtin_alloca((size_t)(turns & 255) + 16);

	local[3] = 1;
	inner(turns);
	sink += (unsigned long)local[3];
}

ALONE void library(int turns)
{
	one(inner, turns);
	sink++;
}

ALONE static int compare(const void *a, const void *b)
{
	for (int i = 0; i < 200; i++)
		sink += (unsigned long)i;
	return *(const int *)a - *(const int *)b;
}

ALONE void sort(void)
{
	int v[64];

	for (int i = 0; i < 64; i++)
		v[i] = (i * 7919) % 64;
	qsort(v, 64, sizeof(v[0]), compare);
	sink += (unsigned long)v[2];
}

ALONE static void handler(int nr)
{
	inner(TURNS);
	sink++;
}

ALONE void interrupted(void)
{
	raise(SIGUSR1);
	sink++;
}

ALONE void timed(int turns)
{
	struct timespec t;

	for (int i = 0; i < turns; i++) {
		clock_gettime(CLOCK_MONOTONIC, &t);
		sink += (unsigned long)t.tv_nsec;
	}
}

ALONE void outer(int turns)
{
	middle(turns);
	library(turns);
	sort();
	interrupted();
	timed(turns / 20);
	sink++;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 0;

	signal(SIGUSR1, handler);
	puts("ready");
	fflush(stdout);
	for (int i = 0; !rounds || i < rounds; i++)
		outer(TURNS);
	return 0;
}
