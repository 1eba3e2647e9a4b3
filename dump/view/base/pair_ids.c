// SPDX-License-Identifier: MIT
/* Numbers for pairs; see pair_ids.h. */
#include "dump/view/base/pair_ids.h"

struct pair {
	uint64_t a, b;
};

static const struct pair *pair_at(const struct pair_ids *m, uint32_t i)
{
	return (const struct pair *)m->pairs.p + i;
}

void pair_ids_get(const struct pair_ids *m, uint32_t id, uint64_t *a, uint64_t *b)
{
	*a = pair_at(m, id - 1)->a;
	*b = pair_at(m, id - 1)->b;
}

uint32_t pair_ids_add(struct pair_ids *m, uint64_t a, uint64_t b, bool *is_new)
{
	uint64_t hash = hash_mix(hash_mix(0, a), b);
	struct pair p = {a, b};
	uint32_t at = 0, i;

	if (is_new)
		*is_new = false;
	while (hash_next(&m->index, hash, &at, &i))
		if (pair_at(m, i)->a == a && pair_at(m, i)->b == b)
			return i + 1;
	if (buf_reserve(&m->pairs, sizeof(p)) || hash_add(&m->index, hash))
		return 0;
	buf_put(&m->pairs, &p, sizeof(p));
	if (is_new)
		*is_new = true;
	return pair_ids_nr(m);
}

void pair_ids_free(struct pair_ids *m)
{
	buf_free(&m->pairs);
	hash_free(&m->index);
}
