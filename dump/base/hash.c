// SPDX-License-Identifier: MIT
/* A table from hashes to rows; see hash.h. Open addressing, linear probing. */
#include "dump/base/hash.h"

#include <errno.h>
#include <stdlib.h>

#define MIN_SLOTS 64u

static void put(struct hash *t, struct hash_slot s)
{
	size_t at = s.hash & (t->nr_slots - 1);

	while (t->slots[at].row)
		at = (at + 1) & (t->nr_slots - 1);
	t->slots[at] = s;
}

static int grow(struct hash *t)
{
	struct hash more = {.nr_slots = t->nr_slots ? 2 * t->nr_slots : MIN_SLOTS, .nr = t->nr};

	more.slots = calloc(more.nr_slots, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr_slots; i++)
		if (t->slots[i].row)
			put(&more, t->slots[i]);
	free(t->slots);
	*t = more;
	return 0;
}

int hash_add(struct hash *t, uint64_t hash)
{
	if (t->nr == UINT32_MAX || (4 * ((size_t)t->nr + 1) > 3 * t->nr_slots && grow(t)))
		return -ENOMEM;
	put(t, (struct hash_slot){(uint32_t)hash, ++t->nr});
	return 0;
}

void hash_free(struct hash *t)
{
	free(t->slots);
	*t = (struct hash){0};
}
