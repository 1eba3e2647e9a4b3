/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Thresholds: one hit an excursion, for=, hysteresis=; how long it is of no use to look; aligned
 * timers. */
#include "trigger/sources/threshold.h"

#include "trigger/engine/rule.h"
#include "trigger/sources/poll_timer.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#define S TICK_NS

static struct threshold level_of(const char *text, double threshold, double most)
{
	struct threshold l;
	struct rule *r;

	assert_int_equal(rule_parse(text, &r, NULL), 0);
	threshold_init(&l, r, threshold, most);
	rule_free(r);
	return l;
}

/* Feeds values a second apart; the second (from 0) of each hit as a bit. */
static unsigned hits(struct threshold *l, const double *v, size_t nr)
{
	unsigned mask = 0;

	for (size_t i = 0; i < nr; i++)
		if (threshold_feed(l, v[i], (100 + i) * S))
			mask |= 1u << i;
	return mask;
}

#define HITS(l, ...)                                                                               \
	hits(l, (double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double))

static void it_is_met_beyond_the_threshold_not_at_it(void **state)
{
	struct threshold above = level_of("load>16", 16, 0), below = level_of("load<16", 16, 0);

	assert_int_equal(HITS(&above, 0, 15.99, 16, 16.01), 1u << 3);
	assert_int_equal(HITS(&below, 20, 16.01, 16, 15.99), 1u << 3);
}

static void one_hit_an_excursion(void **state)
{
	struct threshold above = level_of("load>100", 100, 0), below = level_of("load<100", 100, 0);

	/* It has to go back by 10% before it counts again. */
	assert_int_equal(HITS(&above, 101, 150, 99, 101, 91, 101, 90, 101, 102), 1 | 1u << 7);
	assert_int_equal(HITS(&below, 99, 50, 101, 99, 109, 99, 110, 99, 98), 1 | 1u << 7);
}

static void the_hysteresis_is_as_wide_as_the_rule_says(void **state)
{
	struct threshold none = level_of("load>100;hysteresis=0", 100, 0);
	struct threshold half = level_of("load>100;hysteresis=50%", 100, 0);
	struct threshold all = level_of("load>100;hysteresis=100", 100, 0);

	assert_int_equal(HITS(&none, 101, 100, 101), 1 | 1u << 2);
	assert_int_equal(HITS(&half, 101, 51, 101, 50, 101), 1 | 1u << 4);
	assert_int_equal(HITS(&all, 101, 1, 101, 0, 101), 1 | 1u << 4);
}

static void the_way_back_is_never_out_of_reach(void **state)
{
	/* 95% of all and 10% of that more would be more than there is. */
	struct threshold l = level_of("mem:available<95", 95, 100);
	/* There is nothing below 0. */
	struct threshold zero = level_of("mem:Dirty>0", 0, 100);

	assert_int_equal(HITS(&l, 94, 97, 94, 97.5, 94), 1 | 1u << 4);
	assert_int_equal(HITS(&zero, 1, 0, 1), 1 | 1u << 2);
}

static void it_has_to_last_as_long_as_for_says(void **state)
{
	struct threshold l = level_of("load>10;for=3s", 10, 0);

	assert_int_equal(HITS(&l, 11, 11, 11, 10, 11, 11, 11, 11, 11, 8, 11), 1u << 7);
	assert_int_equal(l.state, LEVEL_PENDING);
	assert_int_equal(l.began_ns, 110 * S);
}

static void a_hit_knows_when_it_began(void **state)
{
	struct threshold l = level_of("load>10;for=2500ms", 10, 0);

	assert_int_equal(HITS(&l, 1, 11, 12, 13, 14), 1u << 4);
	assert_int_equal(l.began_ns, 101 * S);
}

static void what_is_told_again_and_again_is_one_excursion(void **state)
{
	struct pulse p = {.gap_ns = 2 * S};

	assert_true(pulse_feed(&p, 100 * S));
	assert_false(pulse_feed(&p, 101 * S));
	assert_false(pulse_feed(&p, 103 * S));
	assert_true(pulse_feed(&p, 105 * S + 1));
	assert_int_equal(p.began_ns, 105 * S + 1);
	assert_false(pulse_feed(&p, 106 * S));

	p = (struct pulse){.gap_ns = 2 * S, .for_ns = 3 * S};
	assert_false(pulse_feed(&p, 100 * S));
	assert_false(pulse_feed(&p, 102 * S));
	/* Silence in between: from the beginning. */
	assert_false(pulse_feed(&p, 105 * S));
	assert_false(pulse_feed(&p, 107 * S));
	assert_true(pulse_feed(&p, 108 * S));
	assert_false(pulse_feed(&p, 110 * S));
	assert_int_equal(p.began_ns, 105 * S);
}

static void far_from_the_threshold_it_is_of_no_use_to_look(void **state)
{
	struct threshold l = level_of("mem:available<100", 100, 10000);

	assert_true(threshold_distance(&l, 600) == 500);
	assert_true(threshold_distance(&l, 50) == 0);
	threshold_feed(&l, 50, S);
	/* Back, but not far enough: with each value it may be armed again. */
	assert_true(threshold_distance(&l, 105) == 0);
	assert_int_equal(poll_timer_seconds(500, 100, 10), 5);
	assert_int_equal(poll_timer_seconds(5000, 100, 10), 10);
	assert_int_equal(poll_timer_seconds(99, 100, 10), 1);
	assert_int_equal(poll_timer_seconds(0, 100, 10), 1);
	assert_int_equal(poll_timer_seconds(500, 0, 10), 1);
}

static void timers_are_due_at_whole_seconds(void **state)
{
	struct poll_timer a, b;
	struct pollfd p;
	uint64_t now = poll_timer_now();

	assert_int_equal(poll_timer_open(&a, NULL), 0);
	assert_int_equal(poll_timer_open(&b, NULL), 0);
	assert_false(poll_timer_is_due(&a, now));
	poll_timer_in(&a, 7 * S + 1, 1);
	assert_int_equal(a.due_ns, 8 * S);
	poll_timer_in(&a, 8 * S, 1);
	assert_int_equal(a.due_ns, 9 * S);
	poll_timer_in(&a, 8 * S, 5);
	assert_int_equal(a.due_ns, 10 * S);

	poll_timer_in(&a, now, 1);
	poll_timer_in(&b, now, 1);
	p = (struct pollfd){.fd = a.fd, .events = POLLIN};
	assert_int_equal(poll(&p, 1, 2000), 1);
	now = poll_timer_now();
	assert_true(now / S * S == a.due_ns);
	/* Whichever woke us, both are due. */
	assert_true(poll_timer_is_due(&a, now) && poll_timer_is_due(&b, now));
	poll_timer_in(&a, now, 1);
	assert_int_equal(poll(&p, 1, 0), 0);
	poll_timer_at(&a, UINT64_MAX);
	assert_int_equal(poll(&p, 1, 1100), 0);
	poll_timer_at(&a, 0);
	assert_int_equal(poll(&p, 1, 1000), 1);
	poll_timer_close(&a);
	poll_timer_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_met_beyond_the_threshold_not_at_it),
		cmocka_unit_test(one_hit_an_excursion),
		cmocka_unit_test(the_hysteresis_is_as_wide_as_the_rule_says),
		cmocka_unit_test(the_way_back_is_never_out_of_reach),
		cmocka_unit_test(it_has_to_last_as_long_as_for_says),
		cmocka_unit_test(a_hit_knows_when_it_began),
		cmocka_unit_test(what_is_told_again_and_again_is_one_excursion),
		cmocka_unit_test(far_from_the_threshold_it_is_of_no_use_to_look),
		cmocka_unit_test(timers_are_due_at_whole_seconds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
