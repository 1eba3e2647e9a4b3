/* LAYERS: recorder kernel base */
// SPDX-License-Identifier: MIT
/*
 * The directory of dumps: names, limits, their order, pins, collisions, leftovers, symlinks, full disks. Runs in a
 * private mount namespace with a small tmpfs on a directory of its own; nothing outside sees it.
 */
#include "recorder/writer/store.h"

#include "dump/base/err.h"
#include "recorder/writer/dump_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define SEC  1000000000ull
#define T0   1795222411123000000ull /* 2026-11-21T00:53:31.123Z */
#define KIB  1024u
#define PAGE 4096u

/* Where the tests work: a tmpfs where mounting is allowed, else a plain directory. */
static char dir[] = "/tmp/t_store-XXXXXX";
static bool mounted;

static struct store *open_store(uint64_t max_dumps, uint64_t max_disk)
{
	const struct store_options opt = {
		.dir = dir,
		.max_dumps = max_dumps,
		.max_disk_bytes = max_disk,
		.min_free_percent = 5,
	};
	struct err err = ERR_INIT;
	struct store *s;

	if (store_open(&opt, &s, &err))
		fail_msg("%s", err.what);
	return s;
}

static void clear_dir(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    unlinkat(dirfd(d), e->d_name, 0))
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	closedir(d);
}

static int setup(void **state)
{
	clear_dir();
	return 0;
}

static const char *in_dir(const char *name)
{
	static char path[4][4096];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[0]), "%s/%s", dir, name);
	return path[next];
}

static bool exists(const char *name)
{
	struct stat st;

	return !lstat(in_dir(name), &st);
}

static void make_file(const char *name, size_t bytes)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
	char *zero = calloc(1, bytes + 1);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, zero, bytes), bytes);
	free(zero);
	close(fd);
}

/* Files in the directory, and what they take. */
static size_t count(uint64_t *bytes)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	size_t n = 0;

	*bytes = 0;
	while ((e = readdir(d))) {
		struct stat st;

		if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		*bytes += (uint64_t)st.st_blocks * 512;
		n++;
	}
	closedir(d);
	return n;
}

/* Writes `bytes` as the writer does, page by page. */
static int write_pages(struct store *s, int fd, size_t bytes, struct err *err)
{
	char page[PAGE] = "x";

	for (size_t done = 0; done < bytes; done += PAGE) {
		int rc = store_room(s, done, PAGE, err);

		if (rc)
			return rc;
		assert_int_equal(write(fd, page, PAGE), PAGE);
	}
	return 0;
}

static const char *dump(struct store *s, uint64_t ns, const char *trigger, size_t bytes)
{
	static char path[4096];
	struct err err = ERR_INIT;
	int fd;

	if (store_begin(s, ns, trigger, &fd, &err) || write_pages(s, fd, bytes, &err) ||
	    store_commit(s, path, sizeof(path), &err))
		fail_msg("%s", err.what);
	return strrchr(path, '/') + 1;
}

/* ---- names ---- */

static void names_have_one_form_and_nothing_else_is_taken_for_one(void **state)
{
	static const char *const good[] = {
		"ringback-a-20261121T005331.123Z-x.rbd",
		"ringback-a.b-c-20261121T005331.123Z-SIGUSR2.rbd.part",
		"ringback-a-20261121T005331.123Z-20261121T005331.123Z-x_y.rbd",
	};
	static const char *const bad[] = {
		"ringback-a-20261121T005331.123Z-x.rbd~",
		"ringback-a-20261121T005331.123Z-x.rbd.part.part",
		"ringback-a-20261121T005331.123Z-.rbd",
		"ringback-a-20261121T005331.123Zx.rbd",
		"ringback-a-20261121T005331.12Z-x.rbd",
		"ringback--20261121T005331.123Z-x.rbd",
		"ringback-20261121T005331.123Z-x.rbd",
		"ringback-a b-20261121T005331.123Z-x.rbd",
		"ringback-a-20261121T005331.123Z-x y.rbd",
		"xringback-a-20261121T005331.123Z-x.rbd",
		"ringback-a.rbd",
		"ringback-.rbd",
		"",
	};
	char name[DUMPNAME_BYTES];
	const char *time;
	bool part;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(dump_name_parse(good[i], &time, &part));
		assert_int_equal(strncmp(time, "20261121T005331.123Z", 20), 0);
		assert_int_equal(part, i == 1);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (dump_name_parse(bad[i], &time, &part))
			fail_msg("%s", bad[i]);
	dump_name_make(name, "h/../\xc3\xa4", T0, "a/b c;d");
	assert_string_equal(name, "ringback-h-..----20261121T005331.123Z-a-b-c-d.rbd");
	assert_true(dump_name_parse(name, &time, &part));
}

/* ---- one dump ---- */

static void a_dump_is_a_locked_part_until_it_is_committed(void **state)
{
	struct store *s = open_store(0, 0);
	char path[4096], name[DUMPNAME_BYTES], part[DUMPNAME_BYTES + 8], host[65];
	struct stat st;
	int fd, other;

	dump_name_host(host, sizeof(host));
	dump_name_make(name, host, T0, "SIGUSR2");
	snprintf(part, sizeof(part), "%s.part", name);
	assert_int_equal(store_begin(s, T0, "SIGUSR2", &fd, NULL), 0);
	assert_int_equal(lstat(in_dir(part), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	other = open(in_dir(part), O_RDONLY);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	close(other);
	assert_false(exists(name));
	assert_int_equal(store_commit(s, path, sizeof(path), NULL), 0);
	assert_int_equal(path[0], '/');
	assert_string_equal(strrchr(path, '/') + 1, name);
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_false(exists(part));
	store_close(s);
}

static void an_aborted_dump_leaves_nothing(void **state)
{
	struct store *s = open_store(0, 0);
	uint64_t bytes;
	int fd;

	assert_int_equal(store_begin(s, T0, "x", &fd, NULL), 0);
	store_abort(s);
	store_abort(s);
	assert_int_equal(count(&bytes), 0);
	assert_int_equal(store_begin(s, T0, "x", &fd, NULL), 0);
	store_close(s);
	assert_int_equal(count(&bytes), 0);
}

static void a_name_that_is_taken_moves_on_a_millisecond(void **state)
{
	struct store *s = open_store(0, 0);
	char first[DUMPNAME_BYTES], path[4096];
	int fd;

	snprintf(first, sizeof(first), "%s", dump(s, T0, "x", 1));
	assert_non_null(strstr(first, "31.123Z"));
	assert_non_null(strstr(dump(s, T0, "x", 1), "31.124Z"));
	/* Taken while it is being written, too: never over another file. */
	assert_int_equal(store_begin(s, T0 + SEC, "x", &fd, NULL), 0);
	memcpy(strstr(first, "31.123Z"), "32.123Z", 7);
	make_file(first, 1);
	assert_int_equal(store_commit(s, path, sizeof(path), NULL), 0);
	assert_non_null(strstr(path, "32.124Z"));
	store_close(s);
}

static void a_symlink_in_the_way_is_not_followed(void **state)
{
	struct store *s = open_store(1, 0);
	char name[DUMPNAME_BYTES], part[DUMPNAME_BYTES + 8], host[65], path[4096];
	struct stat st;
	int fd;

	make_file("victim", 7);
	dump_name_host(host, sizeof(host));
	dump_name_make(name, host, T0, "x");
	snprintf(part, sizeof(part), "%s.part", name);
	assert_int_equal(symlink("victim", in_dir(part)), 0);
	dump_name_make(name, host, T0 + 1000000, "x");
	assert_int_equal(symlink("nowhere", in_dir(name)), 0);
	assert_non_null(strstr(dump(s, T0, "x", PAGE), "31.125Z"));
	assert_non_null(strstr(dump(s, T0 + SEC, "x", PAGE), "32.123Z"));
	/* The limit of one dump deleted the first; no link was counted or touched. */
	assert_int_equal(store_nr_deleted(s), 1);
	assert_true(exists(part));
	assert_true(exists(name));
	assert_int_equal(stat(in_dir("victim"), &st), 0);
	assert_int_equal(st.st_size, 7);
	/* A .part file that was replaced is not committed. */
	assert_int_equal(store_begin(s, T0 + 2 * SEC, "x", &fd, NULL), 0);
	dump_name_make(name, host, T0 + 2 * SEC, "x");
	snprintf(part, sizeof(part), "%s.part", name);
	assert_int_equal(unlink(in_dir(part)), 0);
	assert_int_equal(symlink("victim", in_dir(part)), 0);
	assert_int_equal(store_commit(s, path, sizeof(path), NULL), -ENOENT);
	store_abort(s);
	assert_false(exists(name));
	assert_true(exists(part));
	store_close(s);
}

static void a_directory_that_was_removed_is_made_again(void **state)
{
	const struct store_options opt = {.dir = in_dir("sub"), .min_free_percent = 5};
	struct store *s;
	const char *name;

	assert_int_equal(store_open(&opt, &s, NULL), 0);
	assert_int_equal(rmdir(in_dir("sub")), 0);
	name = dump(s, T0, "x", PAGE);
	store_close(s);
	assert_int_equal(chdir(in_dir("sub")), 0);
	assert_int_equal(unlink(name), 0);
	assert_int_equal(chdir("/"), 0);
}

/* Someone removes the directory and has its path lead elsewhere: the dump does not go there. */
static void a_path_that_became_a_link_is_refused(void **state)
{
	const struct store_options opt = {.dir = in_dir("a/sub"), .min_free_percent = 5};
	struct err err = ERR_INIT;
	struct store *s;
	int fd;

	assert_int_equal(mkdir(in_dir("a"), 0700), 0);
	assert_int_equal(mkdir(in_dir("elsewhere"), 0700), 0);
	assert_int_equal(store_open(&opt, &s, NULL), 0);
	assert_int_equal(rmdir(in_dir("a/sub")), 0);
	assert_int_equal(rmdir(in_dir("a")), 0);
	assert_int_equal(symlink("elsewhere", in_dir("a")), 0);
	assert_int_equal(store_begin(s, T0, "x", &fd, &err), -ELOOP);
	assert_non_null(strstr(err.what, "symbolic link"));
	assert_int_equal(rmdir(in_dir("elsewhere")), 0); /* empty */
	store_close(s);
}

/* In a mount namespace of its own: 0, or the line that failed. */
static int use_unmounted(const char *at)
{
	const struct store_options opt = {.dir = at, .min_free_percent = 5};
	char path[PATH_MAX];
	struct store *s;
	int fd;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", at, "tmpfs", 0, NULL))
		return 77;
	if (store_open(&opt, &s, NULL) || umount2(at, MNT_DETACH))
		return __LINE__ & 0x7f;
	if (store_begin(s, T0, "x", &fd, NULL) || store_commit(s, path, sizeof(path), NULL))
		return __LINE__ & 0x7f;
	return access(path, F_OK) ? __LINE__ & 0x7f : 0;
}

static void a_dump_does_not_go_to_an_unmounted_directory(void **state)
{
	int status;
	pid_t pid;

	assert_int_equal(mkdir(in_dir("mnt"), 0700), 0);
	pid = fork();
	if (!pid)
		_exit(use_unmounted(in_dir("mnt")));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

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

/* ---- opening ---- */

static void expect_open_error(const char *path, int code, const char *what, const char *hint)
{
	const struct store_options opt = {.dir = path, .min_free_percent = 5};
	struct err err = ERR_INIT;
	struct store *s;

	assert_int_equal(store_open(&opt, &s, &err), code);
	if (!strstr(err.what, what) || !strstr(err.hint, hint))
		fail_msg("%s / %s", err.what, err.hint);
}

static void directories_that_wont_do_are_explained(void **state)
{
	const struct store_options made = {.dir = in_dir("made"), .min_free_percent = 5};
	struct stat st;
	struct store *s;

	assert_int_equal(store_open(&made, &s, NULL), 0);
	store_close(s);
	assert_int_equal(stat(in_dir("made"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	make_file("file", 1);
	expect_open_error(in_dir("file"), -ENOTDIR, "is not a directory", "-o DIR");
	expect_open_error(in_dir("no/such"), -ENOENT, "its parent is not there", "mkdir -p");
	if (mounted) {
		assert_int_equal(mount(NULL, dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
		expect_open_error(dir, -EROFS, "mounted read-only", "/var/tmp");
		assert_int_equal(mount(NULL, dir, NULL, MS_REMOUNT, NULL), 0);
	}
}

static void a_directory_without_permission_says_whose_it_is(void **state)
{
	pid_t child;
	int status;

	if (geteuid())
		skip();
	assert_int_equal(chmod(dir, 0755), 0);
	child = fork();
	if (!child) {
		const struct store_options opt = {.dir = dir, .min_free_percent = 5};
		struct err err = ERR_INIT;
		struct store *s;

		if (setresuid(65534, 65534, 65534))
			_exit(1);
		if (store_open(&opt, &s, &err) != -EACCES)
			_exit(2);
		_exit(strstr(err.hint, "belongs to uid 0, has mode 0755") &&
				      strstr(err.hint, "uid 65534")
			      ? 0
			      : 3);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

/* Dumps of another user in a shared directory are not ours to count or delete. */
static void files_of_other_users_are_left_alone(void **state)
{
	static const char name[] = "ringback-x-20200101T000000.000Z-x.rbd";
	struct store *s = open_store(1, 0);

	make_file(name, PAGE);
	if (chown(in_dir(name), 65534, 65534)) {
		store_close(s);
		skip();
	}
	dump(s, T0, "x", PAGE);
	dump(s, T0 + SEC, "x", PAGE);
	assert_true(exists(name));
	assert_int_equal(store_nr_deleted(s), 1);
	store_close(s);
}

static void enter_namespace(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL))
		return;
	mounted = !mount("none", dir, "tmpfs", 0, "size=4m,mode=0700");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_one_form_and_nothing_else_is_taken_for_one),
		cmocka_unit_test_setup(a_dump_is_a_locked_part_until_it_is_committed, setup),
		cmocka_unit_test_setup(an_aborted_dump_leaves_nothing, setup),
		cmocka_unit_test_setup(a_name_that_is_taken_moves_on_a_millisecond, setup),
		cmocka_unit_test_setup(a_symlink_in_the_way_is_not_followed, setup),
		cmocka_unit_test_setup(only_the_newest_dumps_are_kept, setup),
		cmocka_unit_test_setup(a_failed_dump_costs_no_old_one, setup),
		cmocka_unit_test_setup(disk_use_never_exceeds_the_limit, setup),
		cmocka_unit_test_setup(a_dump_over_the_limit_is_refused_with_the_numbers, setup),
		cmocka_unit_test_setup(leftovers_are_told_counted_and_deleted_first, setup),
		cmocka_unit_test_setup(a_full_file_system_refuses_the_dump_and_deletes_nothing,
				       setup),
		cmocka_unit_test_setup(directories_that_wont_do_are_explained, setup),
		cmocka_unit_test_setup(a_directory_without_permission_says_whose_it_is, setup),
		cmocka_unit_test_setup(files_of_other_users_are_left_alone, setup),
		cmocka_unit_test_setup(a_directory_that_was_removed_is_made_again, setup),
		cmocka_unit_test_setup(a_path_that_became_a_link_is_refused, setup),
		cmocka_unit_test_setup(a_dump_does_not_go_to_an_unmounted_directory, setup),
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
	int rc;

	if (!mkdtemp(dir))
		return 1;
	enter_namespace();
	if (!mounted)
		printf("# no private mount namespace: the full disk and the read-only one are not "
		       "tested\n");
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	clear_dir();
	if (mounted)
		umount2(dir, MNT_DETACH);
	rmdir(dir);
	return rc;
}
