/* SPDX-License-Identifier: MIT */
/*
 * The call chains of a run: each distinct one once, and at the end all as one tree whose
 * root is where threads begin, so that chains share what their outer frames share. Part of the
 * packer.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format.h"
#include "dump/packrank.h"

#define CHAIN_MAX	 8192u		    /* distinct chains */
#define CHAIN_MAX_FRAMES FMT_PACK_MAX_NODES /* in all of them */
#define CHAIN_NONE	 UINT32_MAX

struct chain {
	const uint8_t *ips; /* in the run: innermost first, as the kernel writes them */
	uint32_t nr, refs;
	uint32_t number; /* in the payload; CHAIN_NONE: not yet given */
	uint64_t hash;
};

struct chains {
	struct chain v[CHAIN_MAX];
	uint32_t nr, nr_frames, nr_shared;
	uint16_t index[4 * CHAIN_MAX]; /* by hash: place of a chain + 1 */
	uint32_t order[CHAIN_MAX];     /* by number: place of a chain */
	uint32_t nr_numbers;
	/* The tree; node 0 is the root. For each chain where it leaves what was there before it, as
	 * a number of nodes back, and how many nodes it adds. */
	uint32_t back[CHAIN_MAX], grown[CHAIN_MAX];
	uint32_t nr_nodes;
	uint16_t parent[CHAIN_MAX_FRAMES + 1], addr[CHAIN_MAX_FRAMES + 1];
	uint16_t path[CHAIN_MAX_FRAMES]; /* nodes of the chain that was inserted last */
	/* Addresses, as met; and in ascending order. */
	uint32_t nr_addrs;
	uint64_t addrs[CHAIN_MAX_FRAMES];
	uint16_t sorting[2][CHAIN_MAX_FRAMES], *sorted;
	uint16_t place[CHAIN_MAX_FRAMES]; /* of an address in `sorted` */
	uint16_t node_index[2 * CHAIN_MAX_FRAMES], addr_index[2 * CHAIN_MAX_FRAMES];
};

void chains_clear(struct chains *c);
/* The place of this chain, a new one if need be; CHAIN_NONE when there is no more room. */
uint32_t chains_add(struct chains *c, const uint8_t *ips, uint32_t nr);
/* True when chain `id` is this. */
bool chains_is(const struct chains *c, uint32_t id, const uint8_t *ips, uint32_t nr);

/*
 * When all `refs` are counted: those with more than one get the first numbers, the frequent ones
 * first. The others get theirs one by one, in the order in which they will be met.
 */
void chains_number_shared(struct chains *c);
void chains_number_next(struct chains *c, uint32_t id);
/* Builds the tree when all have a number. */
void chains_build(struct chains *c);
