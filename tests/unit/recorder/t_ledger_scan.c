/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * What a scan of /proc brings is merged with records from before and after the moment it looked, in
 * whichever order the two come in: the answers must be the same. Times are seconds (S).
 */
#include "recorder/ledger/ledger.h"

#include "tests/helpers/ledger_ask.h"
#include "tests/helpers/side_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define S 1000000000ull

static struct side_record rec;

static void take(struct ledger *l, struct bytes b)
{
	ledger_record(l, b, &side_layout);
}

static void seen(struct ledger *l, uint64_t ns, uint32_t pid, uint32_t tid, uint64_t start_ns,
		 const char *comm)
{
	struct ledger_seen_task t = {
		.tid = tid,
		.pid = pid,
		.ppid = 1,
		.uid = 1000,
		.start_ns = start_ns,
		.comm = comm,
		.cgroup = "/user.slice",
	};

	ledger_seen_task(l, ns, &t);
}

static void seen_map(struct ledger *l, uint64_t ns, uint32_t pid, uint64_t start, const char *path)
{
	struct ledger_seen_map m = {.start = start, .end = start + 0x1000, .prot = 5, .path = path};

	ledger_seen_maps(l, ns, pid, &m, path ? 1 : 0);
}

static void mapped(struct ledger *l, uint64_t ns, uint32_t pid, uint64_t start, const char *path)
{
	struct side_mmap m = {.start = start, .len = 0x1000, .path = path};

	take(l, side_mmap2(&rec, ns, pid, pid, &m));
}

static struct ledger *new_ledger(void)
{
	struct ledger *l;

	assert_int_equal(ledger_new(1 << 20, &l, NULL), 0);
	return l;
}

/* Runs `records` and `scan` in both orders and lets `check` look at the outcome of each. */
static void both_orders(void (*records)(struct ledger *l), void (*scan)(struct ledger *l),
			void (*check)(struct ledger *l))
{
	for (int scan_first = 0; scan_first < 2; scan_first++) {
		struct ledger *l = new_ledger();

		(scan_first ? scan : records)(l);
		(scan_first ? records : scan)(l);
		check(l);
		ledger_free(l);
	}
}

static void what_a_scan_sees_holds_since_ever(void **state)
{
	struct ledger *l = new_ledger();
	char path[64];

	seen(l, 10 * S, 10, 10, 3 * S, "daemon");
	seen_map(l, 11 * S, 10, 0x1000, "/daemon");
	assert_comm(l, 10, 4 * S, "daemon");
	assert_path(l, 10, 4 * S, 0x1fff, "/daemon");
	assert_comm(l, 10, 2 * S, NULL); /* it began later */
	assert_true(ledger_cgroup(l, 10, 10 * S, path, sizeof(path)));
	assert_string_equal(path, "/user.slice");
	ledger_free(l);
}

/* ---- fork, exec and mappings from before the scan ---- */

static void life_records(struct ledger *l)
{
	take(l, side_comm(&rec, 1 * S, 5, 5, "shell", false));
	take(l, side_fork(&rec, 2 * S, 10, 10, 5, 5));
	take(l, side_comm(&rec, 3 * S, 10, 10, "tool", true));
	mapped(l, 4 * S, 10, 0x1000, "/tool");
	mapped(l, 5 * S, 10, 0x2000, "/gone");
}

static void life_scan(struct ledger *l)
{
	seen(l, 8 * S, 10, 10, 2 * S - 7000000, "tool");
	seen_map(l, 9 * S, 10, 0x1000, "/tool");
}

static void life_check(struct ledger *l)
{
	assert_int_equal(stats_of(l).nr_tasks, 2);
	assert_comm(l, 10, 2 * S - 1, NULL);
	assert_comm(l, 10, 2 * S, "shell");
	assert_comm(l, 10, 3 * S, "tool");
	assert_comm(l, 10, 20 * S, "tool");
	assert_path(l, 10, 3 * S, 0x1000, NULL);
	assert_path(l, 10, 4 * S, 0x1000, "/tool");
	assert_path(l, 10, 20 * S, 0x1000, "/tool");
	assert_path(l, 10, 6 * S, 0x2000, "/gone");
}

static void records_from_before_a_scan(void **state)
{
	both_orders(life_records, life_scan, life_check);
}

/* ---- what happens after it ---- */

static void later_records(struct ledger *l)
{
	take(l, side_comm(&rec, 6 * S, 10, 10, "renamed", false));
	mapped(l, 6 * S, 10, 0x1000, "/replaced");
	mapped(l, 7 * S, 10, 0x5000, "/new");
}

static void later_scan(struct ledger *l)
{
	seen(l, 5 * S, 10, 10, 1 * S, "first");
	seen_map(l, 5 * S, 10, 0x1000, "/first");
}

static void later_check(struct ledger *l)
{
	assert_int_equal(stats_of(l).nr_tasks, 1);
	assert_comm(l, 10, 2 * S, "first");
	assert_comm(l, 10, 6 * S, "renamed");
	assert_path(l, 10, 2 * S, 0x1000, "/first");
	assert_path(l, 10, 6 * S, 0x1000, "/replaced");
	assert_path(l, 10, 7 * S, 0x5000, "/new");
}

static void records_from_after_a_scan(void **state)
{
	both_orders(later_records, later_scan, later_check);
}

/* ---- an end that the scan did not see ---- */

static void exit_records(struct ledger *l)
{
	take(l, side_exit(&rec, 6 * S, 10, 10, 1));
}

static void exit_check(struct ledger *l)
{
	assert_int_equal(stats_of(l).nr_tasks, 1);
	assert_int_equal(stats_of(l).nr_tombstones, 1);
	assert_comm(l, 10, 5 * S, "first");
}

static void an_exit_after_the_scan_looked(void **state)
{
	both_orders(exit_records, later_scan, exit_check);
}

/* ---- a tid used again before the scan ---- */

static void reuse_records(struct ledger *l)
{
	take(l, side_comm(&rec, 1 * S, 10, 10, "first", false));
	take(l, side_exit(&rec, 2 * S, 10, 10, 1));
	take(l, side_comm(&rec, 2 * S, 1, 1, "init", false));
	take(l, side_fork(&rec, 4 * S, 10, 10, 1, 1));
	take(l, side_comm(&rec, 4 * S + 1, 10, 10, "second", true));
}

static void reuse_scan(struct ledger *l)
{
	seen(l, 5 * S, 10, 10, 4 * S - 1, "second");
}

static void a_tid_used_again_before_the_scan(void **state)
{
	struct ledger *l = new_ledger();

	reuse_records(l);
	reuse_scan(l);
	assert_comm(l, 10, 1 * S, "first");
	assert_comm(l, 10, 4 * S, "init");
	assert_comm(l, 10, 5 * S, "second");
	assert_int_equal(stats_of(l).nr_tombstones, 1);
	ledger_free(l);

	/* The other way round the scanned task must survive the end of the tid's earlier user. */
	l = new_ledger();
	reuse_scan(l);
	reuse_records(l);
	assert_comm(l, 10, 4 * S, "init");
	assert_comm(l, 10, 5 * S, "second");
	assert_int_equal(stats_of(l).nr_tombstones, 0);
	ledger_free(l);
}

/* ---- mappings that are inherited before they are known ---- */

static void a_child_of_an_unscanned_parent_gets_its_mappings(void **state)
{
	struct ledger *l = new_ledger();

	seen(l, 5 * S, 10, 10, 1 * S, "parent");
	take(l, side_fork(&rec, 6 * S, 11, 11, 10, 10));
	seen_map(l, 7 * S, 10, 0x1000, "/parent");
	mapped(l, 8 * S, 10, 0x5000, "/after");
	assert_path(l, 11, 9 * S, 0x1000, "/parent");
	assert_path(l, 11, 9 * S, 0x5000, NULL);
	assert_path(l, 10, 9 * S, 0x5000, "/after");
	ledger_free(l);
}

static void a_late_fork_gives_a_scanned_child_what_it_lacks(void **state)
{
	struct ledger *l = new_ledger();

	seen(l, 5 * S, 10, 10, 1 * S, "parent");
	seen(l, 5 * S, 11, 11, 4 * S, "child");
	seen_map(l, 6 * S, 10, 0x1000, "/parent");
	take(l, side_fork(&rec, 4 * S + 1000, 11, 11, 10, 10));
	assert_path(l, 11, 5 * S, 0x1000, "/parent");
	assert_comm(l, 11, 4 * S + 1000, "parent");
	assert_comm(l, 11, 5 * S, "child");
	seen_map(l, 7 * S, 11, 0x1000, "/parent");
	assert_int_equal(stats_of(l).nr_maps, 1); /* still shared */
	ledger_free(l);
}

static void an_exec_drained_late_keeps_what_the_scan_found(void **state)
{
	struct ledger *l = new_ledger();

	seen(l, 5 * S, 10, 10, 1 * S, "parent");
	seen_map(l, 5 * S, 10, 0x1000, "/parent");
	seen(l, 6 * S, 11, 11, 2 * S, "tool");
	seen_map(l, 6 * S, 11, 0x3000, "/tool");
	take(l, side_fork(&rec, 2 * S, 11, 11, 10, 10));
	take(l, side_comm(&rec, 3 * S, 11, 11, "tool", true));
	mapped(l, 3 * S + 5, 11, 0x3000, "/tool");
	assert_comm(l, 11, 2 * S, "parent");
	assert_comm(l, 11, 3 * S, "tool");
	assert_path(l, 11, 3 * S + 4, 0x3000, NULL);
	assert_path(l, 11, 3 * S + 5, 0x3000, "/tool");
	assert_path(l, 11, 9 * S, 0x3000, "/tool");
	ledger_free(l);
}

static void build_ids_of_records_complete_what_a_scan_found(void **state)
{
	static const uint8_t id[20] = {1, 2, 3};
	struct side_mmap m = {.start = 0x1000, .len = 0x1000, .path = "/a", .build_id = id};
	struct ledger *l = new_ledger();

	seen(l, 5 * S, 10, 10, 1 * S, "x");
	seen_map(l, 5 * S, 10, 0x1000, "/a");
	take(l, side_mmap2(&rec, 4 * S, 10, 10, &m));
	assert_int_equal(stats_of(l).nr_maps, 1);
	assert_path(l, 10, 4 * S - 1, 0x1000, NULL);
	assert_path(l, 10, 4 * S, 0x1000, "/a");
	seen_map(l, 6 * S, 10, 0x1000, "/a (deleted)");
	assert_int_equal(stats_of(l).nr_maps, 1);
	ledger_free(l);
}

/* ---- a scan that repairs what was lost ---- */

static void a_full_scan_ends_who_is_gone_and_mends_the_rest(void **state)
{
	struct ledger *l = new_ledger();

	seen(l, 5 * S, 10, 10, 1 * S, "stays");
	seen_map(l, 5 * S, 10, 0x1000, "/old");
	seen(l, 5 * S, 20, 20, 1 * S, "gone");
	seen(l, 5 * S, 30, 30, 1 * S, "reused");
	ledger_seen_all(l, 4 * S);
	assert_int_equal(stats_of(l).nr_tombstones, 0);
	/* Ends, an exec, a mapping and a new user of tid 30 go unnoticed. */
	take(l, side_fork(&rec, 11 * S, 40, 40, 10, 10));
	seen(l, 12 * S, 10, 10, 1 * S, "execed");
	seen(l, 12 * S, 30, 30, 8 * S, "second");
	ledger_seen_all(l, 10 * S);
	seen_map(l, 13 * S, 10, 0x3000, "/new");
	assert_int_equal(stats_of(l).nr_tasks, 5);
	assert_int_equal(stats_of(l).nr_tombstones, 2);
	assert_comm(l, 10, 11 * S, "stays");
	assert_comm(l, 10, 12 * S, "execed");
	assert_comm(l, 30, 7 * S, "reused");
	assert_comm(l, 30, 12 * S, "second");
	assert_comm(l, 40, 12 * S, "stays");
	assert_path(l, 10, 12 * S, 0x1000, "/old");
	assert_path(l, 10, 13 * S, 0x1000, NULL);
	assert_path(l, 10, 12 * S, 0x3000, NULL);
	assert_path(l, 10, 13 * S, 0x3000, "/new");
	ledger_free(l);
}

static void a_scan_that_is_older_than_the_task_says_nothing(void **state)
{
	struct ledger *l = new_ledger();

	take(l, side_comm(&rec, 1 * S, 5, 5, "shell", false));
	take(l, side_fork(&rec, 8 * S, 10, 10, 5, 5));
	seen(l, 7 * S, 10, 10, 1 * S, "before");
	seen_map(l, 7 * S, 10, 0x1000, "/before");
	assert_comm(l, 10, 9 * S, "shell");
	assert_path(l, 10, 9 * S, 0x1000, NULL);
	ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_scan_sees_holds_since_ever),
		cmocka_unit_test(records_from_before_a_scan),
		cmocka_unit_test(records_from_after_a_scan),
		cmocka_unit_test(an_exit_after_the_scan_looked),
		cmocka_unit_test(a_tid_used_again_before_the_scan),
		cmocka_unit_test(a_child_of_an_unscanned_parent_gets_its_mappings),
		cmocka_unit_test(a_late_fork_gives_a_scanned_child_what_it_lacks),
		cmocka_unit_test(an_exec_drained_late_keeps_what_the_scan_found),
		cmocka_unit_test(build_ids_of_records_complete_what_a_scan_found),
		cmocka_unit_test(a_full_scan_ends_who_is_gone_and_mends_the_rest),
		cmocka_unit_test(a_scan_that_is_older_than_the_task_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
