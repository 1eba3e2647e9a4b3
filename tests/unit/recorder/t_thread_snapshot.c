/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* The snapshot of threads: which are read, in what order; dumps that fail or come one after the
 * other. it_thread_states.sh has what is read of each. */
#include "recorder/writer/thread_snapshot.h"

#include "dump/view/model/thread_states.h"
#include "recorder/ledger/ledger.h"
#include "tests/helpers/mkdump.h"
#include "trigger/kernel/clock.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct world {
	struct ledger *l;
	struct thread_snapshot *s;
	pthread_mutex_t held;
	pthread_t waiter;
	uint32_t waiter_tid;
};

static void knows(struct ledger *l, uint32_t pid, uint32_t tid)
{
	struct ledger_seen_task t = {
		.tid = tid, .pid = pid, .ppid = 1, .start_ns = 1, .comm = "test", .cgroup = ""};

	ledger_seen_task(l, clock_ns(), &t);
}

static void *wait_for_mutex(void *arg)
{
	struct world *w = arg;

	__atomic_store_n(&w->waiter_tid, (uint32_t)gettid(), __ATOMIC_RELEASE);
	pthread_mutex_lock(&w->held);
	pthread_mutex_unlock(&w->held);
	return NULL;
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(ledger_new(1 << 20, &w->l, NULL), 0);
	assert_int_equal(thread_snapshot_new(w->l, &w->s, NULL), 0);
	pthread_mutex_init(&w->held, NULL);
	pthread_mutex_lock(&w->held);
	assert_int_equal(pthread_create(&w->waiter, NULL, wait_for_mutex, w), 0);
	while (!__atomic_load_n(&w->waiter_tid, __ATOMIC_ACQUIRE))
		usleep(1000);
	knows(w->l, (uint32_t)getpid(), (uint32_t)getpid());
	knows(w->l, (uint32_t)getpid(), w->waiter_tid);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	pthread_mutex_unlock(&w->held);
	pthread_join(w->waiter, NULL);
	pthread_mutex_destroy(&w->held);
	thread_snapshot_free(w->s);
	ledger_free(w->l);
	free(w);
	return 0;
}

/* The states of a dump; its file in *d. */
static struct thread_states *taken(struct world *w, uint32_t tid, struct mk *d, struct reader **r)
{
	struct thread_states *t;

	*d = mk_begin();
	thread_snapshot_start(w->s, (uint32_t)getpid(), tid);
	thread_snapshot_write(w->s, d->w);
	thread_snapshot_end(w->s);
	*r = mk_end(d);
	assert_int_equal(thread_states_load(*r, &t, NULL), 0);
	assert_int_equal(thread_states_nr_broken(t), 0);
	return t;
}

/* With a mutex held by this thread. On a machine so busy that the time was up, it tries again. */
static void the_waiting_thread_names_the_holder(void **state)
{
	struct world *w = *state;
	uint32_t owner = 0;

	while (!owner) {
		struct reader *r;
		struct mk d;
		struct thread_states *t = taken(w, w->waiter_tid, &d, &r);
		const struct fmt_threads *read = thread_states_read(t);
		const struct thread_state *s = thread_states_find(t, w->waiter_tid);

		assert_non_null(read);
		assert_int_equal(read->nr_threads, thread_states_nr(t));
		assert_int_equal(read->nr_threads + read->nr_left_out, 2);
		assert_true(read->from_ns <= read->to_ns);
		if (s) {
			assert_in_range(s->f.ns, read->from_ns, read->to_ns);
			assert_int_equal(s->f.pid, getpid());
			owner = s->f.futex_owner;
		}
		thread_states_free(t);
		mk_close(&d, r);
	}
	assert_int_equal(owner, gettid());
}

static void what_is_gone_is_not_in_the_dump(void **state)
{
	struct world *w = *state;
	struct thread_states *t;
	struct reader *r;
	struct mk d;

	knows(w->l, 999999999, 999999999);
	t = taken(w, 0, &d, &r);
	assert_null(thread_states_find(t, 999999999));
	thread_states_free(t);
	mk_close(&d, r);
}

static void a_dump_that_fails_leaves_nothing_behind(void **state)
{
	struct world *w = *state;
	struct thread_states *t;
	struct reader *r;
	bool found;
	struct mk d;

	for (int i = 0; i < 20; i++) {
		thread_snapshot_start(w->s, 0, 0);
		usleep((useconds_t)i * 100);
		thread_snapshot_end(w->s);
	}
	/* While the last is still being read, a dump has none. */
	do {
		t = taken(w, w->waiter_tid, &d, &r);
		found = thread_states_find(t, w->waiter_tid);
		thread_states_free(t);
		mk_close(&d, r);
	} while (!found);
}

static void it_can_end_while_it_reads(void **state)
{
	struct world *w = *state;

	thread_snapshot_start(w->s, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_waiting_thread_names_the_holder, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_gone_is_not_in_the_dump, setup, teardown),
		cmocka_unit_test_setup_teardown(a_dump_that_fails_leaves_nothing_behind, setup,
						teardown),
		cmocka_unit_test_setup_teardown(it_can_end_while_it_reads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
