/* SPDX-License-Identifier: MIT */
/* For loads that crash by a known call path: main outer middle crash. The load defines crash(). */
#pragma once

/* Keep every frame: the compiler must neither drop a call nor turn one into a jump. */
static volatile int sink;
static int *volatile nowhere = (int *)16;

static __attribute__((noinline)) void crash(void);

static __attribute__((noinline)) void middle(void)
{
	crash();
	sink++;
}

static __attribute__((noinline)) void outer(void)
{
	middle();
	sink++;
}

/* Recursion until the stack is at its end. */
static __attribute__((noinline)) int deep(int n)
{
	volatile char room[512];

	if (!nowhere)
		return 0;
	room[n % 512] = (char)n;
	return deep(n + 1) + room[n % 512];
}
