/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/*
 * Source watch: which accesses are seen and in which thread, that neighbours are not, programs that are
 * started later, the hardware's limit, what is refused. The program that is watched is this one,
 * as a child that does what it is told.
 */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "trigger/engine/evidence.h"
#include "trigger/engine/source.h"
#include "tests/helpers/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

volatile int watched_int = 41;
volatile int watched_neighbour = 1;
volatile long watched_zero[2];
/* Of the size that is written here, also with clang's sanitizer. */
#ifdef __clang__
__attribute__((no_sanitize("address")))
#endif
volatile char watched_text[24] = "text";

KEPT void watched_step(void);
void watched_step(void)
{
	__asm__ volatile("" ::: "memory");
}

KEPT void watched_beside(void);
void watched_beside(void)
{
	__asm__ volatile("" ::: "memory");
}

/* ---- the child ---- */

static void *write_it(void *arg)
{
	prctl(PR_SET_NAME, "writer");
	watched_int = 77;
	return NULL;
}

static void obey(char c)
{
	pthread_t t;

	switch (c) {
	case 'w':
		watched_int++;
		break;
	case 'n':
		watched_neighbour++;
		break;
	case 'z':
		watched_zero[0] = -1;
		break;
	case 'r':
		(void)watched_int;
		break;
	case 'x':
		watched_step();
		break;
	case 'y':
		watched_beside();
		break;
	case 't':
		pthread_create(&t, NULL, write_it, NULL);
		pthread_join(t, NULL);
		break;
	case 'f':
		if (!fork()) {
			watched_int = 5;
			_exit(0);
		}
		wait(NULL);
		break;
	default:
		break;
	}
}

/* Answers each byte once it has obeyed. */
static int child_main(void)
{
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(0, &c, 1) == 1) {
		obey(c);
		if (write(1, &c, 1) != 1)
			break;
	}
	return 0;
}

struct child {
	pid_t pid;
	int to, from;
};

static void start(struct child *c, const char *program)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	c->pid = fork();
	if (!c->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		if (program)
			execl(program, "t_watch", "child", NULL);
		_exit(child_main());
	}
	close(in[0]);
	close(out[1]);
	c->to = in[1];
	c->from = out[0];
}

static void tell(const struct child *c, char what)
{
	char answer;

	assert_int_equal(write(c->to, &what, 1), 1);
	assert_int_equal(read(c->from, &answer, 1), 1);
	assert_int_equal(answer, what);
}

static void end(struct child *c)
{
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->to);
	close(c->from);
}

/* ---- the engine ---- */

struct rig {
	struct engine *e;
	struct child child;
	char self[256];
};

static void add(struct rig *r, const char *spec)
{
	struct err err = ERR_INIT;
	char rule[400];

	snprintf(rule, sizeof(rule), "watch:%s:%s", r->self, spec);
	if (engine_add(r->e, rule, &err))
		fail_msg("%s: %s; %s", rule, err.what, err.hint);
}

static int setup(void **state)
{
	const struct engine_options opt = {0};
	struct rig *r = calloc(1, sizeof(*r));

	if (!r || engine_new(&opt, &r->e, NULL) ||
	    readlink("/proc/self/exe", r->self, sizeof(r->self) - 1) < 0)
		return -1;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	if (r->child.pid)
		end(&r->child);
	engine_free(r->e);
	free(r);
	return 0;
}

static bool next_hit(struct rig *r, struct sighting *what, int ms)
{
	const struct rule *rule;
	struct err err = ERR_INIT;
	int rc = engine_poll(r->e, &rule, what, &err);

	while (!rc && engine_wait(r->e, ms))
		rc = engine_poll(r->e, &rule, what, &err);
	if (rc < 0)
		fail_msg("%s", err.what);
	return rc == 1;
}

static bool saw(const struct sighting *what, const char *line)
{
	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strcmp(what->saw[i], line))
			return true;
	return false;
}

static void a_written_variable_is_a_hit_and_its_neighbour_is_not(void **state)
{
	struct rig *r = *state;
	struct sighting what;

	start(&r->child, NULL);
	tell(&r->child, '.');
	add(r, "watched_int");
	tell(&r->child, 'n');
	tell(&r->child, 'r');
	tell(&r->child, 'x');
	assert_false(next_hit(r, &what, 50));
	tell(&r->child, 'w');
	assert_true(next_hit(r, &what, 2000));
	assert_int_equal(what.pid, r->child.pid);
	assert_string_equal(what.comm, "t_watch");
	assert_true(saw(&what, "access=written"));
	assert_true(saw(&what, "old=41 (0x29)"));
	assert_true(saw(&what, "new=42 (0x2a)"));
	assert_int_equal(evidence_nr(what.evidence), 1);
	assert_true(what.stack_hash != 0);
	sighting_fini(&what);
	assert_false(next_hit(r, &what, 50));
	/* In a thread and in a process that came later. */
	tell(&r->child, 't');
	assert_true(next_hit(r, &what, 2000));
	assert_int_equal(what.pid, r->child.pid);
	assert_true(what.tid != (uint32_t)r->child.pid);
	assert_true(saw(&what, "old=42 (0x2a)"));
	assert_true(saw(&what, "new=77 (0x4d)"));
	sighting_fini(&what);
	tell(&r->child, 'f');
	assert_true(next_hit(r, &what, 2000));
	assert_true(what.pid != (uint32_t)r->child.pid);
	sighting_fini(&what);
	assert_false(next_hit(r, &what, 50));
}

static void reading_is_seen_when_asked_for(void **state)
{
	struct rig *r = *state;
	struct sighting what;

	start(&r->child, NULL);
	tell(&r->child, '.');
	add(r, "watched_int:rw");
	tell(&r->child, 'n');
	assert_false(next_hit(r, &what, 50));
	tell(&r->child, 'r');
	assert_true(next_hit(r, &what, 2000));
	assert_true(saw(&what, "access=read or written"));
	sighting_fini(&what);
}

static void what_is_zero_at_first_is_found_too(void **state)
{
	struct rig *r = *state;
	struct sighting what;

	start(&r->child, NULL);
	tell(&r->child, '.');
	add(r, "watched_zero");
	tell(&r->child, 'w');
	assert_false(next_hit(r, &what, 50));
	tell(&r->child, 'z');
	assert_true(next_hit(r, &what, 2000));
	assert_true(saw(&what, "old=0 (0)"));
	assert_true(saw(&what, "new=18446744073709551615 (0xffffffffffffffff)"));
	sighting_fini(&what);
}

static void an_executed_function_is_a_hit_and_another_is_not(void **state)
{
	struct rig *r = *state;
	struct sighting what;

	start(&r->child, NULL);
	tell(&r->child, '.');
	add(r, "watched_step");
	tell(&r->child, 'y');
	tell(&r->child, 'w');
	assert_false(next_hit(r, &what, 50));
	tell(&r->child, 'x');
	assert_true(next_hit(r, &what, 2000));
	assert_int_equal(what.pid, r->child.pid);
	assert_true(saw(&what, "access=executed"));
	sighting_fini(&what);
}

static void a_program_that_is_started_later_is_watched(void **state)
{
	struct rig *r = *state;
	struct sighting what;
	bool hit = false;

	add(r, "watched_int");
	for (int round = 0; round < 2; round++) {
		start(&r->child, r->self);
		tell(&r->child, '.');
		/* The breakpoint comes as soon as the recorder has read of the start. */
		hit = false;
		for (int i = 0; i < 100 && !hit; i++) {
			hit = next_hit(r, &what, 20);
			tell(&r->child, 'w');
		}
		assert_true(hit);
		assert_int_equal(what.pid, r->child.pid);
		sighting_fini(&what);
		while (next_hit(r, &what, 50))
			sighting_fini(&what);
		end(&r->child);
		for (int i = 0; i < 50; i++)
			if (next_hit(r, &what, 20))
				sighting_fini(&what);
		assert_false(engine_wait(r->e, 100));
	}
	r->child.pid = 0;
}

static void one_process_may_be_meant(void **state)
{
	struct child other;
	struct rig *r = *state;
	struct sighting what;
	const struct rule *rule;
	struct err err = ERR_INIT;
	char text[200];

	start(&r->child, NULL);
	start(&other, NULL);
	tell(&other, '.');
	tell(&r->child, '.');
	snprintf(text, sizeof(text), "watch:%d:watched_int", r->child.pid);
	assert_int_equal(engine_add(r->e, text, &err), 0);
	snprintf(text, sizeof(text), "watch:%d:%p:w4;name=addr", r->child.pid,
		 (void *)&watched_neighbour);
	if (engine_add(r->e, text, &err))
		fail_msg("%s", err.what);
	tell(&other, 'w');
	tell(&other, 'n');
	assert_false(next_hit(r, &what, 50));
	tell(&r->child, 'n');
	assert_true(next_hit(r, &what, 2000));
	assert_int_equal(what.pid, r->child.pid);
	assert_true(saw(&what, "old=1 (0x1)"));
	sighting_fini(&what);
	tell(&r->child, 'w');
	assert_true(next_hit(r, &what, 2000));
	sighting_fini(&what);
	end(&r->child);
	r->child.pid = 0;
	for (int i = 0, rc = 0; i < 50 && rc >= 0; i++) {
		engine_wait(r->e, 50);
		rc = engine_poll(r->e, &rule, &what, &err);
		assert_true(rc < 0 || i < 49);
	}
	assert_non_null(strstr(err.what, "has ended"));
	end(&other);
}

static void the_hardware_has_few(void **state)
{
	/* Names of their own: made from a long path, four would be the same. */
	static const char *const some[] = {"watched_int;name=a", "watched_neighbour;name=b",
					   "watched_zero;name=c", "watched_step;name=d"};
	struct rig *r = *state;
	struct err err = ERR_INIT;
	char rule[400];
	int rc;

	start(&r->child, NULL);
	tell(&r->child, '.');
	for (size_t i = 0; i < 4; i++)
		add(r, some[i]);
	snprintf(rule, sizeof(rule), "watch:%s:watched_beside;name=e", r->self);
	rc = engine_add(r->e, rule, &err);
	assert_int_equal(rc, -ENOSPC);
	assert_non_null(strstr(err.what, "all slots of its kind are taken"));
	assert_non_null(strstr(err.hint, "hardware breakpoints"));
}

/* Tried here without the code under test: a variable of this thread, watched and written. */
static bool breakpoints_fire(void)
{
	static volatile long own;
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&own,
		.bp_len = sizeof(own),
		.exclude_kernel = 1,
	};
	uint64_t nr = 0;
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);

	assert_true(fd >= 0);
	own = 1;
	assert_int_equal(read(fd, &nr, sizeof(nr)), sizeof(nr));
	close(fd);
	return nr > 0;
}

static void what_can_never_be_met_is_refused(void **state)
{
	const char *const bad[][2] = {
		{"watch", "expected ':' and a file"},
		{"watch:/bin/bash", "expected a file, ':' and a function or variable"},
		{"watch:/no/such:x", "can't find the file"},
		{"watch:/bin/bash:no_such_thing", "has no function and no variable"},
		{"watch:/bin/bash:readline:r", "write rw"},
		{"watch:/bin/bash:0x1000", "an address is of one process"},
		{"watch:999999999:0x1000",
		 breakpoints_fire() ? "there is no process 999999999" : "never fire"},
		{"watch:1:0x1001:w8", "only at a multiple of 8"},
		{"watch:/bin/bash:readline>3", "comparison"},
		{"watch:/bin/bash:readline;for=1s", "for= does not apply"},
	};
	struct rig *r = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;

		assert_true(engine_add(r->e, bad[i][0], &err) < 0);
		if (!strstr(err.what, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.what);
	}
}

static void a_dry_run_says_what_is_watched(void **state)
{
	struct rig *r = *state;
	struct source_plan plan;

	start(&r->child, NULL);
	tell(&r->child, '.');
	add(r, "watched_text");
	assert_true(engine_rule_plan(r->e, engine_nr_rules(r->e) - 1, &plan));
	assert_non_null(strstr(plan.watches, "t_watch:watched_text, 8 bytes written (of 24)"));
	assert_non_null(strstr(plan.watches, "in 1 process and those that are started"));
}

static void breakpoints_that_never_fire_are_refused(void **state)
{
	struct rig *r = *state;
	struct err err = ERR_INIT;

	assert_int_equal(engine_add(r->e, "watch:/bin/bash:readline", &err), -ENODEV);
	assert_non_null(strstr(err.what, "never fire on this machine"));
	assert_non_null(strstr(err.hint, "uprobe:PATH:SYMBOL"));
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_written_variable_is_a_hit_and_its_neighbour_is_not),
		TEST(reading_is_seen_when_asked_for),
		TEST(what_is_zero_at_first_is_found_too),
		TEST(an_executed_function_is_a_hit_and_another_is_not),
		TEST(a_program_that_is_started_later_is_watched),
		TEST(one_process_may_be_meant),
		TEST(the_hardware_has_few),
		TEST(what_can_never_be_met_is_refused),
		TEST(a_dry_run_says_what_is_watched),
	};
	const struct CMUnitTest without[] = {
		TEST(what_can_never_be_met_is_refused),
		TEST(breakpoints_that_never_fire_are_refused),
	};

	if (argc > 1 && !strcmp(argv[1], "child"))
		return child_main();
	signal(SIGPIPE, SIG_IGN);
	return breakpoints_fire() ? cmocka_run_group_tests(tests, NULL, NULL)
				  : cmocka_run_group_tests(without, NULL, NULL);
}
