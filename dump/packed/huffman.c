// SPDX-License-Identifier: MIT
/* Length-limited canonical Huffman codes; see huffman.h. */
#include "dump/packed/huffman.h"

#include <string.h>

struct huffman_leaf {
	uint32_t count;
	uint8_t symbol;
};

static unsigned sort_leaves(const uint32_t *count, unsigned used, struct huffman_leaf *leaf)
{
	unsigned nr = 0;

	for (unsigned s = 0; s < used; s++) {
		unsigned i;

		if (!count[s])
			continue;
		for (i = nr++; i && leaf[i - 1].count > count[s]; i--)
			leaf[i] = leaf[i - 1];
		leaf[i] = (struct huffman_leaf){count[s], (uint8_t)s};
	}
	return nr;
}

/* Depths of sorted leaves in the Huffman tree. nr >= 2. */
static void depths(const struct huffman_leaf *leaf, unsigned nr, uint8_t *depth)
{
	uint32_t weight[NR_SYMBOLS];
	uint16_t parent[2 * NR_SYMBOLS];
	uint8_t level[NR_SYMBOLS];
	unsigned next_leaf = 0, next_node = 0, nodes;

	for (nodes = 0; nodes < nr - 1; nodes++) {
		uint32_t sum = 0;

		for (int k = 0; k < 2; k++) {
			if (next_leaf < nr &&
			    (next_node == nodes || leaf[next_leaf].count <= weight[next_node])) {
				parent[next_leaf] = (uint16_t)nodes;
				sum += leaf[next_leaf++].count;
			} else {
				parent[NR_SYMBOLS + next_node] = (uint16_t)nodes;
				sum += weight[next_node++];
			}
		}
		weight[nodes] = sum;
	}
	level[nodes - 1] = 0;
	for (unsigned n = nodes - 1; n-- > 0;)
		level[n] = (uint8_t)(level[parent[NR_SYMBOLS + n]] + 1);
	for (unsigned i = 0; i < nr; i++)
		depth[i] = (uint8_t)(level[parent[i]] + 1);
}

/* Shortens codes longer than MAX_BITS, and lengthens others until the code is valid again. */
static void limit_depths(uint8_t *depth, unsigned nr)
{
	uint32_t room = 0;

	for (unsigned i = 0; i < nr; i++) {
		if (depth[i] > MAX_BITS)
			depth[i] = MAX_BITS;
		room += 1u << (MAX_BITS - depth[i]);
	}
	/* Rare symbols come first. */
	while (room > 1u << MAX_BITS) {
		unsigned best = nr;

		for (unsigned i = 0; i < nr; i++)
			if (depth[i] < MAX_BITS && (best == nr || depth[i] > depth[best]))
				best = i;
		room -= 1u << (MAX_BITS - depth[best] - 1);
		depth[best]++;
	}
}

static uint16_t reversed(uint16_t word, unsigned bits)
{
	uint32_t r = word;

	r = (r & 0x5555) << 1 | (r >> 1 & 0x5555);
	r = (r & 0x3333) << 2 | (r >> 2 & 0x3333);
	r = (r & 0x0f0f) << 4 | (r >> 4 & 0x0f0f);
	r = (r & 0x00ff) << 8 | (r >> 8 & 0x00ff);
	return (uint16_t)(r >> (16 - bits));
}

/* Canonical: by length, then by symbol; bits are read lowest first, so words are reversed. */
void code_assign(struct huffman_code *c, unsigned used)
{
	uint16_t nr[MAX_BITS + 1] = {0}, next[MAX_BITS + 1] = {0};

	for (unsigned s = 0; s < used; s++)
		nr[c->bits[s]]++;
	nr[0] = 0;
	for (unsigned bits = 1; bits <= MAX_BITS; bits++)
		next[bits] = (uint16_t)((next[bits - 1] + nr[bits - 1]) << 1);
	for (unsigned s = 0; s < used; s++)
		if (c->bits[s])
			c->word[s] = reversed(next[c->bits[s]]++, c->bits[s]);
}

void code_make(const uint32_t *count, unsigned used, struct huffman_code *c)
{
	struct huffman_leaf leaf[NR_SYMBOLS];
	uint8_t depth[NR_SYMBOLS] = {1};
	unsigned nr = sort_leaves(count, used, leaf);

	memset(c->bits, 0, used);
	if (nr > 1) {
		depths(leaf, nr, depth);
		limit_depths(depth, nr);
	}
	for (unsigned i = 0; i < nr; i++)
		c->bits[leaf[i].symbol] = depth[i];
	code_assign(c, used);
}
