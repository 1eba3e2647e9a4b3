/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* The engine: hold-off, merging, limits, reload, and the states it asserts. Time is made up. */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "tests/helpers/with_engine.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define SEC 1000000000ull

static const struct rule *add(struct engine *e, const char *text)
{
	struct err err = ERR_INIT;
	struct sighting what;
	const struct rule *rule;
	int signo = strstr(text, "USR1") ? SIGUSR1 : SIGWINCH;

	if (engine_add(e, text, &err))
		fail_msg("%s: %s", text, err.what);
	/* A real hit, to get at the rule. */
	raise(signo);
	assert_int_equal(engine_poll(e, &rule, &what, NULL), 1);
	return rule;
}

static enum hit_do hit(struct engine *e, const struct rule *rule, uint64_t ns)
{
	struct sighting what = {.ns = ns};

	return engine_hit(e, rule, &what, 100);
}

/* A hit that is answered by a dump at once. */
static void dump(struct engine *e, const struct rule *rule, uint64_t ns)
{
	struct engine_merged m[ENGINE_MERGED_MAX];

	assert_int_equal(hit(e, rule, ns), DO_FREEZE);
	engine_seal(e, m, ENGINE_MERGED_MAX);
	engine_done(e, ns, true);
}

static bool is_blocked(int signo)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, signo) == 1;
}

static void built_in_rules_are_there(void **state)
{
	struct engine_rule_info info;

	assert_int_equal(engine_nr_rules(*state), 3);
	engine_rule_info(*state, 2, &info);
	assert_string_equal(info.name, "SIGUSR2");
	assert_string_equal(info.text, "signal:USR2");
	assert_true(info.armed);
	assert_string_equal(engine_builtin(*state, "manual")->name, "manual");
	assert_string_equal(engine_builtin(*state, "exit")->name, "exit");
	assert_null(engine_builtin(*state, "other"));
	assert_true(is_blocked(SIGUSR2));
}

static void a_hit_goes_through_post_to_the_dump(void **state)
{
	const struct rule *r = add(*state, "signal:USR1;post=2s");
	struct sighting what = {.ns = 10 * SEC, .pid = 42};

	assert_int_equal(engine_hits(*state)->state, HIT_ARMED);
	assert_int_equal(engine_hit(*state, r, &what, 0), DO_WAIT);
	assert_int_equal(engine_hits(*state)->state, HIT_POST);
	assert_int_equal(engine_due_ns(*state), 12 * SEC);
	assert_ptr_equal(engine_cause(*state)->rule, r);
	assert_int_equal(engine_cause(*state)->what.pid, 42);
	assert_int_equal(engine_cause(*state)->post_ns, 2 * SEC);
	hit_machine_due(engine_hits(*state));
	assert_int_equal(engine_hits(*state)->state, HIT_WRITING);
	engine_done(*state, 13 * SEC, true);
	assert_int_equal(engine_hits(*state)->state, HIT_ARMED);
}

static void post_of_the_recorder_holds_but_not_at_exit(void **state)
{
	const struct engine_options opt = {.post_ns = (int64_t)SEC};

	assert_int_equal(engine_reload(*state, &opt, NULL, 0, NULL), 0);
	assert_int_equal(hit(*state, engine_builtin(*state, "manual"), 5 * SEC), DO_WAIT);
	hit_machine_due(engine_hits(*state));
	engine_done(*state, 6 * SEC, true);
	assert_int_equal(hit(*state, engine_builtin(*state, "exit"), 7 * SEC), DO_FREEZE);
}

static void hits_during_post_and_dump_are_merged_by_name(void **state)
{
	const struct rule *r = add(*state, "signal:USR1;name=app;post=1s");
	const struct rule *manual = engine_builtin(*state, "manual");
	struct sighting three = {.ns = 12 * SEC, .nr_hits = 3};
	struct engine_merged m[ENGINE_MERGED_MAX];
	struct engine_totals t;

	assert_int_equal(hit(*state, r, 10 * SEC), DO_WAIT);
	assert_int_equal(hit(*state, r, 11 * SEC), DO_MERGE);
	assert_int_equal(hit(*state, manual, 11 * SEC), DO_MERGE);
	hit_machine_due(engine_hits(*state));
	assert_int_equal(engine_hit(*state, r, &three, 0), DO_MERGE);
	assert_int_equal(engine_seal(*state, m, ENGINE_MERGED_MAX), 2);
	assert_string_equal(m[0].name, "app");
	assert_int_equal(m[0].nr_hits, 4);
	assert_int_equal(m[0].first_ns, 11 * SEC);
	assert_int_equal(m[0].last_ns, 12 * SEC);
	assert_string_equal(m[1].name, "manual");
	engine_done(*state, 13 * SEC, true);
	engine_totals(*state, &t);
	assert_int_equal(t.nr_hits, 6);
	assert_int_equal(t.nr_merged, 5);
	assert_int_equal(t.nr_dumps, 1);
	assert_int_equal(hit(*state, manual, 14 * SEC), DO_FREEZE);
	assert_int_equal(engine_seal(*state, m, ENGINE_MERGED_MAX), 0);
}

/* The deferred hit leads to this. */
static void take(struct engine *e, enum hit_do expected, const struct rule *rule)
{
	const struct rule *taken;
	struct sighting what;

	assert_int_equal(engine_take(e, &taken, &what), expected);
	assert_ptr_equal(taken, rule);
	sighting_fini(&what);
}

static void hits_after_the_seal_get_a_dump_or_go_into_the_next(void **state)
{
	const struct rule *r = add(*state, "signal:USR1;post=1s");
	const struct rule *manual = engine_builtin(*state, "manual");
	struct engine_merged m[ENGINE_MERGED_MAX];
	struct engine_totals t;

	hit(*state, manual, 1 * SEC);
	assert_int_equal(engine_seal(*state, m, ENGINE_MERGED_MAX), 0);
	assert_int_equal(hit(*state, r, 2 * SEC), DO_DEFER);
	assert_int_equal(hit(*state, manual, 3 * SEC), DO_DEFER);
	assert_int_equal(hit(*state, manual, 4 * SEC), DO_MERGE);
	engine_done(*state, 5 * SEC, true);
	take(*state, DO_WAIT, r);
	assert_int_equal(engine_due_ns(*state), 3 * SEC);
	take(*state, DO_MERGE, manual);
	assert_int_equal(engine_take(*state, &r, &(struct sighting){0}), DO_NOTHING);
	hit_machine_due(engine_hits(*state));
	assert_int_equal(engine_seal(*state, m, ENGINE_MERGED_MAX), 1);
	assert_int_equal(m[0].first_ns, 3 * SEC);
	assert_int_equal(m[0].nr_hits, 2);
	engine_totals(*state, &t);
	assert_int_equal(t.nr_hits, 4);
}

static void a_failed_dump_keeps_all_its_hits_for_the_next(void **state)
{
	const struct rule *r = add(*state, "signal:USR1;name=app;cooldown=1h");
	const struct rule *manual = engine_builtin(*state, "manual");
	struct engine_merged m[ENGINE_MERGED_MAX];

	hit(*state, r, 1 * SEC);
	hit(*state, manual, 2 * SEC);
	engine_seal(*state, m, ENGINE_MERGED_MAX);
	assert_int_equal(hit(*state, r, 3 * SEC), DO_MERGE); /* it may be committed */
	engine_done(*state, 4 * SEC, false);
	/* No cooldown: there is no dump of it. */
	assert_int_equal(hit(*state, r, 5 * SEC), DO_FREEZE);
	assert_int_equal(engine_seal(*state, m, ENGINE_MERGED_MAX), 2);
	assert_string_equal(m[0].name, "app");
	assert_int_equal(m[0].nr_hits, 2);
	assert_int_equal(m[0].first_ns, 1 * SEC);
	assert_int_equal(m[0].last_ns, 3 * SEC);
	assert_string_equal(m[1].name, "manual");
	assert_int_equal(m[1].first_ns, 2 * SEC);
}

static void a_cooldown_of_its_own_counts_from_its_own_dump(void **state)
{
	const struct rule *r = add(*state, "signal:USR1;cooldown=10s");
	struct engine_merged m[ENGINE_MERGED_MAX];
	struct engine_rule_info info;

	dump(*state, engine_builtin(*state, "manual"), 99 * SEC);
	assert_int_equal(hit(*state, r, 100 * SEC), DO_FREEZE);
	engine_done(*state, 105 * SEC, true);
	engine_rule_info(*state, 3, &info);
	assert_int_equal(info.blocked_until_ns, 115 * SEC);
	assert_int_equal(hit(*state, r, 115 * SEC - 1), DO_HOLD);
	assert_int_equal(engine_hits(*state)->state, HIT_ARMED);
	engine_rule_info(*state, 3, &info);
	assert_int_equal(info.nr_hits, 2);
	assert_int_equal(info.nr_held, 1);
	assert_int_equal(hit(*state, r, 115 * SEC), DO_FREEZE);
	assert_int_equal(engine_seal(*state, m, ENGINE_MERGED_MAX), 1);
	assert_int_equal(m[0].nr_hits, 1);
}

/* What a hit of `rule` leads to while names are looked up for a dump that `cause` led to. */
static enum hit_do while_naming(struct engine *e, const struct rule *cause, const struct rule *rule,
				uint64_t ns)
{
	struct engine_merged m[ENGINE_MERGED_MAX];
	struct sighting what;
	enum hit_do next;

	assert_int_equal(hit(e, cause, ns), DO_FREEZE);
	engine_seal(e, m, ENGINE_MERGED_MAX);
	next = hit(e, rule, ns + SEC);
	engine_done(e, ns + 2 * SEC, true);
	if (next == DO_DEFER) {
		assert_int_equal(engine_take(e, &rule, &what), DO_FREEZE);
		engine_done(e, ns + 3 * SEC, true);
	}
	return next;
}

static void a_cooldown_is_foreseen(void **state)
{
	const struct engine_options opt = {.cooldown_ns = 10 * (int64_t)SEC};
	const struct rule *own = add(*state, "signal:USR1;name=a;cooldown=10s");
	const struct rule *none = add(*state, "signal:WINCH;name=b");
	const struct rule *manual = engine_builtin(*state, "manual");

	assert_int_equal(while_naming(*state, own, own, 100 * SEC), DO_MERGE);
	assert_int_equal(while_naming(*state, none, own, 104 * SEC), DO_MERGE);
	assert_int_equal(while_naming(*state, none, none, 120 * SEC), DO_DEFER);
	assert_int_equal(while_naming(*state, none, own, 130 * SEC), DO_DEFER);
	assert_int_equal(while_naming(*state, own, manual, 150 * SEC), DO_DEFER);
	assert_int_equal(engine_reload(*state, &opt, NULL, 0, NULL), 0);
	none = add(*state, "signal:WINCH;name=b");
	assert_int_equal(while_naming(*state, manual, none, 200 * SEC), DO_MERGE);
	assert_int_equal(while_naming(*state, none, manual, 220 * SEC), DO_DEFER);
}

static void max_is_foreseen(void **state)
{
	const struct rule *once = add(*state, "signal:USR1;max=1/1h");
	const struct rule *twice = add(*state, "signal:WINCH;max=2/1h");
	const struct rule *manual = engine_builtin(*state, "manual");

	assert_int_equal(while_naming(*state, manual, once, 100 * SEC), DO_DEFER);
	assert_int_equal(while_naming(*state, manual, once, 110 * SEC), DO_MERGE);
	assert_int_equal(while_naming(*state, once, once, 4000 * SEC), DO_MERGE);
	assert_int_equal(while_naming(*state, twice, twice, 5000 * SEC), DO_DEFER);
	assert_int_equal(while_naming(*state, manual, twice, 5010 * SEC), DO_MERGE);
	assert_int_equal(while_naming(*state, manual, twice, 8601 * SEC), DO_DEFER);
	assert_int_equal(while_naming(*state, manual, twice, 8603 * SEC), DO_DEFER);
	assert_int_equal(while_naming(*state, twice, manual, 19000 * SEC), DO_DEFER);
	assert_int_equal(while_naming(*state, twice, twice, 20000 * SEC), DO_MERGE);
}

static void same_is_foreseen(void **state)
{
	const struct rule *once = add(*state, "signal:USR1;same=1/1h");
	const struct rule *manual = engine_builtin(*state, "manual");

	assert_int_equal(while_naming(*state, once, once, 100 * SEC), DO_MERGE);
	assert_int_equal(while_naming(*state, manual, once, 200 * SEC), DO_MERGE);
	assert_int_equal(while_naming(*state, manual, once, 4000 * SEC), DO_DEFER);
}

static void rings_that_are_too_empty_are_foreseen(void **state)
{
	const struct rule *r = add(*state, "signal:USR1;min-fill=50%");
	struct engine_merged m[ENGINE_MERGED_MAX];
	struct sighting what = {.ns = 2 * SEC};

	hit(*state, r, 1 * SEC);
	engine_seal(*state, m, ENGINE_MERGED_MAX);
	assert_int_equal(engine_hit(*state, r, &what, 49), DO_MERGE);
	assert_int_equal(engine_hit(*state, r, &what, 50), DO_DEFER);
}

static void limits_are_foreseen_by_name_after_a_reload(void **state)
{
	const struct engine_options opt = {0};
	const char *same[] = {"signal:USR1;name=app;max=1/2h"};
	const struct rule *r = add(*state, "signal:USR1;name=app;max=1/1h");
	struct engine_merged m[ENGINE_MERGED_MAX];

	hit(*state, r, 100 * SEC);
	engine_seal(*state, m, ENGINE_MERGED_MAX);
	assert_int_equal(engine_reload(*state, &opt, same, 1, NULL), 0);
	assert_int_equal(hit(*state, engine_rule(*state, 3), 101 * SEC), DO_MERGE);
}

static void a_deferred_hit_goes_on_with_the_rule_of_its_name(void **state)
{
	const struct engine_options opt = {0};
	const char *same[] = {"signal:USR1;name=app;post=1s"};
	const struct rule *manual = engine_builtin(*state, "manual");
	const struct rule *stays = add(*state, "signal:USR1;name=app");
	const struct rule *goes = add(*state, "signal:WINCH;name=gone");
	struct engine_merged m[ENGINE_MERGED_MAX];
	struct engine_totals t;

	hit(*state, manual, 1 * SEC);
	engine_seal(*state, m, ENGINE_MERGED_MAX);
	assert_int_equal(hit(*state, goes, 2 * SEC), DO_DEFER);
	assert_int_equal(hit(*state, stays, 3 * SEC), DO_DEFER);
	assert_int_equal(engine_reload(*state, &opt, same, 1, NULL), 0);
	engine_totals(*state, &t);
	assert_int_equal(t.nr_merged, 1);
	engine_done(*state, 4 * SEC, true);
	take(*state, DO_WAIT, engine_rule(*state, 3));
	hit_machine_due(engine_hits(*state));
	assert_int_equal(engine_seal(*state, m, ENGINE_MERGED_MAX), 1);
	assert_string_equal(m[0].name, "gone");
	assert_int_equal(m[0].first_ns, 2 * SEC);
}

static void the_recorders_cooldown_counts_from_any_dump_and_spares_people(void **state)
{
	const struct engine_options opt = {.cooldown_ns = 10 * (int64_t)SEC};
	const struct rule *r, *usr2;
	struct sighting what;

	assert_int_equal(engine_reload(*state, &opt, NULL, 0, NULL), 0);
	r = add(*state, "signal:USR1");
	raise(SIGUSR2);
	assert_int_equal(engine_poll(*state, &usr2, &what, NULL), 1);
	dump(*state, engine_builtin(*state, "manual"), 100 * SEC);
	assert_int_equal(hit(*state, r, 101 * SEC), DO_HOLD);
	dump(*state, engine_builtin(*state, "manual"), 101 * SEC);
	dump(*state, usr2, 102 * SEC);
	dump(*state, engine_builtin(*state, "exit"), 103 * SEC);
	assert_int_equal(hit(*state, r, 112 * SEC), DO_HOLD);
	assert_int_equal(hit(*state, r, 113 * SEC), DO_FREEZE);
}

/* A program sets its heartbeat's timer itself, so it decides how often it stalls. */
static void a_stall_has_a_cooldown_unless_its_rule_says_none(void **state)
{
	static const char *const rules[] = {"stall:1s", "stall:1s:x;cooldown=0"};
	const struct engine_options opt = {.cooldown_ns = 20 * (int64_t)SEC}, none = {0};

	assert_int_equal(engine_reload(*state, &none, rules, 2, NULL), 0);
	dump(*state, engine_rule(*state, 3), 100 * SEC);
	assert_int_equal(hit(*state, engine_rule(*state, 3), 109 * SEC), DO_HOLD);
	dump(*state, engine_rule(*state, 4), 109 * SEC);
	dump(*state, engine_rule(*state, 4), 110 * SEC);
	dump(*state, engine_rule(*state, 3), 110 * SEC);
	/* --cooldown holds too. */
	assert_int_equal(engine_reload(*state, &opt, rules, 2, NULL), 0);
	assert_int_equal(hit(*state, engine_rule(*state, 3), 129 * SEC), DO_HOLD);
	assert_int_equal(hit(*state, engine_rule(*state, 3), 130 * SEC), DO_FREEZE);
}

static void a_limit_slides(void **state)
{
	const struct rule *r = add(*state, "signal:USR1;max=2/60s;cooldown=0");
	struct engine_rule_info info;

	dump(*state, r, 100 * SEC);
	dump(*state, r, 130 * SEC);
	assert_int_equal(hit(*state, r, 159 * SEC), DO_HOLD);
	engine_rule_info(*state, 3, &info);
	assert_int_equal(info.blocked_until_ns, 160 * SEC);
	dump(*state, r, 160 * SEC);
	assert_int_equal(hit(*state, r, 189 * SEC), DO_HOLD);
	dump(*state, r, 190 * SEC);
}

static void rings_that_are_too_empty_hold_a_rule(void **state)
{
	const struct rule *r = add(*state, "signal:USR1;min-fill=50%");
	struct sighting what = {.ns = SEC};

	assert_int_equal(engine_hit(*state, r, &what, 49), DO_HOLD);
	assert_int_equal(engine_hit(*state, r, &what, 50), DO_FREEZE);
}

static void many_names_end_in_other(void **state)
{
	struct engine_merged m[ENGINE_MERGED_MAX];
	const struct rule *manual = engine_builtin(*state, "manual");
	char text[64];
	size_t i;

	/* One signal, renamed by reloads: each name leaves a held hit behind. */
	for (i = 0; i < 70; i++) {
		const struct engine_options opt = {0};
		const char *rules[] = {text};
		const struct rule *rule;
		struct sighting what;

		snprintf(text, sizeof(text), "signal:USR1;name=n%zu;min-fill=100%%", i);
		assert_int_equal(engine_reload(*state, &opt, rules, 1, NULL), 0);
		raise(SIGUSR1);
		assert_int_equal(engine_poll(*state, &rule, &what, NULL), 1);
		assert_int_equal(engine_hit(*state, rule, &what, 0), DO_HOLD);
	}
	hit(*state, manual, SEC);
	assert_int_equal(engine_seal(*state, m, ENGINE_MERGED_MAX), ENGINE_MERGED_MAX);
	assert_string_equal(m[63].name, "n63");
	assert_string_equal(m[64].name, "other");
	assert_int_equal(m[64].nr_hits, 6);
}

static void bad_rules_change_nothing(void **state)
{
	struct err err = ERR_INIT;

	assert_int_equal(engine_add(*state, "tides:high", &err), -EINVAL);
	assert_non_null(strstr(err.what, "no trigger source 'tides'"));
	assert_non_null(strstr(err.hint, "signal:NAME"));
	assert_int_equal(engine_add(*state, "signal:WINCH;name=manual", &err), -EEXIST);
	assert_non_null(strstr(err.what, "two rules have the name 'manual'"));
	assert_int_equal(engine_add(*state, "signal:SIGUSR2", &err), -EEXIST);
	assert_non_null(strstr(err.hint, "SIGUSR2 always triggers"));
	assert_int_equal(engine_add(*state, "signal:USR1", &err), 0);
	assert_int_equal(engine_add(*state, "signal:USR1", &err), -EEXIST);
	assert_int_equal(engine_add(*state, "signal:sigusr1;name=b", &err), -EEXIST);
	assert_non_null(strstr(err.what, "'signal-USR1' already waits for that signal"));
	assert_int_equal(engine_nr_rules(*state), 4);
	assert_false(is_blocked(SIGWINCH));
	assert_true(is_blocked(SIGUSR1));
}

static void a_reload_is_all_or_nothing(void **state)
{
	const struct engine_options opt = {.cooldown_ns = 5};
	const char *bad[] = {"signal:QUIT", "signal:USR3"},
		   *good[] = {"signal:QUIT", "signal:WINCH"};
	struct engine_rule_info info;
	const struct rule *rule;
	struct sighting what;

	add(*state, "signal:USR1");
	assert_int_equal(engine_reload(*state, &opt, bad, 2, NULL), -EINVAL);
	assert_int_equal(engine_nr_rules(*state), 4);
	assert_true(is_blocked(SIGUSR1));
	assert_false(is_blocked(SIGQUIT));
	raise(SIGUSR1);
	assert_int_equal(engine_poll(*state, &rule, &what, NULL), 1);
	assert_string_equal(rule->name, "signal-USR1");

	raise(SIGUSR1); /* pending for a rule that goes: must not kill us */
	assert_int_equal(engine_reload(*state, &opt, good, 2, NULL), 0);
	assert_false(is_blocked(SIGUSR1));
	assert_true(is_blocked(SIGQUIT));
	assert_true(is_blocked(SIGWINCH));
	engine_rule_info(*state, 3, &info);
	assert_string_equal(info.name, "signal-QUIT");
	assert_int_equal(engine_poll(*state, &rule, &what, NULL), 0);
	raise(SIGQUIT);
	assert_int_equal(engine_poll(*state, &rule, &what, NULL), 1);
	assert_string_equal(rule->name, "signal-QUIT");
}

static void a_reload_keeps_what_rules_of_the_same_name_counted(void **state)
{
	const struct engine_options opt = {0};
	const char *same[] = {"signal:USR1;name=app;cooldown=20s"};
	const struct rule *r = add(*state, "signal:USR1;name=app;cooldown=10s;max=5/1h");
	struct engine_rule_info info;

	dump(*state, r, 100 * SEC);
	assert_int_equal(engine_reload(*state, &opt, same, 1, NULL), 0);
	engine_rule_info(*state, 3, &info);
	assert_int_equal(info.nr_hits, 1);
	assert_int_equal(info.blocked_until_ns, 120 * SEC);
}

/* Of a pid that does not exist. */
static pid_t ended(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void a_reload_leaves_out_what_has_ended(void **state)
{
	const struct engine_options opt = {0};
	char gone[64], alive[64];
	const char *rules[] = {gone, "signal:USR1", alive}, *bad[] = {gone, "signal:USR3"};
	struct engine_rule_info info;
	struct err err = ERR_INIT;

	snprintf(gone, sizeof(gone), "exit:%d;name=gone", (int)ended());
	snprintf(alive, sizeof(alive), "exit:%d;name=alive", (int)getpid());
	assert_int_equal(engine_add(*state, gone, &err), -ESRCH);
	assert_non_null(strstr(err.what, "there is no process"));
	assert_int_equal(engine_reload(*state, &opt, rules, 3, NULL), 0);
	engine_rule_info(*state, 3, &info);
	assert_string_equal(info.name, "gone");
	assert_false(info.armed);
	assert_int_equal(strncmp(info.why, "there is no process", 19), 0);
	for (size_t i = 4; i < 6; i++) {
		engine_rule_info(*state, i, &info);
		assert_true(info.armed);
		assert_string_equal(info.why, "");
	}
	/* And again, as an old one. */
	assert_int_equal(engine_reload(*state, &opt, rules, 3, NULL), 0);
	engine_rule_info(*state, 3, &info);
	assert_false(info.armed);
	assert_int_equal(strncmp(info.why, "there is no process", 19), 0);
	assert_int_equal(engine_reload(*state, &opt, bad, 2, NULL), -EINVAL);
	assert_int_equal(engine_nr_rules(*state), 6);
}

/* Capabilities can't be taken back, and the kernel's own error would be a riddle for root. */
static void a_reload_leaves_out_what_takes_a_dropped_capability(void **state)
{
	static struct source_env env = {.dropped = 1ull << CAP_BPF | 1ull << CAP_SYS_RESOURCE};
	const struct engine_options opt = {.env = &env};
	const char *rules[] = {"runqueue>20ms;name=bpf", "psi:memory:some>150ms/1s;name=psi",
			       "signal:USR1"};
	struct engine_rule_info info;
	struct err err = ERR_INIT;

	assert_int_equal(engine_reload(*state, &opt, rules, 3, NULL), 0);
	engine_rule_info(*state, 3, &info);
	assert_false(info.armed);
	assert_non_null(strstr(info.why, "CAP_BPF"));
	assert_non_null(strstr(info.why, "restart the recorder"));
	engine_rule_info(*state, 4, &info);
	assert_false(info.armed);
	assert_non_null(strstr(info.why, "CAP_SYS_RESOURCE"));
	engine_rule_info(*state, 5, &info);
	assert_true(info.armed);
	assert_false(engine_takes(*state, CAP_BPF));
	assert_int_equal(engine_add(*state, "runqueue>30ms", &err), -EOPNOTSUPP);
}

static void a_reload_goes_on_with_a_process_whose_pid_another_may_have(void **state)
{
	const struct engine_options opt = {0};
	const struct rule *rule, *exit_rule;
	struct engine_rule_info info;
	struct sighting what;
	struct err err = ERR_INIT;
	pid_t pid = fork();
	char text[64];
	const char *rules[] = {text};

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(60);
		pause();
		_exit(0);
	}
	snprintf(text, sizeof(text), "exit:%d", (int)pid);
	assert_int_equal(engine_add(*state, text, NULL), 0);
	exit_rule = engine_rule(*state, 3);
	assert_int_equal(engine_reload(*state, &opt, rules, 1, NULL), 0);
	assert_ptr_equal(engine_rule(*state, 3), exit_rule);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	/* It ended before they were read again, and that is told. */
	assert_int_equal(engine_reload(*state, &opt, rules, 1, NULL), 0);
	assert_int_equal(engine_poll(*state, &rule, &what, NULL), 1);
	assert_ptr_equal(rule, exit_rule);
	assert_int_equal(what.pid, pid);
	assert_int_equal(engine_poll(*state, &rule, &what, &err), -ESRCH);
	assert_int_equal(engine_reload(*state, &opt, rules, 1, NULL), 0);
	engine_rule_info(*state, 3, &info);
	assert_false(info.armed);
	assert_non_null(strstr(info.why, "has ended"));
}

static void a_cause_survives_a_reload(void **state)
{
	const struct engine_options opt = {0};
	const char *same[] = {"signal:USR1;name=app;cooldown=20s"};
	const struct rule *r = add(*state, "signal:USR1;name=app;cooldown=10s");
	struct engine_rule_info info;

	hit(*state, r, 100 * SEC);
	assert_int_equal(engine_reload(*state, &opt, same, 1, NULL), 0);
	assert_string_equal(engine_cause(*state)->rule->name, "app");
	engine_done(*state, 101 * SEC, true);
	engine_rule_info(*state, 3, &info);
	assert_int_equal(info.blocked_until_ns, 121 * SEC);

	raise(SIGUSR1);
	assert_int_equal(engine_poll(*state, &r, &(struct sighting){0}, NULL), 1);
	hit(*state, r, 200 * SEC);
	assert_int_equal(engine_reload(*state, &opt, NULL, 0, NULL), 0);
	assert_string_equal(engine_cause(*state)->rule->name, "app");
	/* teardown frees it in the middle of the dump */
}

static void the_descriptor_is_ready_when_a_rule_is_met(void **state)
{
	struct pollfd p = {.fd = engine_fd(*state), .events = POLLIN};
	const struct rule *rule;
	struct sighting what;

	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(engine_poll(*state, &rule, &what, NULL), 0);
	raise(SIGUSR2);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(engine_poll(*state, &rule, &what, NULL), 1);
	assert_int_equal(poll(&p, 1, 0), 0);
}

static void signals_blocked_before_stay_blocked(void **state)
{
	const struct engine_options opt = {0};
	struct engine *e;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(engine_new(&opt, &e, NULL), 0);
	assert_int_equal(engine_add(e, "signal:USR1", NULL), 0);
	raise(SIGUSR1); /* not read */
	engine_free(e);
	assert_true(is_blocked(SIGUSR2));
	assert_false(is_blocked(SIGUSR1));
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

enum wrong_call { DUE_WHEN_ARMED, DONE_WHEN_ARMED, DUE_WHEN_DUMPING, SEAL_TWICE, FOREIGN_RULE };

/* In a child, which is to die of the assertion. */
static void call_wrongly(struct engine *e, enum wrong_call call)
{
	const struct rule foreign = {.name = "x"}, *manual = engine_builtin(e, "manual");
	struct engine_merged m[1];

	if (call == DUE_WHEN_DUMPING || call == SEAL_TWICE)
		hit(e, manual, SEC);
	if (call == DUE_WHEN_ARMED || call == DUE_WHEN_DUMPING)
		hit_machine_due(engine_hits(e));
	if (call == DONE_WHEN_ARMED)
		engine_done(e, SEC, true);
	if (call == FOREIGN_RULE)
		hit(e, &foreign, SEC);
	if (call == SEAL_TWICE) {
		hit(e, manual, SEC);
		engine_seal(e, m, 1);
		engine_seal(e, m, 1);
	}
}

static void illegal_calls_are_asserted(void **state)
{
	for (enum wrong_call call = DUE_WHEN_ARMED; call <= FOREIGN_RULE; call++) {
		pid_t child = fork();
		int status;

		if (!child) {
			const struct rlimit none = {0};

			setrlimit(RLIMIT_CORE, &none);
			signal(SIGABRT, SIG_DFL);
			if (!freopen("/dev/null", "w", stderr))
				_exit(1);
			call_wrongly(*state, call);
			_exit(0);
		}
		waitpid(child, &status, 0);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(built_in_rules_are_there),
		TEST(a_hit_goes_through_post_to_the_dump),
		TEST(post_of_the_recorder_holds_but_not_at_exit),
		TEST(hits_during_post_and_dump_are_merged_by_name),
		TEST(hits_after_the_seal_get_a_dump_or_go_into_the_next),
		TEST(a_failed_dump_keeps_all_its_hits_for_the_next),
		TEST(a_cooldown_is_foreseen),
		TEST(max_is_foreseen),
		TEST(same_is_foreseen),
		TEST(rings_that_are_too_empty_are_foreseen),
		TEST(limits_are_foreseen_by_name_after_a_reload),
		TEST(a_deferred_hit_goes_on_with_the_rule_of_its_name),
		TEST(a_cooldown_of_its_own_counts_from_its_own_dump),
		TEST(the_recorders_cooldown_counts_from_any_dump_and_spares_people),
		TEST(a_stall_has_a_cooldown_unless_its_rule_says_none),
		TEST(a_limit_slides),
		TEST(rings_that_are_too_empty_hold_a_rule),
		TEST(many_names_end_in_other),
		TEST(bad_rules_change_nothing),
		TEST(a_reload_is_all_or_nothing),
		TEST(a_reload_leaves_out_what_takes_a_dropped_capability),
		TEST(a_reload_keeps_what_rules_of_the_same_name_counted),
		TEST(a_reload_leaves_out_what_has_ended),
		TEST(a_reload_goes_on_with_a_process_whose_pid_another_may_have),
		TEST(a_cause_survives_a_reload),
		TEST(the_descriptor_is_ready_when_a_rule_is_met),
		cmocka_unit_test(signals_blocked_before_stay_blocked),
		TEST(illegal_calls_are_asserted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
