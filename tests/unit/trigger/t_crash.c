/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Source crash: what it takes and refuses; a child that crashes, with the registers and stack it
 * had. */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "tests/helpers/with_engine.h"
#include "trigger/engine/evidence.h"
#include "trigger/kernel/event.h"
#include "trigger/crash/held_cores.h"
#include "trigger/events/wakeup_ring.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static void add(struct engine *e, const char *rule)
{
	struct err err = ERR_INIT;
	int rc = engine_add(e, rule, &err);

	if (rc == -EACCES || rc == -EPERM)
		skip();
	if (rc)
		fail_msg("%s: %s", rule, err.what);
}

static bool saw(const struct sighting *what, const char *line)
{
	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strcmp(what->saw[i], line))
			return true;
	return false;
}

static void refuses(struct engine *e, const char *rule, int want, const char *text)
{
	struct err err = ERR_INIT;
	int rc = engine_add(e, rule, &err);

	if (rc == -EACCES || rc == -EPERM)
		skip();
	assert_int_equal(rc, want);
	if (!strstr(err.what, text))
		fail_msg("%s: %s", rule, err.what);
}

static void what_can_never_be_is_refused(void **state)
{
	struct engine *e = *state;
	pid_t gone = fork();

	if (!gone)
		_exit(0);
	waitpid(gone, NULL, 0);
	refuses(e, "crash>3", -EINVAL, "no comparison");
	refuses(e, "crash:nginx>3", -EINVAL, "no comparison");
	refuses(e, "crash;for=1s", -EINVAL, "for=");
	refuses(e, "crash;hysteresis=5", -EINVAL, "hysteresis=");
	refuses(e, "crash;while-running", -EINVAL, "while-running");
	refuses(e, "crash:0", -EINVAL, "no process id");
	refuses(e, "crash:99999999999999999999", -EINVAL, "no process id");
	refuses(e, "crash:sixteen-letters-", -EINVAL, "15 bytes");
	refuses(e, "crash:a\"b", -EINVAL, "quote");
	if (gone > 1) {
		char rule[32];

		snprintf(rule, sizeof(rule), "crash:%d", (int)gone);
		refuses(e, rule, -ESRCH, "no process");
	}
}

static int *volatile nowhere = (int *)8;

/* Where the child crashes. */
static __attribute__((noinline)) void fall(void)
{
	*nowhere = 1;
}

/* A child that crashes, or does what `how` says instead. */
static __attribute__((noinline)) pid_t child(const char *name, int how)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_NAME, name);
	signal(SIGSEGV, SIG_DFL); /* a sanitizer may have a handler */
	signal(SIGABRT, SIG_DFL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){0});
	if (how == SIGSEGV)
		fall();
	raise(how);
	_exit(0);
}

static const struct rule *next_hit(struct engine *e, struct sighting *what)
{
	const struct rule *rule;

	for (int i = 0; i < 50; i++) {
		engine_wait(e, 100);
		*what = (struct sighting){0};
		if (engine_poll(e, &rule, what, NULL) == 1)
			return rule;
	}
	fail_msg("no hit");
	return NULL;
}

static void a_crash_is_told_with_registers_and_stack(void **state)
{
	struct engine *e = *state;
	struct evidence_record rec;
	struct sighting what;
	siginfo_t info;
	pid_t pid;

	add(e, "crash:rb-t-crash");
	pid = child("rb-t-crash", SIGSEGV);
	next_hit(e, &what);
	assert_int_equal(what.pid, pid);
	assert_int_equal(what.tid, pid);
	assert_int_equal(what.nr_hits, 1);
	assert_string_equal(what.comm, "rb-t-crash");
	assert_true(saw(&what, "signal=SIGSEGV"));
	assert_true(saw(&what, "code=SEGV_MAPERR"));
	assert_true(what.ns && what.stack_hash);
	assert_non_null(what.evidence);
	assert_true(evidence_wait(what.evidence, 0));
	assert_int_equal(evidence_nr(what.evidence), 1);
	assert_string_equal(evidence_kind_at(what.evidence, 0)->name, "signal:signal_deliver");
	rec = evidence_at(what.evidence, 0);
	assert_true(rec.rec.len > 1024);
	sighting_fini(&what);
	waitid(P_PID, (id_t)pid, &info, WEXITED);
	assert_int_equal(info.si_status, SIGSEGV);
}

/* The signature depends on the place of the crash, not on the thread. */
static void crashes_at_one_place_have_one_signature(void **state)
{
	struct engine *e = *state;
	struct sighting what;
	uint64_t hash[3];

	add(e, "crash:rb-t-crash");
	/* The loop is not unrolled: its callers are one place too. */
	for (volatile int i = 0; i < 3; i++) {
		pid_t pid = child("rb-t-crash", i == 2 ? SIGABRT : SIGSEGV);

		next_hit(e, &what);
		hash[i] = what.stack_hash;
		sighting_fini(&what);
		waitpid(pid, NULL, 0);
	}
	assert_int_equal(hash[0], hash[1]);
	assert_int_not_equal(hash[0], hash[2]);
}

static void what_is_no_crash_wakes_nobody(void **state)
{
	static const int others[] = {SIGTERM, SIGKILL, SIGUSR1};
	struct engine *e = *state;
	struct sighting what = {0};
	const struct rule *rule;

	add(e, "crash:rb-t-crash");
	waitpid(child("rb-t-other", SIGSEGV), NULL, 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		waitpid(child("rb-t-crash", others[i]), NULL, 0);
	assert_false(engine_wait(e, 200));
	assert_int_equal(engine_poll(e, &rule, &what, NULL), 0);
}

static void a_pattern_is_the_kernels(void **state)
{
	struct engine *e = *state;
	struct sighting what;
	pid_t pid;

	add(e, "crash:rb-t-*");
	pid = child("rb-t-other", SIGABRT);
	next_hit(e, &what);
	assert_int_equal(what.pid, pid);
	assert_true(saw(&what, "code=SI_TKILL"));
	sighting_fini(&what);
	waitpid(pid, NULL, 0);
}

static void tell(int fd, uint32_t kind, uint32_t pid, const char *text)
{
	struct held_cores_message m = {.kind = kind, .pid = pid};
	char buf[64];

	memcpy(buf, &m, sizeof(m));
	memcpy(buf + sizeof(m), text, strlen(text));
	assert_int_equal(send(fd, buf, sizeof(m) + strlen(text), 0), sizeof(m) + strlen(text));
}

/* The recorder looks at signals, then at what is told of cores: both may come in between. */
static void what_is_told_before_its_signal_was_looked_at_is_kept(void **state)
{
	struct evidence *e;
	struct held_cores *p;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(held_cores_new(fds[0], &p), 0);
	assert_int_equal(evidence_new(&e), 0);
	tell(fds[1], PARKED_SAY, 4711, "threads=8");
	tell(fds[1], PARKED_END, 4711, "");
	assert_true(held_cores_pump(p));
	held_cores_expect(p, 4711, e);
	assert_true(held_cores_pump(p));
	assert_true(evidence_wait(e, 0));
	assert_string_equal(evidence_line(e, 0), "threads=8");
	evidence_put(e);

	/* No rule matches these, and they delay no others. */
	for (uint32_t pid = 1; pid <= 3; pid++) {
		tell(fds[1], PARKED_SAY, pid, "threads=1");
		tell(fds[1], PARKED_END, pid, "");
	}
	assert_int_equal(evidence_new(&e), 0);
	tell(fds[1], PARKED_SAY, 4712, "threads=9");
	tell(fds[1], PARKED_END, 4712, "");
	held_cores_expect(p, 4712, e);
	for (int i = 0; i < 100; i++)
		assert_true(held_cores_pump(p));
	assert_true(evidence_wait(e, 0));
	assert_string_equal(evidence_line(e, 0), "threads=9");
	evidence_put(e);
	close(fds[1]);
	assert_false(held_cores_pump(p));
	held_cores_free(p);
}

/* The guard's counts name no process; they must not delay what workers tell. */
static void crashes_that_were_not_held_are_counted(void **state)
{
	struct {
		struct held_cores_message m;
		struct held_cores_unheld u;
	} say = {{.kind = PARKED_UNHELD}, {.nr = 5, .nr_refused = 2}};
	struct held_cores_unheld u;
	struct held_cores *p;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(held_cores_new(fds[0], &p), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(send(fds[1], &say, sizeof(say), 0), sizeof(say));
	assert_int_equal(send(fds[1], &say, sizeof(say.m), 0), sizeof(say.m));
	assert_true(held_cores_pump(p));
	assert_true(held_cores_take_unheld(p, &u));
	assert_int_equal(u.nr, 10);
	assert_int_equal(u.nr_refused, 4);
	assert_false(held_cores_take_unheld(p, &u));
	close(fds[1]);
	held_cores_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_can_never_be_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(a_crash_is_told_with_registers_and_stack, setup,
						teardown),
		cmocka_unit_test_setup_teardown(crashes_at_one_place_have_one_signature, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_no_crash_wakes_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(a_pattern_is_the_kernels, setup, teardown),
		cmocka_unit_test(what_is_told_before_its_signal_was_looked_at_is_kept),
		cmocka_unit_test(crashes_that_were_not_held_are_counted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("crash", tests, NULL, NULL);
}
