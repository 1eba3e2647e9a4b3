// SPDX-License-Identifier: MIT
/* Handles each hit and the dump made for it: limits and counts here, the decision in hit_machine.h.
 * The time is a parameter, so tests need no clock. */
#include "trigger/engine/engine_impl.h"

#include <assert.h>
#include <string.h>

static int64_t post_ns(const struct engine *e, const struct rule *rule)
{
	return rule->post_ns >= 0 ? rule->post_ns : e->opt.post_ns;
}

/* The slot of the dump's rule; after a reload, its successor by name. */
static struct armed_rule *dumped_slot(const struct engine *e)
{
	if (!e->cause_retired)
		return e->cause_slot;
	for (size_t i = 0; i < e->added.nr; i++)
		if (!strcmp(e->added.v[i]->rule->name, e->cause.rule->name))
			return e->added.v[i];
	return NULL;
}

/* Whether a limit holds this hit. In NAMING: whether one would if the current dump were committed
 * now; otherwise the name lookup would be cut short for a dump that is then not made. */
static bool is_over_limit(const struct engine *e, const struct armed_rule *s,
			  const struct sighting *what, unsigned fill_percent)
{
	bool committed = e->hits.state == HIT_NAMING;
	uint64_t id = repeats_signature(s->rule, what), until;
	struct repeat *repeat = repeats_find(e->repeats, id);

	if (s->always)
		return false;
	until = committed ? armed_rule_blocked_after(s, e->opt.cooldown_ns, s == dumped_slot(e),
						     what->ns)
			  : engine_blocked_until(e, s);
	if (what->ns < until || (int64_t)fill_percent < s->rule->min_fill_percent)
		return true;
	if (repeat && committed && id == e->cause.signature)
		until = repeat_blocked_after(repeat, s->rule, what->ns);
	else
		until = repeat ? repeat_blocked_until(repeat, s->rule) : 0;
	return what->ns < until || rule_is_unlucky(s->rule);
}

/* Counts a hit according to the decision about it. */
static void note_hit(struct engine *e, struct armed_rule *s, const struct sighting *what,
		     enum hit_do next)
{
	const struct repeat *repeat = repeats_note(e->repeats, s->rule, what);
	uint64_t nr = merged_hits_of(what);

	s->nr_hits += nr;
	e->totals.nr_hits += nr;
	if (next == DO_FREEZE || next == DO_WAIT) {
		e->cause_slot = s;
		e->cause = (struct engine_cause){.rule = s->rule,
						 .what = sighting_share(what),
						 .post_ns = post_ns(e, s->rule),
						 .signature = repeat->id};
		e->due_ns = what->ns + (uint64_t)e->cause.post_ns;
		return;
	}
	if (next == DO_HOLD) {
		s->nr_held += nr;
		e->totals.nr_held += nr;
	} else {
		e->totals.nr_merged += nr;
	}
	merged_hits_note(&e->open, s->rule, what);
	engine_release_traces(e, s, what->ns);
}

enum hit_do engine_hit(struct engine *e, const struct rule *rule, const struct sighting *what,
		       unsigned fill_percent)
{
	struct armed_rule *s = engine_slot_of(e, rule);
	struct hit_facts facts = {.rule = rule, .post = post_ns(e, rule) > 0};
	enum hit_do next;

	assert(what->ns);
	if (e->hits.state == HIT_ARMED || e->hits.state == HIT_NAMING)
		facts.is_over_limit = is_over_limit(e, s, what, fill_percent);
	next = hit_machine_hit(&e->hits, &facts);
	if (next == DO_DEFER)
		e->deferred[e->hits.nr_deferred - 1] = sighting_share(what);
	else
		note_hit(e, s, what, next);
	return next;
}

/* Removes the sighting of deferred hit `i`. */
static struct sighting take_sighting(struct engine *e, size_t i)
{
	struct sighting what = e->deferred[i];

	memmove(e->deferred + i, e->deferred + i + 1, (e->hits.nr_deferred - i - 1) * sizeof(what));
	return what;
}

enum hit_do engine_take(struct engine *e, const struct rule **rule, struct sighting *what)
{
	enum hit_do next;

	if (!e->hits.nr_deferred)
		return DO_NOTHING;
	*rule = e->hits.deferred[0];
	*what = take_sighting(e, 0);
	next = hit_machine_take(&e->hits, post_ns(e, *rule) > 0);
	note_hit(e, engine_slot_of(e, *rule), what, next);
	return next;
}

void engine_replace_deferred(struct engine *e, struct armed_rule *old, const struct rule *now)
{
	struct sighting what;

	for (size_t i = 0; i < e->hits.nr_deferred; i++) {
		if (e->hits.deferred[i] != old->rule)
			continue;
		if (!now) {
			what = take_sighting(e, i);
			note_hit(e, old, &what, DO_MERGE);
			sighting_fini(&what);
		}
		hit_machine_replace(&e->hits, i, now);
		return;
	}
}

struct hit_machine *engine_hits(struct engine *e)
{
	return &e->hits;
}

uint64_t engine_due_ns(const struct engine *e)
{
	assert(e->hits.state == HIT_POST);
	return e->due_ns;
}

const struct engine_cause *engine_cause(const struct engine *e)
{
	assert(e->hits.state != HIT_ARMED);
	return &e->cause;
}

size_t engine_seal(struct engine *e, struct engine_merged *out, size_t max)
{
	size_t n = e->open.nr < max ? e->open.nr : max;

	hit_machine_seal(&e->hits);
	memcpy(out, e->open.v, n * sizeof(*out));
	e->sealed = e->open;
	e->open.nr = 0;
	return n;
}

static void note_committed(struct engine *e, uint64_t now)
{
	struct repeat *repeat = repeats_find(e->repeats, e->cause.signature);
	struct armed_rule *s = dumped_slot(e);

	if (s)
		armed_rule_dumped(s, now);
	if (repeat)
		repeat_kept(repeat, e->cause.rule, now);
	e->last_dump_ns = now;
	e->totals.nr_dumps++;
}

/* The dump failed, so its hits are open again. */
static void reopen_hits(struct engine *e)
{
	for (size_t i = 0; i < e->sealed.nr; i++)
		merged_hits_add(&e->open, &e->sealed.v[i]);
	merged_hits_note(&e->open, e->cause.rule, &e->cause.what);
}

void engine_done(struct engine *e, uint64_t now, bool committed)
{
	hit_machine_done(&e->hits);
	if (committed)
		note_committed(e, now);
	else
		reopen_hits(e);
	e->sealed.nr = 0;
	sighting_fini(&e->cause.what);
	if (e->cause_retired)
		armed_rule_free(e->cause_slot);
	e->cause_slot = NULL;
	e->cause_retired = false;
	engine_pause_traces(e, now);
}

void engine_totals(const struct engine *e, struct engine_totals *out)
{
	*out = e->totals;
}

uint64_t engine_nr_open(const struct engine *e)
{
	return merged_hits_sum(&e->open);
}

const struct repeats *engine_repeats(const struct engine *e)
{
	return e->repeats;
}

const struct repeat *engine_cause_repeat(const struct engine *e)
{
	return repeats_find(e->repeats, e->cause.signature);
}
