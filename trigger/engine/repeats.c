// SPDX-License-Identifier: MIT
/* See repeats.h. A linear search of a few hundred entries is enough: hits are rare. */
#include "trigger/engine/repeats.h"

#include "dump/base/hash.h"

#include "trigger/engine/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct repeats {
	struct repeat v[REPEATS_MAX];
	size_t nr;
	uint64_t nr_forgotten;
};

int repeats_new(struct repeats **out)
{
	struct repeats *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*out = r;
	return 0;
}

void repeats_free(struct repeats *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr; i++)
		quota_fini(&r->v[i].kept);
	free(r);
}

uint64_t repeats_signature(const struct rule *rule, const struct sighting *what)
{
	uint64_t h = hash_bytes(what->stack_hash, rule->name, strlen(rule->name));

	return hash_bytes(h, what->comm, strnlen(what->comm, sizeof(what->comm)));
}

struct repeat *repeats_find(struct repeats *r, uint64_t id)
{
	for (size_t i = 0; i < r->nr; i++)
		if (r->v[i].id == id)
			return &r->v[i];
	return NULL;
}

static struct repeat *oldest(struct repeats *r)
{
	struct repeat *found = &r->v[0];

	for (size_t i = 1; i < r->nr; i++)
		if (r->v[i].last_ns < found->last_ns)
			found = &r->v[i];
	return found;
}

static struct repeat *add(struct repeats *r)
{
	struct repeat *new;

	if (r->nr < REPEATS_MAX) {
		new = &r->v[r->nr++];
	} else {
		new = oldest(r);
		quota_fini(&new->kept);
		r->nr_forgotten++;
	}
	*new = (struct repeat){0};
	return new;
}

struct repeat *repeats_note(struct repeats *r, const struct rule *rule, const struct sighting *what)
{
	uint64_t id = repeats_signature(rule, what);
	struct repeat *p = repeats_find(r, id);

	if (!p) {
		p = add(r);
		p->id = id;
		p->stack_hash = what->stack_hash;
		p->first_ns = what->ns;
		snprintf(p->rule, sizeof(p->rule), "%s", rule->name);
		snprintf(p->comm, sizeof(p->comm), "%s", what->comm);
	}
	p->nr_seen += what->nr_hits ? what->nr_hits : 1;
	if (what->ns > p->last_ns)
		p->last_ns = what->ns;
	return p;
}

void repeat_kept(struct repeat *p, const struct rule *rule, uint64_t ns)
{
	p->nr_kept++;
	/* Without memory for the quota, dumps are not limited. */
	if (rule->max_same > 0 && !quota_resize(&p->kept, (uint32_t)rule->max_same))
		quota_note(&p->kept, ns);
}

uint64_t repeat_blocked_until(const struct repeat *p, const struct rule *rule)
{
	return rule->max_same > 0 && p->kept.max == (uint32_t)rule->max_same
		       ? quota_until(&p->kept, rule->same_period_ns)
		       : 0;
}

uint64_t repeat_blocked_after(struct repeat *p, const struct rule *rule, uint64_t ns)
{
	if (rule->max_same <= 0 || quota_resize(&p->kept, (uint32_t)rule->max_same))
		return 0;
	return quota_until_after(&p->kept, rule->same_period_ns, ns);
}

size_t repeats_nr(const struct repeats *r)
{
	return r->nr;
}

const struct repeat *repeats_at(const struct repeats *r, size_t i)
{
	return &r->v[i];
}

uint64_t repeats_nr_forgotten(const struct repeats *r)
{
	return r->nr_forgotten;
}
