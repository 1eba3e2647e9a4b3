// SPDX-License-Identifier: MIT
/*
 * Page faults: touches each page of 16 MiB and gives them back, ROUNDS times (argument 1). Prints ns a fault.
 */
#include "tests/helpers/now.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define BYTES (16 << 20)
#define PAGE  4096

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1;
	volatile char *p =
		mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t began = now_ns();

	if (p == MAP_FAILED || rounds < 1 || madvise((void *)p, BYTES, MADV_NOHUGEPAGE))
		return 1;
	for (long i = 0; i < rounds; i++) {
		for (size_t at = 0; at < BYTES; at += PAGE)
			p[at] = 1;
		if (madvise((void *)p, BYTES, MADV_DONTNEED))
			return 1;
	}
	printf("%.1f\n", (double)(now_ns() - began) / (double)rounds / (BYTES / PAGE));
	return 0;
}
