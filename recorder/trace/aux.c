// SPDX-License-Identifier: MIT
/* AUX areas: mapping, copying, and how much was written; see aux.h. Called by banks.c. */
#include "recorder/trace/aux.h"

#include "dump/file/block.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Unit of checksums and comparisons: the smallest page size. */
#define STEP_BYTES 4096u

/* Size of a huge page on most machines. */
#define HUGE_BYTES (2u << 20)
/*
 * In a direct-mapped TLB (QEMU's has 256 or more entries), a source and a destination page at a
 * multiple of this distance evict each other: a copy takes three times as long.
 */
#define SPAN_BYTES (1u << 20)
#define GAP_BYTES  (64u << 10)

/* ---- memory ---- */

/* Chooses an address in [p, p + bytes + room) that is aligned for huge pages, if it is long enough
 * for one, and not at a multiple of SPAN_BYTES from the area. Unmaps the rest. */
static uint8_t *place_in(uint8_t *p, size_t bytes, size_t room, const uint8_t *area)
{
	size_t skip = bytes < HUGE_BYTES ? 0 : -(uintptr_t)p & (HUGE_BYTES - 1);

	if (!(((uintptr_t)area - (uintptr_t)p - skip) & (SPAN_BYTES - 1)))
		skip += GAP_BYTES;
	if (skip)
		munmap(p, skip);
	munmap(p + skip + bytes, room - skip);
	return p + skip;
}

/* Allocates memory that is present at once, and locked if that is allowed, so that copying causes
 * no page faults. */
static int take_memory(const struct aux *a, size_t bytes, uint8_t **out)
{
	size_t room = HUGE_BYTES + GAP_BYTES;
	uint8_t *p = mmap(NULL, bytes + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (p == MAP_FAILED)
		return -errno;
	p = place_in(p, bytes, room, a->live);
	madvise(p, bytes, MADV_HUGEPAGE);
	/* A fork would make every page copy-on-write. */
	madvise(p, bytes, MADV_DONTFORK);
	memset(p, 0, bytes);
	mlock(p, bytes);
	*out = p;
	return 0;
}

/* Maps all pages in now, so that the first copy causes no page faults. */
static void touch(const volatile uint8_t *p, uint64_t bytes, size_t page)
{
	for (uint64_t at = 0; at < bytes; at += page)
		(void)p[at];
}

/*
 * The kernel reads the position of the area from the ring's first page, but `live` is mapped
 * read-only, because that makes the kernel overwrite old data. A second, temporary mapping is used
 * for the write.
 */
static int map_area(const struct ring *live, uint64_t size, int prot, void **out)
{
	struct perf_event_mmap_page *page =
		mmap(NULL, live->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, live->fd, 0);
	int rc = 0;
	void *p;

	if (page == MAP_FAILED)
		return -errno;
	page->aux_offset = live->map_bytes;
	page->aux_size = size;
	p = mmap(NULL, size, prot, MAP_SHARED, live->fd, (off_t)live->map_bytes);
	if (p == MAP_FAILED)
		rc = -errno;
	munmap(page, live->map_bytes);
	if (!rc)
		*out = p;
	return rc;
}

bool aux_is_possible(const struct ring *live, uint64_t size, bool overwrite)
{
	void *p;

	if (map_area(live, size, overwrite ? PROT_READ : PROT_READ | PROT_WRITE, &p))
		return false;
	munmap(p, size);
	return true;
}

static uint64_t step_bytes(const struct aux *a, uint64_t at)
{
	return a->used - at < STEP_BYTES ? a->used - at : STEP_BYTES;
}

static uint64_t sum_of(const struct aux *a, uint64_t at)
{
	return block_hash(a->copy + at, step_bytes(a, at), 0);
}

static uint64_t head_of(const struct ring *live)
{
	return __atomic_load_n(&live->page->aux_head, __ATOMIC_ACQUIRE);
}

int aux_open(struct aux *a, const struct ring *live, uint64_t size, uint64_t used_bytes)
{
	void *area = NULL;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct cycles_scale scale;
	int rc;

	*a = (struct aux){.size = size, .used = used_bytes};
	rc = map_area(live, size, PROT_READ, &area);
	a->live = area;
	if (!rc)
		rc = take_memory(a, size, &a->copy);
	if (!rc && !(a->sums = calloc(size / STEP_BYTES, sizeof(*a->sums))))
		rc = -ENOMEM;
	if (rc) {
		aux_close(a);
		return rc;
	}
	touch(a->live, size, page);
	cycles_scale(&scale);
	a->window = (struct fmt_window_aux){
		.area_bytes = size,
		.time_zero = scale.zero,
		.time_mult = scale.mult,
		.time_shift = scale.shift,
	};
	a->start_head = head_of(live);
	for (uint64_t at = 0; at < a->used; at += STEP_BYTES)
		a->sums[at / STEP_BYTES] = sum_of(a, at);
	return 0;
}

void aux_close(struct aux *a)
{
	if (a->live)
		munmap((void *)a->live, a->size);
	if (a->copy)
		munmap(a->copy, a->size);
	free(a->sums);
	*a = (struct aux){0};
}

uint64_t aux_bytes(const struct aux *a)
{
	return 2 * a->size;
}

/* ---- stop and start ---- */

void aux_stopped(struct aux *a, const struct ring *live, uint64_t since_ns)
{
	struct fmt_window_aux *w = &a->window;
	struct cycles_pair pair;

	cycles_pair(&pair);
	w->start_ns = w->start_cycles_ns = a->started.ns;
	w->start_cycles = a->started.cycles;
	w->stop_cycles_ns = pair.ns;
	w->stop_ns = since_ns ? since_ns : pair.ns;
	a->paused = since_ns > 0;
	w->stop_cycles = pair.cycles;
	w->blackout_ns = 0;
	a->stop_head = head_of(live);
}

void aux_started(struct aux *a)
{
	cycles_pair(&a->started);
	if (a->window.stop_ns)
		a->window.blackout_ns = a->started.ns - a->window.stop_ns;
}

/* ---- contents ---- */

/* `bytes` before the place `to`. */
static uint64_t back(const struct aux *a, uint64_t to, uint64_t bytes)
{
	return (to + a->used - bytes % a->used) % a->used;
}

/* Whether `bytes` of the area at `at` (within one page) differ from the copy. */
static bool differs(const struct aux *a, uint64_t at, uint64_t bytes)
{
	return memcmp(a->live + at, a->copy + at, bytes) != 0;
}

/* The same for the partial pages at both ends of the part that was not written since the start, if
 * the trace did not wrap. */
static bool ends_differ(const struct aux *a, uint64_t from, uint64_t to, uint64_t rest)
{
	uint64_t first = -to & (STEP_BYTES - 1), last = from & (STEP_BYTES - 1);

	if (first > a->used - to)
		first = a->used - to;
	if (first > rest)
		first = rest;
	if (last > rest)
		last = rest;
	return differs(a, to, first) || differs(a, from - last, last);
}

static void copy_part(struct aux *a, uint64_t at, uint64_t bytes)
{
	uint64_t till_end = a->used - at;

	if (bytes <= till_end) {
		memcpy(a->copy + at, a->live + at, bytes);
		return;
	}
	memcpy(a->copy + at, a->live + at, till_end);
	memcpy(a->copy, a->live, bytes - till_end);
}

/* From the start to the stop, less whole rounds. A head that equals the size is no position of an
 * empty area. */
static uint64_t moved(const struct aux *a)
{
	if (a->stop_head == a->used && !a->start_head)
		return a->used;
	return back(a, a->stop_head % a->used, a->start_head);
}

/* Copies everything if the new part is not yet known: comparing first would take longer. */
void aux_copy(struct aux *a)
{
	uint64_t from = a->start_head % a->used, to = a->stop_head % a->used;
	uint64_t began_ns = clock_ns(), fresh = a->stop_head - a->start_head;

	if (a->stop_head > a->size)
		a->counting = true;
	if (a->counting) {
		if (fresh > a->size)
			fresh = a->size;
		copy_part(a, back(a, to, fresh), fresh);
	} else {
		a->went_over = ends_differ(a, from, to, a->used - moved(a));
		memcpy(a->copy, a->live, a->size);
	}
	a->window.copy_ns = clock_ns() - began_ns;
}

/* Updates the checksums of the copy. Returns whether a page has changed that would not have been
 * written unless the trace wrapped. */
static bool sum_up(struct aux *a)
{
	uint64_t rest = a->used - moved(a);
	bool changed = false;

	for (uint64_t at = 0; at < a->used; at += STEP_BYTES) {
		uint64_t sum = sum_of(a, at);
		uint64_t behind = back(a, at, a->stop_head);

		if (behind + step_bytes(a, at) <= rest && sum != a->sums[at / STEP_BYTES])
			changed = true;
		a->sums[at / STEP_BYTES] = sum;
	}
	return changed;
}

void aux_measure(struct aux *a, uint64_t told_bytes)
{
	struct fmt_window_aux *w = &a->window;
	uint64_t from = a->start_head % a->used, to = a->stop_head % a->used;
	uint64_t written = a->stop_head - a->start_head;

	/* A head that is a position does not count rounds: this is the minimum. */
	if (!a->counting) {
		written = moved(a);
		if (sum_up(a) || a->went_over)
			written += a->used;
		/* Equal contents may hide rounds. */
		if (told_bytes > written && !((told_bytes - written) % a->used))
			written = told_bytes;
	}
	if (from + written >= a->used)
		a->full = true;
	w->new_bytes = written < a->used ? written : a->used;
	w->bytes = a->full ? a->used : to;
	w->written_bytes = written;
	w->head = a->stop_head;
	w->flags = (written > a->used ? FMT_AUX_WRAPPED : 0) |
		   (a->counting ? FMT_AUX_COUNTING : 0) | (a->paused ? FMT_AUX_PAUSED : 0);
	a->start_head = a->stop_head;
}

/* ---- blocks ---- */

size_t aux_nr_blocks(const struct aux *a)
{
	return (a->window.bytes + FMT_AUX_BLOCK_BYTES - 1) / FMT_AUX_BLOCK_BYTES;
}

int aux_block(const struct aux *a, size_t i, struct bytes out[2])
{
	uint64_t newer = (uint64_t)i * FMT_AUX_BLOCK_BYTES, left = a->window.bytes - newer;
	uint64_t bytes = left < FMT_AUX_BLOCK_BYTES ? left : FMT_AUX_BLOCK_BYTES;
	uint64_t at = back(a, a->window.head % a->used, newer + bytes), till_end = a->used - at;

	if (bytes <= till_end) {
		out[0] = (struct bytes){a->copy + at, bytes};
		return 1;
	}
	out[0] = (struct bytes){a->copy + at, till_end};
	out[1] = (struct bytes){a->copy, bytes - till_end};
	return 2;
}
