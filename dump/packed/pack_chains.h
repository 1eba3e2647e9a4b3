/* SPDX-License-Identifier: MIT */
/*
 * The distinct call chains of a run, and their tree, in which chains share their outer frames. Part
 * of the packer.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"
#include "dump/packed/pack_rank.h"

#define PACKCHAIN_MAX	     8192u		/* distinct chains */
#define PACKCHAIN_MAX_FRAMES FMT_PACK_MAX_NODES /* in all of them */
#define PACKCHAIN_NONE	     UINT32_MAX

struct pack_chains_entry {
	const uint8_t *ips; /* in the run; innermost first, as the kernel writes them */
	uint32_t nr, refs;
	uint32_t number; /* in the payload; PACKCHAIN_NONE: none yet */
	uint64_t hash;
};

struct pack_chains {
	struct pack_chains_entry v[PACKCHAIN_MAX];
	uint32_t nr, nr_frames, nr_shared;
	uint16_t index[4 * PACKCHAIN_MAX]; /* by hash: index of a chain + 1 */
	uint32_t order[PACKCHAIN_MAX];	   /* by number: index of a chain */
	uint32_t nr_numbers;
	/* The tree; node 0 is the root. For each chain, how many nodes back it branches off, and how
	 * many nodes it adds. */
	uint32_t back[PACKCHAIN_MAX], grown[PACKCHAIN_MAX];
	uint32_t nr_nodes;
	uint16_t parent[PACKCHAIN_MAX_FRAMES + 1], addr[PACKCHAIN_MAX_FRAMES + 1];
	uint16_t path[PACKCHAIN_MAX_FRAMES]; /* nodes of the chain that was inserted last */
	/* Addresses in order of first use, and ascending. */
	uint32_t nr_addrs;
	uint64_t addrs[PACKCHAIN_MAX_FRAMES];
	uint16_t sorting[2][PACKCHAIN_MAX_FRAMES], *sorted;
	uint16_t place[PACKCHAIN_MAX_FRAMES]; /* index of an address in `sorted` */
	uint16_t node_index[2 * PACKCHAIN_MAX_FRAMES], addr_index[2 * PACKCHAIN_MAX_FRAMES];
};

void pack_chains_clear(struct pack_chains *c);
/* Finds or adds a chain and returns its index; PACKCHAIN_NONE: no room. */
uint32_t pack_chains_add(struct pack_chains *c, const uint8_t *ips, uint32_t nr);
/* True when chain `id` has these addresses. */
bool pack_chains_is(const struct pack_chains *c, uint32_t id, const uint8_t *ips, uint32_t nr);

/*
 * Call when all `refs` are counted: numbers the chains with more than one reference, frequent ones
 * first. pack_chains_number_next() numbers the others in the order of their use.
 */
void pack_chains_number_shared(struct pack_chains *c);
void pack_chains_number_next(struct pack_chains *c, uint32_t id);
/* Builds the tree after all chains are numbered. */
void pack_chains_build(struct pack_chains *c);
