// SPDX-License-Identifier: MIT
/* The words of a class of packed records; see unpack_impl.h. */
#include "dump/packed/unpack_impl.h"

#include <errno.h>

int unpack_masks(struct unpacker *u, struct unpack_class *c)
{
	int rc = 0;

	if (!c->have_masks)
		rc = unpack_column32(stream_of(u, c->first_stream + FMT_STREAM_CLASS_MASKS),
				     c->f.nr_records, &c->masks);
	c->have_masks = !rc;
	return rc;
}

/* A KEEP word: one number per template. */
static int keep_word(struct unpack_class *c, struct word_stream *w, struct bytes stream,
		     uint32_t word)
{
	uint32_t *image = (uint32_t *)c->images.p, last = 0;
	int rc = words_open(w, stream, c->nr_templates);

	if (!rc && w->nr != c->nr_templates)
		rc = -EBADMSG;
	for (uint32_t t = 0; t < c->nr_templates && !rc; t++) {
		rc = words_next(w, last, &last);
		image[(size_t)t * c->f.words + word] = last;
	}
	return rc;
}

/*
 * A VARY (in the column when `bit` of the mask is set) or DIRECT (`bit` UINT32_MAX) word: one number
 * per record. `last` has room for one per template.
 */
static int value_word(const struct unpacker *u, struct unpack_class *c, struct word_stream *w,
		      struct bytes stream, uint32_t bit, uint32_t *values, uint32_t *last)
{
	const uint16_t *tpl = (const uint16_t *)u->tpl_by_class.p + c->first_record;
	const uint32_t *masks = (const uint32_t *)c->masks.p;
	bool always = bit == UINT32_MAX;
	int rc = words_open(w, stream, c->f.nr_records);

	if (rc)
		return rc;
	memset(last, 0, c->nr_templates * sizeof(*last));
	for (uint32_t r = 0; r < c->f.nr_records; r++) {
		uint32_t *l = &last[tpl[r]];

		if ((always || masks[r] >> bit & 1) && words_next(w, *l, l))
			return -EBADMSG;
		values[r] = *l;
	}
	return w->at == w->nr ? 0 : -EBADMSG;
}

/* Stores a CONST or SIZE word in all images. */
static void const_word(struct unpack_class *c, uint32_t word, uint32_t v)
{
	uint32_t *image = (uint32_t *)c->images.p;

	for (uint32_t t = 0; t < c->nr_templates; t++)
		image[(size_t)t * c->f.words + word] = v;
}

static int add_varying(struct unpack_class *c, uint32_t word, uint32_t values)
{
	struct varying_word v = {(uint16_t)word, c->roles[word], values};

	c->nr_varying++;
	return buf_put(&c->varying, &v, sizeof(v));
}

static bool is_needed(const struct unpack_class *c, uint32_t word, enum unpack_part part)
{
	if (part == UNPACK_ALL)
		return true;
	return part != UNPACK_FIXED && word < 64 && c->needed >> word & 1;
}

/* Reads the words of a class; `w` and `last` are scratch memory. */
static int read_words(struct unpacker *u, struct unpack_class *c, enum unpack_part part,
		      struct word_stream *w, uint32_t *last)
{
	uint32_t stream = c->first_stream + FMT_STREAM_CLASS_WORDS, vary = 0, columns = 0,
		 constants = 0;
	uint32_t *values = (uint32_t *)c->values.p;
	int rc = 0;

	for (uint32_t word = 0; word < c->f.words && !rc; word++) {
		uint32_t at = columns * c->f.nr_records, bit, v;

		switch (c->roles[word]) {
		case FMT_ROLE_SIZE:
			rc = add_varying(c, word, 0);
			/* fall through */
		case FMT_ROLE_CONST:
			memcpy(&v, c->constants + 4u * constants++, sizeof(v));
			if (!c->have_fixed)
				const_word(c, word, v);
			break;
		case FMT_ROLE_KEEP:
			if (!c->have_fixed)
				rc = keep_word(c, w, stream_of(u, stream), word);
			stream++;
			break;
		case FMT_ROLE_VARY:
		case FMT_ROLE_DIRECT:
			bit = c->roles[word] == FMT_ROLE_VARY ? vary++ : UINT32_MAX;
			if (is_needed(c, word, part)) {
				rc = value_word(u, c, w, stream_of(u, stream), bit, values + at,
						last);
				rc = rc ? rc : add_varying(c, word, at);
			}
			stream++;
			columns++;
			break;
		case FMT_ROLE_TIME_HI:
		case FMT_ROLE_IP_HI:
			break;
		default:
			rc = add_varying(c, word, 0);
		}
	}
	return rc;
}

static int prepare_images(struct unpack_class *c)
{
	size_t nr = (size_t)c->nr_templates * c->f.words;
	int rc = c->have_fixed ? 0 : unpack_room(&c->images, nr, 4);

	if (!rc && !c->have_fixed)
		memset(c->images.p, 0, nr * 4);
	return rc;
}

int unpack_words(struct unpacker *u, uint32_t cls, enum unpack_part part)
{
	struct unpack_class *c = &u->classes[cls];
	struct word_stream w = {0};
	struct buf last = {0};
	int rc = unpack_masks(u, c);

	c->nr_varying = 0;
	c->varying.len = 0;
	if (!rc)
		rc = prepare_images(c);
	if (!rc)
		rc = unpack_room(&c->values, (size_t)c->f.nr_records * (c->nr_vary + c->nr_direct),
				 4);
	if (!rc)
		rc = unpack_room(&last, c->nr_templates, 4);
	if (!rc)
		rc = read_words(u, c, part, &w, (uint32_t *)last.p);
	words_close(&w);
	buf_free(&last);
	c->have_fixed = !rc;
	c->have_values = rc ? UNPACK_FIXED : (uint8_t)part;
	return rc;
}
