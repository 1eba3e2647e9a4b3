/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Source signal: which signals it takes, and what it says of the sender. */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "tests/helpers/with_engine.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

static bool is_blocked(int signo)
{
	sigset_t now;

	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, signo) == 1;
}

static bool saw(const struct sighting *what, const char *line)
{
	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strcmp(what->saw[i], line))
			return true;
	return false;
}

/* The hit that is there or comes within 5 s. */
static const struct rule *next_hit(struct engine *e, struct sighting *what)
{
	struct pollfd p = {.fd = engine_fd(e), .events = POLLIN};
	const struct rule *rule;

	assert_int_equal(poll(&p, 1, 5000), 1);
	assert_int_equal(engine_poll(e, &rule, what, NULL), 1);
	return rule;
}

static void names_are_taken_with_or_without_sig(void **state)
{
	static const struct {
		const char *text, *name;
		int signo;
	} good[] = {
		{"signal:USR1", "signal=SIGUSR1", SIGUSR1},
		{"signal:SIGQUIT", "signal=SIGQUIT", SIGQUIT},
		{"signal:sigwinch", "signal=SIGWINCH", SIGWINCH},
	};
	char rt[32], saw_rt[32];
	struct sighting what;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(engine_add(*state, good[i].text, NULL), 0);
		assert_true(is_blocked(good[i].signo));
		raise(good[i].signo);
		assert_string_equal(next_hit(*state, &what)->text, good[i].text);
		assert_true(saw(&what, good[i].name));
	}
	snprintf(rt, sizeof(rt), "signal:RTMIN+%d", SIGRTMAX - SIGRTMIN);
	snprintf(saw_rt, sizeof(saw_rt), "signal=SIGRTMIN+%d", SIGRTMAX - SIGRTMIN);
	assert_int_equal(engine_add(*state, rt, NULL), 0);
	raise(SIGRTMAX);
	next_hit(*state, &what);
	assert_true(saw(&what, saw_rt));
	assert_int_equal(engine_add(*state, "signal:SIGRTMAX-1", NULL), 0);
	assert_true(is_blocked(SIGRTMAX - 1));
}

static void signals_of_its_own_are_refused_with_the_reason(void **state)
{
	static const char *const bad[][2] = {
		{"signal:INT", "SIGINT can't be a trigger: it stops the recorder"},
		{"signal:SIGTERM", "it stops the recorder"},
		{"signal:HUP", "it makes the recorder read its configuration again"},
		{"signal:KILL", "no program can wait for it"},
		{"signal:STOP", "no program can wait for it"},
		{"signal:CHLD", "the command it started has ended"},
		{"signal:SEGV", "the recorder itself has a fault"},
		{"signal:BUS", "the recorder itself has a fault"},
		{"signal:FPE", "the recorder itself has a fault"},
		{"signal:ILL", "the recorder itself has a fault"},
		{"signal:ABRT", "the recorder itself has a fault"},
		{"signal:USR3",
		 "expected the name of a signal (USR1, SIGUSR1, QUIT, RTMIN+3, ...), found 'USR3'"},
		{"signal:RTMIN+99", "found 'RTMIN+99'"},
		{"signal:RTMINX", "found 'RTMINX'"},
		{"signal:10", "found '10'"},
		{"signal", "column 7: expected ':' and the name of a signal"},
		{"signal:USR1>3", "column 12: signal:NAME takes no comparison"},
		{"signal:USR1;for=1s", "for= does not apply"},
		{"signal:USR1;hysteresis=5", "hysteresis= does not apply"},
		{"signal:USR1;while-running", "not for signal"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;

		assert_int_equal(engine_add(*state, bad[i][0], &err), -EINVAL);
		if (!strstr(err.what, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.what);
		assert_non_null(strchr(err.hint, '^'));
	}
	assert_false(is_blocked(SIGUSR1));
	assert_int_equal(engine_nr_rules(*state), 3);
}

static void the_sender_is_named(void **state)
{
	char pid_line[48], uid_line[48];
	struct sighting what;
	pid_t child;

	child = fork();
	if (!child) {
		kill(getppid(), SIGUSR2);
		pause(); /* its name is readable as long as it lives */
		_exit(0);
	}
	assert_string_equal(next_hit(*state, &what)->name, "SIGUSR2");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	snprintf(pid_line, sizeof(pid_line), "sender_pid=%d", child);
	snprintf(uid_line, sizeof(uid_line), "sender_uid=%u", getuid());
	assert_int_equal(what.pid, child);
	assert_int_equal(what.uid, getuid());
	assert_int_equal(what.nr_hits, 1);
	assert_true(what.ns > 0);
	assert_true(saw(&what, "signal=SIGUSR2"));
	assert_true(saw(&what, pid_line));
	assert_true(saw(&what, uid_line));
	assert_true(saw(&what, "sender_comm=t_signal"));
}

static void queued_signals_are_all_counted(void **state)
{
	struct sighting what;
	uint32_t nr = 0;

	assert_int_equal(engine_add(*state, "signal:RTMIN+2", NULL), 0);
	for (int i = 0; i < 20; i++)
		sigqueue(getpid(), SIGRTMIN + 2, (union sigval){.sival_int = 7});
	while (nr < 20) {
		next_hit(*state, &what);
		nr += what.nr_hits;
	}
	assert_int_equal(nr, 20);
	assert_true(saw(&what, "sender_value=7"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_are_taken_with_or_without_sig, setup,
						teardown),
		cmocka_unit_test_setup_teardown(signals_of_its_own_are_refused_with_the_reason,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_sender_is_named, setup, teardown),
		cmocka_unit_test_setup_teardown(queued_signals_are_all_counted, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
