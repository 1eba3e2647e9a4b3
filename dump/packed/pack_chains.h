/* SPDX-License-Identifier: MIT */
/*
 * The call chains of a run: each distinct one once, and at the end all as one tree whose
 * root is where threads begin, so that chains share what their outer frames share. Part of the
 * packer.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"
#include "dump/packed/pack_rank.h"

#define PACKCHAIN_MAX	     8192u		/* distinct chains */
#define PACKCHAIN_MAX_FRAMES FMT_PACK_MAX_NODES /* in all of them */
#define PACKCHAIN_NONE	     UINT32_MAX

struct pack_chains_entry {
	const uint8_t *ips; /* in the run: innermost first, as the kernel writes them */
	uint32_t nr, refs;
	uint32_t number; /* in the payload; PACKCHAIN_NONE: not yet given */
	uint64_t hash;
};

struct pack_chains {
	struct pack_chains_entry v[PACKCHAIN_MAX];
	uint32_t nr, nr_frames, nr_shared;
	uint16_t index[4 * PACKCHAIN_MAX]; /* by hash: place of a chain + 1 */
	uint32_t order[PACKCHAIN_MAX];	   /* by number: place of a chain */
	uint32_t nr_numbers;
	/* The tree; node 0 is the root. For each chain where it leaves what was there before it, as
	 * a number of nodes back, and how many nodes it adds. */
	uint32_t back[PACKCHAIN_MAX], grown[PACKCHAIN_MAX];
	uint32_t nr_nodes;
	uint16_t parent[PACKCHAIN_MAX_FRAMES + 1], addr[PACKCHAIN_MAX_FRAMES + 1];
	uint16_t path[PACKCHAIN_MAX_FRAMES]; /* nodes of the chain that was inserted last */
	/* Addresses, as met; and in ascending order. */
	uint32_t nr_addrs;
	uint64_t addrs[PACKCHAIN_MAX_FRAMES];
	uint16_t sorting[2][PACKCHAIN_MAX_FRAMES], *sorted;
	uint16_t place[PACKCHAIN_MAX_FRAMES]; /* of an address in `sorted` */
	uint16_t node_index[2 * PACKCHAIN_MAX_FRAMES], addr_index[2 * PACKCHAIN_MAX_FRAMES];
};

void pack_chains_clear(struct pack_chains *c);
/* The place of this chain, a new one if need be; PACKCHAIN_NONE when there is no more room. */
uint32_t pack_chains_add(struct pack_chains *c, const uint8_t *ips, uint32_t nr);
/* True when chain `id` is this. */
bool pack_chains_is(const struct pack_chains *c, uint32_t id, const uint8_t *ips, uint32_t nr);

/*
 * When all `refs` are counted: those with more than one get the first numbers, the frequent ones
 * first. The others get theirs one by one, in the order in which they will be met.
 */
void pack_chains_number_shared(struct pack_chains *c);
void pack_chains_number_next(struct pack_chains *c, uint32_t id);
/* Builds the tree when all have a number. */
void pack_chains_build(struct pack_chains *c);
