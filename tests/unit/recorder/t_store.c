/* LAYERS: recorder kernel base */
// SPDX-License-Identifier: MIT
/* The directory of dumps: names, collisions, symlinks, directories that vanish or won't do. */
#include "tests/helpers/store_dir.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_one_form_and_nothing_else_is_taken_for_one),
		cmocka_unit_test_setup(a_dump_is_a_locked_part_until_it_is_committed, setup),
		cmocka_unit_test_setup(an_aborted_dump_leaves_nothing, setup),
		cmocka_unit_test_setup(a_name_that_is_taken_moves_on_a_millisecond, setup),
		cmocka_unit_test_setup(a_symlink_in_the_way_is_not_followed, setup),
		cmocka_unit_test_setup(directories_that_wont_do_are_explained, setup),
		cmocka_unit_test_setup(a_directory_without_permission_says_whose_it_is, setup),
		cmocka_unit_test_setup(files_of_other_users_are_left_alone, setup),
		cmocka_unit_test_setup(a_directory_that_was_removed_is_made_again, setup),
		cmocka_unit_test_setup(a_path_that_became_a_link_is_refused, setup),
		cmocka_unit_test_setup(a_dump_does_not_go_to_an_unmounted_directory, setup),
	};

	return run_in_dir(tests);
}
