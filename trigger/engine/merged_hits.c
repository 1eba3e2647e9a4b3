// SPDX-License-Identifier: MIT
/* See merged_hits.h. */
#include "trigger/engine/merged_hits.h"

#include <stdio.h>
#include <string.h>

/* The row with that name, else a new one, else (table full) the row "other". */
static struct engine_merged *row(struct merged_hits *h, const char *name)
{
	struct engine_merged *m;

	for (size_t i = 0; i < h->nr; i++)
		if (!strcmp(h->v[i].name, name))
			return &h->v[i];
	if (h->nr == ENGINE_MERGED_MAX)
		return &h->v[ENGINE_MERGED_MAX - 1];
	if (h->nr == ENGINE_MERGED_MAX - 1)
		name = "other";
	m = &h->v[h->nr++];
	*m = (struct engine_merged){.first_ns = UINT64_MAX};
	snprintf(m->name, sizeof(m->name), "%s", name);
	return m;
}

void merged_hits_add(struct merged_hits *h, const struct engine_merged *add)
{
	struct engine_merged *m = row(h, add->name);

	if (add->first_ns < m->first_ns)
		m->first_ns = add->first_ns;
	if (add->last_ns > m->last_ns)
		m->last_ns = add->last_ns;
	m->nr_hits += add->nr_hits;
}

uint64_t merged_hits_of(const struct sighting *what)
{
	return what->nr_hits ? what->nr_hits : 1;
}

void merged_hits_note(struct merged_hits *h, const struct rule *rule, const struct sighting *what)
{
	struct engine_merged m = {
		.first_ns = what->ns, .last_ns = what->ns, .nr_hits = merged_hits_of(what)};

	snprintf(m.name, sizeof(m.name), "%s", rule->name);
	merged_hits_add(h, &m);
}

uint64_t merged_hits_sum(const struct merged_hits *h)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < h->nr; i++)
		sum += h->v[i].nr_hits;
	return sum;
}
