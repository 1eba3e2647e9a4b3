// SPDX-License-Identifier: MIT
/* The list of dumps in the directory, and the deletion of its first ones; see store_list.h. */
#include "recorder/writer/store_list.h"

#include "dump/base/err.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t disk_bytes(const struct stat *st)
{
	uint64_t size = (uint64_t)st->st_size, blocks = (uint64_t)st->st_blocks * 512;

	return size > blocks ? size : blocks;
}

int store_lock(int fd, int how)
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

	if (fd >= 0 && store_lock(fd, LOCK_EX | LOCK_NB)) {
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

int store_list_reserve(struct store *s, size_t nr, struct err *err)
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
	int rc = known ? 0 : store_list_reserve(s, s->nr + 1, err);

	if (rc)
		return rc;
	if (!known)
		known = &s->v[s->nr++];
	*known = *e;
	known->order = order;
	return 0;
}

int store_list_refresh(struct store *s, struct err *err)
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

void store_list_delete_first(struct store *s, size_t n)
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
