/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * Names that tasks are born with: kernel threads have their own from the beginning, and since Linux
 * 6.4 no COMM record tells it. The tracepoint behind the FORK record does, or a scan, in whichever
 * order they come; and with a real event, of a child made as the kernel makes its own. Times are
 * seconds (S).
 */
#include "recorder/ledger/new_tasks.h"

#include "dump/base/err.h"
#include "recorder/ledger/ledger.h"
#include "trigger/kernel/ring.h"
#include "recorder/capture/sideband.h"
#include "tests/helpers/ledger_ask.h"
#include "tests/helpers/side_records.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define S	   1000000000ull
#define KTHREADD   2
#define RING_BYTES 65536

static struct side_record rec;

static void take(struct ledger *l, struct bytes b)
{
	ledger_record(l, b, &side_layout);
}

static void seen(struct ledger *l, uint64_t ns, uint32_t tid, uint32_t ppid, const char *comm)
{
	struct ledger_seen_task t = {
		.tid = tid, .pid = tid, .ppid = ppid, .start_ns = 2 * S, .comm = comm};

	ledger_seen_task(l, ns, &t);
}

static struct ledger *with_kthreadd(void)
{
	struct ledger *l;

	assert_int_equal(ledger_new(1 << 20, &l, NULL), 0);
	seen(l, 1 * S, KTHREADD, 0, "kthreadd");
	return l;
}

/* ---- kernel threads, from Linux 6.4 on ---- */

static void a_kernel_thread_has_the_name_it_was_born_with(void **state)
{
	struct ledger *l = with_kthreadd();

	take(l, side_fork(&rec, 2 * S, 10, 10, KTHREADD, KTHREADD));
	take(l, side_newborn(&rec, 2 * S + 1, 10, KTHREADD, "jbd2/vda-8"));
	assert_comm(l, 10, 2 * S, "jbd2/vda-8");
	assert_comm(l, 10, 9 * S, "jbd2/vda-8");
	take(l, side_exit(&rec, 9 * S, 10, 10, KTHREADD));
	assert_comm(l, 10, 9 * S, "jbd2/vda-8");
	assert_comm(l, KTHREADD, 9 * S, "kthreadd");
	ledger_free(l);
}

static void what_it_is_called_later_is_another_name(void **state)
{
	struct ledger *l = with_kthreadd();

	take(l, side_fork(&rec, 2 * S, 10, 10, KTHREADD, KTHREADD));
	take(l, side_newborn(&rec, 2 * S + 1, 10, KTHREADD, "kworker/u8:7"));
	take(l, side_comm(&rec, 4 * S, 10, 10, "kworker/dying", false));
	assert_comm(l, 10, 2 * S, "kworker/u8:7");
	assert_comm(l, 10, 4 * S - 1, "kworker/u8:7");
	assert_comm(l, 10, 4 * S, "kworker/dying");
	ledger_free(l);
}

/* Where the tracepoint can't be had. */
static void a_scan_gives_a_kernel_thread_its_name_from_its_birth_on(void **state)
{
	struct ledger *l = with_kthreadd();

	take(l, side_fork(&rec, 2 * S, 10, 10, KTHREADD, KTHREADD));
	assert_comm(l, 10, 3 * S, "kthreadd");
	seen(l, 5 * S, 10, KTHREADD, "kworker/0:1");
	assert_comm(l, 10, 2 * S, "kworker/0:1");
	assert_comm(l, 10, 6 * S, "kworker/0:1");
	ledger_free(l);
}

/* It began while the scan looked already, and the scan came to it before its records did. */
static void so_does_a_scan_that_was_faster_than_the_records(void **state)
{
	for (int told = 0; told < 2; told++) {
		struct ledger *l = with_kthreadd();

		seen(l, 5 * S, 10, KTHREADD, "kworker/0:1");
		take(l, side_fork(&rec, 2 * S, 10, 10, KTHREADD, KTHREADD));
		if (told)
			take(l, side_newborn(&rec, 2 * S + 1, 10, KTHREADD, "kworker/0:1"));
		assert_comm(l, 10, 2 * S, "kworker/0:1");
		assert_comm(l, 10, 5 * S - 1, "kworker/0:1");
		assert_comm(l, 10, 6 * S, "kworker/0:1");
		ledger_free(l);
	}
}

/* ---- before Linux 6.4: named by a COMM record when it runs already ---- */

static void a_scan_may_see_it_while_it_has_no_name(void **state)
{
	struct ledger *l = with_kthreadd();

	/* Born before the sideband was there, so that no FORK record comes. */
	seen(l, 3 * S, 10, KTHREADD, "kthreadd");
	take(l, side_comm(&rec, 4 * S, 10, 10, "kworker/0:1", false));
	assert_comm(l, 10, 2 * S, "kworker/0:1");
	assert_comm(l, 10, 9 * S, "kworker/0:1");
	ledger_free(l);
}

static void being_born_as_kthreadd_is_no_name_either(void **state)
{
	struct ledger *l = with_kthreadd();

	seen(l, 3 * S, 10, KTHREADD, "kthreadd");
	take(l, side_fork(&rec, 2 * S, 10, 10, KTHREADD, KTHREADD));
	take(l, side_newborn(&rec, 2 * S + 1, 10, KTHREADD, "kthreadd"));
	take(l, side_comm(&rec, 4 * S, 10, 10, "kworker/0:1", false));
	assert_comm(l, 10, 2 * S, "kworker/0:1");
	assert_comm(l, 10, 9 * S, "kworker/0:1");
	ledger_free(l);
}

/* ---- others ---- */

static void a_thread_that_the_kernel_starts_in_a_process_too(void **state)
{
	struct ledger *l = with_kthreadd();

	take(l, side_comm(&rec, 1 * S, 20, 20, "machine", true));
	take(l, side_fork(&rec, 2 * S, 20, 21, 20, 20));
	take(l, side_newborn(&rec, 2 * S + 1, 21, 20, "vhost-20"));
	assert_comm(l, 21, 2 * S, "vhost-20");
	assert_comm(l, 20, 3 * S, "machine");
	ledger_free(l);
}

static void nobody_else_is_renamed(void **state)
{
	struct ledger *l = with_kthreadd();

	/* Named since, seen by a scan only, unknown. */
	take(l, side_comm(&rec, 1 * S, 20, 20, "shell", false));
	take(l, side_fork(&rec, 2 * S, 30, 30, 20, 20));
	take(l, side_comm(&rec, 3 * S, 30, 30, "program", true));
	take(l, side_newborn(&rec, 4 * S, 30, 20, "no"));
	seen(l, 3 * S, 40, 1, "daemon");
	take(l, side_newborn(&rec, 4 * S, 40, 1, "no"));
	take(l, side_newborn(&rec, 4 * S, 50, 1, "no"));
	assert_comm(l, 30, 2 * S, "shell");
	assert_comm(l, 30, 9 * S, "program");
	assert_comm(l, 40, 9 * S, "daemon");
	assert_false(ledger_comm(l, 50, 9 * S, (char[16]){0}));
	ledger_free(l);
}

static void raw_data_that_is_too_short_says_nothing(void **state)
{
	uint8_t raw[28] = {[8] = 10, [12] = 'x'};
	char name[16];
	uint32_t tid;

	assert_false(new_tasks_read((struct bytes){raw, 27}, &tid, name));
	assert_true(new_tasks_read((struct bytes){raw, 28}, &tid, name));
	assert_int_equal(tid, 10);
	assert_string_equal(name, "x");
}

/* ---- the real tracepoint ---- */

/* A child of the calling thread that ends at once. */
static pid_t child(unsigned long flags)
{
	pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	int status;

	if (!pid)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return pid;
}

/* How many samples of `tid` there are; each must have this name. */
static unsigned count(const struct ring *ring, const struct record_layout *layout, uint32_t tid,
		      const char *want)
{
	uint64_t pos = ring_tail(ring), head = ring_head(ring);
	static uint8_t scratch[65536];
	struct record_sample s;
	struct bytes b;
	unsigned nr = 0;
	uint32_t got;
	char name[16];

	while (ring_next(ring, &pos, head, scratch, &b)) {
		if (((const struct perf_event_header *)b.p)->type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(record_sample(b, layout, &s), 0);
		assert_true(new_tasks_read(s.raw, &got, name));
		if (got != tid)
			continue;
		assert_string_equal(name, want);
		nr++;
	}
	return nr;
}

static void the_kernel_tells_of_its_own_children_only(void **state)
{
	struct event_list events = {0};
	struct record_layout layout;
	struct perf_event_attr attr;
	struct ring ring = {0};
	struct caps caps;
	int side, fd, cpu = sched_getcpu();
	cpu_set_t set;

	caps_probe(&caps);
	assert_int_equal(new_tasks_event(&caps, &events, NULL), 0);
	if (!caps.tracepoints || !caps.tracefs || !caps.system_wide || !caps.initial_pidns) {
		assert_int_equal(events.nr, 0);
		printf("# this user may not have tracepoints of the whole system\n");
		skip();
	}
	assert_int_equal(events.nr, 1);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
	sideband_attr(&caps, RING_BYTES, &attr, &layout);
	side = event_open(&attr, -1, cpu, -1, 0);
	assert_true(side >= 0);
	assert_int_equal(ring_map(&ring, side, RING_BYTES, false), 0);
	fd = new_tasks_open(events.v[0], &attr, cpu, side, &caps, NULL);
	assert_true(fd >= 0);
	prctl(PR_SET_NAME, "newborn-test");
	assert_int_equal(count(&ring, &layout, child(CLONE_UNTRACED), "newborn-test"), 1);
	assert_int_equal(count(&ring, &layout, child(0), ""), 0);
	close(fd);
	ring_unmap(&ring);
	close(side);
	event_list_free(&events);
}

static void who_may_not_have_it_does_without(void **state)
{
	struct caps caps = {.tracefs = true, .tracepoints = true, .system_wide = true};
	struct event_list events = {0};

	/* Pids of another namespace would be taken for ours. */
	assert_int_equal(new_tasks_event(&caps, &events, NULL), 0);
	assert_int_equal(events.nr, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_thread_has_the_name_it_was_born_with),
		cmocka_unit_test(what_it_is_called_later_is_another_name),
		cmocka_unit_test(a_scan_gives_a_kernel_thread_its_name_from_its_birth_on),
		cmocka_unit_test(so_does_a_scan_that_was_faster_than_the_records),
		cmocka_unit_test(a_scan_may_see_it_while_it_has_no_name),
		cmocka_unit_test(being_born_as_kthreadd_is_no_name_either),
		cmocka_unit_test(a_thread_that_the_kernel_starts_in_a_process_too),
		cmocka_unit_test(nobody_else_is_renamed),
		cmocka_unit_test(raw_data_that_is_too_short_says_nothing),
		cmocka_unit_test(the_kernel_tells_of_its_own_children_only),
		cmocka_unit_test(who_may_not_have_it_does_without),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
