// SPDX-License-Identifier: MIT
/*
 * Hash table of the templates of a run. Called by pack_match.c.
 *
 * Most words of a template are firm: equal in all samples of the class, and in all records so far.
 * Templates differ only in the few loose words, and only these are hashed.
 */
#include "dump/packed/pack_impl.h"

#include "dump/base/hash.h"

#define MIN_INDEX_BITS 10
#define MAX_INDEX_BITS 15

_Static_assert(4 * MAX_TEMPLATES == 1 << MAX_INDEX_BITS, "the index has room for all");

/* ---- the index ---- */

/* A sum, so that the multiplications are independent. The upper bits are mixed best. */
static uint64_t hash_of(const struct pack_class *c, const struct pack_view *v, uint32_t cls)
{
	uint64_t h = (uint64_t)cls << 60;

	for (unsigned i = 0; i < c->nr_loose; i++)
		h += (at64(v, c->loose[i].place) & c->loose[i].mask) * c->loose[i].factor;
	return h;
}

static uint64_t hash_words(const struct pack_class *c, const uint64_t *words, uint32_t cls)
{
	uint64_t h = (uint64_t)cls << 60;

	for (unsigned i = 0; i < c->nr_loose; i++)
		h += (words[c->loose[i].place.at / 8] & c->loose[i].mask) * c->loose[i].factor;
	return h;
}

static void index_template(struct packer *p, uint32_t t)
{
	uint32_t mask = (1u << p->index_bits) - 1;
	uint32_t at = (uint32_t)(p->tpl[t].hash >> (64 - p->index_bits));

	while (p->tpl_index[at])
		at = (at + 1) & mask;
	p->tpl_index[at] = (uint16_t)t;
}

/* A small index stays in the cache while there are few templates. */
static void start_index(struct packer *p, unsigned bits)
{
	p->index_bits = bits;
	memset(p->tpl_index, 0, sizeof(p->tpl_index[0]) << bits);
	for (uint32_t t = 1; t < p->nr_tpl; t++)
		index_template(p, t);
}

void pack_template_clear(struct packer *p)
{
	p->tpl[0] = (struct pack_template){0};
	p->nr_tpl = 1;
	p->arena_used = 0;
	start_index(p, MIN_INDEX_BITS);
}

/* ---- loose words ---- */

void pack_template_loosen(struct pack_class *c, uint32_t w, uint64_t mask)
{
	uint64_t factor = hash_mix(0, hash_mix(0, w + 1)) | 1; /* odd */
	struct pack_place place = {(uint16_t)(w * 8), part_of(c, w * 2)};

	c->firm[w] &= ~mask;
	c->firm_value[w] &= ~mask;
	for (unsigned i = 0; i < c->nr_loose; i++) {
		if (c->loose[i].place.at == place.at) {
			c->loose[i].mask |= mask;
			return;
		}
	}
	c->loose[c->nr_loose++] = (struct pack_key){place, mask, factor};
}

/* Loosens firm words that differ in this record. Returns whether there were any. */
static bool loosen(struct packer *p, uint32_t cls, const struct pack_view *v)
{
	struct pack_class *c = &p->classes[cls];
	bool any = false;

	for (uint32_t w = 1; w < c->words / 2u; w++) {
		uint64_t word = load64(v->base[part_of(c, w * 2)] + w * 8);

		if ((word & c->firm[w]) == c->firm_value[w])
			continue;
		pack_template_loosen(c, w, c->firm[w]);
		any = true;
	}
	if (!any)
		return false;
	for (uint32_t t = 1; t < p->nr_tpl; t++)
		if (p->tpl[t].cls == cls)
			p->tpl[t].hash = hash_words(c, p->arena + p->tpl[t].words, cls);
	start_index(p, p->index_bits);
	return true;
}

/* ---- templates ---- */

/* Words that are not kept start as 0. */
static uint32_t add(struct packer *p, uint32_t cls, const struct pack_view *v, uint64_t hash)
{
	const struct pack_class *c = &p->classes[cls];
	uint32_t words = c->words / 2u, t = p->nr_tpl;
	uint64_t *to = p->arena + p->arena_used;

	if (t == MAX_TEMPLATES || words > ARENA_WORDS - p->arena_used)
		return 0;
	for (uint32_t w = 0; w < words; w++)
		to[w] = load64(v->base[part_of(c, w * 2)] + w * 8) & c->keep[w];
	p->tpl[t] = (struct pack_template){
		.hash = hash, .words = p->arena_used, .chain = PACKCHAIN_NONE, .cls = (uint8_t)cls};
	p->arena_used += words;
	p->nr_tpl++;
	if (t >> (p->index_bits - 2) && p->index_bits < MAX_INDEX_BITS)
		start_index(p, p->index_bits + 1);
	else
		index_template(p, t);
	return t;
}

uint32_t pack_template_find(struct packer *p, uint32_t cls, const struct pack_view *v)
{
	const struct pack_class *c = &p->classes[cls];
	uint32_t mask = (1u << p->index_bits) - 1, at, t;
	uint64_t hash = hash_of(c, v, cls);

	for (at = (uint32_t)(hash >> (64 - p->index_bits)); (t = p->tpl_index[at]);
	     at = (at + 1) & mask)
		if (p->tpl[t].hash == hash && p->tpl[t].cls == cls &&
		    pack_template_is(p, c, v, &p->tpl[t]))
			return t;
	return add(p, cls, v, loosen(p, cls, v) ? hash_of(c, v, cls) : hash);
}
