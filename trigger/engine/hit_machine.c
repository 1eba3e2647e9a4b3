// SPDX-License-Identifier: MIT
/* See hit_machine.h. Illegal transitions are bugs in the caller, so they are asserted. */
#include "trigger/engine/hit_machine.h"

#include <assert.h>
#include <string.h>

static enum hit_do begin(struct hit_machine *m, bool post)
{
	assert(m->state == HIT_ARMED && m->run != HIT_LEFT);
	for (size_t i = 0; i < m->nr_askers; i++)
		assert(m->askers[i].dump > m->nr_ended);
	m->nr_begun++;
	m->state = post ? HIT_POST : HIT_WRITING;
	return post ? DO_WAIT : DO_FREEZE;
}

/* No deferral while stopping: an endless series of hits would delay the stop. */
static bool can_defer(const struct hit_machine *m, const struct hit_facts *f)
{
	if (m->state != HIT_NAMING || m->run != HIT_RUNNING || f->is_over_limit)
		return false;
	for (size_t i = 0; i < m->nr_deferred; i++)
		if (m->deferred[i] == f->rule)
			return false;
	return m->nr_deferred < HIT_MAX_DEFERRED;
}

enum hit_do hit_machine_hit(struct hit_machine *m, const struct hit_facts *f)
{
	if (m->state == HIT_ARMED) {
		assert(!m->nr_deferred);
		return f->is_over_limit ? DO_HOLD : begin(m, f->post);
	}
	if (!can_defer(m, f))
		return DO_MERGE;
	m->deferred[m->nr_deferred++] = f->rule;
	return DO_DEFER;
}

void hit_machine_due(struct hit_machine *m)
{
	assert(m->state == HIT_POST);
	m->state = HIT_WRITING;
}

void hit_machine_seal(struct hit_machine *m)
{
	assert(m->state == HIT_WRITING);
	m->state = HIT_NAMING;
}

void hit_machine_done(struct hit_machine *m)
{
	assert(m->state == HIT_WRITING || m->state == HIT_NAMING);
	m->nr_ended++;
	assert(m->nr_ended == m->nr_begun);
	m->state = HIT_ARMED;
}

static void forget_deferred(struct hit_machine *m, size_t i)
{
	memmove(m->deferred + i, m->deferred + i + 1,
		(--m->nr_deferred - i) * sizeof(*m->deferred));
}

enum hit_do hit_machine_take(struct hit_machine *m, bool post)
{
	if (!m->nr_deferred)
		return DO_NOTHING;
	assert(m->state != HIT_NAMING);
	forget_deferred(m, 0);
	return m->state == HIT_ARMED ? begin(m, post) : DO_MERGE;
}

void hit_machine_replace(struct hit_machine *m, size_t i, const void *rule)
{
	assert(i < m->nr_deferred);
	if (rule)
		m->deferred[i] = rule;
	else
		forget_deferred(m, i);
}

void hit_machine_ask(struct hit_machine *m, void *who, enum hit_do what)
{
	assert(m->state != HIT_ARMED && m->nr_askers < HIT_MAX_ASKERS);
	m->askers[m->nr_askers++] = (struct hit_asker){
		.who = who, .dump = m->nr_begun + (what == DO_DEFER), .merged = what == DO_MERGE};
}

bool hit_machine_answer(struct hit_machine *m, struct hit_asker *out)
{
	for (size_t i = 0; i < m->nr_askers; i++) {
		if (m->askers[i].dump > m->nr_ended)
			continue;
		*out = m->askers[i];
		memmove(m->askers + i, m->askers + i + 1,
			(--m->nr_askers - i) * sizeof(*m->askers));
		return true;
	}
	return false;
}

enum hit_do hit_machine_stop(struct hit_machine *m, bool exit_dump)
{
	if (m->run == HIT_RUNNING)
		m->run = HIT_STOPPING;
	if (m->state == HIT_POST) {
		hit_machine_due(m);
		return DO_FREEZE;
	}
	if (m->state != HIT_ARMED || m->run == HIT_LEFT)
		return DO_NOTHING;
	assert(!m->nr_deferred && !m->nr_askers);
	if (exit_dump && m->run == HIT_STOPPING) {
		m->run = HIT_EXIT_DUMP;
		return DO_EXIT_HIT;
	}
	m->run = HIT_LEFT;
	return DO_LEAVE;
}
