/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* Where tasks were: namespaces by records, by a scan, by birth; cgroups by a scan and by birth.
 * Times are seconds (S). */
#include "recorder/ledger/ledger.h"

#include "tests/helpers/ledger_ask.h"
#include "tests/helpers/side_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define S 1000000000ull

static struct side_record rec;

static void take(struct ledger *l, struct bytes b)
{
	ledger_record(l, b, &side_layout);
}

static void forked(struct ledger *l, uint64_t ns, uint32_t pid, uint32_t tid, uint32_t ppid)
{
	take(l, side_fork(&rec, ns, pid, tid, ppid, ppid));
}

/* A set is known by its first inode. */
static void went(struct ledger *l, uint64_t ns, uint32_t pid, uint32_t tid, uint64_t set)
{
	take(l, side_namespaces(&rec, ns, pid, tid, set, 7));
}

static void seen(struct ledger *l, uint64_t ns, uint32_t pid, uint32_t tid, uint64_t set,
		 const char *cgroup)
{
	struct fmt_namespace v[7];
	struct ledger_seen_task t = {
		.tid = tid,
		.pid = pid,
		.start_ns = 1 * S,
		.comm = "x",
		.cgroup = cgroup,
		.namespaces = v,
		.nr_namespaces = set ? 7 : 0,
	};

	for (uint32_t i = 0; i < 7; i++)
		v[i] = (struct fmt_namespace){.kind = i, .dev = 4, .ino = set + i};
	ledger_seen_task(l, ns, &t);
}

static void assert_set(struct ledger *l, uint32_t tid, uint64_t ns, uint64_t want)
{
	struct fmt_namespace v[LEDGER_MAX_NAMESPACES];
	size_t nr = ledger_namespaces(l, tid, ns, v);

	assert_int_equal(nr, want ? 7 : 0);
	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(v[i].kind, i);
		assert_int_equal(v[i].dev, 4);
		assert_int_equal(v[i].ino, want + i);
	}
}

static void assert_cgroup(struct ledger *l, uint32_t tid, uint64_t ns, const char *want)
{
	char path[64];

	assert_int_equal(ledger_cgroup(l, tid, ns, path, sizeof(path)), want != NULL);
	if (want)
		assert_string_equal(path, want);
}

static struct ledger *new_ledger(void)
{
	struct ledger *l;

	assert_int_equal(ledger_new(1 << 20, &l, NULL), 0);
	return l;
}

/* ---- namespaces ---- */

static void children_are_where_their_parent_was(void **state)
{
	struct ledger *l = new_ledger();

	went(l, 2 * S, 10, 10, 100);
	forked(l, 3 * S, 10, 11, 10);
	forked(l, 3 * S, 20, 20, 10);
	went(l, 4 * S, 10, 10, 200);
	forked(l, 5 * S, 21, 21, 10);
	assert_set(l, 10, 2 * S - 1, 0); /* unknown where it was before */
	assert_set(l, 10, 4 * S - 1, 100);
	assert_set(l, 10, 4 * S, 200);
	assert_set(l, 11, 9 * S, 100); /* unshare(2) is of one thread */
	assert_set(l, 20, 9 * S, 100);
	assert_set(l, 21, 9 * S, 200);
	assert_set(l, 99, 9 * S, 0);
	ledger_free(l);
}

static void the_record_behind_a_fork_says_where_it_was_born(void **state)
{
	struct ledger *l = new_ledger();

	went(l, 2 * S, 10, 10, 100);
	forked(l, 3 * S, 20, 20, 10);
	went(l, 3 * S + 5000, 20, 20, 300);
	went(l, 6 * S, 20, 20, 100);
	assert_set(l, 20, 3 * S, 300);
	assert_set(l, 20, 6 * S - 1, 300);
	assert_set(l, 20, 6 * S, 100);
	ledger_free(l);
}

static void kinds_that_a_kernel_lacks_are_left_out(void **state)
{
	struct fmt_namespace v[LEDGER_MAX_NAMESPACES];
	struct ledger *l = new_ledger();

	take(l, side_namespaces(&rec, 2 * S, 10, 10, 100, FMT_NS_IPC));
	assert_int_equal(ledger_namespaces(l, 10, 2 * S, v), 6);
	assert_int_equal(v[1].kind, FMT_NS_UTS);
	assert_int_equal(v[2].kind, FMT_NS_PID);
	assert_int_equal(v[2].ino, 103);
	ledger_free(l);
}

static void life_records(struct ledger *l)
{
	forked(l, 3 * S, 20, 20, 10);
	went(l, 3 * S + 5000, 20, 20, 300);
	went(l, 4 * S, 20, 20, 400);
	went(l, 6 * S, 20, 20, 500);
}

static void life_scan(struct ledger *l)
{
	seen(l, 5 * S, 20, 20, 400, "");
}

static void a_scan_and_records_may_come_in_any_order(void **state)
{
	for (int scan_first = 0; scan_first < 2; scan_first++) {
		struct ledger *l = new_ledger();

		seen(l, 2 * S, 10, 10, 100, "");
		(scan_first ? life_scan : life_records)(l);
		(scan_first ? life_records : life_scan)(l);
		assert_set(l, 20, 3 * S, 300);
		assert_set(l, 20, 4 * S - 1, 300);
		assert_set(l, 20, 4 * S, 400);
		assert_set(l, 20, 6 * S - 1, 400);
		assert_set(l, 20, 6 * S, 500);
		assert_set(l, 10, 1 * S, 100); /* since before it was first seen */
		ledger_free(l);
	}
}

static void a_scan_corrects_what_was_inherited(void **state)
{
	for (int scan_first = 0; scan_first < 2; scan_first++) {
		struct ledger *l = new_ledger();

		seen(l, 2 * S, 10, 10, 100, "/a");
		if (scan_first)
			seen(l, 5 * S, 20, 20, 200, "/b");
		forked(l, 3 * S, 20, 20, 10);
		if (!scan_first) {
			assert_set(l, 20, 4 * S, 100);
			assert_cgroup(l, 20, 4 * S, "/a");
			seen(l, 5 * S, 20, 20, 200, "/b");
		}
		assert_set(l, 20, 3 * S, 200);
		assert_set(l, 20, 9 * S, 200);
		assert_cgroup(l, 20, 3 * S, "/b");
		assert_cgroup(l, 20, 9 * S, "/b");
		ledger_free(l);
	}
}

static void a_thread_of_which_nothing_is_known_is_with_its_leader(void **state)
{
	struct ledger *l = new_ledger();

	seen(l, 2 * S, 10, 10, 100, "/a");
	seen(l, 2 * S, 10, 11, 0, NULL);
	take(l, side_fork(&rec, 3 * S, 10, 12, 10, 11));
	went(l, 4 * S, 10, 10, 200);
	went(l, 5 * S, 10, 11, 300);
	assert_set(l, 11, 3 * S, 100);
	assert_set(l, 11, 5 * S, 300);
	assert_set(l, 12, 9 * S, 100);
	assert_cgroup(l, 11, 3 * S, "/a");
	assert_cgroup(l, 12, 3 * S, "/a");
	ledger_free(l);
}

static void a_thread_that_execs_stays_where_it_was(void **state)
{
	struct ledger *l = new_ledger();

	seen(l, 2 * S, 10, 10, 100, "/a");
	forked(l, 3 * S, 10, 11, 10);
	went(l, 4 * S, 10, 11, 200);
	take(l, side_exit(&rec, 5 * S, 10, 10, 1));
	take(l, side_comm(&rec, 5 * S + 10, 10, 10, "new", true));
	assert_set(l, 10, 5 * S, 100);
	assert_set(l, 10, 5 * S + 10, 200);
	assert_cgroup(l, 10, 6 * S, "/a");
	went(l, 7 * S, 10, 10, 300);
	assert_set(l, 10, 7 * S - 1, 200);
	assert_set(l, 10, 7 * S, 300);
	ledger_free(l);
}

/* ---- cgroups ---- */

static void a_move_is_seen_at_the_next_scan(void **state)
{
	struct ledger *l = new_ledger();

	seen(l, 2 * S, 10, 10, 0, "/a");
	forked(l, 3 * S, 20, 20, 10);
	seen(l, 5 * S, 10, 10, 0, "/b");
	seen(l, 5 * S, 20, 20, 0, "/a"); /* now it is known */
	seen(l, 8 * S, 20, 20, 0, "/c");
	forked(l, 9 * S, 30, 30, 10);
	assert_cgroup(l, 10, 5 * S - 1, "/a");
	assert_cgroup(l, 10, 5 * S, "/b");
	assert_cgroup(l, 20, 8 * S - 1, "/a");
	assert_cgroup(l, 20, 8 * S, "/c");
	assert_cgroup(l, 30, 9 * S, "/b");
	assert_cgroup(l, 99, 9 * S, NULL);
	ledger_free(l);
}

/* The first process of a container is moved after its fork: no record tells of it. */
static void a_guessed_cgroup_is_read(void **state)
{
	struct ledger *l = new_ledger();
	struct buf list = {0};
	const struct ledger_thread *v;

	seen(l, 2 * S, 10, 10, 0, "/a");
	forked(l, 3 * S, 20, 20, 10);
	assert_int_equal(ledger_living(l, &list), 0);
	v = (const struct ledger_thread *)list.p;
	assert_int_equal(list.len, 2 * sizeof(*v));
	assert_false(v[0].guessed_cgroup);
	assert_true(v[1].guessed_cgroup);
	ledger_seen_cgroup(l, 5 * S, 20, "/b");
	ledger_seen_cgroup(l, 5 * S, 30, "/b"); /* unknown */
	assert_cgroup(l, 20, 3 * S, "/b");
	list.len = 0;
	assert_int_equal(ledger_living(l, &list), 0);
	v = (const struct ledger_thread *)list.p;
	assert_false(v[1].guessed_cgroup);
	buf_free(&list);
	ledger_free(l);
}

/* ---- memory ---- */

static void one_that_keeps_moving_is_bounded(void **state)
{
	struct ledger *l = new_ledger();
	uint64_t bytes = 0;

	for (uint64_t i = 1; i <= 5000; i++) {
		went(l, i * S, 10, 10, 1000 + 10 * (i % 50));
		if (i == 100)
			bytes = stats_of(l).bytes;
	}
	assert_true(stats_of(l).bytes <= bytes + 1024);
	assert_true(stats_of(l).nr_evicted > 4000);
	for (uint64_t i = 4950; i <= 5000; i++)
		assert_set(l, 10, i * S, 1000 + 10 * (i % 50));
	assert_set(l, 10, 4000 * S, 0);
	ledger_free(l);

	/* What no ring refers to any more is not missed. */
	l = new_ledger();
	for (uint64_t i = 1; i <= 5000; i++) {
		went(l, i * S, 10, 10, 1000 + 10 * (i % 50));
		ledger_expire(l, i > 20 ? (i - 20) * S : 0);
	}
	assert_int_equal(stats_of(l).nr_evicted, 0);
	assert_set(l, 10, 4981 * S, 1000 + 10 * (4981 % 50));
	ledger_free(l);
}

/* 100 processes that come, go about and end. */
static void crowd(struct ledger *l, uint64_t ns)
{
	char path[32];

	for (uint32_t pid = 100; pid < 200; pid++) {
		forked(l, ns, pid, pid, 10);
		for (uint64_t i = 1; i <= pid % 20; i++)
			went(l, ns + i, pid, pid, pid * 100 + 10 * i);
		snprintf(path, sizeof(path), "/crowd/%u", pid);
		seen(l, ns + 50, pid, pid, pid * 100 + 10, path);
		seen(l, ns + 60, pid, pid, pid * 100 + 20, "/all");
		take(l, side_exit(&rec, ns + 100, pid, pid, 10));
	}
}

static void all_memory_comes_back(void **state)
{
	struct ledger *l = new_ledger();
	uint64_t bytes = 0;

	seen(l, 2 * S, 10, 10, 100, "/a");
	for (uint64_t round = 1; round < 5; round++) {
		crowd(l, round * 10 * S);
		if (bytes)
			assert_true(stats_of(l).bytes > bytes + 100 * 300);
		ledger_expire(l, round * 10 * S + 5 * S);
		assert_int_equal(stats_of(l).nr_tasks, 1);
		if (round > 1)
			assert_int_equal(stats_of(l).bytes, bytes);
		bytes = stats_of(l).bytes;
	}
	ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_are_where_their_parent_was),
		cmocka_unit_test(the_record_behind_a_fork_says_where_it_was_born),
		cmocka_unit_test(kinds_that_a_kernel_lacks_are_left_out),
		cmocka_unit_test(a_scan_and_records_may_come_in_any_order),
		cmocka_unit_test(a_scan_corrects_what_was_inherited),
		cmocka_unit_test(a_thread_of_which_nothing_is_known_is_with_its_leader),
		cmocka_unit_test(a_thread_that_execs_stays_where_it_was),
		cmocka_unit_test(a_move_is_seen_at_the_next_scan),
		cmocka_unit_test(a_guessed_cgroup_is_read),
		cmocka_unit_test(one_that_keeps_moving_is_bounded),
		cmocka_unit_test(all_memory_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
