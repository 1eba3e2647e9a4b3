/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* What comes again and again: signatures, same=, probability, and storms. Time is made up. */
#include "trigger/engine/repeats.h"

#include "dump/base/err.h"
#include "trigger/kernel/clock.h"
#include "trigger/engine/armed_rule.h"
#include "trigger/engine/engine.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#define SEC 1000000000ull

static struct engine *engine_with(const char *text, const struct rule **rule)
{
	const struct engine_options opt = {0};
	struct err err = ERR_INIT;
	struct sighting what;
	struct engine *e;

	assert_int_equal(engine_new(&opt, &e, NULL), 0);
	if (engine_add(e, text, &err))
		fail_msg("%s: %s", text, err.what);
	raise(SIGUSR1); /* a real hit, to get at the rule */
	assert_int_equal(engine_poll(e, rule, &what, NULL), 1);
	return e;
}

static enum hit_do hit(struct engine *e, const struct rule *rule, uint64_t ns, const char *comm,
		       uint64_t stack)
{
	struct sighting what = {.ns = ns, .stack_hash = stack};
	struct engine_merged m[ENGINE_MERGED_MAX];
	enum hit_do v;

	snprintf(what.comm, sizeof(what.comm), "%s", comm);
	v = engine_hit(e, rule, &what, 100);
	if (v == DO_FREEZE) {
		engine_seal(e, m, ENGINE_MERGED_MAX);
		engine_done(e, ns, true);
	}
	return v;
}

static void a_signature_is_rule_thread_name_and_stack(void **state)
{
	const struct rule *rule;
	struct engine *e = engine_with("signal:USR1", &rule);
	const struct repeats *r = engine_repeats(e);

	hit(e, rule, SEC, "a", 1);
	hit(e, rule, 2 * SEC, "a", 1);
	hit(e, rule, 3 * SEC, "a", 2);
	hit(e, rule, 4 * SEC, "b", 1);
	assert_int_equal(repeats_nr(r), 3);
	assert_int_equal(repeats_at(r, 0)->nr_seen, 2);
	assert_int_equal(repeats_at(r, 0)->nr_kept, 2);
	assert_int_equal(repeats_at(r, 0)->first_ns, SEC);
	assert_int_equal(repeats_at(r, 0)->last_ns, 2 * SEC);
	assert_string_equal(repeats_at(r, 2)->comm, "b");
	assert_string_equal(repeats_at(r, 2)->rule, "signal-USR1");
	engine_free(e);
}

static void same_holds_one_signature_only(void **state)
{
	const struct rule *rule;
	struct engine *e = engine_with("signal:USR1;same=2/10s", &rule);

	assert_int_equal(hit(e, rule, 1 * SEC, "a", 1), DO_FREEZE);
	assert_int_equal(hit(e, rule, 2 * SEC, "a", 1), DO_FREEZE);
	for (int i = 0; i < 39; i++)
		assert_int_equal(hit(e, rule, 3 * SEC + (uint64_t)i, "a", 1), DO_HOLD);
	assert_int_equal(hit(e, rule, 4 * SEC, "a", 2), DO_FREEZE);
	assert_int_equal(hit(e, rule, 11 * SEC, "a", 1), DO_FREEZE); /* the window slides */
	assert_int_equal(hit(e, rule, 11 * SEC, "a", 1), DO_HOLD);
	assert_int_equal(repeats_at(engine_repeats(e), 0)->nr_seen, 43);
	assert_int_equal(repeats_at(engine_repeats(e), 0)->nr_kept, 3);
	engine_free(e);
}

static void a_failed_dump_is_not_kept(void **state)
{
	struct sighting what = {.ns = SEC, .comm = "a"};
	struct engine_merged m[ENGINE_MERGED_MAX];
	const struct rule *rule;
	struct engine *e = engine_with("signal:USR1;same=1/1h", &rule);

	assert_int_equal(engine_hit(e, rule, &what, 100), DO_FREEZE);
	assert_int_equal(engine_cause_repeat(e)->nr_seen, 1);
	engine_seal(e, m, ENGINE_MERGED_MAX);
	engine_done(e, SEC, false);
	assert_int_equal(repeats_at(engine_repeats(e), 0)->nr_kept, 0);
	assert_int_equal(engine_hit(e, rule, &what, 100), DO_FREEZE);
	engine_free(e);
}

static void a_share_of_the_hits_is_answered(void **state)
{
	const struct rule *rule;
	struct engine *e = engine_with("signal:USR1;probability=25%", &rule);
	int dumps = 0;

	for (uint64_t i = 1; i <= 4000; i++)
		dumps += hit(e, rule, i * SEC, "a", 1) == DO_FREEZE;
	assert_in_range(dumps, 850, 1150); /* five deviations */
	engine_free(e);
}

static void the_oldest_signatures_are_forgotten_and_counted(void **state)
{
	const struct rule *rule;
	struct engine *e = engine_with("signal:USR1", &rule);
	const struct repeats *r = engine_repeats(e);

	for (uint64_t i = 1; i <= REPEATS_MAX + 10; i++)
		hit(e, rule, i * SEC, "a", i);
	assert_int_equal(repeats_nr(r), REPEATS_MAX);
	assert_int_equal(repeats_nr_forgotten(r), 10);
	for (size_t i = 0; i < REPEATS_MAX; i++)
		assert_true(repeats_at(r, i)->first_ns > 10 * SEC);
	engine_free(e);
}

/* Signals do not wait for us to look: each raise is a hit, and all of them are held. */
static void a_storm_rests_and_is_heard_again(void **state)
{
	const struct rule *rule, *of;
	struct engine *e = engine_with("signal:USR1;cooldown=1h", &rule);
	struct sighting what;
	int nr = 0, woken = 0;

	assert_int_equal(hit(e, rule, clock_ns(), "a", 1), DO_FREEZE);
	while (nr < 1000) {
		raise(SIGUSR1);
		if (engine_poll(e, &of, &what, NULL) != 1)
			break;
		engine_hit(e, of, &what, 100);
		nr++;
	}
	assert_int_equal(nr, PACE_MAX); /* and the one before */
	raise(SIGUSR1);
	assert_int_equal(engine_poll(e, &of, &what, NULL), 0);
	/* Once the rest is over. */
	while (!woken)
		woken = engine_wait(e, 2000) && engine_poll(e, &of, &what, NULL) == 1;
	assert_ptr_equal(of, rule);
	engine_free(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signature_is_rule_thread_name_and_stack),
		cmocka_unit_test(same_holds_one_signature_only),
		cmocka_unit_test(a_failed_dump_is_not_kept),
		cmocka_unit_test(a_share_of_the_hits_is_answered),
		cmocka_unit_test(the_oldest_signatures_are_forgotten_and_counted),
		cmocka_unit_test(a_storm_rests_and_is_heard_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
