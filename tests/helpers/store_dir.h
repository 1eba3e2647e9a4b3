/* SPDX-License-Identifier: MIT */
/* A directory of dumps for the tests of the store, in a private mount namespace with a small tmpfs,
 * which nothing outside sees. */
#pragma once

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

static inline struct store *open_store(uint64_t max_dumps, uint64_t max_disk)
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

static inline void clear_dir(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while ((e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..") &&
		    unlinkat(dirfd(d), e->d_name, 0))
			unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	closedir(d);
}

static inline int setup(void **state)
{
	clear_dir();
	return 0;
}

static inline const char *in_dir(const char *name)
{
	static char path[4][4096];
	static int next;

	next = (next + 1) % 4;
	snprintf(path[next], sizeof(path[0]), "%s/%s", dir, name);
	return path[next];
}

static inline bool exists(const char *name)
{
	struct stat st;

	return !lstat(in_dir(name), &st);
}

static inline void make_file(const char *name, size_t bytes)
{
	int fd = open(in_dir(name), O_WRONLY | O_CREAT | O_EXCL, 0600);
	char *zero = calloc(1, bytes + 1);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, zero, bytes), bytes);
	free(zero);
	close(fd);
}

/* Files in the directory, and what they take. */
static inline size_t count(uint64_t *bytes)
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
static inline int write_pages(struct store *s, int fd, size_t bytes, struct err *err)
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

static inline const char *dump(struct store *s, uint64_t ns, const char *trigger, size_t bytes)
{
	static char path[4096];
	struct err err = ERR_INIT;
	int fd;

	if (store_begin(s, ns, trigger, &fd, &err) || write_pages(s, fd, bytes, &err) ||
	    store_commit(s, path, sizeof(path), &err))
		fail_msg("%s", err.what);
	return strrchr(path, '/') + 1;
}

static inline void enter_namespace(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL))
		return;
	mounted = !mount("none", dir, "tmpfs", 0, "size=4m,mode=0700");
}

/* Runs the tests in the directory, and removes it. */
#define run_in_dir(tests) (enter_dir() ? 1 : leave_dir(cmocka_run_group_tests(tests, NULL, NULL)))

static inline int enter_dir(void)
{
	if (!mkdtemp(dir))
		return 1;
	enter_namespace();
	if (!mounted)
		printf("# no private mount namespace: the full disk and the read-only one are not "
		       "tested\n");
	return 0;
}

static inline int leave_dir(int rc)
{
	clear_dir();
	if (mounted)
		umount2(dir, MNT_DETACH);
	rmdir(dir);
	return rc;
}
