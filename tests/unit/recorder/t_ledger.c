/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* The ledger's rules, one by one: what each kind of record does to tasks, names and mappings, how
 * long history is kept and how memory stays bounded. Times are small numbers of seconds (S). */
#include "recorder/ledger/ledger.h"

#include "tests/helpers/ledger_ask.h"
#include "tests/helpers/side_records.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define S 1000000000ull

static struct side_record rec;

static struct ledger *new_ledger(size_t bytes)
{
	struct ledger *l;

	assert_int_equal(ledger_new(bytes, &l, NULL), 0);
	return l;
}

static void take(struct ledger *l, struct bytes b)
{
	ledger_record(l, b, &side_layout);
}

static void fork_of(struct ledger *l, uint64_t ns, uint32_t pid, uint32_t tid, uint32_t ppid)
{
	take(l, side_fork(&rec, ns, pid, tid, ppid, ppid));
}

static void named(struct ledger *l, uint64_t ns, uint32_t pid, uint32_t tid, const char *name)
{
	take(l, side_comm(&rec, ns, pid, tid, name, false));
}

static void exec(struct ledger *l, uint64_t ns, uint32_t pid, const char *name)
{
	take(l, side_comm(&rec, ns, pid, pid, name, true));
}

static void ended(struct ledger *l, uint64_t ns, uint32_t pid, uint32_t tid)
{
	take(l, side_exit(&rec, ns, pid, tid, 1));
}

static void mapped_by(struct ledger *l, uint64_t ns, uint32_t pid, uint32_t tid, uint64_t start,
		      uint64_t end, const char *path)
{
	struct side_mmap m = {.start = start, .len = end - start, .path = path};

	for (const char *c = path; *c; c++)
		m.ino = m.ino * 31 + *c;
	take(l, side_mmap2(&rec, ns, pid, tid, &m));
}

static void mapped(struct ledger *l, uint64_t ns, uint32_t pid, uint64_t start, uint64_t end,
		   const char *path)
{
	mapped_by(l, ns, pid, pid, start, end, path);
}

static void a_name_holds_until_the_next(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	fork_of(l, 1 * S, 10, 10, 1);
	named(l, 2 * S, 10, 10, "one");
	named(l, 4 * S, 10, 10, "two");
	named(l, 5 * S, 10, 10, "two");
	assert_comm(l, 10, 2 * S - 1, NULL);
	assert_comm(l, 10, 2 * S, "one");
	assert_comm(l, 10, 4 * S - 1, "one");
	assert_comm(l, 10, 4 * S, "two");
	assert_comm(l, 10, 9 * S, "two");
	assert_comm(l, 11, 9 * S, NULL);
	ledger_free(l);
}

static void a_name_of_15_bytes_or_more_is_cut(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	named(l, 1 * S, 10, 10, "123456789012345");
	assert_comm(l, 10, 1 * S, "123456789012345");
	named(l, 2 * S, 10, 10, "1234567890123456789");
	assert_comm(l, 10, 2 * S, "123456789012345");
	ledger_free(l);
}

static void children_inherit_the_name_of_that_moment(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	named(l, 1 * S, 10, 10, "parent");
	fork_of(l, 2 * S, 10, 11, 10);
	fork_of(l, 3 * S, 20, 20, 10);
	named(l, 4 * S, 10, 10, "renamed");
	fork_of(l, 5 * S, 21, 21, 10);
	assert_comm(l, 11, 6 * S, "parent");
	assert_comm(l, 20, 6 * S, "parent");
	assert_comm(l, 21, 6 * S, "renamed");
	assert_comm(l, 20, 2 * S, NULL);
	ledger_free(l);
}

static void a_kernel_thread_has_its_first_name_from_its_birth_on(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	named(l, 1 * S, 2, 2, "kthreadd");
	named(l, 1 * S, 7, 7, "kthreadd"); /* a misleading name */
	fork_of(l, 2 * S, 10, 10, 2);
	fork_of(l, 2 * S, 20, 20, 7);
	named(l, 3 * S, 10, 10, "kworker/0:1");
	named(l, 4 * S, 10, 10, "kworker/dying");
	named(l, 3 * S, 20, 20, "other");
	assert_comm(l, 10, 2 * S, "kworker/0:1");
	assert_comm(l, 10, 4 * S - 1, "kworker/0:1");
	assert_comm(l, 10, 4 * S, "kworker/dying");
	assert_comm(l, 20, 3 * S - 1, "kthreadd");
	ledger_free(l);
}

static void threads_share_mappings_and_processes_copy_them(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	mapped(l, 1 * S, 10, 0x1000, 0x2000, "/a");
	fork_of(l, 2 * S, 10, 11, 10);
	fork_of(l, 2 * S, 20, 20, 10);
	fork_of(l, 2 * S, 30, 30, 10);
	mapped(l, 3 * S, 10, 0x5000, 0x6000, "/b");
	mapped(l, 4 * S, 20, 0x1000, 0x2000, "/c");
	assert_path(l, 11, 3 * S, 0x5000, "/b");
	assert_path(l, 20, 3 * S, 0x5000, NULL);
	assert_path(l, 20, 3 * S, 0x1fff, "/a");
	assert_path(l, 20, 4 * S, 0x1fff, "/c");
	assert_path(l, 10, 5 * S, 0x1000, "/a");
	assert_path(l, 30, 5 * S, 0x1000, "/a");
	assert_path(l, 30, 5 * S, 0x5000, NULL);
	ledger_free(l);
}

static void forks_share_their_mappings_memory(void **state)
{
	struct ledger *l = new_ledger(16 << 20);
	uint64_t one, many;

	for (int i = 0; i < 100; i++)
		mapped(l, 1 * S, 10, 0x1000 * (2 * i + 1), 0x1000 * (2 * i + 2), "/lib");
	one = stats_of(l).nr_maps;
	for (uint32_t pid = 100; pid < 200; pid++) {
		fork_of(l, 2 * S, pid, pid, 10);
		exec(l, 3 * S, pid, "child");
		mapped(l, 3 * S, pid, 0x1000, 0x2000, "/child");
	}
	many = stats_of(l).nr_maps;
	assert_int_equal(one, 100);
	assert_int_equal(many, 200);
	assert_path(l, 150, 2 * S + 1, 0x1000, "/lib");
	assert_path(l, 150, 3 * S + 1, 0x1000, "/child");
	ledger_free(l);
}

static void an_exec_ends_all_mappings_and_other_threads(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	named(l, 1 * S, 10, 10, "old");
	mapped(l, 1 * S, 10, 0x1000, 0x2000, "/old");
	fork_of(l, 2 * S, 10, 11, 10);
	exec(l, 3 * S, 10, "new");
	mapped(l, 3 * S + 5, 10, 0x1000, 0x3000, "/new");
	assert_comm(l, 10, 3 * S - 1, "old");
	assert_comm(l, 10, 3 * S, "new");
	assert_path(l, 10, 3 * S - 1, 0x1000, "/old");
	assert_path(l, 10, 3 * S, 0x1000, NULL);
	assert_path(l, 10, 4 * S, 0x1000, "/new");
	assert_int_equal(stats_of(l).nr_tombstones, 1);
	ledger_free(l);
}

static void a_thread_that_execs_takes_over_the_leaders_tid(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	named(l, 1 * S, 10, 10, "leader");
	mapped(l, 1 * S, 10, 0x1000, 0x2000, "/old");
	fork_of(l, 2 * S, 10, 11, 10);
	ended(l, 3 * S, 10, 10);
	assert_path(l, 11, 3 * S, 0x1000, "/old");
	exec(l, 3 * S + 10, 10, "new");
	mapped(l, 3 * S + 20, 10, 0x1000, 0x2000, "/new");
	assert_comm(l, 10, 3 * S, "leader");
	assert_comm(l, 10, 4 * S, "new");
	assert_path(l, 10, 2 * S, 0x1000, "/old");
	assert_path(l, 10, 4 * S, 0x1000, "/new");
	assert_int_equal(stats_of(l).nr_tasks, 3);
	assert_int_equal(stats_of(l).nr_tombstones, 2);
	ledger_free(l);
}

static void a_tid_used_again_is_another_task(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	fork_of(l, 1 * S, 10, 10, 1);
	exec(l, 1 * S + 1, 10, "first");
	mapped(l, 1 * S + 2, 10, 0x1000, 0x2000, "/first");
	ended(l, 2 * S, 10, 10);
	fork_of(l, 3 * S, 10, 10, 1);
	exec(l, 3 * S + 1, 10, "second");
	/* Its end was lost: the fork shows that it is gone. */
	fork_of(l, 5 * S, 10, 10, 1);
	exec(l, 5 * S + 1, 10, "third");
	assert_comm(l, 10, 2 * S - 1, "first");
	assert_comm(l, 10, 2 * S + 1, "first");
	assert_comm(l, 10, 4 * S, "second");
	assert_comm(l, 10, 6 * S, "third");
	assert_path(l, 10, 2 * S, 0x1000, "/first");
	assert_path(l, 10, 6 * S, 0x1000, NULL);
	assert_int_equal(stats_of(l).nr_tasks, 3 + 1 /* pid 1, named as their parent */);
	assert_int_equal(stats_of(l).nr_tombstones, 2);
	ledger_free(l);
}

static void a_record_seen_twice_changes_nothing(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	for (int i = 0; i < 2; i++) {
		fork_of(l, 1 * S, 10, 10, 1);
		exec(l, 2 * S, 10, "x");
		mapped(l, 3 * S, 10, 0x1000, 0x2000, "/x");
		if (i == 0) {
			struct ledger_stats s = stats_of(l);

			assert_int_equal(s.nr_tasks, 2);
			assert_int_equal(s.nr_maps, 1);
		}
	}
	assert_comm(l, 10, 4 * S, "x");
	assert_int_equal(stats_of(l).nr_tasks, 2);
	ledger_free(l);
}

static void mappings_live_until_the_last_thread_is_gone(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	mapped(l, 1 * S, 10, 0x1000, 0x2000, "/a");
	fork_of(l, 2 * S, 10, 11, 10);
	ended(l, 3 * S, 10, 10);
	ledger_expire(l, 100 * S);
	assert_path(l, 11, 100 * S, 0x1000, "/a");
	mapped_by(l, 101 * S, 10, 11, 0x8000, 0x9000, "/late");
	ended(l, 102 * S, 10, 11);
	assert_path(l, 11, 102 * S, 0x1000, "/a");
	assert_path(l, 11, 102 * S, 0x8000, "/late");
	ledger_expire(l, 200 * S);
	assert_int_equal(stats_of(l).nr_maps, 0);
	ledger_free(l);
}

static void a_mapping_replaces_what_it_overlaps(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	mapped(l, 1 * S, 10, 0x1000, 0x9000, "/a");
	mapped(l, 2 * S, 10, 0x3000, 0x5000, "/b");
	mapped(l, 3 * S, 10, 0x8000, 0xb000, "/c");
	mapped(l, 4 * S, 10, 0x0000, 0x4000, "/d");
	assert_path(l, 10, 1 * S, 0x3000, "/a");
	assert_path(l, 10, 2 * S, 0x2fff, "/a");
	assert_path(l, 10, 2 * S, 0x3000, "/b");
	assert_path(l, 10, 2 * S, 0x5000, "/a");
	assert_path(l, 10, 3 * S, 0x7fff, "/a");
	assert_path(l, 10, 3 * S, 0x8000, "/c");
	assert_path(l, 10, 3 * S, 0xb000, NULL);
	assert_path(l, 10, 4 * S, 0x1000, "/d");
	assert_path(l, 10, 4 * S, 0x4000, "/b");
	assert_path(l, 10, 4 * S, 0x5000, "/a");
	assert_path(l, 10, 3 * S, 0x1000, "/a");
	ledger_free(l);
}

static void the_same_mapping_again_is_no_history(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	for (uint64_t i = 1; i < 1000; i++)
		mapped(l, i * S, 10, 0x1000, 0x2000, "//anon");
	assert_int_equal(stats_of(l).nr_maps, 1);
	assert_path(l, 10, 1 * S, 0x1000, "//anon");
	ledger_free(l);
}

static void what_ended_before_the_horizon_goes(void **state)
{
	struct ledger *l = new_ledger(1 << 20);

	named(l, 1 * S, 10, 10, "one");
	named(l, 2 * S, 10, 10, "two");
	mapped(l, 1 * S, 10, 0x1000, 0x2000, "/one");
	mapped(l, 2 * S, 10, 0x1000, 0x2000, "/two");
	fork_of(l, 3 * S, 20, 20, 10);
	ended(l, 4 * S, 20, 20);
	ledger_expire(l, 2 * S + LEDGER_GRACE_NS);
	assert_comm(l, 10, 1 * S, "one");
	assert_path(l, 10, 1 * S, 0x1000, "/one");
	ledger_expire(l, 2 * S + LEDGER_GRACE_NS + 1);
	assert_comm(l, 10, 1 * S, NULL);
	assert_path(l, 10, 1 * S, 0x1000, NULL);
	assert_comm(l, 10, 2 * S, "two");
	assert_path(l, 10, 2 * S, 0x1000, "/two");
	ledger_expire(l, 4 * S + LEDGER_GRACE_NS);
	assert_comm(l, 20, 4 * S, "two");
	ledger_expire(l, 4 * S + LEDGER_GRACE_NS + 1);
	assert_comm(l, 20, 4 * S, NULL);
	assert_int_equal(stats_of(l).nr_tasks, 1);
	assert_int_equal(stats_of(l).nr_tombstones, 0);
	assert_int_equal(stats_of(l).nr_evicted, 0);
	ledger_free(l);
}

static void the_bound_evicts_the_oldest_tombstones_first(void **state)
{
	struct ledger *l = new_ledger(256 << 10);
	uint64_t most = 0;
	char name[16];

	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t pid = 100 + i;

		snprintf(name, sizeof(name), "p%u", pid);
		fork_of(l, i * S + 1, pid, pid, 1);
		exec(l, i * S + 2, pid, name);
		mapped(l, i * S + 3, pid, 0x1000, 0x2000, name);
		ended(l, i * S + 4, pid, pid);
		most = stats_of(l).bytes > most ? stats_of(l).bytes : most;
	}
	assert_true(most <= 256 << 10);
	assert_true(most > 128 << 10);
	assert_true(stats_of(l).nr_evicted > 4000);
	assert_comm(l, 5099, 5000 * S, "p5099");
	assert_path(l, 5099, 5000 * S, 0x1000, "p5099");
	assert_comm(l, 5000, 5000 * S, "p5000");
	assert_comm(l, 101, 5000 * S, NULL);
	ledger_free(l);
}

static void over_the_bound_mappings_are_refused_when_nothing_can_go(void **state)
{
	struct ledger *l = new_ledger(64 << 10);
	char path[32];

	for (uint64_t i = 0; i < 5000; i++) {
		snprintf(path, sizeof(path), "/lib/%llu", (unsigned long long)i);
		mapped(l, i + 1, 10, i << 12, (i + 1) << 12, path);
		assert_true(stats_of(l).bytes <= 64 << 10);
	}
	assert_true(stats_of(l).nr_evicted > 4000);
	assert_path(l, 10, 5000, 0, "/lib/0");
	assert_path(l, 10, 6000, 4999 << 12, NULL);
	ledger_free(l);
}

static void a_neighbour_with_many_mappings_costs_nobody_a_name(void **state)
{
	struct ledger *l = new_ledger(1 << 20);
	struct ledger_largest most;
	char name[16];

	assert_false(ledger_largest(l, &most));
	named(l, 1, 10, 10, "neighbour");
	for (uint64_t i = 0; i < 100000; i++)
		mapped(l, i + 2, 10, i << 12, (i + 1) << 12, "/lib");
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		fork_of(l, 1 * S, 100 + i, 100 + i, 1);
		exec(l, 1 * S, 100 + i, name);
		if (i % 2) /* also when it has ended */
			ended(l, 3 * S, 100 + i, 100 + i);
		mapped(l, 3 * S + i, 10, i << 12, (i + 1) << 12, "/lib2");
	}
	for (uint32_t i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "p%u", i);
		assert_comm(l, 100 + i, 2 * S, name);
	}
	assert_true(stats_of(l).bytes <= 1 << 20);
	assert_true(stats_of(l).nr_evicted);
	assert_true(ledger_largest(l, &most));
	assert_int_equal(most.pid, 10);
	assert_string_equal(most.comm, "neighbour");
	assert_true(most.nr_maps > 1000);
	ledger_free(l);
}

static void a_neighbour_with_many_threads_costs_bounded_memory(void **state)
{
	struct ledger *l = new_ledger(1 << 20);
	struct ledger_largest most;

	named(l, 1, 10, 10, "neighbour");
	for (uint32_t i = 0; i < 100000; i++) {
		fork_of(l, 2 + i, 10, 1000 + i, 10);
		assert_true(stats_of(l).bytes <= 1 << 20);
	}
	assert_true(stats_of(l).nr_evicted);
	assert_true(ledger_largest(l, &most));
	assert_int_equal(most.pid, 10);
	assert_true(most.nr_threads > 1000);
	ledger_free(l);
}

static void a_ledger_that_can_hold_nothing_is_refused(void **state)
{
	struct ledger *l;

	assert_int_equal(ledger_new(1000, &l, NULL), -EINVAL);
}

static void foreign_records_are_survived(void **state)
{
	struct ledger *l = new_ledger(1 << 20);
	struct side_record good;
	struct bytes b;
	uint64_t seed = 1;

	side_mmap2(&good, 1 * S, 10, 10, &(struct side_mmap){.len = 0x1000, .path = "/a"});
	for (uint16_t len = 0; len < good.len; len++) {
		rec = good;
		memcpy(rec.p + offsetof(struct perf_event_header, size), &len, sizeof(len));
		take(l, (struct bytes){rec.p, len});
		take(l, (struct bytes){rec.p, good.len});
	}
	for (int i = 0; i < 20000; i++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		rec = good;
		rec.p[0] = seed >> 60;
		for (int k = 0; k < 4; k++)
			rec.p[8 + (seed >> (8 * k)) % (good.len - 8)] = seed >> (30 + k);
		b = (struct bytes){rec.p, good.len};
		take(l, b);
	}
	ledger_free(l);
}

static void the_living_come_by_process_and_thread(void **state)
{
	static const struct ledger_thread all[] = {{1, 1, false, false},
						   {2, 2, true, false},
						   {30, 30, true, false},
						   {100, 80, false, false},
						   {100, 100, false, false}};
	const struct ledger_thread *v;
	struct buf list = {0};
	struct ledger *l = new_ledger(1 << 20);

	fork_of(l, 1000, 100, 100, 1);
	fork_of(l, 1100, 100, 80, 100);
	fork_of(l, 1200, 100, 101, 100);
	fork_of(l, 1300, 30, 30, 2);
	fork_of(l, 1400, 40, 40, 1);
	ended(l, 1500, 40, 40);
	ended(l, 1500, 100, 101);
	assert_int_equal(ledger_living(l, &list), 0);
	v = (const struct ledger_thread *)list.p;
	assert_int_equal(list.len, sizeof(all));
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		assert_int_equal(v[i].pid, all[i].pid);
		assert_int_equal(v[i].tid, all[i].tid);
		assert_int_equal(v[i].kernel, all[i].kernel);
	}
	buf_free(&list);
	ledger_free(l);
}

static void a_tid_set_has_what_was_added(void **state)
{
	static const uint32_t tids[] = {0, 1, 63, 64, 32767, 4194303};
	struct tidset *s;

	assert_int_equal(tidset_new(&s, NULL), 0);
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < 6; i++)
			assert_false(tidset_has(s, tids[i]));
		for (size_t i = 0; i < 6; i++)
			tidset_add(s, tids[i]);
		for (size_t i = 0; i < 6; i++)
			assert_true(tidset_has(s, tids[i]));
		assert_false(tidset_has(s, 2));
		assert_false(tidset_has(s, 62));
		tidset_clear(s);
	}
	tidset_add(s, UINT32_MAX);
	assert_false(tidset_has(s, UINT32_MAX));
	tidset_clear(s);
	tidset_free(s);
}

static void short_lived_processes_are_cheap(void **state)
{
	struct ledger *l = new_ledger(64 << 20);
	struct side_record *recs = calloc(14, sizeof(*recs));
	uint64_t ns = 0, nr = 0, t = S;
	char path[64];

	for (int i = 0; i < 40; i++)
		mapped(l, t, 1, (i + 1) << 20, ((i + 1) << 20) + 0x1000, "/usr/lib/shell.so");
	for (uint32_t pid = 1000; pid < 3000; pid++) {
		side_fork(&recs[0], t++, pid, pid, 1, 1);
		side_comm(&recs[1], t++, pid, pid, "child", true);
		for (int i = 0; i < 10; i++) {
			snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/lib%d.so.6", i);
			side_mmap2(&recs[2 + i], t++, pid, pid,
				   &(struct side_mmap){.start = 0x7f0000000000 + pid + (i << 24),
						       .len = 0x21000,
						       .ino = i,
						       .path = path});
		}
		side_exit(&recs[12], t++, pid, pid, 1);
		ns -= clock_ns();
		for (int i = 0; i < 13; i++)
			take(l, (struct bytes){recs[i].p, recs[i].len});
		ns += clock_ns();
		nr += 13;
	}
	print_message("# %llu records, %llu ns each; %llu KiB for 2000 tombstones\n",
		      (unsigned long long)nr, (unsigned long long)(ns / nr),
		      (unsigned long long)stats_of(l).bytes / 1024);
	assert_int_equal(stats_of(l).nr_tombstones, 2000);
	assert_int_equal(stats_of(l).nr_maps, 40 + 20000);
	ledger_expire(l, t + 2 * S);
	assert_int_equal(stats_of(l).nr_tombstones, 0);
	assert_int_equal(stats_of(l).nr_maps, 40);
	free(recs);
	ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_holds_until_the_next),
		cmocka_unit_test(a_name_of_15_bytes_or_more_is_cut),
		cmocka_unit_test(children_inherit_the_name_of_that_moment),
		cmocka_unit_test(a_kernel_thread_has_its_first_name_from_its_birth_on),
		cmocka_unit_test(threads_share_mappings_and_processes_copy_them),
		cmocka_unit_test(forks_share_their_mappings_memory),
		cmocka_unit_test(an_exec_ends_all_mappings_and_other_threads),
		cmocka_unit_test(a_thread_that_execs_takes_over_the_leaders_tid),
		cmocka_unit_test(a_tid_used_again_is_another_task),
		cmocka_unit_test(a_record_seen_twice_changes_nothing),
		cmocka_unit_test(mappings_live_until_the_last_thread_is_gone),
		cmocka_unit_test(a_mapping_replaces_what_it_overlaps),
		cmocka_unit_test(the_same_mapping_again_is_no_history),
		cmocka_unit_test(what_ended_before_the_horizon_goes),
		cmocka_unit_test(the_bound_evicts_the_oldest_tombstones_first),
		cmocka_unit_test(over_the_bound_mappings_are_refused_when_nothing_can_go),
		cmocka_unit_test(a_ledger_that_can_hold_nothing_is_refused),
		cmocka_unit_test(foreign_records_are_survived),
		cmocka_unit_test(a_neighbour_with_many_mappings_costs_nobody_a_name),
		cmocka_unit_test(a_neighbour_with_many_threads_costs_bounded_memory),
		cmocka_unit_test(the_living_come_by_process_and_thread),
		cmocka_unit_test(a_tid_set_has_what_was_added),
		cmocka_unit_test(short_lived_processes_are_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
