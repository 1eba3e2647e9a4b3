/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* Which mounts' files may be held, and the table that hands held files on. */
#include "recorder/ledger/pinned_mounts.h"
#include "recorder/ledger/pinned_list.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct pinned_mounts *mounts(const char *text)
{
	FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	struct pinned_mounts *k;

	assert_non_null(f);
	assert_int_equal(pinned_mounts_new(f, &k, NULL), 0);
	fclose(f);
	return k;
}

/* "POINT REST" of the mount that a path is on; "-": none. */
static void is_on(const struct pinned_mounts *k, const char *path, const char *want)
{
	const char *rest;
	const struct pinned_mount *m = pinned_mounts_of(k, path, &rest);
	char got[256] = "-";

	if (m)
		snprintf(got, sizeof(got), "%s %s", m->point, rest);
	assert_string_equal(got, want);
}

#define LINE(DEV, POINT, TYPE) "30 1 " DEV " / " POINT " rw - " TYPE " /dev/x rw\n"

static void only_local_mounts_at_known_places_count(void **state)
{
	struct pinned_mounts *k =
		mounts(LINE("0:1001", "/", "ext4") LINE("0:1002", "/home", "nfs4")
			       LINE("0:1003", "/usr", "xfs") LINE("0:1004", "/mnt/disk", "ext4")
				       LINE("0:1005", "/tmp", "fuse.sshfs"));

	assert_int_equal(pinned_mounts_nr(k), 2);
	is_on(k, "/usr/bin/x", "/usr bin/x");
	is_on(k, "/usrlocal/x", "/ usrlocal/x");
	/* Of the root's, where RESOLVE_NO_XDEV ends it. */
	is_on(k, "/home/x", "/ home/x");
	is_on(k, "/mnt/disk/x", "/ mnt/disk/x");
	is_on(k, "//anon", "-");
	is_on(k, "[vdso]", "-");
	is_on(k, "", "-");
	pinned_mounts_free(k);
}

static void the_last_of_several_at_one_place_counts(void **state)
{
	struct pinned_mounts *k = mounts(LINE("0:1001", "/", "ext4") LINE("0:1002", "/tmp", "tmpfs")
						 LINE("0:1003", "/tmp", "nfs"));
	const char *rest;

	is_on(k, "/tmp/x", "/ tmp/x");
	pinned_mounts_free(k);
	k = mounts(LINE("0:1001", "/", "nfs") LINE("0:1002", "/tmp", "nfs")
			   LINE("0:1003", "/tmp", "tmpfs"));
	is_on(k, "/tmp/x", "/tmp x");
	assert_int_equal(pinned_mounts_of(k, "/tmp/x", &rest)->min, 1003);
	is_on(k, "/usr/x", "-");
	pinned_mounts_free(k);
}

static void nonsense_is_no_mount(void **state)
{
	struct pinned_mounts *k = mounts("\n-\n - ext4\n30 1 x:y / / rw - ext4\n30 1 1:2 / /\n");

	assert_int_equal(pinned_mounts_nr(k), 0);
	is_on(k, "/usr/x", "-");
	pinned_mounts_free(k);
}

static struct pinned_file file_of(int fd, uint64_t ino, uint8_t id, const char *path)
{
	return (struct pinned_file){.fd = fd,
				    .maj = 8,
				    .min = 1,
				    .ino = ino,
				    .build_id_bytes = id ? 20 : 0,
				    .build_id = {id},
				    .path = path};
}

static size_t nr_of(const struct pinned_list *k, const struct fmt_image *f, const char *path)
{
	size_t i = 0, nr = 0;

	while (pinned_list_next(k, f, path, &i))
		nr++;
	return nr;
}

static void held_files_are_found_by_inode_or_by_name_and_build_id(void **state)
{
	int fd = open("/", O_PATH | O_CLOEXEC);
	struct pinned_file a = file_of(fd, 7, 1, "/a"), b = file_of(fd, 8, 0, "/a");
	struct fmt_image by_ino = {.ino = 8, .maj = 8, .min = 1};
	struct fmt_image by_id = {.build_id_bytes = 20, .build_id = {1}};
	struct pinned_share s = {.table_fd = -1};
	struct pinned_list *k;

	assert_int_equal(pinned_share_add(&s, &a), 0);
	assert_int_equal(pinned_share_add(&s, &b), 0);
	assert_int_equal(pinned_share_seal(&s), 0);
	assert_int_equal(pinned_list_read(dup(s.table_fd), &k), 0);
	assert_int_equal(nr_of(k, &by_ino, "/elsewhere"), 1);
	by_ino.min = 2;
	assert_int_equal(nr_of(k, &by_ino, "/a"), 0);
	/* Of the one without a build-id the file itself has to tell. */
	assert_int_equal(nr_of(k, &by_id, "/a"), 2);
	by_id.build_id[0] = 2;
	assert_int_equal(nr_of(k, &by_id, "/a"), 1);
	assert_int_equal(nr_of(k, &by_id, "/b"), 0);
	pinned_list_free(k);
	pinned_share_close(&s);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_local_mounts_at_known_places_count),
		cmocka_unit_test(the_last_of_several_at_one_place_counts),
		cmocka_unit_test(nonsense_is_no_mount),
		cmocka_unit_test(held_files_are_found_by_inode_or_by_name_and_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
