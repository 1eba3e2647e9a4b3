/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/*
 * The state machine of hits, in every situation that any order of moves leads to: three rules, one
 * of which has askers, with and without post time, over and under their limits. A model beside it
 * counts hits and askers.
 */
#include "trigger/engine/hit_machine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define MAX_SITUATIONS 20000
#define MAX_ASKERS     3

static const char rules[] = "mab"; /* "manual", and two others; their addresses are the rules */

struct situation {
	struct hit_machine m;
	/* The model: where each hit that was seen is, besides the deferred ones. */
	unsigned nr_seen, nr_cause, nr_open, nr_sealed, nr_told;
	unsigned nr_asked, nr_answered;
	bool is_dumper_busy, is_search_ended, is_exit_dump_made;
};

enum move_kind { HIT, ASK, DUE, SEAL, DONE, FAIL, TAKE, DROP, STOP, NR_KINDS };

struct move {
	enum move_kind kind;
	unsigned rule;	  /* of DROP: which deferred hit */
	bool post, limit; /* of HIT and TAKE; of STOP, `post`: the exit dump is wanted */
};

/* Where the rule that has askers is in the list of deferred hits; nr_deferred: nowhere. */
static size_t find_manual(const struct hit_machine *m)
{
	size_t i = 0;

	while (i < m->nr_deferred && m->deferred[i] != &rules[0])
		i++;
	return i;
}

static bool is_legal(const struct situation *s, const struct move *v)
{
	const struct hit_machine *m = &s->m;
	bool writing = m->state == HIT_WRITING || m->state == HIT_NAMING;
	bool take_first = m->nr_deferred && m->state != HIT_NAMING;

	if (m->run == HIT_LEFT)
		return false;
	switch (v->kind) {
	case HIT:
		return !take_first;
	case ASK:
		return !take_first && m->nr_askers < MAX_ASKERS && m->run == HIT_RUNNING;
	case DUE:
		return m->state == HIT_POST && !take_first;
	case SEAL:
		return m->state == HIT_WRITING && !take_first;
	case DONE:
	case FAIL:
		return writing && !take_first;
	case TAKE:
		return take_first;
	case DROP:
		/* No reload takes "manual" away. */
		return m->state == HIT_NAMING && v->rule < m->nr_deferred &&
		       v->rule != find_manual(m);
	default:
		return !take_first;
	}
}

/* Does what the machine says, and counts the hit. */
static void obey(struct situation *s, enum hit_do what)
{
	switch (what) {
	case DO_FREEZE:
		assert_false(s->is_dumper_busy); /* one dump at most */
		s->is_dumper_busy = true;
		s->nr_cause = 1;
		break;
	case DO_WAIT:
		assert_false(s->is_dumper_busy);
		assert_int_equal(s->nr_cause, 0);
		s->nr_cause = 1;
		break;
	case DO_MERGE:
	case DO_HOLD:
		s->nr_open++;
		break;
	case DO_DEFER:
		/* There is a search to end, and the hit is promised a dump. */
		assert_true(s->is_dumper_busy);
		assert_int_equal(s->m.state, HIT_NAMING);
		assert_int_equal(s->m.run, HIT_RUNNING);
		s->is_search_ended = true;
		break;
	default:
		fail_msg("a hit led to %d", what);
	}
}

static enum hit_do hit(struct situation *s, const struct move *v)
{
	struct hit_facts f = {.rule = &rules[v->rule], .post = v->post, .is_over_limit = v->limit};
	enum hit_do what = hit_machine_hit(&s->m, &f);

	s->nr_seen++;
	assert_true(what != DO_DEFER || !v->limit);
	assert_true(what != DO_HOLD || v->limit);
	obey(s, what);
	return what;
}

static void end_dump(struct situation *s, bool committed)
{
	struct hit_asker asker;

	hit_machine_done(&s->m);
	s->is_dumper_busy = s->is_search_ended = false;
	if (committed)
		s->nr_told += s->nr_cause + s->nr_sealed;
	else
		s->nr_open += s->nr_cause + s->nr_sealed;
	s->nr_cause = s->nr_sealed = 0;
	while (hit_machine_answer(&s->m, &asker)) {
		assert_int_equal(asker.dump, s->m.nr_ended);
		s->nr_answered++;
	}
}

static void stop(struct situation *s, bool exit_dump)
{
	const struct move exit_hit = {.kind = HIT, .rule = 1};

	switch (hit_machine_stop(&s->m, exit_dump)) {
	case DO_FREEZE:
		assert_false(s->is_dumper_busy);
		s->is_dumper_busy = true;
		break;
	case DO_EXIT_HIT:
		assert_false(s->is_exit_dump_made);
		s->is_exit_dump_made = true;
		assert_int_equal(hit(s, &exit_hit), DO_FREEZE);
		break;
	case DO_LEAVE:
		assert_int_equal(s->m.run, HIT_LEFT);
		break;
	default:
		assert_true(s->is_dumper_busy);
	}
}

static void move(struct situation *s, const struct move *v)
{
	bool was_armed = s->m.state == HIT_ARMED;
	enum hit_do what;

	switch (v->kind) {
	case HIT:
		hit(s, v);
		break;
	case ASK:
		what = hit(s, v);
		hit_machine_ask(&s->m, s, what);
		s->nr_asked++;
		break;
	case DUE:
		hit_machine_due(&s->m);
		s->is_dumper_busy = true;
		break;
	case SEAL:
		hit_machine_seal(&s->m);
		s->nr_sealed = s->nr_open;
		s->nr_open = 0;
		break;
	case DONE:
	case FAIL:
		end_dump(s, v->kind == DONE);
		break;
	case TAKE:
		what = hit_machine_take(&s->m, v->post);
		/* The search was ended for a dump that is made. */
		assert_true(what == (was_armed ? v->post ? DO_WAIT : DO_FREEZE : DO_MERGE));
		obey(s, what);
		break;
	case DROP:
		hit_machine_replace(&s->m, v->rule, NULL);
		s->nr_open++;
		break;
	default:
		stop(s, v->post);
	}
}

static void check(const struct situation *s)
{
	const struct hit_machine *m = &s->m;
	bool writing = m->state == HIT_WRITING || m->state == HIT_NAMING;

	assert_int_equal(s->nr_seen,
			 s->nr_told + s->nr_cause + s->nr_open + s->nr_sealed + m->nr_deferred);
	assert_int_equal(s->nr_asked, s->nr_answered + m->nr_askers);
	assert_int_equal(s->is_dumper_busy, writing);
	assert_int_equal(s->nr_cause, m->state != HIT_ARMED);
	if (m->state == HIT_ARMED && !m->nr_deferred)
		assert_int_equal(m->nr_askers, 0);
	if (m->run == HIT_LEFT)
		assert_true(m->state == HIT_ARMED && !m->nr_deferred && !m->nr_askers);
	/* An asker waits for the next dump only if a hit of its own is to get that. */
	for (size_t i = 0; i < m->nr_askers; i++)
		assert_true(m->askers[i].dump <= m->nr_begun || find_manual(m) < m->nr_deferred);
	for (size_t i = 0; i < m->nr_deferred; i++)
		for (size_t j = 0; j < i; j++)
			assert_ptr_not_equal(m->deferred[i], m->deferred[j]);
}

/* From everywhere, a stop leads out, with all askers answered. */
static void leave(struct situation s)
{
	static const enum move_kind order[] = {TAKE, DUE, SEAL, DONE, STOP};

	for (int n = 0; s.m.run != HIT_LEFT; n++) {
		assert_true(n < 50);
		for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
			struct move v = {.kind = order[i]};

			if (!is_legal(&s, &v))
				continue;
			move(&s, &v);
			check(&s);
			break;
		}
	}
	assert_int_equal(s.nr_asked, s.nr_answered);
}

/* What tells one situation from another; counters go on for ever. */
static void make_key(const struct situation *s, char key[32])
{
	size_t n = 0;

	memset(key, 0, 32);
	key[n++] = (char)s->m.state;
	key[n++] = (char)s->m.run;
	key[n++] = s->is_search_ended;
	key[n++] = s->is_exit_dump_made;
	key[n++] = (char)(s->nr_open > 2 ? 2 : s->nr_open);
	key[n++] = (char)(s->nr_sealed > 2 ? 2 : s->nr_sealed);
	for (size_t i = 0; i < s->m.nr_deferred; i++)
		key[n++] = *(const char *)s->m.deferred[i];
	n = 16;
	for (size_t i = 0; i < s->m.nr_askers; i++) {
		key[n++] = (char)(1 + s->m.askers[i].dump - s->m.nr_ended);
		key[n++] = s->m.askers[i].merged;
	}
}

static struct situation all[MAX_SITUATIONS];
static char keys[MAX_SITUATIONS][32];
static size_t nr_all;

static void add(const struct situation *s)
{
	char key[32];

	make_key(s, key);
	for (size_t i = 0; i < nr_all; i++)
		if (!memcmp(keys[i], key, sizeof(key)))
			return;
	assert_true(nr_all < MAX_SITUATIONS);
	memcpy(keys[nr_all], key, sizeof(key));
	all[nr_all++] = *s;
}

static void try_moves(size_t i, enum move_kind kind)
{
	for (unsigned n = 0; n < 3 * 4; n++) {
		struct move v = {kind, n % 3, n / 3 & 1, n / 6};
		struct situation next = all[i];

		if (kind == ASK && (v.rule || v.limit)) /* "manual" is never held */
			continue;
		if (!is_legal(&next, &v))
			continue;
		move(&next, &v);
		check(&next);
		add(&next);
	}
}

static void all_situations(void)
{
	const struct situation start = {0};

	nr_all = 0;
	add(&start);
	for (size_t i = 0; i < nr_all; i++)
		for (int kind = 0; kind < NR_KINDS; kind++)
			try_moves(i, (enum move_kind)kind);
}

static void no_order_of_moves_loses_a_hit_or_an_asker(void **state)
{
	bool seen[4][4] = {{false}};

	(void)state;
	all_situations();
	for (size_t i = 0; i < nr_all; i++) {
		seen[all[i].m.run][all[i].m.state] = true;
		leave(all[i]);
	}
	for (int run = HIT_RUNNING; run <= HIT_EXIT_DUMP; run++)
		for (int st = HIT_ARMED; st <= HIT_NAMING; st++)
			assert_true(seen[run][st]);
	assert_true(seen[HIT_LEFT][HIT_ARMED]);
	print_message("# %zu situations\n", nr_all);
}

static void deferred_hits_and_askers_are_bounded(void **state)
{
	static const char many[HIT_MAX_DEFERRED + 1];
	struct hit_machine m = {0};
	struct hit_facts f = {0};

	(void)state;
	assert_int_equal(hit_machine_hit(&m, &f), DO_FREEZE);
	hit_machine_seal(&m);
	for (size_t i = 0; i < HIT_MAX_DEFERRED; i++) {
		f.rule = &many[i];
		assert_int_equal(hit_machine_hit(&m, &f), DO_DEFER);
		assert_int_equal(hit_machine_hit(&m, &f), DO_MERGE);
	}
	f.rule = &many[HIT_MAX_DEFERRED];
	assert_int_equal(hit_machine_hit(&m, &f), DO_MERGE);
	for (size_t i = 0; i < HIT_MAX_ASKERS; i++)
		hit_machine_ask(&m, &m, DO_MERGE);
	assert_int_equal(m.nr_askers, HIT_MAX_ASKERS);
}

/* In a child, which is to die of the assertion. */
static bool is_asserted(const struct situation *s, const struct move *v)
{
	pid_t child = fork();
	int status;

	if (!child) {
		const struct rlimit none = {0};
		struct situation copy = *s;

		setrlimit(RLIMIT_CORE, &none);
		signal(SIGABRT, SIG_DFL);
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		move(&copy, v);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void illegal_moves_are_asserted(void **state)
{
	static const enum move_kind kinds[] = {DUE, SEAL, DONE};
	bool tried[4] = {false};

	(void)state;
	all_situations();
	for (size_t i = 0; i < nr_all; i++) {
		if (all[i].m.run != HIT_RUNNING || all[i].m.nr_deferred || tried[all[i].m.state])
			continue;
		tried[all[i].m.state] = true;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			struct move v = {.kind = kinds[k]};

			if (!is_legal(&all[i], &v))
				assert_true(is_asserted(&all[i], &v));
		}
	}
}

static void deferred_hits_are_taken_first(void **state)
{
	const struct move v = {.kind = HIT};

	(void)state;
	all_situations();
	for (size_t i = 0; i < nr_all; i++) {
		if (all[i].m.state != HIT_ARMED || !all[i].m.nr_deferred)
			continue;
		assert_true(is_asserted(&all[i], &v));
		return;
	}
	fail();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_order_of_moves_loses_a_hit_or_an_asker),
		cmocka_unit_test(deferred_hits_and_askers_are_bounded),
		cmocka_unit_test(illegal_moves_are_asserted),
		cmocka_unit_test(deferred_hits_are_taken_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
