// SPDX-License-Identifier: MIT
/* The call chains of packed records; see unpack_impl.h. Node 0 is the root. */
#include "dump/packed/unpack_impl.h"

#include <errno.h>

/* The addresses, ascending. */
static int read_addrs(struct unpacker *u)
{
	struct packed_column c;
	uint64_t *v, sum = 0;
	int rc = column_open(stream_of(u, FMT_STREAM_ADDRS), &c);

	if (!rc && (c.h.nr != u->h.nr_addrs || c.h.nr > FMT_PACK_MAX_NODES))
		rc = -EBADMSG;
	if (!rc)
		rc = unpack_room(&u->addrs, c.h.nr, 8);
	if (!rc)
		rc = column_get_u64(&c, (uint64_t *)u->addrs.p);
	if (rc)
		return rc;
	v = (uint64_t *)u->addrs.p;
	for (uint32_t i = 0; i < c.h.nr; i++)
		v[i] = sum += v[i];
	return 0;
}

/* Builds the tree, and finds each chain's innermost node. */
static int grow(struct unpacker *u, const uint32_t *back, const uint32_t *grown)
{
	uint16_t *parent = (uint16_t *)u->parent.p;
	uint32_t *leaf = (uint32_t *)u->leaf.p, *depth = (uint32_t *)u->scratch.p;
	uint32_t *nr = (uint32_t *)u->depth_of_chain.p, nodes = 0;

	depth[0] = 0;
	for (uint32_t i = 0; i < u->h.nr_chains; i++) {
		uint32_t node;

		if (back[i] > nodes || grown[i] > FMT_PACK_MAX_NODES - nodes)
			return -EBADMSG;
		node = nodes - back[i];
		for (uint32_t k = 0; k < grown[i]; k++) {
			parent[++nodes] = (uint16_t)node;
			depth[nodes] = depth[node] + 1;
			node = nodes;
		}
		leaf[i] = node;
		nr[i] = depth[node];
	}
	u->addr.len = nodes; /* nodes with an address */
	return 0;
}

/* Restores the addresses from runs of correct predictions and the others. */
static int read_frames(struct unpacker *u, const uint32_t *runs, const uint32_t *misses,
		       uint32_t nr)
{
	const uint16_t *parent = (const uint16_t *)u->parent.p;
	uint16_t *addr = (uint16_t *)u->addr.p, *below = (uint16_t *)u->scratch.p;
	uint32_t nodes = (uint32_t)u->addr.len, k = 0, left = nr ? runs[0] : UINT32_MAX;

	memset(below, 0, (u->h.nr_addrs + 1u) * sizeof(*below));
	for (uint32_t i = 1; i <= nodes; i++) {
		uint16_t *b = &below[parent[i] ? addr[parent[i]] + 1u : 0];

		if (left) {
			left -= left != UINT32_MAX;
		} else {
			if (misses[k] >= u->h.nr_addrs)
				return -EBADMSG;
			*b = (uint16_t)(misses[k] + 1);
			left = ++k < nr ? runs[k] : UINT32_MAX;
		}
		if (!*b)
			return -EBADMSG;
		addr[i] = (uint16_t)(*b - 1);
	}
	return k == nr ? 0 : -EBADMSG;
}

static int read_tree(struct unpacker *u)
{
	struct buf a = {0}, b = {0};
	uint32_t nr;
	int rc;

	rc = unpack_column32(stream_of(u, FMT_STREAM_BACK), u->h.nr_chains, &a);
	if (!rc)
		rc = unpack_column32(stream_of(u, FMT_STREAM_GROWN), u->h.nr_chains, &b);
	if (!rc)
		rc = unpack_room(&u->leaf, u->h.nr_chains, 4);
	if (!rc)
		rc = unpack_room(&u->depth_of_chain, u->h.nr_chains, 4);
	if (!rc)
		rc = unpack_room(&u->parent, FMT_PACK_MAX_NODES + 1, 2);
	if (!rc)
		rc = unpack_room(&u->addr, FMT_PACK_MAX_NODES + 1, 2);
	if (!rc)
		rc = unpack_room(&u->scratch, FMT_PACK_MAX_NODES + 1, 4);
	if (!rc)
		rc = grow(u, (uint32_t *)a.p, (uint32_t *)b.p);
	if (!rc)
		rc = unpack_column32_upto(stream_of(u, FMT_STREAM_FRAME_RUNS), FMT_PACK_MAX_NODES,
					  &a, &nr);
	if (!rc)
		rc = unpack_column32(stream_of(u, FMT_STREAM_FRAMES), nr, &b);
	if (!rc)
		rc = read_frames(u, (uint32_t *)a.p, (uint32_t *)b.p, nr);
	buf_free(&a);
	buf_free(&b);
	return rc;
}

/* The chains of a class: that of the template's previous record, or from the column. */
static int chains_of_class(struct unpacker *u, struct unpack_class *c, struct buf *refs,
			   uint32_t *next)
{
	const uint16_t *tpl = (const uint16_t *)u->tpl_by_class.p + c->first_record;
	uint32_t *chain = (uint32_t *)u->chain_by_class.p + c->first_record, nr, at = 0, *last;
	const uint32_t *masks;
	int rc = unpack_masks(u, c);

	if (!rc)
		rc = unpack_column32_upto(stream_of(u, c->first_stream + FMT_STREAM_CLASS_CHAINS),
					  c->f.nr_records, refs, &nr);
	if (!rc)
		rc = unpack_room(&u->scratch, c->nr_templates, 4);
	if (rc)
		return rc;
	masks = (const uint32_t *)c->masks.p;
	last = (uint32_t *)u->scratch.p;
	memset(last, 0xff, c->nr_templates * sizeof(*last));
	for (uint32_t r = 0; r < c->f.nr_records; r++) {
		if (masks[r] >> c->nr_vary & 1) {
			uint32_t ref = at < nr ? ((const uint32_t *)refs->p)[at++] : UINT32_MAX;

			last[tpl[r]] = ref ? ref - 1 : (*next)++;
			if (ref > u->h.nr_shared)
				return -EBADMSG;
		}
		chain[r] = last[tpl[r]];
		if (chain[r] >= u->h.nr_chains)
			return -EBADMSG;
	}
	return at == nr ? 0 : -EBADMSG;
}

int unpack_chains(struct unpacker *u)
{
	struct buf refs = {0};
	uint32_t next = u->h.nr_shared;
	int rc;

	if (u->h.nr_chains > u->h.nr_records || u->h.nr_shared > u->h.nr_chains)
		return -EBADMSG;
	rc = read_addrs(u);
	if (!rc)
		rc = read_tree(u);
	if (!rc)
		rc = unpack_room(&u->chain_by_class, u->h.nr_records, 4);
	for (uint32_t k = 1; k < u->h.nr_classes && !rc; k++)
		if (u->classes[k].has_chain)
			rc = chains_of_class(u, &u->classes[k], &refs, &next);
	buf_free(&refs);
	return rc;
}

uint64_t unpack_chain_second(const struct unpacker *u, uint32_t chain)
{
	uint16_t n = ((const uint16_t *)u->parent.p)[((const uint32_t *)u->leaf.p)[chain]];

	return ((const uint64_t *)u->addrs.p)[((const uint16_t *)u->addr.p)[n]];
}

void unpack_chain(const struct unpacker *u, uint32_t chain, uint8_t *dst)
{
	const uint16_t *parent = (const uint16_t *)u->parent.p, *addr = (const uint16_t *)u->addr.p;
	const uint64_t *addrs = (const uint64_t *)u->addrs.p;

	for (uint32_t n = ((const uint32_t *)u->leaf.p)[chain]; n; n = parent[n], dst += 8)
		memcpy(dst, &addrs[addr[n]], 8);
}
