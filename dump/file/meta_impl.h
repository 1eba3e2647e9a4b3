/* SPDX-License-Identifier: MIT */
/*
 * Shared by meta.c (collects items) and meta_tables.c (builds tables and looks up samples).
 */
#pragma once

#include "dump/file/meta.h"

#define META_MAX_CHANNELS 64u
#define META_MAX_ID	  (1u << 20)

/* "u32 event + text", NUL-terminated, until the events are known. */
struct meta_note {
	uint16_t kind;
	uint32_t event;
	struct bytes text;
};

#define META_NO_EVENT                                                                              \
	(struct meta_event)                                                                        \
	{                                                                                          \
		.f = {.id = UINT32_MAX}, .name = "", .filter = "", .target = "", .pmu = ""         \
	}

struct meta_type {
	uint32_t channel, tracepoint, event;
};

struct meta_chunk {
	struct meta_chunk *next;
};

/* The result of meta_load(); `m` is the public part. */
struct meta_loaded {
	struct meta m;
	struct meta_chunk *chunks; /* all texts and attrs */
	size_t bytes;		   /* in chunks and collections */
	struct fmt_event_id *ids;  /* sorted by id */
	size_t nr_ids;
	struct meta_type *types; /* sorted by channel, tracepoint, event */
	size_t nr_types;
	uint32_t *type_slots; /* index in `types` + 1, by hash; 0: free */
	size_t nr_type_slots; /* a power of two */
	/* Collected in the first pass; arrays of the struct named. */
	struct buf channels, events, notes, id_items, windows; /* meta_channel, meta_event, ... */
	uint64_t horizon_ns[META_MAX_CHANNELS];
	struct buf caps, joined, saw, merged, tracepoints, areas, stops, cgroups, names;
};

/* Builds windows, events and channels from what was collected. 0 or -ENOMEM. */
int meta_build_tables(struct meta_loaded *l);
