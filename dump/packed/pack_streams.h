/* SPDX-License-Identifier: MIT */
/*
 * Writes the streams of a payload one after the other, and their lengths before them. Part of the
 * packer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_streams {
	uint8_t *start, *at, *end;
	uint8_t *lengths; /* of streams: u32 each */
	bool full;	  /* out of room: the payload is invalid */
};

/* Reserves `n` bytes; NULL, and sets `full`, when there is no room. */
uint8_t *pack_streams_take(struct pack_streams *s, size_t n);
void pack_streams_put(struct pack_streams *s, const void *src, size_t n);
/* Ends the stream that began at `start`. */
void pack_streams_end_stream(struct pack_streams *s, const uint8_t *start);

/* A stream that is a column; `nr` is at most COLUMN_MAX, here and below. */
void pack_streams_u32(struct pack_streams *s, const uint32_t *v, uint32_t nr);
void pack_streams_u64(struct pack_streams *s, const uint64_t *v, uint32_t nr);
/*
 * A stream of words, in the coding that seems smallest. `deltas` is `v` when DELTA is not possible.
 */
void pack_streams_words(struct pack_streams *s, const uint32_t *v, const uint32_t *deltas,
			uint32_t nr);
