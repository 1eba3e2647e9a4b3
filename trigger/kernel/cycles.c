// SPDX-License-Identifier: MIT
/* The cycle counter; see cycles.h. Called by recorder/trace/aux.c. */
#include "trigger/kernel/cycles.h"

#include "trigger/kernel/clock.h"
#include "trigger/kernel/event.h"

#include <sys/mman.h>
#include <unistd.h>

/* The closest of several pairs is taken: an interrupt may come between the two reads. */
#define TRIES 4

uint64_t cycles_now(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(v));
	return v;
#else
	return 0;
#endif
}

void cycles_pair(struct cycles_pair *out)
{
	uint64_t closest = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = cycles_now(), ns = clock_ns(), took = cycles_now() - before;

		if (took >= closest)
			continue;
		closest = took;
		*out = (struct cycles_pair){before + took / 2, ns};
	}
}

/* The kernel writes the fields under a seqlock: the copy is valid if the count did not change. */
static void read_scale(const volatile struct perf_event_mmap_page *page, struct cycles_scale *out)
{
	uint32_t before, after;

	do {
		before = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		*out = (struct cycles_scale){0};
		if (page->cap_user_time && page->cap_user_time_zero)
			*out = (struct cycles_scale){page->time_zero, page->time_mult,
						     page->time_shift};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		after = page->lock;
	} while (before != after);
}

/* The kernel sets time_zero only for events without use_clockid. */
void cycles_scale(struct cycles_scale *out)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	int fd = event_open(&attr, 0, -1, -1, 0);
	void *page;

	*out = (struct cycles_scale){0};
	if (fd < 0)
		return;
	page = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		read_scale(page, out);
		munmap(page, bytes);
	}
	close(fd);
}
