// SPDX-License-Identifier: MIT
/*
 * Columns of numbers; see column.h. Called by pack*.c and unpack.c.
 *
 * A symbol is the number itself below 16; above, the place of its highest bit and the bit below
 * that. What is left of the number follows the symbol's code as plain bits, so that the code has
 * to know 136 symbols only, and a table of 4,096 entries reads any of them in one step.
 */
#include "dump/column.h"

#include <errno.h>
#include <string.h>

#define MAX_BITS   FMT_COLUMN_MAX_BITS
#define NR_SYMBOLS FMT_COLUMN_SYMBOLS
#define DIRECT	   16u /* numbers below are their own symbol */

/* ---- symbols ---- */

/* No branches: numbers of both kinds come mixed. */
static inline unsigned symbol_of(uint64_t v)
{
	unsigned e = 63 - (unsigned)__builtin_clzll(v | DIRECT);
	unsigned large = DIRECT + (e - 4) * 2 + (unsigned)(v >> (e - 1) & 1);

	return v < DIRECT ? (unsigned)v : large;
}

/* How many bits follow a symbol's code. */
static inline unsigned extra_bits(unsigned symbol)
{
	return symbol < DIRECT ? 0 : (symbol - DIRECT) / 2 + 3;
}

/* The smallest number of a symbol. */
static inline uint64_t symbol_base(unsigned symbol)
{
	return symbol < DIRECT ? symbol : (uint64_t)(2 + (symbol & 1)) << extra_bits(symbol);
}

/* ---- the code ---- */

struct code {
	uint8_t bits[NR_SYMBOLS]; /* 0: not used */
	uint16_t word[NR_SYMBOLS];
};

struct leaf {
	uint32_t count;
	uint8_t symbol;
};

static unsigned sort_leaves(const uint32_t *count, struct leaf *leaf)
{
	unsigned nr = 0;

	for (unsigned s = 0; s < NR_SYMBOLS; s++) {
		unsigned i;

		if (!count[s])
			continue;
		for (i = nr++; i && leaf[i - 1].count > count[s]; i--)
			leaf[i] = leaf[i - 1];
		leaf[i] = (struct leaf){count[s], (uint8_t)s};
	}
	return nr;
}

/* Huffman's tree over leaves that are sorted: the depth of each, in their order. nr >= 2. */
static void depths(const struct leaf *leaf, unsigned nr, uint8_t *depth)
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

/* Shortens what is longer than MAX_BITS, and makes others longer until the code has room again. */
static void limit_depths(uint8_t *depth, unsigned nr)
{
	uint32_t room = 0;

	for (unsigned i = 0; i < nr; i++) {
		if (depth[i] > MAX_BITS)
			depth[i] = MAX_BITS;
		room += 1u << (MAX_BITS - depth[i]);
	}
	/* Rare symbols stand first. */
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
static void assign_words(struct code *c)
{
	uint16_t nr[MAX_BITS + 1] = {0}, next[MAX_BITS + 1] = {0};

	for (unsigned s = 0; s < NR_SYMBOLS; s++)
		nr[c->bits[s]]++;
	nr[0] = 0;
	for (unsigned bits = 1; bits <= MAX_BITS; bits++)
		next[bits] = (uint16_t)((next[bits - 1] + nr[bits - 1]) << 1);
	for (unsigned s = 0; s < NR_SYMBOLS; s++)
		if (c->bits[s])
			c->word[s] = reversed(next[c->bits[s]]++, c->bits[s]);
}

static void make_code(const uint32_t *count, struct code *c)
{
	struct leaf leaf[NR_SYMBOLS];
	uint8_t depth[NR_SYMBOLS] = {1};
	unsigned nr = sort_leaves(count, leaf);

	memset(c->bits, 0, sizeof(c->bits));
	if (nr > 1) {
		depths(leaf, nr, depth);
		limit_depths(depth, nr);
	}
	for (unsigned i = 0; i < nr; i++)
		c->bits[leaf[i].symbol] = depth[i];
	assign_words(c);
}

/* ---- writing ---- */

struct bits_out {
	uint8_t *p;
	uint64_t acc;
	unsigned nr;
};

/* At most 56 bits at once. */
static inline void bits_put(struct bits_out *b, uint64_t v, unsigned nr)
{
	b->acc |= v << b->nr;
	b->nr += nr;
	memcpy(b->p, &b->acc, 8);
	b->p += b->nr / 8;
	b->acc >>= b->nr & ~7u;
	b->nr &= 7;
}

static uint8_t *bits_end(struct bits_out *b)
{
	return b->p + (b->nr + 7) / 8;
}

/* v[i] of either type; `wide` is known where this is called, so that each has a loop of its own. */
static inline uint64_t number(const void *v, bool wide, uint32_t i)
{
	return wide ? ((const uint64_t *)v)[i] : ((const uint32_t *)v)[i];
}

struct survey {
	uint32_t count[NR_SYMBOLS];
	uint64_t any; /* all numbers ORed */
	bool alike;
};

static inline void look(const void *v, bool wide, uint32_t nr, struct survey *s)
{
	uint64_t differ = 0, first = nr ? number(v, wide, 0) : 0;

	memset(s, 0, sizeof(*s));
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t n = number(v, wide, i);

		s->any |= n;
		differ |= n ^ first;
		s->count[symbol_of(n)]++;
	}
	s->alike = !differ;
}

static uint64_t huffman_bits(const struct survey *s, const struct code *c)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < NR_SYMBOLS; i++)
		bits += (uint64_t)s->count[i] * (c->bits[i] + extra_bits(i));
	return bits;
}

static uint8_t *put_lengths(uint8_t *dst, const struct code *c, unsigned nr)
{
	for (unsigned i = 0; i < nr; i += 2)
		*dst++ = (uint8_t)(c->bits[i] | (i + 1 < nr ? c->bits[i + 1] << 4 : 0));
	return dst;
}

static inline uint8_t *put_huffman(uint8_t *dst, const void *v, bool wide, uint32_t nr,
				   const struct code *c)
{
	struct bits_out b = {.p = dst};

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t n = number(v, wide, i);
		unsigned s = symbol_of(n), extra = extra_bits(s);
		uint64_t rest = n & ((1ull << extra) - 1);

		if (wide && extra > 40) {
			bits_put(&b, c->word[s], c->bits[s]);
			bits_put(&b, rest & 0xffffffffu, 32);
			bits_put(&b, rest >> 32, extra - 32);
		} else {
			bits_put(&b, c->word[s] | rest << c->bits[s], c->bits[s] + extra);
		}
	}
	return bits_end(&b);
}

static inline uint8_t *put_fixed(uint8_t *dst, const void *v, bool wide, uint32_t nr, unsigned bits)
{
	struct bits_out b = {.p = dst};

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t n = number(v, wide, i);

		if (wide && bits > 32) {
			bits_put(&b, n & 0xffffffffu, 32);
			bits_put(&b, n >> 32, bits - 32);
		} else {
			bits_put(&b, n, bits);
		}
	}
	return bits_end(&b);
}

static unsigned symbols_used(const struct survey *s)
{
	unsigned nr = NR_SYMBOLS;

	while (nr && !s->count[nr - 1])
		nr--;
	return nr;
}

static inline size_t column_put(uint8_t *dst, const void *v, bool wide, uint32_t nr)
{
	struct fmt_column h = {.nr = nr, .kind = FMT_COLUMN_FIXED};
	uint8_t *p = dst + sizeof(h);
	struct survey s;
	struct code c;

	look(v, wide, nr, &s);
	h.bits = s.any ? (uint8_t)(64 - __builtin_clzll(s.any)) : 0;
	if (s.alike) {
		uint64_t n = nr ? number(v, wide, 0) : 0;

		h.kind = FMT_COLUMN_CONST;
		memcpy(p, &n, sizeof(n));
		p += (h.bits + 7) / 8;
		goto out;
	}
	if (nr >= 32) {
		unsigned used = symbols_used(&s);

		make_code(s.count, &c);
		if (huffman_bits(&s, &c) + used * 4 < (uint64_t)nr * h.bits) {
			h.kind = FMT_COLUMN_HUFFMAN;
			h.nr_symbols = (uint8_t)used;
			p = put_huffman(put_lengths(p, &c, used), v, wide, nr, &c);
			goto out;
		}
	}
	p = put_fixed(p, v, wide, nr, h.bits);
out:
	memcpy(dst, &h, sizeof(h));
	return (size_t)(p - dst);
}

size_t column_put_u32(uint8_t *dst, const uint32_t *v, uint32_t nr)
{
	return column_put(dst, v, false, nr);
}

size_t column_put_u64(uint8_t *dst, const uint64_t *v, uint32_t nr)
{
	return column_put(dst, v, true, nr);
}

/* ---- reading ---- */

/* Bits of a view, lowest first. Past its end they are 0 and `left` is below 0. */
struct bits_in {
	const uint8_t *p, *end;
	uint64_t acc;
	unsigned nr;  /* bits in acc */
	int64_t left; /* bits of the view that were not taken */
};

static inline void bits_fill(struct bits_in *b)
{
	if (b->end - b->p >= 8) {
		uint64_t more;

		memcpy(&more, b->p, 8);
		b->acc |= more << b->nr;
		b->p += (63 - b->nr) / 8;
		b->nr |= 56;
		return;
	}
	while (b->nr <= 56) {
		if (b->p < b->end)
			b->acc |= (uint64_t)*b->p++ << b->nr;
		b->nr += 8;
	}
}

/* At most 56 bits, which bits_fill() has made sure of. */
static inline uint64_t bits_take(struct bits_in *b, unsigned nr)
{
	uint64_t v = b->acc & ((1ull << nr) - 1);

	b->acc >>= nr;
	b->nr -= nr;
	b->left -= nr;
	return v;
}

static struct bits_in bits_of(struct bytes body)
{
	return (struct bits_in){
		.p = body.p, .end = body.p + body.len, .left = (int64_t)body.len * 8};
}

static inline uint64_t take_wide(struct bits_in *b, unsigned nr)
{
	uint64_t low = bits_take(b, 32);

	bits_fill(b);
	return low | bits_take(b, nr - 32) << 32;
}

/* False: too large for 32 bits. */
static inline bool set_number(void *v, bool wide, uint32_t i, uint64_t n)
{
	if (wide)
		((uint64_t *)v)[i] = n;
	else
		((uint32_t *)v)[i] = (uint32_t)n;
	return wide || n <= UINT32_MAX;
}

struct lookup {
	uint8_t symbol, bits; /* bits 0: no code begins like this */
};

/* The code as a table of all that MAX_BITS can be; -EBADMSG when it has no room for its words. */
static int make_lookup(const struct code *c, struct lookup *t)
{
	uint32_t room = 0;

	for (unsigned s = 0; s < NR_SYMBOLS; s++)
		room += c->bits[s] ? 1u << (MAX_BITS - c->bits[s]) : 0;
	if (room > 1u << MAX_BITS)
		return -EBADMSG;
	memset(t, 0, sizeof(*t) << MAX_BITS);
	for (unsigned s = 0; s < NR_SYMBOLS; s++) {
		if (!c->bits[s])
			continue;
		for (unsigned i = c->word[s]; i < 1u << MAX_BITS; i += 1u << c->bits[s])
			t[i] = (struct lookup){(uint8_t)s, c->bits[s]};
	}
	return 0;
}

static int get_lengths(struct bytes *body, unsigned nr, struct code *c)
{
	struct bytes lengths;

	memset(c, 0, sizeof(*c));
	if (nr > NR_SYMBOLS || !bytes_take(body, (nr + 1) / 2, &lengths))
		return -EBADMSG;
	for (unsigned i = 0; i < nr; i++) {
		c->bits[i] = lengths.p[i / 2] >> (i & 1) * 4 & 15;
		if (c->bits[i] > MAX_BITS)
			return -EBADMSG;
	}
	assign_words(c);
	return 0;
}

static inline int get_huffman(const struct column *col, void *v, bool wide)
{
	struct lookup table[1 << MAX_BITS];
	struct bytes body = col->body;
	struct bits_in b;
	struct code c;
	int rc = get_lengths(&body, col->h.nr_symbols, &c);

	if (!rc)
		rc = make_lookup(&c, table);
	if (rc)
		return rc;
	b = bits_of(body);
	for (uint32_t i = 0; i < col->h.nr; i++) {
		struct lookup l;
		unsigned extra;
		uint64_t rest;

		bits_fill(&b);
		l = table[b.acc & ((1u << MAX_BITS) - 1)];
		if (!l.bits)
			return -EBADMSG;
		bits_take(&b, l.bits);
		extra = extra_bits(l.symbol);
		if (extra > 40) {
			bits_fill(&b);
			rest = take_wide(&b, extra);
		} else {
			rest = bits_take(&b, extra);
		}
		if (b.left < 0 || !set_number(v, wide, i, symbol_base(l.symbol) + rest))
			return -EBADMSG;
	}
	return 0;
}

static inline int get_fixed(const struct column *c, void *v, bool wide)
{
	struct bits_in b = bits_of(c->body);

	if (c->h.bits > 64 || (uint64_t)c->h.nr * c->h.bits > (uint64_t)c->body.len * 8)
		return -EBADMSG;
	for (uint32_t i = 0; i < c->h.nr; i++) {
		uint64_t n;

		bits_fill(&b);
		n = c->h.bits > 32 ? take_wide(&b, c->h.bits) : bits_take(&b, c->h.bits);
		if (!set_number(v, wide, i, n))
			return -EBADMSG;
	}
	return 0;
}

static inline int get_const(const struct column *c, void *v, bool wide)
{
	uint64_t n = 0;

	if (c->h.bits > 64 || c->body.len < (c->h.bits + 7u) / 8)
		return -EBADMSG;
	memcpy(&n, c->body.p, (c->h.bits + 7u) / 8);
	for (uint32_t i = 0; i < c->h.nr; i++)
		if (!set_number(v, wide, i, n))
			return -EBADMSG;
	return 0;
}

int column_open(struct bytes stream, struct column *c)
{
	struct column col = {.body = stream};

	if (!bytes_get(&col.body, &col.h, sizeof(col.h)))
		return -EBADMSG;
	*c = col;
	return 0;
}

static inline int column_get(const struct column *c, void *v, bool wide)
{
	switch (c->h.kind) {
	case FMT_COLUMN_CONST:
		return get_const(c, v, wide);
	case FMT_COLUMN_FIXED:
		return get_fixed(c, v, wide);
	case FMT_COLUMN_HUFFMAN:
		return get_huffman(c, v, wide);
	default:
		return -EBADMSG;
	}
}

int column_get_u32(const struct column *c, uint32_t *v)
{
	return column_get(c, v, false);
}

int column_get_u64(const struct column *c, uint64_t *v)
{
	return column_get(c, v, true);
}
