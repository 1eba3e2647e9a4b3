/* SPDX-License-Identifier: MIT */
/*
 * One mapped perf ring and its read arithmetic. The arithmetic is pure: it works on any memory with
 * a ring's layout, so tests need no kernel.
 *
 * Backward (recording): the kernel writes towards lower offsets and moves data_head down from 0, so
 * bytes written = -data_head (unsigned, two's complement). The newest record begins at data_head;
 * older ones follow at growing offsets. The ring is mapped PROT_READ: the kernel then overwrites
 * (kernel/events/ring_buffer.c, rb->overwrite) and ignores data_tail.
 *
 *	   data_head            armed_head (where this bank was last armed)
 *	      ▼                      ▼
 *	──────┬────┬──────┬───┬──────┬─────────   offsets grow to the right, modulo size
 *	      │ newest … older      │ previous contents of the bank: never read again
 *
 * Forward (sideband): mapped PROT_READ|PROT_WRITE, read from data_tail to data_head, then data_tail
 * is advanced with release semantics.
 */
#pragma once

#include "dump/base/bytes.h"

#include <linux/perf_event.h>

struct ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	const uint8_t *data;
	uint64_t size;	     /* bytes of data, a power of two */
	uint64_t armed_head; /* backward: data_head when last armed */
	size_t map_bytes;
	int fd; /* of the event that owns the ring; borrowed */
};

/* Rounds up to a valid ring size: a power of two of pages, at least one. */
uint64_t ring_round(uint64_t bytes, size_t page_bytes);

/* Maps the ring of event `fd`. 0 or -errno of mmap (EPERM: over the mlock limit). */
int ring_map(struct ring *r, int fd, uint64_t size, bool backward);
void ring_unmap(struct ring *r);

/* data_head, with acquire. */
uint64_t ring_head(const struct ring *r);

/* ---- backward ---- */

/* The contents of a frozen ring, found by one walk from the newest record to older ones. */
struct ring_span {
	uint64_t head;	     /* data_head when frozen */
	uint64_t bytes;	     /* of whole records */
	uint64_t tail_bytes; /* of a record that the wrap cut */
	uint64_t written;    /* bytes since armed */
	bool broken;	     /* found bytes that are no record header */
};

/* Locates the bytes [head + off, + n) as one or two pieces and returns their number. `off + n` must
 * be within the ring's size. */
int ring_pieces(const struct ring *r, uint64_t head, uint64_t off, uint64_t n, struct bytes out[2]);

/* Copies a part of the ring that may wrap. */
void ring_copy(const struct ring *r, uint64_t head, uint64_t off, void *dst, size_t n);

/* Bytes that can hold records: the smaller of the bytes written since armed and the ring's size. */
uint64_t ring_limit(const struct ring *r, uint64_t head);

/* Reads the record header at `off` (from `head`); false: no whole record lies within `limit`. A
 * header is 8-byte aligned and the ring size a multiple of 8, so a header never wraps. */
bool ring_record_at(const struct ring *r, uint64_t head, uint64_t off, uint64_t limit,
		    struct perf_event_header *h);

/* ---- forward ---- */

/* Gets the next unread record: copied to `scratch` (>= 64 KiB) if it wraps, else in place; false:
 * none left. `pos` is the caller's cursor: start with ring_tail(), end with ring_consume(pos). */
uint64_t ring_tail(const struct ring *r);
bool ring_next(const struct ring *r, uint64_t *pos, uint64_t head, void *scratch,
	       struct bytes *rec);
void ring_consume(struct ring *r, uint64_t pos);
