// SPDX-License-Identifier: MIT
/* Call chains as a tree; see pack_chains.h. Called by pack_match.c and pack.c. */
#include "dump/packed/pack_chains.h"

#include "dump/base/hash.h"

#include <string.h>

#define INDEX_MASK (4 * PACKCHAIN_MAX - 1)
#define NODE_MASK  (2 * PACKCHAIN_MAX_FRAMES - 1)

static inline uint64_t ip_at(const uint8_t *ips, uint32_t i)
{
	uint64_t ip;

	memcpy(&ip, ips + (size_t)i * 8, sizeof(ip));
	return ip;
}

/* Two independent chains of multiplications. */
static uint64_t hash_of(const uint8_t *ips, uint32_t nr)
{
	uint64_t a = nr, b = 1;
	uint32_t i;

	for (i = 0; i + 1 < nr; i += 2) {
		a = hash_mix(a, ip_at(ips, i));
		b = hash_mix(b, ip_at(ips, i + 1));
	}
	if (i < nr)
		a = hash_mix(a, ip_at(ips, i));
	return hash_mix(a, b);
}

void pack_chains_clear(struct pack_chains *c)
{
	c->nr = c->nr_frames = c->nr_shared = c->nr_numbers = 0;
	c->nr_nodes = c->nr_addrs = 0;
	memset(c->index, 0, sizeof(c->index));
}

bool pack_chains_is(const struct pack_chains *c, uint32_t id, const uint8_t *ips, uint32_t nr)
{
	return id < c->nr && c->v[id].nr == nr && !memcmp(c->v[id].ips, ips, (size_t)nr * 8);
}

uint32_t pack_chains_add(struct pack_chains *c, const uint8_t *ips, uint32_t nr)
{
	uint64_t hash = hash_of(ips, nr);
	uint32_t at = (uint32_t)hash & INDEX_MASK;

	for (; c->index[at]; at = (at + 1) & INDEX_MASK) {
		uint32_t id = c->index[at] - 1u;

		if (c->v[id].hash == hash && pack_chains_is(c, id, ips, nr))
			return id;
	}
	if (c->nr == PACKCHAIN_MAX || nr > PACKCHAIN_MAX_FRAMES - c->nr_frames)
		return PACKCHAIN_NONE;
	c->v[c->nr] = (struct pack_chains_entry){
		.ips = ips, .nr = nr, .hash = hash, .number = PACKCHAIN_NONE};
	c->index[at] = (uint16_t)(c->nr + 1);
	c->nr_frames += nr;
	return c->nr++;
}

/* ---- numbers ---- */

void pack_chains_number_shared(struct pack_chains *c)
{
	uint32_t refs[PACKCHAIN_MAX], order[PACKCHAIN_MAX];

	for (uint32_t i = 0; i < c->nr; i++)
		refs[i] = c->v[i].refs;
	rank_by_count(refs, c->nr, order);
	for (uint32_t r = 0; r < c->nr && refs[order[r]] > 1; r++)
		pack_chains_number_next(c, order[r]);
	c->nr_shared = c->nr_numbers;
}

void pack_chains_number_next(struct pack_chains *c, uint32_t id)
{
	c->v[id].number = c->nr_numbers;
	c->order[c->nr_numbers++] = id;
}

/* ---- the tree ---- */

/* Finds or adds an address; its index is in the order of first use. */
static uint32_t addr_of(struct pack_chains *c, uint64_t ip)
{
	uint32_t at = (uint32_t)(hash_mix(1, ip) >> 32) & NODE_MASK;

	for (; c->addr_index[at]; at = (at + 1) & NODE_MASK)
		if (c->addrs[c->addr_index[at] - 1] == ip)
			return c->addr_index[at] - 1u;
	c->addrs[c->nr_addrs] = ip;
	c->addr_index[at] = (uint16_t)++c->nr_addrs;
	return c->nr_addrs - 1;
}

/* Finds or adds the child of `parent` with address `addr`. */
static uint32_t node_of(struct pack_chains *c, uint32_t parent, uint32_t addr)
{
	uint32_t at = (uint32_t)(hash_mix(parent, addr) >> 32) & NODE_MASK, n;

	for (; c->node_index[at]; at = (at + 1) & NODE_MASK) {
		n = c->node_index[at];
		if (c->parent[n] == parent && c->addr[n] == addr)
			return n;
	}
	n = ++c->nr_nodes;
	c->node_index[at] = (uint16_t)n;
	c->parent[n] = (uint16_t)parent;
	c->addr[n] = (uint16_t)addr;
	return n;
}

static void sort_addrs(struct pack_chains *c)
{
	for (uint32_t i = 0; i < c->nr_addrs; i++)
		c->sorting[0][i] = (uint16_t)i;
	c->sorted = sort_by_key(c->addrs, c->nr_addrs, c->sorting[0], c->sorting[1]);
	for (uint32_t i = 0; i < c->nr_addrs; i++)
		c->place[c->sorted[i]] = (uint16_t)i;
}

/* Number of outer frames that two chains share. */
static uint32_t common_frames(const struct pack_chains_entry *a, const struct pack_chains_entry *b)
{
	uint32_t nr = a->nr < b->nr ? a->nr : b->nr, i = 0;

	while (i < nr && ip_at(a->ips, a->nr - 1 - i) == ip_at(b->ips, b->nr - 1 - i))
		i++;
	return i;
}

/* Adds a chain to the tree, from the outermost frame inwards. */
static void insert(struct pack_chains *c, uint32_t number)
{
	static const struct pack_chains_entry none;
	const struct pack_chains_entry *chain = &c->v[c->order[number]];
	const struct pack_chains_entry *last = number ? &c->v[c->order[number - 1]] : &none;
	uint32_t before = c->nr_nodes, i = common_frames(chain, last);
	uint32_t node = i ? c->path[i - 1] : 0, branch = node;

	for (; i < chain->nr; i++) {
		node = node_of(c, node, addr_of(c, ip_at(chain->ips, chain->nr - 1 - i)));
		c->path[i] = (uint16_t)node;
		if (node <= before)
			branch = node;
	}
	c->back[number] = before - branch;
	c->grown[number] = c->nr_nodes - before;
}

void pack_chains_build(struct pack_chains *c)
{
	memset(c->node_index, 0, sizeof(c->node_index));
	memset(c->addr_index, 0, sizeof(c->addr_index));
	for (uint32_t i = 0; i < c->nr_numbers; i++)
		insert(c, i);
	sort_addrs(c);
}
