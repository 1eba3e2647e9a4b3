// SPDX-License-Identifier: MIT
/* Pairs to numbers; see pair_ids.h. An open hash table of numbers over an array of pairs. */
#include "dump/view/base/pair_ids.h"

#include <stdlib.h>

#define MIN_SLOTS 1024u

struct pair {
	uint64_t a, b;
};

static const struct pair *pair_at(const struct pair_ids *m, uint32_t id)
{
	return (const struct pair *)m->pairs.p + (id - 1);
}

uint32_t pair_ids_nr(const struct pair_ids *m)
{
	return (uint32_t)(m->pairs.len / sizeof(struct pair));
}

void pair_ids_get(const struct pair_ids *m, uint32_t id, uint64_t *a, uint64_t *b)
{
	*a = pair_at(m, id)->a;
	*b = pair_at(m, id)->b;
}

static uint32_t *slot_of(const struct pair_ids *m, uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b >> 31) * 0x9e3779b97f4a7c15ull;
	size_t at;

	h = (h ^ h >> 29 ^ b) * 0xbf58476d1ce4e5b9ull;
	at = (h ^ h >> 32) & (m->nr_slots - 1);
	while (m->slots[at] &&
	       (pair_at(m, m->slots[at])->a != a || pair_at(m, m->slots[at])->b != b))
		at = (at + 1) & (m->nr_slots - 1);
	return &m->slots[at];
}

static bool grow(struct pair_ids *m)
{
	struct pair_ids more = {.pairs = m->pairs,
				.nr_slots = m->nr_slots ? 2 * m->nr_slots : MIN_SLOTS};

	more.slots = calloc(more.nr_slots, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (uint32_t id = 1; id <= pair_ids_nr(m); id++)
		*slot_of(&more, pair_at(m, id)->a, pair_at(m, id)->b) = id;
	free(m->slots);
	*m = more;
	return true;
}

uint32_t pair_ids_add(struct pair_ids *m, uint64_t a, uint64_t b, bool *is_new)
{
	struct pair p = {a, b};
	uint32_t *slot;

	if (2 * ((size_t)pair_ids_nr(m) + 1) > m->nr_slots && !grow(m))
		return 0;
	slot = slot_of(m, a, b);
	if (is_new)
		*is_new = !*slot;
	if (!*slot) {
		if (pair_ids_nr(m) == UINT32_MAX || buf_put(&m->pairs, &p, sizeof(p)))
			return 0;
		*slot = pair_ids_nr(m);
	}
	return *slot;
}

void pair_ids_free(struct pair_ids *m)
{
	buf_free(&m->pairs);
	free(m->slots);
	*m = (struct pair_ids){0};
}
