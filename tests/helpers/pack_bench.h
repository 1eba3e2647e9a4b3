/* SPDX-License-Identifier: MIT */
/* Shared by the tests of the packer: builds records, packs and unpacks them. */
#pragma once

#include "dump/base/sanitized.h"
#include "tests/helpers/pack_make.h"
#include "tests/helpers/pack_trip.h"

#include <stdio.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#if SANITIZED
#define HOW (TRIP_ALL | TRIP_EXACT)
#else
#define HOW TRIP_ALL
#endif

struct bench {
	struct make m;
	struct trip t;
};

static inline int setup(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	trip_begin(&b->t);
	*state = b;
	return 0;
}

static inline int teardown(void **state)
{
	struct bench *b = *state;

	make_end(&b->m);
	trip_end(&b->t);
	free(b);
	return 0;
}

static inline void check_run(struct bench *b, struct bytes run, size_t cut, unsigned how)
{
	const char *what = trip(&b->t, &b->m.layout, run, cut, how);

	if (what)
		fail_msg("%s: %zu bytes cut at %zu, sample_type %#lx", what, run.len, cut,
			 (unsigned long)b->m.layout.sample_type);
}

static inline struct bytes made(const struct bench *b)
{
	return (struct bytes){b->m.b.p, b->m.b.len};
}

/* The run packs, to at most `hundredths` percent of its size. */
static inline void expect_packed(const struct bench *b, unsigned hundredths)
{
	assert_int_equal(b->t.nr_kept_raw, 0);
	assert_true(b->t.packed_bytes * 100 <= b->t.bytes * hundredths);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
