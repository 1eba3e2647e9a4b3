// SPDX-License-Identifier: MIT
/*
 * Templates and threads of packed records without restoring them. The timeline uses it to skip
 * records early.
 */
#include "dump/packed/unpack_impl.h"

uint32_t unpack_nr_templates(const struct unpacker *u)
{
	return u->h.nr_templates + 1;
}

uint32_t unpack_template(const struct unpacker *u, uint32_t i)
{
	return ((const uint16_t *)u->tpl.p)[i];
}

/* The word of its class at offset `off` of record `i`; -1: none. */
static int word_at(const struct unpacker *u, uint32_t i, uint32_t off)
{
	uint32_t tpl = unpack_template(u, i), word = off / 4, gap;
	const struct unpack_class *c;

	if (!tpl || off % 4)
		return -1;
	c = &u->classes[unpack_class_of(u, tpl)];
	if (word >= c->f.chain_at) {
		uint32_t r = c->first_record + ((const uint32_t *)u->ordinal.p)[i];
		uint32_t id = ((const uint32_t *)u->chain_by_class.p)[r];

		gap = ((const uint32_t *)u->depth_of_chain.p)[id] * 2;
		if (word < c->f.chain_at + gap)
			return -1;
		word -= gap;
	}
	if (word >= c->f.bulk_at) {
		if (word < c->f.bulk_at + c->f.bulk_words)
			return -1;
		word -= c->f.bulk_words;
	}
	return word < c->f.words ? (int)word : -1;
}

/* The role of that word; -1: none. */
static int role_at(const struct unpacker *u, uint32_t i, uint32_t off)
{
	int word = word_at(u, i, off);

	return word < 0 ? -1 : u->classes[unpack_class_of(u, unpack_template(u, i))].roles[word];
}

bool unpack_is_fixed(const struct unpacker *u, uint32_t i, uint32_t off)
{
	int role = role_at(u, i, off);

	return role == FMT_ROLE_CONST || role == FMT_ROLE_KEEP;
}

bool unpack_is_thread(const struct unpacker *u, uint32_t i, uint32_t off)
{
	return role_at(u, i, off) == FMT_ROLE_TID;
}

bool unpack_need(struct unpacker *u, uint32_t i, uint32_t off)
{
	struct unpack_class *c = &u->classes[unpack_class_of(u, unpack_template(u, i))];
	int word = word_at(u, i, off);

	if (word < 0 || word >= 64)
		return false;
	if (!(c->needed >> word & 1) && c->have_values < UNPACK_ALL)
		c->have_values = UNPACK_FIXED;
	c->needed |= 1ull << word;
	return true;
}
