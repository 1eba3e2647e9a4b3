// SPDX-License-Identifier: MIT
/* Ring sizes from memory; see ring_size.h. */
#include "recorder/config/ring_size.h"

#include "trigger/kernel/caps.h"

#include <sys/resource.h>
#include <unistd.h>

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t ring_size_budget(const struct ring_size_memory *memory, uint64_t machine_bytes,
			  unsigned nr_cpus, const struct caps *caps)
{
	uint64_t bytes = memory->bytes;

	if (memory->percent) {
		bytes = machine_bytes / 100 * memory->percent;
		bytes = lesser(bytes, RINGSIZE_MAX_BYTES);
		bytes = lesser(bytes, RINGSIZE_MAX_CPU_BYTES * nr_cpus);
	}
	if (!caps->ipc_lock && caps->paranoid >= 0 && caps->memlock_bytes != RLIM_INFINITY)
		bytes = lesser(bytes, caps->mlock_kb * 1024 * nr_cpus + caps->memlock_bytes);
	return bytes;
}

bool ring_size_divide(struct ring_size *rings, size_t nr, uint64_t budget)
{
	uint64_t least = 0, fixed = 0, doubled;

	for (size_t i = 0; i < nr; i++)
		*(rings[i].fixed ? &fixed : &least) += rings[i].bytes * rings[i].nr_rings;
	if (!least || budget < fixed || budget - fixed < 2 * least)
		return false;
	/* All sizes are powers of two and keep their proportion, so the factor is one too. */
	for (doubled = 2; doubled <= (budget - fixed) / least / 2; doubled *= 2)
		;
	for (size_t i = 0; i < nr; i++)
		if (!rings[i].fixed)
			rings[i].bytes *= doubled;
	return true;
}

uint64_t ring_size_machine(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

	return pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
}
