/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Sources event, uprobe, uretprobe and oom: what they refuse and what to type; what an event
 * carried is told; what the filter does not let through is no hit; storms are counted. */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "trigger/engine/evidence.h"
#include "trigger/engine/source.h"
#include "tests/helpers/kept.h"
#include "tests/helpers/with_engine.h"

#include <setjmp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define RULE "event:raw_syscalls:sys_enter[id==%d]"

static void add(struct engine *e, const char *text)
{
	struct err err = ERR_INIT;

	if (engine_add(e, text, &err))
		fail_msg("%s: %s; %s", text, err.what, err.hint);
}

static bool saw(const struct sighting *what, const char *line)
{
	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strcmp(what->saw[i], line))
			return true;
	return false;
}

static bool saw_key(const struct sighting *what, const char *key)
{
	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strncmp(what->saw[i], key, strlen(key)))
			return true;
	return false;
}

/* The hit that is there or comes within `ms`; false: none does. */
static bool next_hit(struct engine *e, struct sighting *what, int ms)
{
	const struct rule *rule;
	struct err err = ERR_INIT;
	int rc = engine_poll(e, &rule, what, &err);

	while (!rc && engine_wait(e, ms))
		rc = engine_poll(e, &rule, what, &err);
	if (rc < 0)
		fail_msg("%s", err.what);
	return rc == 1;
}

static void what_can_never_be_met_is_refused(void **state)
{
	static const char *const bad[][3] = {
		{"event", "expected ':' and an event", "^"},
		{"event:sched:no_such_event", "has no event 'no_such_event'", ""},
		{"event:sched:sched_switch[no_such==1]", "refuses the filter [no_such==1]",
		 "fields in the event's format"},
		{"event:sched:sched_switch", "comes all the time", "rate:sched:sched_switch>"},
		{"event:raw_syscalls:*", "comes all the time", "give it a filter"},
		{"event:page-faults", "comes all the time", "rate:page-faults>"},
		{"event:cpu-clock", "is a clock", "^"},
		{"event:syscalls:sys_enter_*", "this matches", "narrow the pattern"},
		{"event:oom:mark_victim>3", "takes no comparison", "^"},
		{"event:oom:mark_victim;for=1s", "for= does not apply", "^"},
		{"event:oom:mark_victim;while-running", "while-running", "^"},
		{"uprobe", "expected ':' and a file", "^"},
		{"uprobe:/no/such/file:x", "can't find the file", "type -a"},
		{"uprobe:/bin/bash:readlin", "has no function 'readlin'", "did you mean readline"},
		{"uprobe:/bin/bash:readline>1ms", "takes no comparison", "^"},
		{"uretprobe:/bin/bash:readline+1", "uretprobe goes to a function's start",
		 "uretprobe:/"},
		{"oom:redis", "oom takes no argument", "^"},
		{"oom>1", "", "^"},
		{"oom;for=1s", "for= does not apply", "^"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;

		assert_true(engine_add(*state, bad[i][0], &err) < 0);
		if (!strstr(err.what, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.what);
		if (!strstr(err.hint, bad[i][2]))
			fail_msg("%s: %s; hint: %s", bad[i][0], err.what, err.hint);
	}
}

static void the_fields_of_an_event_are_told(void **state)
{
	struct sighting what;
	char rule[128], line[64];
	const struct evidence_kind *k;

	snprintf(rule, sizeof(rule), RULE, SYS_afs_syscall);
	add(*state, rule);
	assert_false(next_hit(*state, &what, 0));
	syscall(SYS_getppid);
	assert_false(next_hit(*state, &what, 50));
	syscall(SYS_afs_syscall, 0x1234, 5, 0);
	assert_true(next_hit(*state, &what, 2000));
	assert_int_equal(what.tid, gettid());
	assert_string_equal(what.comm, "t_event_source");
	assert_int_equal(what.nr_hits, 1);
	assert_true(saw(&what, "event=raw_syscalls:sys_enter"));
	snprintf(line, sizeof(line), "id=%d", SYS_afs_syscall);
	assert_true(saw(&what, line));
	assert_true(saw_key(&what, "args={0x1234,0x5,0"));
	assert_true(what.stack_hash != 0);
	assert_int_equal(evidence_nr(what.evidence), 1);
	k = evidence_kind_at(what.evidence, 0);
	assert_string_equal(k->name, "raw_syscalls:sys_enter");
	assert_non_null(k->filter);
	assert_true(k->attr.sample_type & PERF_SAMPLE_CALLCHAIN);
	sighting_fini(&what);
	assert_false(next_hit(*state, &what, 0));
}

/* As many bytes of the stack, or none, as the rule says. */
static void the_stack_is_as_asked_for(void **state)
{
	static const char *const kinds[] = {"none", "fp", "dwarf:4K"};
	static const uint64_t want[] = {0, PERF_SAMPLE_CALLCHAIN,
					PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER |
						PERF_SAMPLE_STACK_USER};
	struct err err = ERR_INIT;

	for (size_t i = 0; i < 3; i++) {
		const struct engine_options opt = {0};
		const struct perf_event_attr *a;
		struct sighting what;
		struct engine *e;
		char rule[128];

		assert_int_equal(engine_new(&opt, &e, NULL), 0);
		snprintf(rule, sizeof(rule), RULE ";stack=%s", SYS_afs_syscall, kinds[i]);
		add(e, rule);
		syscall(SYS_afs_syscall, 1, 0, 0);
		assert_true(next_hit(e, &what, 2000));
		a = &evidence_kind_at(what.evidence, 0)->attr;
		assert_true((a->sample_type & want[2]) == want[i]);
		assert_int_equal(a->sample_stack_user, i == 2 ? 4096 : 0);
		assert_true((what.stack_hash != 0) == (i > 0));
		if (i == 2)
			assert_true(evidence_at(what.evidence, 0).rec.len > 500);
		sighting_fini(&what);
		engine_free(e);
	}
	assert_true(engine_add(*state, "oom;stack=x", &err) < 0);
	assert_non_null(strstr(err.what, "none, fp or dwarf:SIZE"));
	assert_true(engine_add(*state, "oom;stack=dwarf:64K", &err) < 0);
	assert_true(engine_add(*state, "signal:USR1;stack=fp", &err) < 0);
	assert_non_null(strstr(err.what, "signal takes no stack="));
}

static void texts_are_told_safely(void **state)
{
	struct sighting what;
	pid_t child;

	add(*state, "event:task:task_rename[newcomm ~ \"*rb-renamed*\"]");
	child = fork();
	if (!child) {
		pthread_setname_np(pthread_self(), "rb-renamed\033[2J");
		_exit(0);
	}
	assert_true(next_hit(*state, &what, 2000));
	waitpid(child, NULL, 0);
	assert_int_equal(what.tid, child);
	assert_true(saw(&what, "newcomm=rb-renamed\\x1b[2J"));
	assert_true(saw(&what, "oldcomm=t_event_source"));
	assert_true(saw_key(&what, "pid="));
	sighting_fini(&what);
}

/* All of a burst are counted: as one with their number, when nothing tells them apart. */
static void a_burst_is_counted(void **state)
{
	struct sighting what;
	uint64_t nr = 0;
	char rule[128];

	snprintf(rule, sizeof(rule), RULE, SYS_afs_syscall);
	add(*state, rule);
	for (int i = 0; i < 20000; i++)
		syscall(SYS_afs_syscall, i, 0, 0);
	for (int n = 0; nr < 20000 && next_hit(*state, &what, 2000); n++) {
		assert_true(n < 100);
		nr += what.nr_hits;
		sighting_fini(&what);
	}
	assert_int_equal(nr, 20000);
	syscall(SYS_afs_syscall, 1, 0, 0);
	assert_true(next_hit(*state, &what, 2000));
	assert_int_equal(what.nr_hits, 1);
	sighting_fini(&what);
}

/* Different threads are different hits. */
static void two_threads_are_two_hits(void **state)
{
	struct sighting what;
	uint32_t tids[2] = {0};
	char rule[128];
	pid_t child;

	snprintf(rule, sizeof(rule), RULE, SYS_afs_syscall);
	add(*state, rule);
	syscall(SYS_afs_syscall, 1, 0, 0);
	child = fork();
	if (!child) {
		syscall(SYS_afs_syscall, 2, 0, 0);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (int i = 0; i < 2; i++) {
		assert_true(next_hit(*state, &what, 2000));
		assert_int_equal(what.nr_hits, 1);
		tids[i] = what.tid;
		sighting_fini(&what);
	}
	assert_true(tids[0] + tids[1] == (uint32_t)(gettid() + child));
	assert_false(next_hit(*state, &what, 0));
}

static void any_of_a_pattern_is_a_hit(void **state)
{
	struct sighting what;
	pid_t child;

	add(*state, "event:task:task_*[common_pid > 0]");
	child = fork();
	if (!child)
		_exit(0);
	assert_true(next_hit(*state, &what, 2000));
	waitpid(child, NULL, 0);
	assert_true(saw_key(&what, "event=task:task_"));
	sighting_fini(&what);
}

/* ---- probes ---- */

static KEPT long probed(long a, long b, long c)
{
	__asm__ volatile("" ::: "memory");
	return a + b + c;
}

static KEPT long beside(long a)
{
	__asm__ volatile("" ::: "memory");
	return a + 1;
}

static void arguments_and_results_are_told(void **state)
{
	/* volatile, so that they are passed as arguments and not folded into the function. */
	volatile long a = 0x11, b = 0x22, c = -1;
	struct sighting what;

	add(*state, "uprobe:/proc/self/exe:probed");
	add(*state, "uretprobe:/proc/self/exe:probed");
	beside(3);
	assert_false(next_hit(*state, &what, 50));
	probed(a, b, c);
	for (int i = 0; i < 2; i++) {
		assert_true(next_hit(*state, &what, 2000));
		assert_int_equal(what.tid, gettid());
		if (saw(&what, "event=uprobe:/proc/self/exe:probed")) {
			assert_true(saw(&what, "arg1=0x11"));
			assert_true(saw(&what, "arg2=0x22"));
			assert_true(saw(&what, "arg3=0xffffffffffffffff"));
			assert_true(saw_key(&what, "arg6="));
		} else {
			assert_true(saw(&what, "event=uretprobe:/proc/self/exe:probed"));
			assert_true(saw(&what, "returned=0x32"));
		}
		assert_int_equal(evidence_nr(what.evidence), 1);
		assert_non_null(evidence_kind_at(what.evidence, 0)->target);
		sighting_fini(&what);
	}
	assert_false(next_hit(*state, &what, 0));
}

static void a_dry_run_says_what_is_watched(void **state)
{
	struct source_plan plan;

	add(*state, "event:oom:mark_victim[pid > 1]");
	add(*state, "uprobe:/proc/self/exe:probed");
	add(*state, "oom");
	assert_true(engine_rule_plan(*state, engine_nr_rules(*state) - 3, &plan));
	assert_string_equal(plan.watches, "oom:mark_victim[pid > 1]");
	assert_non_null(strstr(plan.costs, "filter"));
	assert_true(engine_rule_plan(*state, engine_nr_rules(*state) - 2, &plan));
	assert_non_null(strstr(plan.watches, "t_event_source:probed, in all processes"));
	assert_true(engine_rule_plan(*state, engine_nr_rules(*state) - 1, &plan));
	assert_non_null(strstr(plan.costs, "nothing until"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_can_never_be_met_is_refused),
		TEST(the_fields_of_an_event_are_told),
		TEST(the_stack_is_as_asked_for),
		TEST(texts_are_told_safely),
		TEST(a_burst_is_counted),
		TEST(two_threads_are_two_hits),
		TEST(any_of_a_pattern_is_a_hit),
		TEST(arguments_and_results_are_told),
		TEST(a_dry_run_says_what_is_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
