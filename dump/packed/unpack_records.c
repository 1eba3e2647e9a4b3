// SPDX-License-Identifier: MIT
/* Restores packed records, in whole or in part; see unpack.h. */
#include "dump/packed/unpack_impl.h"

#include "dump/base/err.h"

#include <errno.h>

static inline const struct unpack_class *class_of_record(const struct unpacker *u, uint32_t i)
{
	return &u->classes[unpack_class_of(u, ((const uint16_t *)u->tpl.p)[i])];
}

/* The position of word `w` in a record with a chain of `chain` bytes. */
static inline uint8_t *place_of(const struct unpack_class *c, uint8_t *rec, uint32_t chain,
				uint32_t w)
{
	return rec + w * 4u + (w >= c->f.chain_at ? chain : 0) +
	       (w >= c->f.bulk_at ? c->f.bulk_words * 4u : 0);
}

static inline void put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

static inline void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* The words that are equal in all records of a template. */
static void put_image(const struct unpack_class *c, const uint32_t *image, uint8_t *rec,
		      uint32_t chain)
{
	uint32_t a = c->f.chain_at < c->f.words ? c->f.chain_at : c->f.words;
	uint32_t b = c->f.bulk_at < c->f.words ? c->f.bulk_at : c->f.words;

	memcpy(rec, image, a * 4u);
	if (b > a)
		memcpy(place_of(c, rec, chain, a), image + a, (b - a) * 4u);
	if (c->f.words > b)
		memcpy(place_of(c, rec, chain, b), image + b, (c->f.words - b) * 4u);
}

struct record_place {
	uint32_t i, ordinal, chain, nr_chain;
};

static void patch(const struct unpacker *u, const struct unpack_class *c,
		  const struct varying_word *v, const struct record_place *at, uint8_t *to)
{
	const uint32_t *tids = (const uint32_t *)u->tids.p;
	uint32_t old;

	switch (v->role) {
	case FMT_ROLE_VARY:
	case FMT_ROLE_DIRECT:
		put32(to, ((const uint32_t *)c->values.p)[v->values + at->ordinal]);
		break;
	case FMT_ROLE_TIME:
		put64(to, ((const uint64_t *)u->times.p)[at->i]);
		break;
	case FMT_ROLE_TID:
		put32(to, tids[at->i + 1]);
		break;
	case FMT_ROLE_PREV:
		put32(to, tids[at->i]);
		break;
	case FMT_ROLE_SIZE:
		memcpy(&old, to, sizeof(old));
		put32(to, old + (at->nr_chain * 8 << 16));
		break;
	case FMT_ROLE_NR:
		put32(to, at->nr_chain);
		break;
	case FMT_ROLE_IP:
		if (at->nr_chain > 1)
			put64(to, unpack_chain_second(u, at->chain));
		break;
	}
}

/* Builds a record of a class other than 0 from unpacked columns. */
static void build(const struct unpacker *u, const struct unpack_class *c, uint32_t i, uint8_t *dst,
		  enum unpack_part part)
{
	struct record_place at = {.i = i, .ordinal = ((const uint32_t *)u->ordinal.p)[i]};
	uint32_t r = c->first_record + at.ordinal, chain = 0;
	const uint32_t *image = (const uint32_t *)c->images.p +
				(size_t)((const uint16_t *)u->tpl_by_class.p)[r] * c->f.words;

	if (c->has_chain) {
		at.chain = ((const uint32_t *)u->chain_by_class.p)[r];
		at.nr_chain = ((const uint32_t *)u->depth_of_chain.p)[at.chain];
		chain = at.nr_chain * 8;
		if (part >= UNPACK_CHAIN)
			unpack_chain(u, at.chain, dst + c->f.chain_at * 4u);
		else
			memset(dst + c->f.chain_at * 4u, 0, chain);
	}
	put_image(c, image, dst, chain);
	for (size_t k = 0; k < c->nr_varying; k++) {
		const struct varying_word *v = &((const struct varying_word *)c->varying.p)[k];

		patch(u, c, v, &at, place_of(c, dst, chain, v->word));
	}
	if (c->f.bulk_words && part < UNPACK_ALL)
		memset(dst + c->f.bulk_at * 4u + chain, 0, c->f.bulk_words * 4u);
	else if (c->f.bulk_words)
		memcpy(dst + c->f.bulk_at * 4u + chain,
		       stream_of(u, FMT_STREAM_BULK).p + ((const uint32_t *)u->bulk.p)[i],
		       c->f.bulk_words * 4u);
}

static int put_record(struct unpacker *u, uint32_t i, uint8_t *dst, enum unpack_part part)
{
	uint32_t cls = unpack_class_of(u, ((const uint16_t *)u->tpl.p)[i]);
	struct unpack_class *c = &u->classes[cls];
	const uint32_t *offsets = (const uint32_t *)u->offsets.p;
	enum unpack_part values = part == UNPACK_CHAIN ? UNPACK_NEEDED : part;
	int rc = 0;

	if (!cls) {
		memcpy(dst, stream_of(u, FMT_STREAM_BULK).p + ((const uint32_t *)u->bulk.p)[i],
		       offsets[i + 1] - offsets[i]);
		return 0;
	}
	if (!c->have_fixed || c->have_values < values)
		rc = unpack_words(u, cls, values);
	if (rc)
		return rc;
	build(u, c, i, dst, part);
	return 0;
}

int unpack_record(struct unpacker *u, uint32_t i, uint8_t *dst, struct err *err)
{
	return unpack_part(u, i, UNPACK_ALL, dst, err);
}

int unpack_part(struct unpacker *u, uint32_t i, enum unpack_part part, uint8_t *dst,
		struct err *err)
{
	int rc = unpack_need_all(u);

	if (!rc)
		rc = put_record(u, i, dst, part);
	return rc ? unpack_broken(err, rc, "records") : 0;
}

bool unpack_is_even(const struct unpacker *u, uint32_t i)
{
	const struct unpack_class *c = class_of_record(u, i);

	return c != &u->classes[0] && !c->has_chain && !c->f.bulk_words;
}

void unpack_change(const struct unpacker *u, uint32_t i, uint8_t *rec)
{
	const struct unpack_class *c = class_of_record(u, i);
	struct record_place at = {.i = i, .ordinal = ((const uint32_t *)u->ordinal.p)[i]};

	for (size_t k = 0; k < c->nr_varying; k++) {
		const struct varying_word *v = &((const struct varying_word *)c->varying.p)[k];

		patch(u, c, v, &at, rec + v->word * 4u);
	}
}

int unpack_all(struct unpacker *u, struct buf *out, struct err *err)
{
	struct bytes bulk = stream_of(u, FMT_STREAM_BULK);
	const uint32_t *offsets;
	int rc = unpack_need_all(u);

	out->len = 0;
	if (!rc)
		rc = buf_reserve(out, u->h.content_bytes + 1u);
	if (rc)
		return unpack_broken(err, rc, "records");
	offsets = (const uint32_t *)u->offsets.p;
	for (uint32_t i = 0; i < u->h.nr_records && !rc; i++)
		rc = put_record(u, i, out->p + offsets[i], UNPACK_ALL);
	if (rc)
		return unpack_broken(err, rc, "records");
	memcpy(out->p + offsets[u->h.nr_records], bulk.p + bulk.len - u->h.tail_bytes,
	       u->h.tail_bytes);
	out->len = u->h.content_bytes;
	return 0;
}
