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
 *
 * The order of deletion is fair: rank 1 is the newest dump of a rule, and the highest rank goes
 * first, so the rule with most dumps loses its oldest one.
 */
#include "recorder/writer/store.h"

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
#define SPARE	  64   /* entries that the list can gain while a dump is written */

/* In the order of deletion. */
enum stored_kind {
	LEFTOVER, /* .part without a lock */
	DUMP,
	BY_HAND, /* asked for with `ringback trigger` or SIGUSR2 */
	PINNED,	 /* this and the next are never deleted */
	BUSY,	 /* being written by another recorder, or can't be deleted */
};

#define UNSEEN UINT64_MAX

struct stored_dump {
	char name[DUMPNAME_BYTES + 8];
	char time[DUMPNAME_TIME_CHARS];
	char rule[DUMPNAME_RULE_BYTES];
	enum stored_kind kind;
	bool is_ahead;	/* its time is in the future: the clock was set back since */
	bool is_listed; /* the directory still has it */
	uint64_t order; /* by age; UNSEEN: not known yet */
	size_t rank;	/* 1: the newest of its rule */
	uint64_t bytes; /* length or disk use, the larger one */
};

struct store {
	unsigned min_free_percent;
	_Atomic uint64_t max_dumps, max_disk_bytes; /* set by the main loop */
	char *dir;
	DIR *scan;
	int dir_fd; /* of `scan` */
	char host[65];
	struct stored_dump *v; /* the existing dumps, in the order of deletion */
	size_t nr, cap;
	uint64_t next_order;
	_Atomic uint64_t nr_deleted;
	/* The dump being written; fd -1: none. */
	int fd;
	uint64_t real_ns;
	char trigger[64];
	char rule[DUMPNAME_RULE_BYTES]; /* as in the name */
	char name[DUMPNAME_BYTES];
	char part[DUMPNAME_BYTES + 8];
};

/* ---- the list of dumps ---- */

static uint64_t disk_bytes(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, blocks = (uint64_t)st->st_blocks * 512;

	return size > blocks ? size : blocks;
}

static int lock(int fd, int how)
{
	int rc;

	do
		rc = flock(fd, how);
	while (rc && errno == EINTR);
	return rc ? -errno : 0;
}

/* Locks a .part. Returns the descriptor that holds the lock, or -1 if another one holds it. */
static int lock_leftover(const struct store *s, const char *name)
{
	int fd = openat(s->dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && lock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool is_leftover(const struct store *s, const char *name)
{
	int fd = lock_leftover(s, name);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static enum stored_kind kind_of(const struct store *s, const struct stored_dump *e, bool part,
				mode_t mode)
{
	if (mode & DUMPNAME_PINNED)
		return PINNED;
	if (part)
		return is_leftover(s, e->name) ? LEFTOVER : BUSY;
	return strcmp(e->rule, "manual") && strcmp(e->rule, "SIGUSR2") ? DUMP : BY_HAND;
}

/* True when `name` is one of our dumps or parts; fills in `e`. `now`: the time in a dump's name. */
static bool entry_of(const struct store *s, const char *name, const char *now,
		     struct stored_dump *e)
{
	const char *when;
	struct stat st;
	bool part;

	if (strlen(name) >= sizeof(e->name) || !dump_name_parse(name, &when, &part))
		return false;
	if (s->fd >= 0 && !strcmp(name, s->part))
		return false;
	if (fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid())
		return false;
	*e = (struct stored_dump){.is_listed = true, .order = UNSEEN, .bytes = disk_bytes(&st)};
	memcpy(e->name, name, strlen(name) + 1);
	memcpy(e->time, when, sizeof(e->time));
	dump_name_rule(e->rule, when);
	e->kind = kind_of(s, e, part, st.st_mode);
	e->is_ahead = memcmp(when, now, sizeof(e->time)) > 0;
	return true;
}

static int by_name(const void *a, const void *b)
{
	const struct stored_dump *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/*
 * By age. The list knows the order in which dumps came while it is open, whatever the clock did in
 * the meantime. Of the others the names tell; one from the future was written before the clock was
 * set back, so it is older than all.
 */
static int by_age(const void *a, const void *b)
{
	const struct stored_dump *x = a, *y = b;
	int c;

	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	if (x->is_ahead != y->is_ahead)
		return x->is_ahead ? -1 : 1;
	c = memcmp(x->time, y->time, sizeof(x->time));
	return c ? c : strcmp(x->name, y->name);
}

/* By rule, newest first; those that retention can't choose come apart. */
static int by_rule(const void *a, const void *b)
{
	const struct stored_dump *x = a, *y = b;
	int c = x->kind != y->kind ? (x->kind < y->kind ? -1 : 1) : strcmp(x->rule, y->rule);

	return c ? c : x->order > y->order ? -1 : x->order < y->order;
}

static int by_deletion(const void *a, const void *b)
{
	const struct stored_dump *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int reserve(struct store *s, size_t nr, struct err *err)
{
	struct stored_dump *v;

	if (nr <= s->cap)
		return 0;
	v = realloc(s->v, (nr + SPARE) * sizeof(*v));
	if (!v)
		return err_set(err, -ENOMEM, "out of memory for the list of dumps in %s", s->dir);
	s->v = v;
	s->cap = nr + SPARE;
	return 0;
}

/* Puts the list in the order of deletion. The dump being written counts as its rule's newest. */
static void rank(struct store *s)
{
	qsort(s->v, s->nr, sizeof(s->v[0]), by_age);
	for (size_t i = 0; i < s->nr; i++)
		if (s->v[i].order == UNSEEN)
			s->v[i].order = s->next_order++;
	qsort(s->v, s->nr, sizeof(s->v[0]), by_rule);
	for (size_t i = 0; i < s->nr; i++) {
		struct stored_dump *e = &s->v[i];

		if (e->kind == LEFTOVER || e->kind >= PINNED)
			e->rank = 0;
		else if (i && e->kind == e[-1].kind && !strcmp(e->rule, e[-1].rule))
			e->rank = e[-1].rank + 1;
		else
			e->rank = strcmp(e->rule, s->rule) ? 1 : 2;
	}
	qsort(s->v, s->nr, sizeof(s->v[0]), by_deletion);
}

static int add(struct store *s, const struct stored_dump *e, size_t nr_known, struct err *err)
{
	struct stored_dump *known = bsearch(e, s->v, nr_known, sizeof(*e), by_name);
	uint64_t order = known ? known->order : UNSEEN;
	int rc = known ? 0 : reserve(s, s->nr + 1, err);

	if (rc)
		return rc;
	if (!known)
		known = &s->v[s->nr++];
	*known = *e;
	known->order = order;
	return 0;
}

/* Reads the directory again. Allocates only when the list is full. */
static int refresh(struct store *s, struct err *err)
{
	char now[DUMPNAME_TIME_CHARS + 1];
	size_t nr_known = s->nr, nr = 0;
	struct stored_dump e;
	struct dirent *d;
	int rc = 0;

	dump_name_time(now, clock_of(CLOCK_REALTIME));
	for (size_t i = 0; i < nr_known; i++)
		s->v[i].is_listed = false;
	qsort(s->v, nr_known, sizeof(s->v[0]), by_name);
	rewinddir(s->scan);
	while (!rc && (d = readdir(s->scan)))
		if (entry_of(s, d->d_name, now, &e))
			rc = add(s, &e, nr_known, err);
	for (size_t i = 0; i < s->nr; i++)
		if (s->v[i].is_listed)
			s->v[nr++] = s->v[i];
	s->nr = nr;
	rank(s);
	return rc;
}

/* `ringback pin` may have run since the directory was read. */
static bool was_pinned(const struct store *s, const char *name)
{
	struct stat st;

	return !fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) &&
	       (st.st_mode & DUMPNAME_PINNED);
}

/* A leftover is locked before it is deleted: another recorder may have just made it and not locked
 * it yet. */
static bool delete_entry(const struct store *s, const struct stored_dump *e)
{
	bool gone;
	int fd;

	if (was_pinned(s, e->name))
		return false;
	fd = e->kind == LEFTOVER ? lock_leftover(s, e->name) : -1;
	if (e->kind == LEFTOVER && fd < 0)
		return errno == ENOENT;
	gone = !unlinkat(s->dir_fd, e->name, 0) || errno == ENOENT;
	if (fd >= 0)
		close(fd);
	return gone;
}

/* Deletes the first `n` entries; those that can't be deleted move to the end of the list as
 * BUSY. */
static void delete_first(struct store *s, size_t n)
{
	while (n--) {
		struct stored_dump first = s->v[0];
		bool gone = delete_entry(s, &first);

		memmove(&s->v[0], &s->v[1], --s->nr * sizeof(s->v[0]));
		if (gone) {
			s->nr_deleted++;
		} else {
			first.kind = BUSY;
			s->v[s->nr++] = first;
		}
	}
}

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
		rc = reserve(s, SPARE, err);
	if (!rc)
		rc = refresh(s, err);
	if (!rc)
		rc = reserve(s, s->nr + SPARE, err);
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

	if (refresh(s, NULL))
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
		delete_first(s, nr);
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

		delete_first(s, over < nr ? over : nr);
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
	rc = lock(fd, LOCK_EX);
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
		rc = refresh(s, err);
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
	rc = fsync(s->fd) ? -errno : 0;
	if (!rc && !is_same_file(s, s->fd, s->part))
		rc = -ENOENT;
	if (rc)
		return err_sys(err, rc, "can't finish %s/%s", s->dir, s->part);
	/* Deletes old dumps after this one is synced and before its rename: never above the
	 * limit. */
	rc = refresh(s, err);
	if (rc)
		return rc;
	delete_over_max(s);
	rc = rename_part(s);
	if (rc)
		return err_sys(err, rc, "can't rename %s/%s", s->dir, s->part);
	path_of(s, path, n);
	/* Some file systems fail with EINVAL: they have no directory to sync. */
	if (fsync(s->dir_fd) && errno != EINVAL)
		log_warn("%s is written, but its directory can't be synced (%s): a power failure "
			 "may lose it",
			 path, strerror(errno));
	forget(s);
	reserve(s, s->nr + SPARE, NULL);
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
