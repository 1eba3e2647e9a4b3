/* SPDX-License-Identifier: MIT */
/*
 * A payload in the making: streams, one behind the other, whose lengths stand before them. Part of
 * the packer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pack_streams {
	uint8_t *start, *at, *end;
	uint8_t *lengths; /* of streams: u32 each */
	bool full;	  /* there was no room: nothing of it is right */
};

/* So many bytes more; NULL, and the sheet is full, when there are not as many. */
uint8_t *pack_streams_take(struct pack_streams *s, size_t n);
void pack_streams_put(struct pack_streams *s, const void *src, size_t n);
/* What was put since `start` is a stream. */
void pack_streams_end_stream(struct pack_streams *s, const uint8_t *start);

/* A stream that is a column; `nr` is at most COLUMN_MAX, here and below. */
void pack_streams_u32(struct pack_streams *s, const uint32_t *v, uint32_t nr);
void pack_streams_u64(struct pack_streams *s, const uint64_t *v, uint32_t nr);
/*
 * A stream of words, in the coding that seems best. `deltas` is `v` itself where there are no
 * differences to choose.
 */
void pack_streams_words(struct pack_streams *s, const uint32_t *v, const uint32_t *deltas,
			uint32_t nr);
