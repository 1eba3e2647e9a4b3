// SPDX-License-Identifier: MIT
/*
 * A load for the sideband: maps this program executable and unmaps it again, as fast as it can, for
 * SECONDS (argument 1). Each mapping makes a sideband record. Prints the number of mappings.
 */
#include "tests/helpers/now.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	uint64_t end = now_ns() + (uint64_t)(argc > 1 ? atof(argv[1]) * 1e9 : 1e9);
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	long n = 0;

	while (now_ns() < end) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED)
			return 1;
		munmap(p, 4096);
		n++;
	}
	printf("%ld\n", n);
	return 0;
}
