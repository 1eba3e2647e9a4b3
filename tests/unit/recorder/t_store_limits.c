/* LAYERS: recorder kernel base */
// SPDX-License-Identifier: MIT
/* The limits of the directory of dumps: their number and size, the order of deletion, pins,
 * leftovers, a full disk. */
#include "tests/helpers/store_dir.h"

/* ---- limits ---- */

static void only_the_newest_dumps_are_kept(void **state)
{
	struct store *s = open_store(3, 0);
	char names[6][DUMPNAME_BYTES];
	uint64_t bytes;

	make_file("ringback-other.rbd", 1);
	make_file("notes.txt", 1);
	for (size_t i = 0; i < 6; i++)
		snprintf(names[i], sizeof(names[i]), "%s",
			 dump(s, T0 + i * SEC, i % 2 ? "a" : "z", PAGE));
	assert_int_equal(count(&bytes), 5);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(exists(names[i]), i >= 3);
	assert_int_equal(store_nr_deleted(s), 3);
	store_set_limits(s, 1, 0);
	dump(s, T0 + 10 * SEC, "x", PAGE);
	assert_int_equal(count(&bytes), 3);
	store_close(s);
}

static void a_failed_dump_costs_no_old_one(void **state)
{
	struct store *s = open_store(1, 0);
	char name[DUMPNAME_BYTES];
	int fd;

	snprintf(name, sizeof(name), "%s", dump(s, T0, "x", PAGE));
	assert_int_equal(store_begin(s, T0 + SEC, "x", &fd, NULL), 0);
	store_abort(s);
	assert_true(exists(name));
	store_close(s);
}

static void disk_use_never_exceeds_the_limit(void **state)
{
	struct store *s = open_store(0, 64 * KIB);
	char page[PAGE] = "", path[4096];
	uint64_t bytes;

	for (size_t i = 0; i < 8; i++) {
		int fd;

		assert_int_equal(store_begin(s, T0 + i * SEC, "x", &fd, NULL), 0);
		for (uint64_t done = 0; done < 24 * KIB; done += 1000) {
			assert_int_equal(store_room(s, done, 1000, NULL), 0);
			assert_int_equal(write(fd, page, 1000), 1000);
			count(&bytes);
			assert_true(bytes <= 64 * KIB);
		}
		assert_int_equal(store_commit(s, path, sizeof(path), NULL), 0);
	}
	assert_int_equal(count(&bytes), 2);
	assert_int_equal(store_nr_deleted(s), 6);
	store_close(s);
}

static void a_dump_over_the_limit_is_refused_with_the_numbers(void **state)
{
	struct store *s = open_store(0, 16 * KIB);
	struct err err = ERR_INIT;
	uint64_t bytes;
	int fd;

	dump(s, T0, "x", PAGE);
	assert_int_equal(store_begin(s, T0 + SEC, "x", &fd, NULL), 0);
	/* What can't fit anyway deletes nothing. */
	assert_int_equal(store_room(s, 0, 17 * KIB, &err), -ENOSPC);
	assert_int_equal(count(&bytes), 2);
	assert_int_equal(write_pages(s, fd, 20 * KIB, &err), -ENOSPC);
	assert_non_null(strstr(err.what, "16 KiB"));
	assert_non_null(strstr(err.what, "20 KiB"));
	assert_non_null(strstr(err.hint, "--max-disk"));
	store_abort(s);
	store_close(s);
}

static void leftovers_are_told_counted_and_deleted_first(void **state)
{
	static const char left[] = "ringback-old-20270101T000000.000Z-x.rbd.part";
	static const char held[] = "ringback-old-20270101T000001.000Z-x.rbd.part";
	char names[4][256], old[DUMPNAME_BYTES], newer[DUMPNAME_BYTES];
	struct store *s = open_store(2, 0);
	int fd;

	make_file(left, 5 * PAGE);
	make_file(held, PAGE);
	fd = open(in_dir(held), O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(store_leftovers(s, names, 4), 1);
	assert_string_equal(names[0], left);
	snprintf(old, sizeof(old), "%s", dump(s, T0, "x", PAGE));
	assert_true(exists(left));
	/* Newer than the dump by its name, yet the first to go. */
	snprintf(newer, sizeof(newer), "%s", dump(s, T0 + SEC, "x", PAGE));
	assert_false(exists(left));
	assert_true(exists(old));
	dump(s, T0 + 2 * SEC, "x", PAGE);
	assert_false(exists(old));
	assert_true(exists(held)); /* being written */
	close(fd);
	assert_int_equal(store_leftovers(s, names, 4), 1);
	store_close(s);
}

static void a_full_file_system_refuses_the_dump_and_deletes_nothing(void **state)
{
	struct store *s = open_store(0, 1 << 20);
	struct err err = ERR_INIT;
	struct statvfs v;
	uint64_t bytes;
	int fd;

	if (!mounted)
		skip();
	dump(s, T0, "x", 64 * KIB);
	assert_int_equal(store_begin(s, T0 + SEC, "x", &fd, &err), 0);
	assert_int_equal(write_pages(s, fd, 16 * KIB, &err), 0);
	make_file("filler", (4 << 20) * 93 / 100);
	assert_int_equal(store_room(s, 16 * KIB, 64 * KIB, &err), -ENOSPC);
	assert_non_null(strstr(err.what, "of 4 MiB free"));
	assert_non_null(strstr(err.what, "5 %"));
	store_abort(s);
	make_file("filler2", 64 * KIB);
	statvfs(dir, &v);
	assert_true(v.f_bavail * 100 <= v.f_blocks * 5);
	assert_int_equal(store_begin(s, T0 + 2 * SEC, "x", &fd, &err), -ENOSPC);
	assert_int_equal(count(&bytes), 3);
	/* And on it goes when there is room again. */
	unlink(in_dir("filler"));
	dump(s, T0 + 3 * SEC, "x", PAGE);
	store_close(s);
}

/* ---- fairness, pins, order ---- */

/* Dumps numbered from 0, one a second from T0 unless `ns` says otherwise. */
static char written[16][DUMPNAME_BYTES];
static size_t nr_written;

static void make_at(struct store *s, uint64_t ns, const char *trigger)
{
	snprintf(written[nr_written++], sizeof(written[0]), "%s", dump(s, ns, trigger, PAGE));
}

static void make(struct store *s, const char *trigger)
{
	make_at(s, T0 + nr_written * SEC, trigger);
}

/* `want`: one character for each dump made, '.' for those that are deleted. */
static void expect_kept(const char *want)
{
	char got[17] = "";

	for (size_t i = 0; i < nr_written; i++)
		got[i] = exists(written[i]) ? (char)('0' + i % 10) : '.';
	assert_string_equal(got, want);
}

static int setup_written(void **state)
{
	nr_written = 0;
	return setup(state);
}

static void a_loop_of_one_rule_leaves_the_dumps_of_others(void **state)
{
	struct store *s = open_store(4, 0);

	make(s, "manual");
	make(s, "oom");
	make(s, "latency");
	for (size_t i = 0; i < 6; i++)
		make(s, "crash");
	expect_kept("012.....8");
	/* A new rule: all have one dump now, so the oldest goes, but not the one by hand. */
	make(s, "psi");
	expect_kept("0.2.....89");
	store_close(s);
	/* The same after a restart. */
	s = open_store(4, 0);
	make(s, "psi");
	expect_kept("0.2.....8.0");
	store_close(s);
}

static void a_loop_leaves_the_dumps_of_others_under_max_disk(void **state)
{
	struct store *s = open_store(0, 4 * PAGE);

	make(s, "oom");
	for (size_t i = 0; i < 6; i++)
		make(s, "crash");
	expect_kept("0...456");
	store_close(s);
}

static void dumps_by_hand_are_deleted_last(void **state)
{
	struct store *s = open_store(3, 0);

	make(s, "manual");
	make(s, "SIGUSR2");
	make(s, "a");
	make(s, "b");
	expect_kept("01.3");
	make(s, "manual");
	expect_kept("01..4");
	make(s, "manual");
	expect_kept(".1..45");
	make(s, "a");
	expect_kept(".1...56");
	store_close(s);
}

static void pinned_dumps_are_never_deleted_and_count(void **state)
{
	struct store *s = open_store(3, 0);
	struct err err = ERR_INIT;
	int fd;

	make(s, "x");
	make(s, "x");
	assert_int_equal(chmod(in_dir(written[0]), 0600 | S_ISVTX), 0);
	assert_int_equal(chmod(in_dir(written[1]), 0600 | S_ISVTX), 0);
	make(s, "x");
	make(s, "x");
	expect_kept("01.3");
	assert_int_equal(chmod(in_dir(written[3]), 0600 | S_ISVTX), 0);
	assert_int_equal(store_begin(s, T0 + 9 * SEC, "x", &fd, &err), -ENOSPC);
	assert_non_null(strstr(err.what, "3 pinned dumps"));
	assert_non_null(strstr(err.what, "--max-dumps 3"));
	assert_non_null(strstr(err.hint, "ringback pin --remove '"));
	assert_int_equal(chmod(in_dir(written[0]), 0600), 0);
	make(s, "x");
	expect_kept(".1.34");
	/* Those of --max-disk likewise. */
	store_set_limits(s, 0, 2 * PAGE);
	assert_int_equal(store_begin(s, T0 + 9 * SEC, "x", &fd, &err), -ENOSPC);
	assert_non_null(strstr(err.hint, "ringback pin --remove '"));
	expect_kept(".1.34");
	store_close(s);
}

static void a_pin_that_comes_while_a_dump_is_written_holds(void **state)
{
	struct store *s = open_store(0, 2 * PAGE);
	char path[4096];
	int fd;

	make(s, "x");
	assert_int_equal(store_begin(s, T0 + SEC, "x", &fd, NULL), 0);
	assert_int_equal(chmod(in_dir(written[0]), 0600 | S_ISVTX), 0);
	assert_int_equal(store_room(s, 0, 2 * PAGE, NULL), -ENOSPC);
	assert_int_equal(store_room(s, 0, PAGE, NULL), 0);
	assert_int_equal(store_commit(s, path, sizeof(path), NULL), 0);
	expect_kept("0");
	store_close(s);
}

static void a_clock_that_ran_ahead_costs_no_newer_dump(void **state)
{
	const uint64_t year_2100 = 4102444800 * SEC;
	struct store *s = open_store(3, 0);

	make(s, "x");
	make_at(s, year_2100, "x");
	make_at(s, year_2100 + SEC, "x");
	make(s, "x");
	expect_kept(".123");
	make(s, "x");
	expect_kept("..234");
	store_close(s);
	/* A recorder that starts later finds a dump from the future, and takes it for the oldest. */
	s = open_store(3, 0);
	make(s, "x");
	expect_kept("...345");
	store_close(s);
}

static void a_clock_set_back_keeps_the_order_of_a_run(void **state)
{
	struct store *s = open_store(2, 0);

	make_at(s, T0 - 1000 * SEC, "x");
	make_at(s, T0 - 999 * SEC, "x");
	make_at(s, T0 - 5000 * SEC, "x");
	expect_kept(".12");
	make_at(s, T0 - 4000 * SEC, "x");
	expect_kept("..23");
	make_at(s, T0 - 4500 * SEC, "x");
	expect_kept("...34");
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(only_the_newest_dumps_are_kept, setup),
		cmocka_unit_test_setup(a_failed_dump_costs_no_old_one, setup),
		cmocka_unit_test_setup(disk_use_never_exceeds_the_limit, setup),
		cmocka_unit_test_setup(a_dump_over_the_limit_is_refused_with_the_numbers, setup),
		cmocka_unit_test_setup(leftovers_are_told_counted_and_deleted_first, setup),
		cmocka_unit_test_setup(a_full_file_system_refuses_the_dump_and_deletes_nothing,
				       setup),
		cmocka_unit_test_setup(a_loop_of_one_rule_leaves_the_dumps_of_others,
				       setup_written),
		cmocka_unit_test_setup(a_loop_leaves_the_dumps_of_others_under_max_disk,
				       setup_written),
		cmocka_unit_test_setup(dumps_by_hand_are_deleted_last, setup_written),
		cmocka_unit_test_setup(pinned_dumps_are_never_deleted_and_count, setup_written),
		cmocka_unit_test_setup(a_pin_that_comes_while_a_dump_is_written_holds,
				       setup_written),
		cmocka_unit_test_setup(a_clock_that_ran_ahead_costs_no_newer_dump, setup_written),
		cmocka_unit_test_setup(a_clock_set_back_keeps_the_order_of_a_run, setup_written),
	};

	return run_in_dir(tests);
}
