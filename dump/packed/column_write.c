// SPDX-License-Identifier: MIT
/*
 * Writes columns of numbers; see column.h.
 *
 * Two passes over the numbers: the first computes symbols and counts, the second writes. Neither has
 * branches that depend on the numbers.
 */
#include "dump/packed/column.h"
#include "dump/packed/huffman.h"

#include <assert.h>
#include <string.h>

#define FEW 32u /* fewer numbers are not worth a Huffman code */

/* For functions with a `wide` parameter: the compiler makes a loop for each type of number. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* ---- bits ---- */

struct bits_out {
	uint8_t *p;
	uint64_t acc;
	unsigned nr; /* in acc; below 8 after bits_flush() */
};

/* At most 56 bits between two bits_flush(). */
static inline void bits_add(struct bits_out *b, uint64_t v, unsigned nr)
{
	b->acc |= v << b->nr;
	b->nr += nr;
}

static inline void bits_flush(struct bits_out *b)
{
	memcpy(b->p, &b->acc, 8);
	b->p += b->nr / 8;
	b->acc >>= b->nr & ~7u;
	b->nr &= 7;
}

static inline void bits_put(struct bits_out *b, uint64_t v, unsigned nr)
{
	bits_add(b, v, nr);
	bits_flush(b);
}

static uint8_t *bits_end(struct bits_out *b)
{
	return b->p + (b->nr + 7) / 8;
}

/* ---- survey ---- */

/* v[i] of either type. */
static ALWAYS_INLINE uint64_t number(const void *v, bool wide, uint32_t i)
{
	return wide ? ((const uint64_t *)v)[i] : ((const uint32_t *)v)[i];
}

struct column_survey {
	uint32_t count[NR_SYMBOLS];
	unsigned used; /* highest symbol + 1 */
	unsigned bits; /* of the largest number */
	bool alike;
};

static unsigned bits_of(uint64_t n)
{
	return n ? 64 - (unsigned)__builtin_clzll(n) : 0;
}

static ALWAYS_INLINE void look_few(const void *v, bool wide, uint32_t nr, struct column_survey *s)
{
	uint64_t any = 0, differ = 0;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t n = number(v, wide, i);

		any |= n;
		differ |= n ^ number(v, wide, 0);
	}
	s->bits = bits_of(any);
	s->alike = !differ;
}

/*
 * Symbols of four numbers below 2^31, a byte each: a symbol is exponent and first fraction bit of
 * the number as a float. The next bit is cleared before, so that rounding cannot change them.
 */
static ALWAYS_INLINE uint32_t four_symbols(const uint32_t *v)
{
	typedef int32_t four __attribute__((vector_size(16)));
	typedef float fours __attribute__((vector_size(16)));
	typedef uint64_t two __attribute__((vector_size(16)));
	const int bias = 2 * (127 + 4) - (int)DIRECT;
	four n, bits, small;
	fours f;
	two s;

	memcpy(&n, v, sizeof(n));
	f = __builtin_convertvector(n & ~(n >> 2), fours);
	memcpy(&bits, &f, sizeof(bits));
	small = n < (int)DIRECT;
	n = (n & small) | (((bits >> 22) - bias) & ~small);
	memcpy(&s, &n, sizeof(s));
	s |= s >> 24; /* two symbols of 32 bits, now of 8 */
	return (uint16_t)s[0] | (uint32_t)s[1] << 16;
}

/* Symbols of numbers i to i + 3. */
static ALWAYS_INLINE uint32_t symbols_at(const void *v, bool wide, uint32_t i)
{
	uint32_t n[4], s = 0;
	uint64_t any = 0;

	for (unsigned k = 0; k < 4; k++) {
		any |= number(v, wide, i + k);
		n[k] = (uint32_t)number(v, wide, i + k);
	}
	if (!(any >> 31))
		return four_symbols(n);
	for (unsigned k = 0; k < 4; k++)
		s |= symbol_of(number(v, wide, i + k)) << 8 * k;
	return s;
}

/* Four arrays of counts: with one, increments of the same symbol would wait for each other. */
static ALWAYS_INLINE void look(const void *v, bool wide, uint32_t nr, uint8_t *symbol,
			       struct column_survey *s)
{
	uint16_t count[4][NR_SYMBOLS] = {0};
	uint32_t i;

	for (i = 0; i + 4 <= nr; i += 4) {
		uint32_t four = symbols_at(v, wide, i);

		memcpy(symbol + i, &four, sizeof(four));
		count[0][four & 255]++;
		count[1][four >> 8 & 255]++;
		count[2][four >> 16 & 255]++;
		count[3][four >> 24]++;
	}
	for (; i < nr; i++) {
		symbol[i] = (uint8_t)symbol_of(number(v, wide, i));
		count[0][symbol[i]]++;
	}
	for (unsigned k = 0; k < NR_SYMBOLS; k++)
		s->count[k] = (uint32_t)count[0][k] + count[1][k] + count[2][k] + count[3][k];
	for (s->used = NR_SYMBOLS; !s->count[s->used - 1];)
		s->used--;
	s->bits = bits_of(symbol_base(s->used - 1));
	s->alike = s->count[symbol[0]] == nr;
	for (i = 1; s->alike && i < nr; i++)
		s->alike = number(v, wide, i) == number(v, wide, 0);
}

/* ---- the code ---- */

static uint64_t huffman_bits(const struct column_survey *s, const struct huffman_code *c)
{
	uint64_t bits = s->used * 4;

	for (unsigned i = 0; i < s->used; i++)
		bits += (uint64_t)s->count[i] * (c->bits[i] + extra_bits(i));
	return bits;
}

static uint8_t *put_lengths(uint8_t *dst, const struct huffman_code *c, unsigned nr)
{
	for (unsigned i = 0; i < nr; i += 2)
		*dst++ = (uint8_t)(c->bits[i] | (i + 1 < nr ? c->bits[i + 1] << 4 : 0));
	return dst;
}

/* Output for a symbol: its code, and above it the number's bits in `mask`. */
struct symbol_cell {
	uint64_t mask;
	uint16_t word;
	uint8_t bits, all;
};

/* Returns the maximum number of bits of a number. */
static unsigned make_cells(const struct column_survey *s, const struct huffman_code *c,
			   struct symbol_cell *cell)
{
	unsigned most = 0;

	for (unsigned i = 0; i < s->used; i++) {
		unsigned extra = extra_bits(i), all = c->bits[i] + extra;

		if (!c->bits[i])
			continue;
		cell[i] = (struct symbol_cell){(1ull << extra) - 1, c->word[i], c->bits[i],
					       (uint8_t)all};
		if (all > most)
			most = all;
	}
	return most;
}

/* Joins two numbers before they are written, which shortens the dependency chain. */
static ALWAYS_INLINE uint8_t *put_cells(uint8_t *dst, const void *v, bool wide, uint32_t nr,
					const uint8_t *symbol, const struct symbol_cell *cell)
{
	struct bits_out b = {.p = dst};
	uint32_t i = 0;

	for (; i + 2 <= nr; i += 2) {
		const struct symbol_cell *x = &cell[symbol[i]], *y = &cell[symbol[i + 1]];
		uint64_t first = x->word | (number(v, wide, i) & x->mask) << x->bits;
		uint64_t second = y->word | (number(v, wide, i + 1) & y->mask) << y->bits;

		if (x->all + y->all > 56) {
			bits_put(&b, first, x->all);
			bits_put(&b, second, y->all);
		} else {
			bits_put(&b, first | second << x->all, x->all + y->all);
		}
	}
	if (i < nr) {
		const struct symbol_cell *c = &cell[symbol[i]];

		bits_put(&b, c->word | (number(v, wide, i) & c->mask) << c->bits, c->all);
	}
	return bits_end(&b);
}

/* Numbers that may need more than the 56 bits between two flushes. */
static uint8_t *put_long_cells(uint8_t *dst, const uint64_t *v, uint32_t nr, const uint8_t *symbol,
			       const struct symbol_cell *cell)
{
	struct bits_out b = {.p = dst};

	for (uint32_t i = 0; i < nr; i++) {
		const struct symbol_cell *c = &cell[symbol[i]];
		uint64_t rest = v[i] & c->mask;
		unsigned extra = c->all - c->bits, low = extra < 32 ? extra : 32;

		bits_put(&b, c->word, c->bits);
		bits_put(&b, rest & 0xffffffffu, low);
		bits_put(&b, rest >> 32, extra - low);
	}
	return bits_end(&b);
}

static ALWAYS_INLINE uint8_t *put_huffman(uint8_t *dst, const void *v, bool wide, uint32_t nr,
					  const uint8_t *symbol, const struct column_survey *s,
					  const struct huffman_code *c)
{
	struct symbol_cell cell[NR_SYMBOLS];
	unsigned most = make_cells(s, c, cell);

	dst = put_lengths(dst, c, s->used);
	if (wide && most > 56)
		return put_long_cells(dst, v, nr, symbol, cell);
	return put_cells(dst, v, wide, nr, symbol, cell);
}

static ALWAYS_INLINE uint8_t *put_fixed(uint8_t *dst, const void *v, bool wide, uint32_t nr,
					unsigned bits)
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

/* ---- columns ---- */

static ALWAYS_INLINE size_t column_put(uint8_t *dst, const void *v, bool wide, uint32_t nr)
{
	struct fmt_column h = {.nr = nr, .kind = FMT_COLUMN_FIXED};
	uint8_t symbol[COLUMN_MAX], *p = dst + sizeof(h);
	struct column_survey s;
	struct huffman_code c;

	assert(nr <= COLUMN_MAX);
	if (nr < FEW)
		look_few(v, wide, nr, &s);
	else
		look(v, wide, nr, symbol, &s);
	h.bits = (uint8_t)s.bits;
	if (s.alike) {
		uint64_t n = nr ? number(v, wide, 0) : 0;

		h.kind = FMT_COLUMN_CONST;
		memcpy(p, &n, sizeof(n));
		p += (h.bits + 7) / 8;
		goto out;
	}
	if (nr >= FEW) {
		code_make(s.count, s.used, &c);
		if (huffman_bits(&s, &c) < (uint64_t)nr * h.bits) {
			h.kind = FMT_COLUMN_HUFFMAN;
			h.nr_symbols = (uint8_t)s.used;
			p = put_huffman(p, v, wide, nr, symbol, &s, &c);
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

/* ---- columns of table indexes ---- */

/* Output for a number. */
struct place_code {
	uint64_t v;
	unsigned bits;
};

static void stamps_of_code(const uint32_t *place, uint32_t places, const struct huffman_code *c,
			   struct place_code *stamp)
{
	for (uint32_t k = 0; k < places; k++) {
		unsigned s = symbol_of(place[k]), extra = extra_bits(s);
		uint64_t rest = place[k] & ((1ull << extra) - 1);

		stamp[k] = (struct place_code){c->word[s] | rest << c->bits[s], c->bits[s] + extra};
	}
}

static uint8_t *put_stamps(uint8_t *dst, const uint16_t *ref, uint32_t nr,
			   const struct place_code *stamp)
{
	struct bits_out b = {.p = dst};
	uint32_t i = 0;

	for (; i + 1 < nr; i += 2) {
		const struct place_code *x = &stamp[ref[i]], *y = &stamp[ref[i + 1]];

		bits_add(&b, x->v, x->bits);
		bits_put(&b, y->v, y->bits);
	}
	if (i < nr)
		bits_put(&b, stamp[ref[i]].v, stamp[ref[i]].bits);
	return bits_end(&b);
}

size_t column_put_places(uint8_t *dst, const uint16_t *ref, uint32_t nr, const uint32_t *place,
			 const uint32_t *count, uint32_t places)
{
	struct fmt_column h = {.nr = nr, .kind = FMT_COLUMN_FIXED};
	struct place_code stamp[PLACES_MAX];
	struct column_survey s = {.used = symbol_of(places - 1) + 1};
	uint8_t *p = dst + sizeof(h);
	struct huffman_code c;

	assert(nr && places && places <= PLACES_MAX);
	h.bits = (uint8_t)bits_of(places - 1);
	if (places == 1) {
		h.kind = FMT_COLUMN_CONST;
		goto out;
	}
	for (uint32_t k = 0; k < places; k++) {
		s.count[symbol_of(place[k])] += count[k];
		stamp[k] = (struct place_code){place[k], h.bits};
	}
	code_make(s.count, s.used, &c);
	if (nr >= FEW && huffman_bits(&s, &c) < (uint64_t)nr * h.bits) {
		h.kind = FMT_COLUMN_HUFFMAN;
		h.nr_symbols = (uint8_t)s.used;
		p = put_lengths(p, &c, s.used);
		stamps_of_code(place, places, &c, stamp);
	}
	p = put_stamps(p, ref, nr, stamp);
out:
	memcpy(dst, &h, sizeof(h));
	return (size_t)(p - dst);
}
