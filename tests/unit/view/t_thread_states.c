/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* States of threads of a dump: found by thread, sorted by process; damaged items are left out. */
#include "dump/view/model/thread_states.h"

#include "tests/helpers/mkdump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TEXTS "pipe_read\0pipe:[123]"

struct world {
	struct mk d;
	struct reader *r;
	struct thread_states *t;
};

static void load(struct world *w)
{
	w->r = mk_end(&w->d);
	assert_int_equal(thread_states_load(w->r, &w->t, NULL), 0);
}

static void unload(struct world *w)
{
	thread_states_free(w->t);
	mk_close(&w->d, w->r);
}

static const struct fmt_thread_state reads = {
	.ns = 500,
	.tid = 30,
	.pid = 30,
	.state = 'S',
	.policy = 2,
	.rt_priority = 9,
	.flags = FMT_THREAD_SCHED | FMT_THREAD_SYSCALL,
	.syscall = 0,
	.fd = 3,
	.args = {3, 0x7000, 64},
	.sp = 0x7fff0000,
	.pc = 0x401000,
	.timer_slack_ns = 50000,
	.peers = {31, 32},
	.nr_peers = 2,
};

static void an_old_dump_has_none(void **state)
{
	struct world w = {.d = mk_begin()};

	load(&w);
	assert_null(thread_states_read(w.t));
	assert_null(thread_states_find(w.t, 1));
	assert_int_equal(thread_states_nr(w.t), 0);
	unload(&w);
}

static void all_of_a_state_comes_back(void **state)
{
	struct world w = {.d = mk_begin()};
	const struct thread_state *s;

	mk_threads(&w.d, 400, 600, 7);
	mk_thread(&w.d, &reads, 0x5, TEXTS "\0\0\0", sizeof(TEXTS "\0\0\0"));
	load(&w);
	assert_int_equal(thread_states_read(w.t)->to_ns, 600);
	assert_int_equal(thread_states_read(w.t)->nr_left_out, 7);
	s = thread_states_find(w.t, 30);
	assert_non_null(s);
	assert_int_equal(s->f.ns, 500);
	assert_int_equal(s->f.state, 'S');
	assert_int_equal(s->f.rt_priority, 9);
	assert_int_equal(s->f.fd, 3);
	assert_int_equal(s->f.args[2], 64);
	assert_int_equal(s->f.timer_slack_ns, 50000);
	assert_int_equal(s->f.peers[1], 32);
	assert_string_equal(s->wchan, "pipe_read");
	assert_string_equal(s->file, "pipe:[123]");
	assert_string_equal(s->protocol, "");
	assert_string_equal(s->remote, "");
	assert_true(thread_state_in_syscall(s));
	assert_int_equal(thread_state_nr_cpus(s), 2);
	assert_true(thread_state_may_run_on(s, 2));
	assert_false(thread_state_may_run_on(s, 1));
	assert_false(thread_state_may_run_on(s, 64));
	assert_false(thread_state_may_run_on(s, UINT32_MAX));
	unload(&w);
}

static void unknown_fields_are_empty(void **state)
{
	struct fmt_thread_state f = reads;
	struct world w = {.d = mk_begin()};
	const struct thread_state *s;

	f.flags = 0;
	f.state = 7;
	f.nr_peers = 1;
	f.futex_word = 5;
	mk_thread(&w.d, &f, 0, "futex_do_wait", 13);
	load(&w);
	assert_null(thread_states_read(w.t));
	s = thread_states_find(w.t, 30);
	assert_int_equal(s->f.state, '?');
	assert_int_equal(s->f.syscall, -1);
	assert_false(thread_state_in_syscall(s));
	assert_int_equal(s->f.args[0], 0);
	assert_int_equal(s->f.rt_priority, 0);
	assert_int_equal(s->f.futex_word, 0);
	assert_int_equal(s->f.peers[0], 31);
	assert_int_equal(s->f.peers[1], 0);
	assert_string_equal(s->wchan, "futex_do_wait");
	assert_string_equal(s->file, "");
	assert_int_equal(thread_state_nr_cpus(s), 0);
	assert_true(thread_state_may_run_on(s, 5000));
	unload(&w);
}

static void threads_come_by_process_with_the_leader_first(void **state)
{
	static const uint32_t ids[][2] = {{9, 50}, {60, 50}, {50, 50}, {8, 8}, {55, 50}};
	static const uint32_t order[] = {8, 50, 9, 55, 60};
	struct world w = {.d = mk_begin()};

	for (size_t i = 0; i < 5; i++) {
		struct fmt_thread_state f = {.tid = ids[i][0], .pid = ids[i][1], .state = 'S'};

		mk_thread(&w.d, &f, 0, "", 0);
	}
	load(&w);
	assert_int_equal(thread_states_nr(w.t), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(thread_states_nth(w.t, i)->f.tid, order[i]);
		assert_int_equal(thread_states_find(w.t, order[i])->f.tid, order[i]);
	}
	assert_null(thread_states_find(w.t, 51));
	assert_null(thread_states_find(w.t, 61));
	unload(&w);
}

static void damaged_items_are_counted_and_left_out(void **state)
{
	struct fmt_thread_state none = {.pid = 3, .state = 'S'}, wide = reads;
	struct world w = {.d = mk_begin()};

	wide.nr_cpu_words = FMT_THREAD_MAX_CPU_WORDS + 1;
	mk_item(&w.d, FMT_THREADS, FMT_THREAD_STATE, &reads, sizeof(reads) - 8, NULL, 0);
	mk_thread(&w.d, &none, 0, "", 0);
	mk_item(&w.d, FMT_THREADS, FMT_THREAD_STATE, &wide, sizeof(wide), NULL, 0);
	wide.nr_cpu_words = UINT32_MAX;
	mk_item(&w.d, FMT_THREADS, FMT_THREAD_STATE, &wide, sizeof(wide), NULL, 0);
	wide.nr_cpu_words = 2;
	mk_item(&w.d, FMT_THREADS, FMT_THREAD_STATE, &wide, sizeof(wide), TEXTS, 8);
	mk_item(&w.d, FMT_THREADS, 99, &wide, 8, NULL, 0);
	mk_thread(&w.d, &reads, 1, TEXTS, sizeof(TEXTS));
	load(&w);
	assert_int_equal(thread_states_nr_broken(w.t), 5);
	assert_int_equal(thread_states_nr(w.t), 1);
	unload(&w);
}

static void a_grown_item_is_read(void **state)
{
	struct {
		struct fmt_threads f;
		uint64_t new;
	} grown = {{.from_ns = 1, .nr_unsearched = 4}, 99};
	struct world w = {.d = mk_begin()};

	mk_item(&w.d, FMT_THREADS, FMT_THREADS_READ, &grown, sizeof(grown), NULL, 0);
	load(&w);
	assert_int_equal(thread_states_read(w.t)->nr_unsearched, 4);
	unload(&w);
}

/* Whatever the bytes of an item are, the result has only what the header promises. */
static void any_bytes_are_read_safely(void **state)
{
	uint64_t seed = 88172645463325252u;
	struct world w = {.d = mk_begin()};
	uint8_t item[400];

	for (size_t i = 0; i < 3000; i++) {
		for (size_t k = 0; k < sizeof(item); k++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			item[k] = seed % 3 ? (uint8_t)(seed >> 9) : 0;
		}
		if (i % 2) /* a mask of valid length */
			memset(item + offsetof(struct fmt_thread_state, nr_cpu_words) + 1, 0, 3);
		mk_item(&w.d, FMT_THREADS, FMT_THREAD_STATE, item, seed % sizeof(item), NULL, 0);
	}
	load(&w);
	assert_in_range(thread_states_nr(w.t), 10, 3000);
	assert_int_equal(thread_states_nr(w.t) + thread_states_nr_broken(w.t), 3000);
	for (size_t i = 0; i < thread_states_nr(w.t); i++) {
		const struct thread_state *s = thread_states_nth(w.t, i);

		assert_in_range(s->f.state, '!', '~');
		assert_in_range(s->f.nr_cpu_words, 0, FMT_THREAD_MAX_CPU_WORDS);
		assert_true(s->f.syscall >= -1 && s->f.fd >= -1);
		assert_true(strlen(s->wchan) + strlen(s->file) + strlen(s->protocol) +
				    strlen(s->local) + strlen(s->remote) <
			    sizeof(item));
		assert_int_equal(thread_states_find(w.t, s->f.tid)->f.tid, s->f.tid);
	}
	unload(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_old_dump_has_none),
		cmocka_unit_test(all_of_a_state_comes_back),
		cmocka_unit_test(unknown_fields_are_empty),
		cmocka_unit_test(threads_come_by_process_with_the_leader_first),
		cmocka_unit_test(damaged_items_are_counted_and_left_out),
		cmocka_unit_test(a_grown_item_is_read),
		cmocka_unit_test(any_bytes_are_read_safely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
