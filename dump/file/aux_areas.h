/* SPDX-License-Identifier: MIT */
/*
 * The AUX areas in a dump: which there are, and their bytes, put together from the blocks that have
 * them. What the bytes mean is somebody else's.
 *
 *	            ◀───────────── f.bytes ──────────────▶
 *	oldest      │   block   │  missing  │   block    │  newest
 *	                                    ◀─ can be had ▶
 *
 * What is asked for is counted from the newest byte, since that is what a trigger is about. Bytes
 * behind the newest hole can be had; those before it can't, since a decoder would take them for
 * what comes next.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"
#include "dump/file/meta.h"

struct err;
struct reader;

/* One area; belongs to its list. */
struct dump_area {
	struct fmt_window_aux f; /* `bytes` of it are right in any case */
	bool known;		 /* false: the rest of `f` but `ring` was lost and is 0 */
	/* Of its ring; -1: any, or not known. An area per thread has cpu -1. */
	int32_t cpu, tid;
	const struct meta_channel *channel; /* NULL: not known, as the following */
	const struct meta_event *event;
	const uint32_t *blocks; /* their numbers, newest bytes first */
	size_t nr_blocks;
};

/* By channel, CPU, thread. `m` is borrowed until aux_list_free(). */
struct aux_list {
	struct dump_area *v;
	size_t nr;
	uint32_t *blocks; /* of all areas */
};

/* Also areas of which only blocks are left are listed. 0 or -ENOMEM. */
int aux_list_load(struct reader *r, const struct meta *m, struct aux_list *out, struct err *err);
void aux_list_free(struct aux_list *l);

/* "CPU 3", "thread 4711", "ring 7". Returns `out`. */
char *aux_place(const struct dump_area *a, char *out, size_t n);

/*
 * The newest `max_bytes` of an area (UINT64_MAX: all), oldest first, into `out` (replaced, memory
 * reused). `r` may be a twin of the list's reader: threads load at the same time. Takes as much
 * memory as it loads, and what is asked for is the caller's to bound: a file of 40 MB may hold
 * 10 GB of zeros.
 *
 * -EBADMSG, or -ENOTSUP where a later version is needed, when a block of these is damaged or
 * missing: `out` then has what is newer than that. Other errors leave it empty.
 */
int aux_load(struct reader *r, const struct dump_area *a, uint64_t max_bytes, struct buf *out,
	     struct err *err);

/*
 * The same a block at a time: `put(ctx, bytes)` gets them in order, oldest first; what it returns
 * that is not 0 ends it. All that can be had is gone through once before the first call, so that
 * nothing is handed out that stands before a hole. *done: how many bytes put() took.
 */
int aux_walk(struct reader *r, const struct dump_area *a, uint64_t max_bytes,
	     int (*put)(void *ctx, struct bytes b), void *ctx, uint64_t *done, struct err *err);

/*
 * The moment of the hardware's clock in the dump's: by the kernel's factor from the moment of the
 * stop, where that is known, else by the line through both pairs. False: neither is known.
 */
bool aux_time(const struct fmt_window_aux *f, uint64_t cycles, uint64_t *ns);
