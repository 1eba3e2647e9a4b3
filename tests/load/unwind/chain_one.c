// SPDX-License-Identifier: MIT
/* The first of two shared libraries on a known call path; see chain.c. */
extern volatile unsigned long sink;

void one(void (*call)(int), int turns);
void two(void (*call)(int), int turns);

void one(void (*call)(int), int turns)
{
	two(call, turns);
	sink++;
}
