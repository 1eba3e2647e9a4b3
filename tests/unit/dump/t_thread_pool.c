/* LAYERS: base */
// SPDX-License-Identifier: MIT
/* What a thread pool does with jobs and with ranges, for several numbers of threads. */
#include "dump/base/thread_pool.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>

#include <cmocka.h>

struct sum {
	struct pool_job job;
	size_t of, result;
};

static atomic_bool may_run;

static void add_up(void *mine, struct pool_job *job)
{
	struct sum *s = (struct sum *)job;

	while (!may_run)
		sched_yield();
	s->result = 0;
	for (size_t i = 0; i <= s->of; i++)
		s->result += i;
}

static struct thread_pool *pool_of(unsigned nr_threads)
{
	struct thread_pool_options opt = {.nr_threads = nr_threads, .run = add_up};
	struct thread_pool *pool = NULL;

	assert_int_equal(thread_pool_new(&opt, &pool), 0);
	assert_int_equal(thread_pool_size(pool), nr_threads);
	return pool;
}

static void jobs_are_done_or_given_back(void **state)
{
	may_run = true;
	for (unsigned nr = 1; nr <= 4; nr++) {
		struct thread_pool *pool = pool_of(nr);
		struct sum sums[7] = {0};

		for (size_t put = 0; put < 500; put++) {
			struct sum *s = &sums[put % 7];

			if (put >= 7) {
				bool wait = put % 2;
				bool done = wait ? thread_pool_wait(pool, &s->job)
						 : thread_pool_take(pool, &s->job);

				assert_true(done || !wait);
				if (done)
					assert_int_equal(s->result, s->of * (s->of + 1) / 2);
			}
			s->of = put;
			thread_pool_put(pool, &s->job);
		}
		thread_pool_free(pool);
	}
}

static void a_job_that_has_not_begun_is_given_back(void **state)
{
	struct thread_pool *pool = pool_of(1);
	struct sum first = {.of = 3}, second = {.of = 4}, never = {.of = 5};

	may_run = false;
	assert_false(thread_pool_take(pool, &never.job));
	thread_pool_put(pool, &first.job);
	thread_pool_put(pool, &second.job);
	assert_false(thread_pool_take(pool, &second.job));
	may_run = true;
	assert_true(thread_pool_wait(pool, &first.job));
	assert_int_equal(first.result, 6);
	assert_int_equal(second.result, 0);
	thread_pool_free(pool);
}

static void count(void *ctx, size_t i)
{
	atomic_fetch_add((atomic_int *)ctx + i, 1);
}

static void each_index_of_a_range_is_called_once(void **state)
{
	struct thread_pool *pool = pool_of(4);
	atomic_int done[50];

	for (size_t turn = 1; turn <= 200; turn++) {
		size_t nr = 1 + turn % 50;

		for (size_t i = 0; i < 50; i++)
			done[i] = 0;
		if (turn % 3)
			thread_pool_expect(pool);
		thread_pool_start(pool, count, done, nr);
		thread_pool_finish(pool);
		for (size_t i = 0; i < 50; i++)
			assert_int_equal(done[i], i < nr);
	}
	thread_pool_free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_are_done_or_given_back),
		cmocka_unit_test(a_job_that_has_not_begun_is_given_back),
		cmocka_unit_test(each_index_of_a_range_is_called_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
