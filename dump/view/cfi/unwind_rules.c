// SPDX-License-Identifier: MIT
/* Unwind rules by image and place; see unwind_rules.h. */
#include "dump/view/cfi/unwind_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Ordered by place; before sorting, several may have the same start. */
struct rule_slot {
	uint64_t start, bytes;
	uint32_t group, id;
};

struct unwind_rules {
	struct buf slots; /* struct rule_slot[] */
	size_t nr_slots;
	struct buf all; /* struct unwind_rule *[], by id */
	size_t nr;
	uint64_t bytes;
	struct buf clean; /* of the rule being added */
};

static const struct rule_slot *slots(const struct unwind_rules *r)
{
	return (const struct rule_slot *)r->slots.p;
}

static int new_rule(struct unwind_rules *r, uint32_t group, const struct cfi_rule *in,
		    struct unwind_rule **out)
{
	struct cfi_rule clean;
	struct unwind_rule *rule;
	size_t bytes;
	int rc = cfi_clean(in, &r->clean, &clean);

	if (rc)
		return rc;
	bytes = clean.initial.len + clean.program.len;
	if (r->bytes + bytes > RULES_MAX_BYTES)
		return -E2BIG;
	rule = malloc(sizeof(*rule) + bytes);
	if (!rule)
		return -ENOMEM;
	*rule = (struct unwind_rule){clean, group, (uint32_t)r->nr};
	rule->r.initial.p = (uint8_t *)(rule + 1);
	rule->r.program.p = rule->r.initial.p + clean.initial.len;
	memcpy(rule + 1, r->clean.p, bytes);
	rc = buf_put(&r->all, &rule, sizeof(rule));
	if (rc) {
		free(rule);
		return rc;
	}
	r->nr++;
	r->bytes += sizeof(*rule) + bytes;
	*out = rule;
	return 0;
}

/* ---- the set ---- */

struct unwind_rules *unwind_rules_new(void)
{
	return calloc(1, sizeof(struct unwind_rules));
}

void unwind_rules_free(struct unwind_rules *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->nr; i++)
		free(((struct unwind_rule **)r->all.p)[i]);
	buf_free(&r->all);
	buf_free(&r->slots);
	buf_free(&r->clean);
	free(r);
}

/* The first slot after the place. */
static size_t behind(const struct unwind_rules *r, uint32_t group, uint64_t place)
{
	const struct rule_slot *v = slots(r);
	size_t from = 0, to = r->nr_slots;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (v[mid].group < group || (v[mid].group == group && v[mid].start <= place))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

const struct unwind_rule *unwind_rules_nth(const struct unwind_rules *r, size_t id)
{
	return id < r->nr ? ((struct unwind_rule *const *)r->all.p)[id] : NULL;
}

size_t unwind_rules_nr(const struct unwind_rules *r)
{
	return r->nr;
}

const struct unwind_rule *unwind_rules_find(const struct unwind_rules *r, uint32_t group,
					    uint64_t place)
{
	size_t i = behind(r, group, place);
	const struct rule_slot *s;

	if (!i)
		return NULL;
	s = slots(r) + i - 1;
	return s->group == group && place - s->start < s->bytes ? unwind_rules_nth(r, s->id) : NULL;
}

const struct unwind_rule *unwind_rules_in_order(const struct unwind_rules *r, size_t i)
{
	return i < r->nr_slots ? unwind_rules_nth(r, slots(r)[i].id) : NULL;
}

static int insert(struct unwind_rules *r, size_t i, const struct unwind_rule *rule)
{
	struct rule_slot s = {rule->r.start, rule->r.bytes, rule->group, rule->id};
	struct rule_slot *v;
	int rc = buf_reserve(&r->slots, sizeof(s));

	if (rc)
		return rc;
	v = (struct rule_slot *)r->slots.p;
	memmove(v + i + 1, v + i, (r->nr_slots - i) * sizeof(s));
	v[i] = s;
	r->nr_slots++;
	r->slots.len += sizeof(s);
	return 0;
}

int unwind_rules_add(struct unwind_rules *r, uint32_t group, const struct cfi_rule *in,
		     const struct unwind_rule **out)
{
	size_t i = behind(r, group, in->start);
	struct unwind_rule *rule;
	int rc;

	if (i && slots(r)[i - 1].group == group && slots(r)[i - 1].start == in->start) {
		*out = unwind_rules_nth(r, slots(r)[i - 1].id);
		return 0;
	}
	rc = new_rule(r, group, in, &rule);
	if (!rc)
		rc = insert(r, i, rule);
	if (!rc)
		*out = rule;
	return rc;
}

int unwind_rules_put(struct unwind_rules *r, uint32_t group, const struct cfi_rule *in)
{
	struct unwind_rule *rule;
	int rc = new_rule(r, group, in, &rule);

	return rc ? rc : insert(r, r->nr_slots, rule);
}

static int compare_slots(const void *a, const void *b)
{
	const struct rule_slot *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

void unwind_rules_sort(struct unwind_rules *r, const uint32_t *groups)
{
	struct rule_slot *v = (struct rule_slot *)r->slots.p;
	size_t kept = 0;

	for (size_t i = 0; groups && i < r->nr_slots; i++) {
		v[i].group = groups[v[i].group];
		((struct unwind_rule **)r->all.p)[v[i].id]->group = v[i].group;
	}
	if (r->nr_slots)
		qsort(v, r->nr_slots, sizeof(*v), compare_slots);
	for (size_t i = 0; i < r->nr_slots; i++)
		if (!kept || v[kept - 1].group != v[i].group || v[kept - 1].start != v[i].start)
			v[kept++] = v[i];
	r->nr_slots = kept;
	r->slots.len = kept * sizeof(*v);
}
