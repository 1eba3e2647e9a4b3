// SPDX-License-Identifier: MIT
/* Reads columns of numbers; see column.h. */
#include "dump/packed/column.h"
#include "dump/packed/huffman.h"

#include <errno.h>
#include <string.h>

/* Reads bits, lowest first. Past the end they are 0 and `left` is negative. */
struct bits_in {
	const uint8_t *p, *end;
	uint64_t acc;
	unsigned nr;  /* bits in acc */
	int64_t left; /* bits not yet taken */
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

/* At most 56 bits after bits_fill(). */
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

/* False: the number is too large for 32 bits. */
static inline bool set_number(void *v, bool wide, uint32_t i, uint64_t n)
{
	if (wide)
		((uint64_t *)v)[i] = n;
	else
		((uint32_t *)v)[i] = (uint32_t)n;
	return wide || n <= UINT32_MAX;
}

/* Decodes the next bits; `bits` 0: no code begins with them. */
struct code_lookup {
	uint8_t symbol, bits, extra;
};

struct code_table {
	struct code_lookup by[1 << MAX_BITS];
	unsigned bits; /* length of the longest code */
};

/* -EBADMSG for an oversubscribed code. */
static int make_lookup(const struct huffman_code *c, struct code_table *t)
{
	uint32_t room = 0;

	t->bits = 0;
	for (unsigned s = 0; s < NR_SYMBOLS; s++) {
		room += c->bits[s] ? 1u << (MAX_BITS - c->bits[s]) : 0;
		if (t->bits < c->bits[s])
			t->bits = c->bits[s];
	}
	if (room > 1u << MAX_BITS)
		return -EBADMSG;
	memset(t->by, 0, sizeof(*t->by) << t->bits);
	for (unsigned s = 0; s < NR_SYMBOLS; s++) {
		struct code_lookup l = {(uint8_t)s, c->bits[s], (uint8_t)extra_bits(s)};

		if (!l.bits)
			continue;
		for (unsigned i = c->word[s]; i < 1u << t->bits; i += 1u << l.bits)
			t->by[i] = l;
	}
	return 0;
}

static int get_lengths(struct bytes *body, unsigned nr, struct huffman_code *c)
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
	code_assign(c, nr);
	return 0;
}

static inline int get_huffman(const struct packed_column *col, void *v, bool wide)
{
	struct code_table table;
	struct bytes body = col->body;
	struct bits_in b;
	struct huffman_code c;
	int rc = get_lengths(&body, col->h.nr_symbols, &c);

	if (!rc)
		rc = make_lookup(&c, &table);
	if (rc)
		return rc;
	b = bits_of(body);
	for (uint32_t i = 0; i < col->h.nr; i++) {
		struct code_lookup l;
		uint64_t rest;

		bits_fill(&b);
		l = table.by[b.acc & ((1u << table.bits) - 1)];
		if (!l.bits)
			return -EBADMSG;
		bits_take(&b, l.bits);
		if (l.extra > 40) {
			bits_fill(&b);
			rest = take_wide(&b, l.extra);
		} else {
			rest = bits_take(&b, l.extra);
		}
		if (b.left < 0 || !set_number(v, wide, i, symbol_base(l.symbol) + rest))
			return -EBADMSG;
	}
	return 0;
}

static inline int get_fixed(const struct packed_column *c, void *v, bool wide)
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

static inline int get_const(const struct packed_column *c, void *v, bool wide)
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

int column_open(struct bytes stream, struct packed_column *c)
{
	struct packed_column col = {.body = stream};

	if (!bytes_get(&col.body, &col.h, sizeof(col.h)))
		return -EBADMSG;
	*c = col;
	return 0;
}

static inline int column_get(const struct packed_column *c, void *v, bool wide)
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

int column_get_u32(const struct packed_column *c, uint32_t *v)
{
	return column_get(c, v, false);
}

int column_get_u64(const struct packed_column *c, uint64_t *v)
{
	return column_get(c, v, true);
}
