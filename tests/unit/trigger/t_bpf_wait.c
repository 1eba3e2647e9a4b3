/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/*
 * Rules on threads that are off the CPU or wait for one: what is a hit, and that others' events are
 * not lost. Runs with real-time priority, so that the machine's other load makes no sleep long.
 */
#include "tests/helpers/armed.h"
#include "trigger/kernel/event.h"

#include <linux/perf_event.h>
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

static void sleep_ms(int ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t))
		;
}

static int gate[2];

static void *waiting_thread(void *arg)
{
	char c;

	prctl(PR_SET_NAME, "waiter");
	assert_int_equal(read(gate[0], &c, 1), 1);
	return arg;
}

static void a_thread_that_is_away(void **state)
{
	struct armed a = arm("offcpu:t_bpf_wait>40ms");
	struct sighting what;

	is_no_hit(&a, THRESHOLD_MS, sleep_ms);
	sleep_ms(45);
	assert_int_equal(hit(&a, &what, 10000), 1);
	assert_int_equal(what.tid, gettid());
	assert_int_equal(what.pid, getpid());
	assert_string_equal(what.comm, "t_bpf_wait");
	assert_string_equal(saw(&what, "state"), "S (sleeping)");
	sighting_fini(&what);
	a.ops->close(a.source);
	/* Names are compared whole. */
	a = arm("offcpu:t_stopwatc>40ms");
	sleep_ms(45);
	assert_int_equal(hits(&a), 0);
	a.ops->close(a.source);
}

static void a_thread_that_stays_away(void **state)
{
	struct armed a = arm("offcpu:waiter>40ms;while-running");
	struct sighting what;
	pthread_t t;

	assert_int_equal(pipe(gate), 0);
	assert_int_equal(pthread_create(&t, NULL, waiting_thread, NULL), 0);
	assert_int_equal(hit(&a, &what, 10000), 1);
	assert_string_equal(what.comm, "waiter");
	assert_int_equal(atoi(saw(&what, "syscall_nr")), SYS_read);
	sighting_fini(&what);
	assert_int_equal(write(gate[1], "x", 1), 1);
	pthread_join(t, NULL);
	assert_int_equal(hits(&a), 0);
	close(gate[0]);
	close(gate[1]);
	a.ops->close(a.source);
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void spin_ms(int ms)
{
	int64_t from = now_ms();

	while (now_ms() - from < ms)
		;
}

/* A process of its own on `cpu` with the name and policy. */
static pid_t start(const char *name, int cpu, int policy, int ms)
{
	struct sched_param prio = {.sched_priority = policy == SCHED_FIFO ? 20 : 0};
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_NAME, name);
	on_cpu(cpu);
	sched_setscheduler(0, policy, &prio);
	spin_ms(ms);
	_exit(0);
}

static void a_thread_that_has_to_wait_for_a_cpu(void **state)
{
	struct armed a = arm("runqueue:starved>40ms");
	int cpu = sched_getcpu(), status;
	struct sighting what;
	pid_t starved, hog;

	starved = start("starved", cpu, SCHED_OTHER, 20000);
	sleep_ms(30);
	hog = start("rt_hog", cpu, SCHED_FIFO, 35);
	waitpid(hog, &status, 0);
	hits(&a); /* Others may have wanted that CPU as well. */
	hog = start("rt_hog", cpu, SCHED_FIFO, 80);
	waitpid(hog, &status, 0);
	assert_int_equal(hit(&a, &what, 10000), 1);
	/* On a busy machine it may have waited for another task before. */
	while (what.ns - what.began_ns < 60000000) {
		sighting_fini(&what);
		assert_int_equal(hit(&a, &what, 10000), 1);
	}
	assert_int_equal(what.pid, starved);
	assert_string_equal(what.comm, "starved");
	assert_in_range(what.ns - what.began_ns, 60000000, 6000000000);
	assert_string_equal(saw(&what, "comm"), "starved");
	sighting_fini(&what);
	kill(starved, SIGKILL);
	waitpid(starved, &status, 0);
	a.ops->close(a.source);
}

/* ---- what others record ---- */

static uint64_t switches_counted(int fd)
{
	uint64_t v = 0;

	assert_int_equal(read(fd, &v, sizeof(v)), sizeof(v));
	return v;
}

static void others_keep_their_samples(void **state)
{
	struct armed a = arm("runqueue>10s");
	struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr)};
	struct event_list l = {0};
	int fd;

	assert_int_equal(event_parse("sched:sched_switch", NULL, &l, NULL), 0);
	attr.config = l.v[0]->attr.config;
	attr.sample_period = 1;
	fd = event_open(&attr, 0, -1, -1, 0);
	assert_true(fd >= 0);
	for (int i = 0; i < 20; i++)
		sleep_ms(1);
	assert_true(switches_counted(fd) >= 20);
	close(fd);
	event_list_free(&l);
	a.ops->close(a.source);
}

static int setup(void **state)
{
	struct sched_param prio = {.sched_priority = 10};

	sched_setscheduler(0, SCHED_FIFO, &prio);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_that_is_away),
		cmocka_unit_test(a_thread_that_stays_away),
		cmocka_unit_test(a_thread_that_has_to_wait_for_a_cpu),
		cmocka_unit_test(others_keep_their_samples),
	};

	if (geteuid()) {
		printf("1..0 # SKIP BPF needs root\n");
		return 0;
	}
	return cmocka_run_group_tests(tests, setup, NULL);
}
