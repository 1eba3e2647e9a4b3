/* LAYERS: recorder trigger kernel dump base */
// SPDX-License-Identifier: MIT
/* Sizes of rings from memory: what a part of the memory is capped at, and how it is divided. */
#include "recorder/config/ring_size.h"

#include "trigger/kernel/caps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#define KIB 1024ull
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static const struct caps root = {.ipc_lock = true};

static uint64_t percent(unsigned n, uint64_t machine_bytes, unsigned nr_cpus)
{
	return ring_size_budget(&(struct ring_size_memory){.percent = n}, machine_bytes, nr_cpus,
				&root);
}

static void a_part_of_the_memory_is_capped(void **state)
{
	assert_int_equal(percent(2, 24 * GIB, 2), 256 * MIB); /* 128 MiB a CPU */
	assert_int_equal(percent(2, 24 * GIB, 8), 24 * GIB / 100 * 2);
	assert_int_equal(percent(2, 512 * GIB, 64), GIB);
	assert_int_equal(percent(1, 2 * GIB, 2), 2 * GIB / 100);
}

static void a_size_is_taken_as_it_is(void **state)
{
	struct ring_size_memory m = {.bytes = 4 * GIB};

	assert_int_equal(ring_size_budget(&m, 24 * GIB, 2, &root), 4 * GIB);
}

static void a_limit_of_locked_memory_holds(void **state)
{
	struct ring_size_memory m = {.percent = 2};
	struct caps user = {.paranoid = 2, .mlock_kb = 516, .memlock_bytes = 8 * MIB};

	assert_int_equal(ring_size_budget(&m, 24 * GIB, 2, &user), 8 * MIB + 2 * 516 * KIB);
	user.memlock_bytes = RLIM_INFINITY;
	assert_int_equal(ring_size_budget(&m, 24 * GIB, 2, &user), 256 * MIB);
	user.memlock_bytes = 8 * MIB;
	user.paranoid = -1; /* then the kernel checks no limit */
	assert_int_equal(ring_size_budget(&m, 24 * GIB, 2, &user), 256 * MIB);
}

/* The default preset's on 2 CPUs with 2 banks. */
static void preset(struct ring_size rings[3])
{
	memcpy(rings,
	       (struct ring_size[]){
		       {512 * KIB, 4, false}, {2 * MIB, 4, false}, {256 * KIB, 4, false}},
	       3 * sizeof(*rings));
}

static void rings_grow_in_proportion_by_powers_of_two(void **state)
{
	struct ring_size r[3];

	preset(r);
	assert_true(ring_size_divide(r, 3, 256 * MIB));
	assert_int_equal(r[0].bytes, 8 * MIB);
	assert_int_equal(r[1].bytes, 32 * MIB);
	assert_int_equal(r[2].bytes, 4 * MIB);

	preset(r); /* exactly twice what there is */
	assert_true(ring_size_divide(r, 3, 22 * MIB));
	assert_int_equal(r[1].bytes, 4 * MIB);
}

static void rings_never_get_smaller(void **state)
{
	struct ring_size r[3];

	preset(r);
	assert_false(ring_size_divide(r, 3, 22 * MIB - 1));
	assert_false(ring_size_divide(r, 3, 0));
	assert_int_equal(r[0].bytes, 512 * KIB);
	assert_int_equal(r[1].bytes, 2 * MIB);
	assert_int_equal(r[2].bytes, 256 * KIB);
	assert_false(ring_size_divide(r, 0, GIB));
}

static void a_size_that_was_given_stays_and_counts(void **state)
{
	struct ring_size r[3];

	preset(r);
	r[1] = (struct ring_size){64 * MIB, 4, true};
	assert_false(ring_size_divide(r, 3, 256 * MIB)); /* all of it is taken */
	assert_true(ring_size_divide(r, 3, 262 * MIB));
	assert_int_equal(r[0].bytes, 1 * MIB);
	assert_int_equal(r[1].bytes, 64 * MIB);
	assert_int_equal(r[2].bytes, 512 * KIB);

	r[0].fixed = r[2].fixed = true;
	assert_false(ring_size_divide(r, 3, GIB));
}

static void the_machine_has_memory(void **state)
{
	assert_true(ring_size_machine() > 16 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_part_of_the_memory_is_capped),
		cmocka_unit_test(a_size_is_taken_as_it_is),
		cmocka_unit_test(a_limit_of_locked_memory_holds),
		cmocka_unit_test(rings_grow_in_proportion_by_powers_of_two),
		cmocka_unit_test(rings_never_get_smaller),
		cmocka_unit_test(a_size_that_was_given_stays_and_counts),
		cmocka_unit_test(the_machine_has_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
