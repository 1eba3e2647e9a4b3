/* SPDX-License-Identifier: MIT */
/*
 * The AUX areas in a dump and their bytes, assembled from blocks. Does not interpret the bytes.
 *
 *	            ◀───────────── f.bytes ──────────────▶
 *	oldest      │   block   │  missing  │   block    │  newest
 *	                                    ◀─ readable ─▶
 *
 * Requests count from the newest byte, which is closest to the trigger. Only bytes newer than the
 * newest gap are readable: a decoder would take older ones as a continuation.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"
#include "dump/file/meta.h"

struct err;
struct reader;

/* One area; belongs to its list. */
struct dump_area {
	struct fmt_window_aux f; /* `ring` and `bytes` are always valid */
	bool known;		 /* false: the rest of `f` was lost and is 0 */
	/* Of its ring; -1: any, or unknown. An area per thread has cpu -1. */
	int32_t cpu, tid;
	const struct meta_channel *channel; /* NULL: unknown, as the next one */
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

/* Includes areas of which only blocks are left. 0 or -ENOMEM. */
int aux_list_load(struct reader *r, const struct meta *m, struct aux_list *out, struct err *err);
void aux_list_free(struct aux_list *l);

/* "CPU 3", "thread 4711", "ring 7". Returns `out`. */
char *aux_place(const struct dump_area *a, char *out, size_t n);

/*
 * Loads the newest `max_bytes` of an area (UINT64_MAX: all), oldest first, into `out` (replaced,
 * memory reused). `r` may be a copy of the list's reader, so that threads can load concurrently. The
 * caller must bound `max_bytes`: a file of 40 MB may hold 10 GB of zeros.
 *
 * When a block is missing or damaged: -EBADMSG, or -ENOTSUP for a newer format; `out` then has the
 * bytes newer than that block. Other errors leave it empty.
 */
int aux_load(struct reader *r, const struct dump_area *a, uint64_t max_bytes, struct buf *out,
	     struct err *err);

/*
 * The same block by block: calls `put(ctx, bytes)` in order, oldest first, until it returns a value
 * other than 0. Reads all blocks once before the first call, so that it never passes on bytes older
 * than a gap. *done: bytes passed to put().
 */
int aux_walk(struct reader *r, const struct dump_area *a, uint64_t max_bytes,
	     int (*put)(void *ctx, struct bytes b), void *ctx, uint64_t *done, struct err *err);

/*
 * Converts a value of the hardware clock to the dump's clock: with the kernel's factor, relative to
 * the stop, if known, else by interpolation between the two pairs. False: neither is known.
 */
bool aux_time(const struct fmt_window_aux *f, uint64_t cycles, uint64_t *ns);
