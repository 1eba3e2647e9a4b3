/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* The options that size rings: --memory and --size. What they come to has t_ring_size.c. */
#include "tests/helpers/config_load.h"

static void memory_is_a_size_or_a_part(void **state)
{
	struct config c;

	loads(&c, "--memory 5%");
	assert_int_equal(c.memory.percent, 5);
	config_free(&c);
	loads(&c, "--memory 256M");
	assert_int_equal(c.memory.percent, 0);
	assert_int_equal(c.memory.bytes, 256 << 20);
	config_free(&c);
	loads(&c, "--memory 0");
	assert_int_equal(c.memory.percent, 0);
	assert_int_equal(c.memory.bytes, 0);
	config_free(&c);
	refuses("--memory 51%", "not a share of the memory", "1% to 50%");
	refuses("--memory 0%", "not a share of the memory", "1% to 50%");
	refuses("--memory much", "is not a size", "256M");
}

static void a_size_is_of_one_channel(void **state)
{
	struct config_channel *v, *ch;
	struct config c;
	size_t nr;

	loads(&c, "--preset default --size sched=1M --size cpu=4M --size sched=64M -m 8M");
	assert_int_equal(config_channels(&c, &v, &nr, NULL), 0);
	ch = named(v, nr, "sched"); /* the later of two, and it wins over -m */
	assert_int_equal(ch->ring_bytes, 64 << 20);
	assert_true(ch->ring_bytes_given);
	assert_int_equal(named(v, nr, "cpu")->ring_bytes, 4 << 20);
	assert_int_equal(named(v, nr, "life")->ring_bytes, 8 << 20);
	config_channels_free(v, nr);
	config_free(&c);
	refuses("--size shed=64M", "there is no channel 'shed'", "cpu, sched, life");
	refuses("--size 64M", "is not a channel and its size", "sched=64M");
	refuses("--size sched=1", "out of range", "from 4K");
}

static void a_size_may_be_a_time(void **state)
{
	struct config_channel *v, *ch;
	struct config c;
	size_t nr;

	loads(&c, "--preset default --horizon 60s --size cpu=4M --size life=2min "
		  "--channel mine:sched:sched_switch --channel big:sched:sched_wakeup;size=8M "
		  "--channel long:sched:sched_waking;size=30s;stack=fp");
	assert_int_equal(config_channels(&c, &v, &nr, NULL), 0);
	ch = named(v, nr, "sched"); /* begins with the preset's size */
	assert_int_equal(ch->horizon_ns, 60000000000);
	assert_int_equal(ch->ring_bytes, 2 << 20);
	assert_false(ch->horizon_given);
	ch = named(v, nr, "cpu"); /* a size of its own is no time */
	assert_int_equal(ch->horizon_ns, 0);
	assert_int_equal(ch->ring_bytes, 4 << 20);
	assert_int_equal(named(v, nr, "life")->horizon_ns, 120000000000);
	assert_int_equal(named(v, nr, "mine")->horizon_ns, 60000000000);
	assert_int_equal(named(v, nr, "big")->horizon_ns, 0);
	ch = named(v, nr, "long");
	assert_int_equal(ch->horizon_ns, 30000000000);
	assert_true(ch->horizon_given);
	assert_int_equal(ch->stack, STACK_FP);
	config_channels_free(v, nr);
	config_free(&c);
	loads(&c, "--preset sched --size sched=5m -m 1M"); /* m: as in sizes elsewhere */
	assert_int_equal(config_channels(&c, &v, &nr, NULL), 0);
	assert_int_equal(v->ring_bytes, 5 << 20);
	assert_int_equal(v->horizon_ns, 0);
	config_channels_free(v, nr);
	config_free(&c);
	refuses("--horizon 10ms", "can't be sized for that time", "from 1s to 1h");
	refuses("--horizon 2h", "can't be sized for that time", "from 1s to 1h");
	refuses("--horizon 8M0", "is not a time", "");
	refuses("--size sched=30x", "is not a size", "a time, such as 30s");
	refuses("--channel a:sched:sched_switch;size=2h", "can't be sized for that time", "1h");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_a_size_or_a_part),
		cmocka_unit_test(a_size_is_of_one_channel),
		cmocka_unit_test(a_size_may_be_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
