/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/*
 * Rules on durations of calls, on functions of this very program and system calls: what is a hit, how
 * often, and what is left in the map. Runs with real-time priority, so that the machine's other load makes no
 * call slow.
 */
#include "tests/helpers/armed.h"
#include "trigger/kernel/event.h"
#include "trigger/engine/source.h"

#include "dump/base/err.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#define THRESHOLD_MS 40
#define FULL	     16384

int probed(int (*within)(void *), void *arg);

static jmp_buf back;
static char own[256];

static void sleep_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t))
		;
}

/* The function that rules are about; no tail call. */
__attribute__((noinline)) int probed(int (*within)(void *), void *arg)
{
	volatile char room[32];

	room[0] = (char)(within ? within(arg) : 0);
	return room[0] + 1;
}

static int sleeps(void *ms)
{
	sleep_ms((int)(intptr_t)ms);
	return 0;
}

static int leaves(void *arg)
{
	longjmp(back, 1);
}

static int ends(void *arg)
{
	pthread_exit(NULL);
}

/* ---- a rule ---- */

static struct armed arm_probed(const char *options)
{
	char text[400];

	snprintf(text, sizeof(text), "latency:%s:probed>%dms%s", own, THRESHOLD_MS, options);
	return arm(text);
}

static void probed_sleep(int ms)
{
	probed(sleeps, (void *)(intptr_t)ms);
}

/* The map of notes that this process has open. */
static int calls_map(void)
{
	for (int fd = 3; fd < 256; fd++) {
		struct bpf_map_info info = {0};
		uint32_t n = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &n) && !strcmp(info.name, "rb_calls"))
			return fd;
	}
	fail_msg("no map");
	return -1;
}

static bool nothing_noted(void)
{
	uint32_t tid;

	return bpf_map_get_next_key(calls_map(), NULL, &tid) == -ENOENT;
}

/* ---- latency ---- */

static void a_slow_call_is_a_hit_and_one_just_below_is_none(void **state)
{
	struct armed a = arm_probed("");
	struct sighting what;

	for (int i = 0; i < 1000; i++)
		probed(NULL, NULL);
	is_no_hit(&a, THRESHOLD_MS, probed_sleep);
	probed(sleeps, (void *)(intptr_t)(THRESHOLD_MS + 5));
	assert_int_equal(hit(&a, &what, 10000), 1);
	assert_int_equal(what.nr_hits, 1);
	assert_int_equal(what.tid, gettid());
	assert_int_equal(what.pid, getpid());
	assert_string_equal(what.comm, "t_bpf_latency");
	assert_in_range(what.ns - what.began_ns, (THRESHOLD_MS + 5) * 1000000,
			(THRESHOLD_MS + 5000ll) * 1000000);
	assert_in_range(atoi(saw(&what, "duration")), THRESHOLD_MS + 5, THRESHOLD_MS + 5000);
	assert_string_equal(saw(&what, "threshold"), "40ms");
	assert_non_null(strstr(saw(&what, "function"), ":probed"));
	assert_string_equal(saw(&what, "returned"), "0x1");
	assert_non_null(what.evidence);
	assert_true(what.stack_hash);
	sighting_fini(&what);
	assert_int_equal(hits(&a), 0);
	assert_true(nothing_noted());
	a.ops->close(a.source);
}

static int twice(void *ms)
{
	return probed(sleeps, ms) + probed(sleeps, ms);
}

static int five_times(void *ms)
{
	return twice(ms) + twice(ms) + probed(sleeps, ms);
}

static int again(void *depth)
{
	intptr_t n = (intptr_t)depth;

	return n ? probed(again, (void *)(n - 1)) : sleeps((void *)(THRESHOLD_MS + 5));
}

static int again_far(void *depth)
{
	intptr_t n = (intptr_t)depth;

	return n ? probed(again_far, (void *)(n - 1)) : 0;
}

static int quick_then_slow(void *arg)
{
	probed(again_far, (void *)20);
	sleep_ms(THRESHOLD_MS + 5);
	return 0;
}

static void of_calls_in_one_another_the_innermost_slow_is_told(void **state)
{
	struct armed a = arm_probed("");

	probed(again, (void *)2);
	assert_int_equal(hits(&a), 1);
	/* More than there are frames. */
	probed(again, (void *)30);
	assert_int_equal(hits(&a), 1);
	/* Two slow ones in one. */
	probed(twice, (void *)(THRESHOLD_MS + 5));
	assert_int_equal(hits(&a), 2);
	/* None of the five is slow, all together are. */
	probed(five_times, (void *)10);
	assert_int_equal(hits(&a), 1);
	probed(quick_then_slow, NULL);
	assert_int_equal(hits(&a), 1);
	assert_true(nothing_noted());
	a.ops->close(a.source);
}

/* Each from deeper in the stack, so that none shows that the one before is over. */
__attribute__((noinline)) static int leave_deeper(int n)
{
	volatile char room[256];

	room[0] = (char)n;
	if (!setjmp(back))
		probed(leaves, NULL);
	if (n > 1)
		room[0] = (char)leave_deeper(n - 1);
	else
		probed(sleeps, (void *)(THRESHOLD_MS + 5));
	return room[0];
}

static void a_call_that_is_left_is_no_hit_and_hides_none(void **state)
{
	struct armed a = arm_probed("");

	if (!setjmp(back))
		probed(leaves, NULL);
	sleep_ms(THRESHOLD_MS + 5);
	probed(NULL, NULL);
	assert_int_equal(hits(&a), 0);
	assert_true(nothing_noted());
	for (int n = 1; n < 12; n++) {
		leave_deeper(n);
		assert_int_equal(hits(&a), 1);
	}
	probed(NULL, NULL);
	assert_true(nothing_noted());
	a.ops->close(a.source);
}

static void *in_thread(void *arg)
{
	probed(ends, NULL);
	return arg;
}

static void threads_that_end_inside_are_forgotten(void **state)
{
	struct armed a = arm_probed("");

	for (int i = 0; i < 50; i++) {
		pthread_t t;

		assert_int_equal(pthread_create(&t, NULL, in_thread, NULL), 0);
		pthread_join(t, NULL);
	}
	/* A thread is joined before it is quite gone. */
	for (int i = 0; i < 100 && !nothing_noted(); i++)
		sleep_ms(10);
	assert_true(nothing_noted());
	assert_int_equal(hits(&a), 0);
	a.ops->close(a.source);
}

static int execs(void *arg)
{
	execl("/bin/sleep", "sleep", "0.1", (char *)NULL);
	return 0;
}

static void exec_inside_is_the_end_of_a_call(void **state)
{
	struct armed a = arm_probed("");
	int status;
	pid_t pid = fork();

	if (!pid) {
		probed(execs, NULL);
		_exit(1);
	}
	sleep_ms(50);
	assert_true(nothing_noted());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(hits(&a), 0);
	a.ops->close(a.source);
}

static void what_does_not_fit_is_counted(void **state)
{
	struct armed a = arm_probed("");
	uint8_t note[256] = {0};
	int map = calls_map();
	char text[200];
	uint32_t tid;

	assert_false(a.ops->trouble(a.source, text, sizeof(text)));
	/* Ids that no thread has. */
	for (uint32_t i = 0; i < FULL; i++)
		assert_int_equal(bpf_map_update_elem(map, &(uint32_t){0x70000000 + i}, note, 0), 0);
	for (int i = 0; i < 7; i++)
		probed(sleeps, (void *)1);
	assert_int_equal(hits(&a), 0);
	assert_true(a.ops->trouble(a.source, text, sizeof(text)));
	assert_non_null(strstr(text, "7 not timed"));
	while (!bpf_map_get_next_key(map, NULL, &tid))
		bpf_map_delete_elem(map, &tid);
	probed(sleeps, (void *)(THRESHOLD_MS + 5));
	assert_int_equal(hits(&a), 1);
	a.ops->close(a.source);
}

/* ---- while-running ---- */

static int gate[2];

static int waits(void *arg)
{
	char c;

	return read(gate[0], &c, 1) == 1 ? 0 : 1;
}

static void *waiting_thread(void *arg)
{
	prctl(PR_SET_NAME, "waiter");
	probed(waits, NULL);
	return arg;
}

static int nr_wakeups(const struct armed *a, int ms)
{
	uint32_t events = POLLIN;
	struct pollfd p = {.fd = a->ops->fd(a->source, &events), .events = POLLIN};
	int64_t end = now_ms() + ms;
	int n = 0;

	for (;;) {
		int left = (int)(end - now_ms());

		if (left <= 0)
			return n;
		if (poll(&p, 1, left) == 1) {
			assert_int_equal(hits(a), 0);
			n++;
		}
	}
}

static void a_call_that_does_not_return_is_told_once(void **state)
{
	struct armed a = arm_probed(";while-running");
	struct sighting what;
	pthread_t t;

	assert_int_equal(pipe(gate), 0);
	assert_int_equal(nr_wakeups(&a, 200), 0);
	assert_int_equal(pthread_create(&t, NULL, waiting_thread, NULL), 0);
	assert_int_equal(hit(&a, &what, 10000), 1);
	assert_string_equal(what.comm, "waiter");
	assert_int_equal(what.pid, getpid());
	assert_int_not_equal(what.tid, gettid());
	assert_in_range(what.ns - what.began_ns, THRESHOLD_MS * 1000000,
			THRESHOLD_MS * 3 / 2 * 1000000 + 4000000000);
	assert_non_null(strstr(saw(&what, "duration"), " so far"));
	sighting_fini(&what);
	/* It still hangs: no further hit, and after two checks no more checks. */
	assert_in_range(nr_wakeups(&a, 200), 0, 3);
	assert_int_equal(nr_wakeups(&a, 300), 0);
	/* Another one is seen as well. */
	probed(sleeps, (void *)(THRESHOLD_MS * 2));
	assert_int_equal(hits(&a), 1);
	/* It returns after all: told already. */
	assert_int_equal(write(gate[1], "x", 1), 1);
	pthread_join(t, NULL);
	sleep_ms(20);
	assert_int_equal(hits(&a), 0);
	assert_true(nothing_noted());
	nr_wakeups(&a, 200);
	assert_int_equal(nr_wakeups(&a, 300), 0);
	close(gate[0]);
	close(gate[1]);
	a.ops->close(a.source);
}

static void looks_are_only_for_calls_that_may_get_slow(void **state)
{
	struct armed a = arm_probed(";while-running");
	int busy;

	probed(NULL, NULL);
	/* Told that it has begun; a look that finds calls were made, and one that finds none. */
	assert_in_range(nr_wakeups(&a, 200), 1, 4);
	assert_int_equal(nr_wakeups(&a, 200), 0);
	for (busy = 0; busy < 20; busy++) {
		probed(NULL, NULL);
		sleep_ms(1);
	}
	assert_in_range(nr_wakeups(&a, 200), 1, 5);
	a.ops->close(a.source);
}

/* ---- syscall ---- */

static void sleep_call(int ms)
{
	struct timespec t = {0, ms * 1000000};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
}

static void a_slow_system_call(const char *rule, const char *name, const char *arg,
			       const char *value)
{
	struct armed a = arm(rule);
	struct sighting what;
	int n = 0;

	int64_t from;

	getppid();
	do {
		hits(&a);
		from = now_ms();
		sleep_call(35);
	} while (now_ms() - from >= 39);
	sleep_call(45);
	sleep_ms(20);
	/* Other programs sleep, too. */
	while (hit(&a, &what, 0)) {
		if (what.tid == (uint32_t)gettid()) {
			n++;
			assert_in_range(what.ns - what.began_ns, 45000000, 5000000000);
			assert_string_equal(saw(&what, "syscall"), name);
			assert_string_equal(saw(&what, arg), value);
			assert_string_equal(saw(&what, "result"), "0");
			assert_string_equal(what.comm, "t_bpf_latency");
		}
		sighting_fini(&what);
	}
	assert_int_equal(n, 1);
	a.ops->close(a.source);
}

static void system_calls_by_name_and_by_number(void **state)
{
	char rule[64], number[16];

	a_slow_system_call("syscall:clock_nanosleep>40ms", "clock_nanosleep", "which_clock", "1");
	snprintf(number, sizeof(number), "%d", SYS_clock_nanosleep);
	snprintf(rule, sizeof(rule), "syscall:%s>40ms", number);
	a_slow_system_call(rule, number, "arg0", "1");
}

static void an_interrupted_system_call_says_so(void **state)
{
	struct armed a = arm("syscall:pause>40ms");
	struct sighting what;
	pid_t pid = fork();

	if (!pid) {
		/* Not handled, so it ends the process; the call returns before that. */
		pause();
		_exit(0);
	}
	sleep_ms(80);
	kill(pid, SIGSTOP);
	sleep_ms(20);
	kill(pid, SIGCONT);
	assert_int_equal(hit(&a, &what, 10000), 1);
	assert_int_equal(what.tid, pid);
	assert_string_equal(saw(&what, "result"), "interrupted by a signal");
	sighting_fini(&what);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	a.ops->close(a.source);
}

static void rules_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"latency>10ms", "a function as PATH:SYMBOL"},
		{"latency:/bin/true:main", "how long it may take"},
		{"latency:/bin/true:main<10ms", "how long it may take"},
		{"latency:/bin/true:main>10", "expected a time"},
		{"latency:/bin/true:main>0", "expected a time"},
		{"latency:/proc/self/exe:probed>1s;for=3s", "judged by itself"},
		{"latency:/proc/self/exe:probed>1s;hysteresis=3%", "judged by itself"},
		{"latency:/proc/self/exe:nothing_such>1s", "no function"},
		{"syscall>1s", "the name of a system call"},
		{"syscall:no such>1s", "the name of a system call"},
		{"syscall:fsnc>1s", "sys_enter_fsnc"},
		{"offcpu>1s", "the name of threads"},
		{"offcpu:0123456789abcdef>1s", "15 bytes"},
		{"runqueue", "how long it may take"},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = ERR_INIT;
		struct source *s = NULL;
		struct rule *r;

		assert_int_equal(rule_parse(bad[i].text, &r, NULL), 0);
		assert_true(source_find(r->source)->open(r, NULL, &s, &err) < 0);
		if (!strstr(err.what, bad[i].why))
			fail_msg("%s: %s", bad[i].text, err.what);
		assert_null(s);
		rule_free(r);
	}
}

static void who_may_not_is_told_what_to_type(void **state)
{
	struct err err = ERR_INIT;
	struct source *s = NULL;
	struct rule *r;
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* A user of no rights at all. */
		if (setgid(65534) || setuid(65534) || rule_parse("runqueue>1s", &r, NULL))
			_exit(1);
		_exit(source_find("runqueue")->open(r, NULL, &s, &err) == -EPERM &&
				      strstr(err.hint, "cap_bpf")
			      ? 0
			      : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int setup(void **state)
{
	struct sched_param prio = {.sched_priority = 10};
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	own[n > 0 ? n : 0] = '\0';
	sched_setscheduler(0, SCHED_FIFO, &prio);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_call_is_a_hit_and_one_just_below_is_none),
		cmocka_unit_test(of_calls_in_one_another_the_innermost_slow_is_told),
		cmocka_unit_test(a_call_that_is_left_is_no_hit_and_hides_none),
		cmocka_unit_test(threads_that_end_inside_are_forgotten),
		cmocka_unit_test(exec_inside_is_the_end_of_a_call),
		cmocka_unit_test(what_does_not_fit_is_counted),
		cmocka_unit_test(a_call_that_does_not_return_is_told_once),
		cmocka_unit_test(looks_are_only_for_calls_that_may_get_slow),
		cmocka_unit_test(system_calls_by_name_and_by_number),
		cmocka_unit_test(an_interrupted_system_call_says_so),
		cmocka_unit_test(rules_that_make_no_sense_are_refused),
		cmocka_unit_test(who_may_not_is_told_what_to_type),
	};

	if (geteuid()) {
		printf("1..0 # SKIP probes and BPF need root\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, setup, NULL);
}
