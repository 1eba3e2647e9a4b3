/* SPDX-License-Identifier: MIT */
/* A record in a ring that is not written to any more, and what two rings have in common that recorded
 * the same events for a moment. For window.c. */
#pragma once

#include "recorder/writer/window.h"

/* It may go across the end of the ring. */
struct window_record {
	const struct ring *ring;
	uint64_t head, off;
	uint32_t size;
};

/* False: it is not so long. */
bool window_get(const struct window_record *c, uint32_t at, void *dst, uint32_t n);
bool window_time(const struct window_record *c, const struct channel *ch, uint32_t type,
		 uint64_t *ns);

/* The time of the newest record of a bank (NULL: none); 0: it has none. Records of the next bank that
 * are newer are only there. */
uint64_t window_newest(const struct bank *bank, const struct channel *ch);
/*
 * Where a bank's records end that are not in the one before it: an offset from the head. `from` is its
 * first that may be in both, and all of its older ones from there on are.
 */
uint64_t window_overlap(const struct window_record *from, const struct bank *before,
			const struct channel *ch);
