// SPDX-License-Identifier: MIT
/* Compact records: what their reader makes of them, and the programs that write them. */
#include "dump/base/err.h"
#include "recorder/capture/compact_records.h"
#include "tests/helpers/now.h"
#include "trigger/bpf/compact.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static void check(int rc, const struct err *err)
{
	if (rc)
		fail_msg("%s", err->what);
}

#define EPOCH(ns) ((ns) >> COMPACT_TIME_BITS)

static uint64_t switch_of(uint32_t tid, uint32_t state, uint32_t prio, uint64_t ns)
{
	return COMPACT_SWITCH | (uint64_t)tid << COMPACT_TID_SHIFT |
	       (uint64_t)state << COMPACT_STATE_SHIFT | (uint64_t)prio << COMPACT_PRIO_SHIFT |
	       ns << COMPACT_TIME_SHIFT;
}

static uint64_t wake_of(enum compact_kind kind, uint32_t tid, uint32_t cpu, uint32_t context,
			uint64_t ns)
{
	return kind | (uint64_t)tid << COMPACT_TID_SHIFT | (uint64_t)cpu << COMPACT_CPU_SHIFT |
	       (uint64_t)context << COMPACT_CONTEXT_SHIFT | ns << COMPACT_TIME_SHIFT;
}

static struct compact_reader reader_at(uint64_t ns, uint32_t tid, uint32_t prio)
{
	struct compact_head head = {
		.key = EPOCH(ns) | 5ull << COMPACT_EPOCH_BITS, .tid = tid, .prio = prio};
	struct compact_reader r;

	compact_begin(&r, &head);
	return r;
}

static void who_comes_is_who_leaves_later(void **state)
{
	struct compact_reader r = reader_at(1000, 30, 110);
	struct compact_event e;

	assert_int_equal(compact_read(&r, switch_of(20, 1, 120, 900), &e), 1);
	assert_int_equal(e.kind, COMPACT_SWITCH);
	assert_int_equal(e.ns, 900);
	assert_int_equal(e.tid, 20);
	assert_int_equal(e.running, 20);
	assert_int_equal(e.prio, 120);
	assert_int_equal(e.state, 1);
	assert_int_equal(e.next_tid, 30);
	assert_int_equal(e.next_prio, 110);
	assert_int_equal(compact_read(&r, wake_of(COMPACT_WAKING, 30, 3, COMPACT_SOFTIRQ, 800), &e),
			 1);
	assert_int_equal(e.running, 20);
	assert_int_equal(e.tid, 30);
	assert_int_equal(e.prio, COMPACT_PRIO);
	assert_int_equal(e.cpu, 3);
	assert_int_equal(e.context, COMPACT_SOFTIRQ);
	assert_int_equal(compact_read(&r, switch_of(0, 9, 255, 700), &e), 1);
	assert_int_equal(e.state, 0x100); /* preempted */
	assert_int_equal(e.prio, -1);
	assert_int_equal(e.next_tid, 20);
	assert_int_equal(e.next_prio, 120);
}

static void a_neighbour_tells_more(void **state)
{
	struct compact_reader r = reader_at(1000, 30, 120);
	uint64_t more =
		COMPACT_MORE | 98ull << COMPACT_MORE_PRIO_SHIFT | 7ull << COMPACT_MORE_CPU_SHIFT;
	uint64_t was =
		COMPACT_WAS | 100ull << COMPACT_MORE_PRIO_SHIFT | 31ull << COMPACT_WAS_TID_SHIFT;
	struct compact_event e;

	assert_int_equal(compact_read(&r, more, &e), 0);
	assert_int_equal(compact_read(&r, wake_of(COMPACT_MIGRATE, 40, 2, 0, 900), &e), 1);
	assert_int_equal(e.prio, 98);
	assert_int_equal(e.cpu, 2);
	assert_int_equal(e.old_cpu, 7);
	assert_int_equal(compact_read(&r, wake_of(COMPACT_WAKEUP, 40, 2, 0, 800), &e), 1);
	assert_int_equal(e.prio, COMPACT_PRIO); /* it was the other's */
	assert_int_equal(compact_read(&r, was, &e), 0);
	assert_int_equal(compact_read(&r, switch_of(20, 1, 120, 700), &e), 1);
	assert_int_equal(e.next_tid, 31);
	assert_int_equal(e.next_prio, 100);
	assert_int_equal(compact_read(&r, 0, &e), -EBADMSG);
	assert_int_equal(compact_read(&r, 0xf, &e), -EBADMSG);
}

static void time_goes_over_epochs(void **state)
{
	uint64_t now = 12345678901234567ull, before = now - (3ull << COMPACT_TIME_BITS);
	struct compact_reader r = reader_at(now, 1, 120);
	struct compact_event e;

	assert_int_equal(compact_read(&r, wake_of(COMPACT_WAKING, 1, 0, 0, now), &e), 1);
	assert_true(e.ns == now);
	assert_int_equal(compact_read(&r, COMPACT_EPOCH | EPOCH(before) << 4, &e), 0);
	assert_int_equal(compact_read(&r, wake_of(COMPACT_WAKING, 1, 0, 0, before), &e), 1);
	assert_true(e.ns == before);
}

static void only_scheduler_events_have_a_kind(void **state)
{
	assert_int_equal(compact_kind("sched:sched_switch"), COMPACT_SWITCH);
	assert_int_equal(compact_kind("sched:sched_wakeup_new"), COMPACT_WAKEUP_NEW);
	assert_int_equal(compact_kind("sched:sched_process_exit"), 0);
	assert_int_equal(compact_kind("page-faults"), 0);
}

/* ---- the programs ---- */

static bool can(void)
{
	struct err err = ERR_INIT;

	return !compact_try(&err);
}

/* Reads a bank, newest first; checks that each switch fits the next one; returns the number of events
 * between the two times. */
static unsigned read_bank(const struct ring *r, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t head = ring_head(r), newest = UINT64_MAX / 2, word;
	struct compact_reader reader;
	struct compact_event e;
	unsigned nr = 0;

	compact_begin(&reader, compact_head_of(r));
	for (uint64_t off = 0; off < ring_limit(r, head); off += 8) {
		int rc;

		ring_copy(r, head, off, &word, sizeof(word));
		rc = compact_read(&reader, word, &e);
		assert_true(rc >= 0);
		if (!rc)
			continue;
		assert_true(e.ns <= newest + 1000000); /* an interrupt may be faster */
		newest = e.ns;
		nr += e.ns >= from_ns && e.ns <= to_ns;
	}
	return nr;
}

static void settle(void)
{
	assert_int_equal(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0), 0);
}

/* Each sleep of this thread is a switch and a wake-up at least. */
static void sleep_often(int nr)
{
	for (int i = 0; i < nr; i++)
		usleep(100);
}

static void programs_write_into_the_bank_whose_turn_it_is(void **state)
{
	struct err err = ERR_INIT;
	struct compact *c;
	struct ring banks[2];
	cpu_set_t one;
	int cpu = sched_getcpu(), map;
	uint64_t from;
	unsigned bank, other;

	if (!can())
		skip();
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	check(compact_open(65536, ~1u, &c, &err), &err);
	assert_int_equal(compact_add(c, cpu, &map), 0);
	assert_int_equal(compact_map(c, map, banks), 0);
	check(compact_start(c, &err), &err);
	bank = compact_bank(c);
	other = 1 - bank;
	from = now_ns();
	sleep_often(50);
	compact_turn(c);
	settle();
	assert_int_equal(compact_bank(c), other);
	assert_true(read_bank(&banks[bank], from, now_ns()) >= 150);
	banks[other].armed_head = 0;
	from = now_ns();
	sleep_often(50);
	compact_turn(c);
	settle();
	assert_true(read_bank(&banks[other], from, now_ns()) >= 150);

	/* The bank is used again: what it has from its first turn is not read. */
	banks[bank].armed_head = ring_head(&banks[bank]);
	from = now_ns();
	sleep_often(20);
	compact_turn(c);
	settle();
	assert_true(read_bank(&banks[bank], from, now_ns()) >= 60);
	assert_int_equal(compact_missed(c), 0);
	ring_unmap(&banks[0]);
	close(map);
	compact_close(c);
}

static void another_process_goes_on_with_programs(void **state)
{
	struct err err = ERR_INIT;
	struct compact *c, *next;
	struct ring banks[2];
	int cpu = sched_getcpu(), map, fds[COMPACT_FDS], kept[COMPACT_FDS];
	uint64_t from;

	if (!can())
		skip();
	check(compact_open(65536, 1u << COMPACT_SWITCH, &c, &err), &err);
	assert_int_equal(compact_add(c, cpu, &map), 0);
	check(compact_start(c, &err), &err);
	compact_fds(c, fds);
	for (int i = 0; i < COMPACT_FDS; i++)
		kept[i] = dup(fds[i]);
	compact_close(c);
	assert_int_equal(compact_take(kept, 65536, &next), 0);
	for (int i = 0; i < COMPACT_FDS; i++)
		close(kept[i]);
	assert_int_equal(compact_map(next, map, banks), 0);
	from = now_ns();
	sleep_often(20);
	compact_turn(next);
	settle();
	assert_true(read_bank(&banks[1 - compact_bank(next)], from, now_ns()) >= 20);
	ring_unmap(&banks[0]);
	close(map);
	compact_close(next);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_comes_is_who_leaves_later),
		cmocka_unit_test(a_neighbour_tells_more),
		cmocka_unit_test(time_goes_over_epochs),
		cmocka_unit_test(only_scheduler_events_have_a_kind),
		cmocka_unit_test(programs_write_into_the_bank_whose_turn_it_is),
		cmocka_unit_test(another_process_goes_on_with_programs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
