// SPDX-License-Identifier: MIT
/* The second of two shared libraries on a known call path; see chain.c. */
extern volatile unsigned long sink;

void two(void (*call)(int), int turns);

void two(void (*call)(int), int turns)
{
	volatile long local[100];

	local[turns % 100] = 1;
	call(turns);
	sink += (unsigned long)local[3];
}
