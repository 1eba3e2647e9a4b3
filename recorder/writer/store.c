// SPDX-License-Identifier: MIT
/*
 * The directory of dumps; see store.h. Called by the daemon (open, limits) and around each dump
 * (begin, room from the writer, commit or abort). All paths are relative to one directory
 * descriptor. Files whose names do not have our form, files of other users and non-regular files
 * are never touched.
 *
 *	          begin                    commit
 *	  (idle) ───────▶ NAME.rbd.part ──────────▶ NAME.rbd
 *	                  0600, locked     └─ abort: deleted
 *
 * Nothing is allocated between begin and commit: the list of dumps has spare entries.
 */
#include "recorder/writer/store_list.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/base/log.h"
#include "recorder/writer/store_dir.h"
#include "recorder/writer/dump_name.h"
#include "trigger/kernel/clock.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define MAX_BUMPS 1000 /* attempts to find a free name, each 1 ms later */

/* ---- opening ---- */

/* Opens the directory into `s`; `again`: by the path that it had. */
static int attach(struct store *s, bool again, struct err *err)
{
	int fd = store_dir_open(s->dir, again, err);
	DIR *scan = fd < 0 ? NULL : fdopendir(fd);
	char path[PATH_MAX], *dir = NULL;

	if (scan && store_dir_path(fd, path))
		dir = strdup(path);
	if (fd >= 0 && !dir) {
		if (scan)
			closedir(scan);
		else
			close(fd);
		return err_set(err, -ENOMEM, "out of memory for the directory of dumps");
	}
	if (fd < 0)
		return fd;
	if (s->scan)
		closedir(s->scan);
	free(s->dir);
	s->dir = dir;
	s->scan = scan;
	s->dir_fd = fd;
	return 0;
}

int store_open(const struct store_options *opt, struct store **out, struct err *err)
{
	struct store *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory for the directory of dumps");
	s->min_free_percent = opt->min_free_percent;
	store_set_limits(s, opt->max_dumps, opt->max_disk_bytes);
	s->fd = -1;
	s->dir_fd = -1;
	dump_name_host(s->host, sizeof(s->host));
	s->dir = strdup(opt->dir);
	rc = s->dir ? attach(s, false, err)
		    : err_set(err, -ENOMEM, "out of memory for the directory of dumps");
	if (!rc)
		rc = store_list_reserve(s, SPARE, err);
	if (!rc)
		rc = store_list_refresh(s, err);
	if (!rc)
		rc = store_list_reserve(s, s->nr + SPARE, err);
	if (rc) {
		store_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	store_abort(s);
	if (s->scan)
		closedir(s->scan);
	free(s->dir);
	free(s->v);
	free(s);
}

void store_set_limits(struct store *s, uint64_t max_dumps, uint64_t max_disk_bytes)
{
	s->max_dumps = max_dumps;
	s->max_disk_bytes = max_disk_bytes;
}

size_t store_leftovers(struct store *s, char names[][256], size_t max)
{
	size_t n = 0;

	if (store_list_refresh(s, NULL))
		return 0;
	while (n < s->nr && n < max && s->v[n].kind == LEFTOVER) {
		snprintf(names[n], 256, "%s", s->v[n].name);
		n++;
	}
	return n;
}

uint64_t store_nr_deleted(const struct store *s)
{
	return s->nr_deleted;
}

/* ---- limits ---- */

static void hint_pinned(const struct store *s, const char *option, struct err *err)
{
	char dir[PATH_MAX];

	store_dir(s, dir);
	for (size_t i = 0; i < s->nr; i++) {
		if (s->v[i].kind == PINNED) {
			err_hint(err, "ringback pin --remove '%s/%s', or raise %s", dir,
				 s->v[i].name, option);
			return;
		}
	}
}

/* The number of dumps to delete so that `bytes` fit under --max-disk, and the bytes freed by
 * that. -ENOSPC when deleting all of them is not enough. Deletes nothing. */
static int plan(const struct store *s, uint64_t bytes, size_t *nr, uint64_t *freed, struct err *err)
{
	char limit[32], need[32], kept[32];
	uint64_t sum = 0, max = s->max_disk_bytes;

	*nr = 0;
	*freed = 0;
	if (!max)
		return 0;
	for (size_t i = 0; i < s->nr; i++)
		sum += s->v[i].bytes;
	while (sum + bytes > max && *nr < s->nr && s->v[*nr].kind < PINNED) {
		sum -= s->v[*nr].bytes;
		*freed += s->v[*nr].bytes;
		++*nr;
	}
	if (sum + bytes <= max)
		return 0;
	str_fmt_size(limit, sizeof(limit), max);
	str_fmt_size(need, sizeof(need), bytes);
	err_set(err, -ENOSPC,
		"dumps may take %s in %s (--max-disk), and this one has come to %s%s%s", limit,
		s->dir, need, sum ? " beside what can't be deleted: " : "",
		sum ? str_fmt_size(kept, sizeof(kept), sum) : "");
	err_hint(err, "raise --max-disk, or record less: smaller rings (-m) or fewer events");
	hint_pinned(s, "--max-disk", err);
	return -ENOSPC;
}

/* Checks that writing `bytes` and freeing `freed` leaves min_free_percent of the file system. */
static int check_free(const struct store *s, uint64_t bytes, uint64_t freed, struct err *err)
{
	char has[32], of[32], want[32];
	uint64_t free_bytes, total, keep;
	struct statvfs v;

	if (fstatvfs(s->dir_fd, &v))
		return err_sys(err, -errno, "can't ask how full the file system of %s is", s->dir);
	free_bytes = (uint64_t)v.f_bavail * v.f_frsize;
	total = (uint64_t)v.f_blocks * v.f_frsize;
	keep = total / 100 * s->min_free_percent;
	if (!total || free_bytes + freed >= keep + bytes)
		return 0;
	err_set(err, -ENOSPC,
		"the file system of %s has %s of %s free, and %s more would leave less than the %u "
		"%% that ringback keeps free",
		s->dir, str_fmt_size(has, sizeof(has), free_bytes),
		str_fmt_size(of, sizeof(of), total), str_fmt_size(want, sizeof(want), bytes),
		s->min_free_percent);
	err_hint(err, "free some space there, or choose another directory with -o DIR");
	return -ENOSPC;
}

int store_room(void *store, uint64_t file_bytes, uint64_t bytes, struct err *err)
{
	struct store *s = store;
	/* Files grow in whole blocks. */
	uint64_t whole = align_up(file_bytes + bytes, 4096);
	uint64_t more = whole - align_up(file_bytes, 4096), freed;
	size_t nr;

	/* Repeats after deleting, since entries that could not be deleted still use space. */
	for (;;) {
		int rc = plan(s, whole, &nr, &freed, err);

		if (!rc)
			rc = check_free(s, more, freed, err);
		if (rc || !nr)
			return rc;
		store_list_delete_first(s, nr);
	}
}

static size_t count_pinned(const struct store *s)
{
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++)
		nr += s->v[i].kind == PINNED;
	return nr;
}

/* -ENOSPC when pinned dumps alone reach --max-dumps. */
static int check_pinned(const struct store *s, struct err *err)
{
	size_t nr = count_pinned(s);
	uint64_t max = s->max_dumps;

	if (!max || nr < max)
		return 0;
	err_set(err, -ENOSPC,
		"%zu pinned dump%s in %s leave%s no room for another under --max-dumps %" PRIu64,
		nr, str_plural(nr), s->dir, nr == 1 ? "s" : "", max);
	hint_pinned(s, "--max-dumps", err);
	return -ENOSPC;
}

/* Makes room for one more dump under --max-dumps. A dump that was pinned while this one was being
 * written may push the total over the limit: better than losing either. */
static void delete_over_max(struct store *s)
{
	uint64_t max = s->max_dumps;
	size_t nr = 0, nr_pinned = count_pinned(s);

	if (!max)
		return;
	while (nr < s->nr && s->v[nr].kind < PINNED)
		nr++;
	if (nr + nr_pinned >= max) {
		size_t over = nr + nr_pinned - (size_t)(max - 1);

		store_list_delete_first(s, over < nr ? over : nr);
	}
}

/* ---- one dump ---- */

static bool is_same_file(const struct store *s, int fd, const char *name)
{
	struct stat a, b;

	return !fstat(fd, &a) && !fstatat(s->dir_fd, name, &b, AT_SYMLINK_NOFOLLOW) &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static void make_names(struct store *s)
{
	const char *when;
	bool part;

	dump_name_make(s->name, s->host, s->real_ns, s->trigger);
	snprintf(s->part, sizeof(s->part), "%s.part", s->name);
	if (dump_name_parse(s->name, &when, &part))
		dump_name_rule(s->rule, when);
}

/* -EEXIST when the name exists as a dump or as a part. */
static int create_part(struct store *s, int *out)
{
	int fd, rc;

	if (!faccessat(s->dir_fd, s->name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	fd = openat(s->dir_fd, s->part, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = store_lock(fd, LOCK_EX);
	/* Between open and lock another recorder may have deleted the file as a leftover. */
	if (!is_same_file(s, fd, s->part)) {
		close(fd);
		return -EEXIST;
	}
	if (fchmod(fd, 0600))
		rc = rc ? rc : -errno;
	/* On a file system without locks no recorder deletes a part, since none can lock it. */
	if (rc && rc != -ENOLCK && rc != -EOPNOTSUPP) {
		unlinkat(s->dir_fd, s->part, 0);
		close(fd);
		return rc;
	}
	*out = fd;
	return 0;
}

int store_begin(struct store *s, uint64_t real_ns, const char *trigger, int *fd, struct err *err)
{
	int rc = store_dir_is_reachable(s->dir_fd) ? 0 : attach(s, true, err);

	assert(s->fd < 0);
	s->real_ns = real_ns;
	snprintf(s->trigger, sizeof(s->trigger), "%s", trigger);
	make_names(s);
	if (!rc)
		rc = store_list_refresh(s, err);
	if (!rc)
		rc = check_pinned(s, err);
	if (!rc)
		rc = store_room(s, 0, 1, err);
	if (rc)
		return rc;
	rc = -EEXIST;
	for (int i = 0; rc == -EEXIST && i < MAX_BUMPS; i++, s->real_ns += 1000000) {
		make_names(s);
		rc = create_part(s, &s->fd);
	}
	if (rc)
		return err_sys(err, rc, "can't make %s/%s", s->dir, s->part);
	s->real_ns -= 1000000; /* undoes the loop's last step */
	*fd = s->fd;
	return 0;
}

/* Falls back to link() on file systems without RENAME_NOREPLACE. */
static int rename_once(struct store *s)
{
	if (!renameat2(s->dir_fd, s->part, s->dir_fd, s->name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(s->dir_fd, s->part, s->dir_fd, s->name, 0))
		return -errno;
	unlinkat(s->dir_fd, s->part, 0);
	return 0;
}

/* Never replaces a file: if the name was taken in the meantime, ours gets a time 1 ms later. */
static int rename_part(struct store *s)
{
	int rc = rename_once(s);

	for (int i = 0; rc == -EEXIST && i < MAX_BUMPS; i++) {
		s->real_ns += 1000000;
		dump_name_make(s->name, s->host, s->real_ns, s->trigger);
		rc = rename_once(s);
	}
	return rc;
}

void store_dir(const struct store *s, char dir[PATH_MAX])
{
	if (!store_dir_path(s->dir_fd, dir))
		snprintf(dir, PATH_MAX, "%s", s->dir);
}

static void path_of(const struct store *s, char *path, size_t n)
{
	char dir[PATH_MAX];

	store_dir(s, dir);
	snprintf(path, n, "%s%s%s", dir, strcmp(dir, "/") ? "/" : "", s->name);
}

static void forget(struct store *s)
{
	close(s->fd);
	s->fd = -1;
}

int store_commit(struct store *s, char *path, size_t n, struct err *err)
{
	int rc;

	assert(s->fd >= 0);
	if (!is_same_file(s, s->fd, s->part))
		return err_sys(err, -ENOENT, "can't finish %s/%s", s->dir, s->part);
	/* Deletes old dumps after this one is written and before its rename: never above the
	 * limit. */
	rc = store_list_refresh(s, err);
	if (rc)
		return rc;
	delete_over_max(s);
	rc = rename_part(s);
	if (rc) {
		err_sys(err, rc, "can't rename %s/%s", s->dir, s->part);
		err_hint(err, "the file is left there; ringback check tells what it has");
		forget(s);
		return rc;
	}
	path_of(s, path, n);
	/* Some file systems fail with EINVAL: they have no directory to sync. */
	if (fsync(s->dir_fd) && errno != EINVAL)
		log_warn("%s is written, but its directory can't be synced (%s): a power failure "
			 "may lose it",
			 path, strerror(errno));
	forget(s);
	store_list_reserve(s, s->nr + SPARE, NULL);
	return 0;
}

/* Deletes our file only if it is still named .part: a commit that failed late has renamed it. */
void store_abort(struct store *s)
{
	if (s->fd < 0)
		return;
	if (is_same_file(s, s->fd, s->part))
		unlinkat(s->dir_fd, s->part, 0);
	forget(s);
}
