/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/*
 * Sources mem, load, rss, cpu, every and exit: what they accept and refuse, with the reason; and a
 * real hit of each. tests/program/rules/it_rules_measure.sh has them under load.
 */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "tests/helpers/with_engine.h"
#include "tests/helpers/now.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

/* Polls until there is a hit or an error; 0 when none came in `ms`. */
static int next(struct engine *e, int ms, struct sighting *what, struct err *err)
{
	uint64_t end = now_ns() + (uint64_t)ms * 1000000;
	struct pollfd p = {.fd = engine_fd(e), .events = POLLIN};
	const struct rule *rule;

	for (uint64_t now; (now = now_ns()) < end;) {
		int rc;

		poll(&p, 1, (int)((end - now) / 1000000) + 1);
		rc = engine_poll(e, &rule, what, err);
		if (rc)
			return rc;
	}
	return 0;
}

/* The value of `key` in what was seen; "" when there is none. */
static const char *seen(const struct sighting *what, const char *key)
{
	size_t n = strlen(key);

	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strncmp(what->saw[i], key, n) && what->saw[i][n] == '=')
			return what->saw[i] + n + 1;
	return "";
}

/* A child that does nothing until it is told to end. */
static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (!pid) {
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int add(struct engine *e, const char *form, int pid)
{
	char text[128];
	struct err err = ERR_INIT;
	int rc;

	snprintf(text, sizeof(text), form, pid);
	rc = engine_add(e, text, &err);
	if (rc)
		print_message("%s: %s\n", text, err.what);
	return rc;
}

static void what_can_never_be_is_refused_with_the_reason(void **state)
{
	static const char *const bad[][2] = {
		{"mem", "column 4: expected ':' and a line of /proc/meminfo"},
		{"mem:available", "column 14: expected '<' or '>'"},
		{"mem:nosuch<1G", "column 5: /proc/meminfo has no line 'nosuch'"},
		{"mem:available<1000T", "column 15: there is"},
		{"mem:available<1000T", "always below 1000T"},
		{"mem:available>1000T", "never above 1000T"},
		{"mem:available<0", "never below 0"},
		{"mem:available>100%", "never above 100%"},
		{"mem:available<5s", "column 15: expected a size such as 200M"},
		{"mem:available<200", "column 15: 200 are bytes, less than a page"},
		{"mem:available~x", "column 14: expected '<' or '>'"},
		{"mem:available<1G;while-running", "while-running is for rules about how long"},
		{"load", "expected '>' or '<' and a value, such as load>16"},
		{"load:5>1", "column 6: load takes no argument"},
		{"load>5M", "column 6: expected a number, found '5M'"},
		{"load<0", "never below 0"},
		{"rss:1", "expected '>' or '<'"},
		{"rss>1G", "expected ':' and the pid of a process"},
		{"rss:x>1G", "column 5: expected the pid of a process, or command, found 'x'"},
		{"rss:0>1G", "found '0'"},
		{"rss:99999999999>1G", "found '99999999999'"},
		{"rss:command>1G", "there is no command"},
		{"rss:1999999999>1G", "column 5: there is no process 1999999999"},
		{"rss:1>1000T", "the rule can't be met"},
		{"cpu:1>100000%/5s", "column 7: there is"},
		{"cpu:1>50%/10ms", "column 11: expected 1s to 1h"},
		{"cpu:1>50%/2d", "expected 1s to 1h"},
		{"cpu:1>50M", "expected a share of one CPU such as 95%, found '50M'"},
		{"cpu:1<0%", "nothing is below 0%"},
		{"every", "expected ':' and a time, such as every:1h"},
		{"every:1ms", "column 7: expected a time of 1s or longer"},
		{"every:hour", "found 'hour'"},
		{"every:1h>3", "every takes no comparison"},
		{"every:1h;for=3s", "a point of time has no duration or value"},
		{"exit", "exit:812, exit!=0"},
		{"exit!=0", "there is no command"},
		{"exit<3", "column 5: expected '!=' or '>'"},
		{"exit>255", "no exit status is above 255"},
		{"exit:1;for=1s", "the end of a process has no duration or value"},
		{"exit:1;hysteresis=5", "hysteresis= does not apply"},
		{"exit:1999999999", "there is no process 1999999999"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;

		assert_int_equal(engine_add(*state, bad[i][0], &err),
				 strstr(bad[i][1], "no process") ? -ESRCH : -EINVAL);
		if (!strstr(err.what, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.what);
		assert_true(*err.hint);
	}
}

static void a_zombie_and_a_kernel_thread_have_nothing_to_look_at(void **state)
{
	struct err err = ERR_INIT;
	char text[32];
	pid_t pid = sleeper();

	kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &(siginfo_t){0}, WEXITED | WNOWAIT), 0);
	snprintf(text, sizeof(text), "exit:%d", pid);
	assert_int_equal(engine_add(*state, text, &err), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(engine_add(*state, "rss:2>1G", &err), -EINVAL);
}

static void memory_is_seen(void **state)
{
	struct sighting what;

	assert_int_equal(add(*state, "mem:available<99.9%%", 0), 0);
	assert_int_equal(add(*state, "mem:memfree<1K", 0), 0);
	assert_int_equal(next(*state, 60000, &what, NULL), 1);
	assert_string_equal(seen(&what, "of"), "MemAvailable");
	assert_string_equal(seen(&what, "threshold"), "99.9%");
	assert_non_null(strpbrk(seen(&what, "value"), "MG"));
	/* One hit, as long as it does not go back. */
	assert_int_equal(next(*state, 2500, &what, NULL), 0);
}

static void the_load_is_seen(void **state)
{
	struct sighting what;
	double load[3], now[3], l;

	assert_int_equal(getloadavg(load, 3), 3);
	assert_int_equal(add(*state, "load<100000", 0), 0);
	assert_int_equal(next(*state, 60000, &what, NULL), 1);
	l = atof(seen(&what, "value"));
	assert_int_equal(getloadavg(now, 3), 3);
	assert_true(l > fmin(load[0], now[0]) - 1 && l < fmax(load[0], now[0]) + 1);
	assert_true(atoi(seen(&what, "threads")) > 0);
}

/* Has 64 MiB more in use from one signal on, and ends by the next. */
static pid_t eater(void)
{
	sigset_t usr1;
	pid_t pid;
	int sig;

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	pid = fork();
	if (pid) {
		sigprocmask(SIG_UNBLOCK, &usr1, NULL);
		return pid;
	}
	sigwait(&usr1, &sig);
	mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1,
	     0);
	sigwait(&usr1, &sig);
	_exit(7);
}

static void a_process_that_takes_memory_is_seen_and_its_end_too(void **state)
{
	struct err err = ERR_INIT;
	struct sighting what;
	pid_t pid = eater();

	assert_int_equal(add(*state, "rss:%d>60M", pid), 0);
	assert_int_equal(next(*state, 2200, &what, NULL), 0);
	kill(pid, SIGUSR1);
	assert_int_equal(next(*state, 60000, &what, NULL), 1);
	assert_int_equal(what.pid, pid);
	assert_string_equal(what.comm, "t_measure");
	assert_string_equal(seen(&what, "comm"), "t_measure");
	assert_string_equal(seen(&what, "threshold"), "60M");
	assert_true(atof(seen(&what, "value")) > 64 && atof(seen(&what, "value")) < 128);
	kill(pid, SIGUSR1);
	/* Once: then the rule is disarmed. */
	assert_int_equal(next(*state, 60000, &what, &err), -ESRCH);
	assert_non_null(strstr(err.what, "(t_measure) has ended"));
	waitpid(pid, NULL, 0);
	assert_int_equal(next(*state, 2500, &what, &err), 0);
}

static void a_process_that_uses_its_cpu_is_seen(void **state)
{
	struct err err = ERR_INIT;
	struct sighting what;
	pid_t idle = sleeper(), busy = fork();

	if (!busy)
		for (;;)
			;
	assert_int_equal(add(*state, "cpu:%d>5%%/2s", idle), 0);
	assert_int_equal(add(*state, "cpu:%d>5%%/2s", busy), 0);
	assert_int_equal(next(*state, 60000, &what, NULL), 1);
	assert_int_equal(what.pid, busy);
	assert_true(atof(seen(&what, "value")) > 5);
	assert_non_null(strstr(seen(&what, "value"), "%/2 s"));
	assert_string_equal(seen(&what, "threshold"), "5%/2s");
	assert_true(what.ns - what.began_ns > 1900000000u);
	assert_int_equal(next(*state, 3000, &what, NULL), 0);
	end(busy);
	end(idle);
	assert_int_equal(next(*state, 60000, &what, &err), -ESRCH);
	assert_int_equal(next(*state, 60000, &what, &err), -ESRCH);
}

static void the_clock_is_seen_again_and_again(void **state)
{
	struct sighting what;
	uint64_t began = now_ns(), first;

	assert_int_equal(add(*state, "every:2s", 0), 0);
	assert_int_equal(next(*state, 60000, &what, NULL), 1);
	assert_string_equal(seen(&what, "interval"), "2s");
	first = what.ns;
	assert_true(first - began >= 2000000000);
	assert_int_equal(next(*state, 60000, &what, NULL), 1);
	assert_true(what.ns - first > 1500000000 && what.ns - first < 3500000000);
}

static void the_end_of_a_process_is_seen(void **state)
{
	struct err err = ERR_INIT;
	struct sighting what;
	pid_t pid = eater();

	assert_int_equal(add(*state, "exit:%d", pid), 0);
	assert_int_equal(next(*state, 100, &what, NULL), 0);
	kill(pid, SIGUSR1);
	kill(pid, SIGKILL);
	assert_int_equal(next(*state, 60000, &what, NULL), 1);
	assert_int_equal(what.pid, pid);
	assert_string_equal(seen(&what, "comm"), "t_measure");
	assert_string_equal(seen(&what, "status"), "137");
	assert_string_equal(seen(&what, "signal"), "SIGKILL");
	waitpid(pid, NULL, 0);
	assert_int_equal(next(*state, 60000, &what, &err), -ESRCH);
}

static void a_status_that_does_not_compare_is_no_hit(void **state)
{
	struct err err = ERR_INIT;
	struct sighting what;
	pid_t a = eater(), b = eater();

	assert_int_equal(add(*state, "exit:%d!=7", a), 0);
	assert_int_equal(add(*state, "exit:%d>6", b), 0);
	for (int i = 0; i < 2; i++) {
		kill(a, SIGUSR1);
		usleep(100000);
	}
	assert_int_equal(next(*state, 60000, &what, &err), -ESRCH);
	for (int i = 0; i < 2; i++) {
		kill(b, SIGUSR1);
		usleep(100000);
	}
	assert_int_equal(next(*state, 60000, &what, &err), 1);
	assert_string_equal(seen(&what, "status"), "7");
	assert_string_equal(seen(&what, "signal"), "");
	waitpid(a, NULL, 0);
	waitpid(b, NULL, 0);
}

static void the_commands_status_is_compared(void **state)
{
	static const struct {
		const char *rule;
		int status, want;
	} cases[] = {
		{"exit!=0", 0, 0},	{"exit!=0", 1, 1},	   {"exit!=3", 3, 0},
		{"exit>1", 1, 0},	{"exit>1", 2, 1},	   {"exit>128", 139, 1},
		{"exit:command", 0, 1}, {"exit:command!=0", 0, 0},
	};
	struct source_env env = {.command_pid = getpid()};
	const struct engine_options opt = {.env = &env};
	struct sighting what;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct engine *e;

		assert_int_equal(engine_new(&opt, &e, NULL), 0);
		assert_int_equal(engine_add(e, cases[i].rule, NULL), 0);
		assert_int_equal(next(e, 20, &what, NULL), 0);
		engine_command_ended(e, cases[i].status);
		assert_int_equal(next(e, 20, &what, NULL), cases[i].want);
		if (cases[i].want)
			assert_int_equal(atoi(seen(&what, "status")), cases[i].status);
		if (cases[i].status == 139)
			assert_string_equal(seen(&what, "signal"), "SIGSEGV");
		assert_int_equal(next(e, 20, &what, NULL), 0);
		engine_free(e);
	}
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(what_can_never_be_is_refused_with_the_reason),
		T(a_zombie_and_a_kernel_thread_have_nothing_to_look_at),
		T(memory_is_seen),
		T(the_load_is_seen),
		T(a_process_that_takes_memory_is_seen_and_its_end_too),
		T(a_process_that_uses_its_cpu_is_seen),
		T(the_clock_is_seen_again_and_again),
		T(the_end_of_a_process_is_seen),
		T(a_status_that_does_not_compare_is_no_hit),
		T(the_commands_status_is_compared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
