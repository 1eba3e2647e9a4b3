// SPDX-License-Identifier: MIT
/* The dumps in a directory; see dump_dir.h. Called by cmd_list.c and cmd_dump.c. */
#include "recorder/cli/dump_dir.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "recorder/base/sandbox.h"
#include "recorder/config/config_row.h"
#include "recorder/daemon/ctl.h"
#include "recorder/writer/dump_name.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SERVICE_DIR   "/var/lib/ringback"
#define ANSWER_MS     1000
#define MAX_RECORDERS 64

/* ---- reading ---- */

static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name), n = strlen(end);

	return len > n && !strcmp(name + len - n, end);
}

/* "20261121T005331.123Z" */
static uint64_t time_of_name(const char *when)
{
	struct tm tm = {0};
	const char *ms = strptime(when, "%Y%m%dT%H%M%S.", &tm);

	return ms ? (uint64_t)timegm(&tm) * 1000000000u + strtoul(ms, NULL, 10) * 1000000u : 0;
}

/* 0: unknown. */
static uint64_t time_of_dump(const char *path)
{
	struct reader *r = NULL;
	struct meta *m = NULL;
	uint64_t ns = 0;

	if (!reader_open(path, &r, NULL) && !meta_load(r, &m, NULL))
		ns = m->trigger.real_ns;
	meta_free(m);
	reader_close(r);
	return ns;
}

static bool is_locked(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool locked = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) && errno == EWOULDBLOCK;

	if (fd >= 0)
		close(fd);
	return locked;
}

/* 1: `name` is a dump; 0: it is not; -ENOMEM. */
static int entry_of(const char *dir, const char *name, struct dump_dir_entry *e)
{
	const char *when, *slash = ends_with(dir, "/") || !strcmp(dir, "/") ? "" : "/";
	struct stat st;
	bool part;

	*e = (struct dump_dir_entry){.part = ends_with(name, ".rbd.part")};
	if (*name == '.' || (!e->part && !ends_with(name, ".rbd")))
		return 0;
	if (asprintf(&e->path, "%s%s%s", strcmp(dir, ".") ? dir : "", strcmp(dir, ".") ? slash : "",
		     name) < 0)
		return -ENOMEM;
	if (stat(e->path, &st) || !S_ISREG(st.st_mode)) {
		free(e->path);
		return 0;
	}
	e->file_bytes = (uint64_t)st.st_size;
	e->pinned = st.st_mode & DUMPNAME_PINNED;
	e->being_written = e->part && is_locked(e->path);
	if (dump_name_parse(name, &when, &part))
		e->real_ns = time_of_name(when);
	e->mtime_ns = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
	return 1;
}

static int by_time(const void *a, const void *b)
{
	const struct dump_dir_entry *x = a, *y = b;

	if (x->real_ns != y->real_ns)
		return x->real_ns < y->real_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int add(struct dump_dir *d, const struct dump_dir_entry *e)
{
	if (!array_room(d->v, d->nr))
		return -ENOMEM;
	d->v[d->nr++] = *e;
	return 0;
}

int dump_dir_read(const char *dir, struct dump_dir *out, struct err *err)
{
	struct dump_dir d = {0};
	struct dump_dir_entry e;
	struct dirent *f;
	DIR *at = opendir(dir);
	int rc = 0;

	if (!at)
		return err_sys(err, -errno, "can't list %s", dir);
	while (rc >= 0 && (f = readdir(at))) {
		rc = entry_of(dir, f->d_name, &e);
		if (rc == 1 && (rc = add(&d, &e)))
			free(e.path);
	}
	closedir(at);
	if (rc < 0) {
		dump_dir_free(&d);
		return err_set(err, rc, "out of memory for the list of dumps in %s", dir);
	}
	*out = d;
	return 0;
}

void dump_dir_allow(const struct dump_dir *d, struct sandbox *s)
{
	for (size_t i = 0; i < d->nr; i++)
		sandbox_read(s, d->v[i].path);
}

void dump_dir_sort(struct dump_dir *d)
{
	for (size_t i = 0; i < d->nr; i++) {
		struct dump_dir_entry *e = &d->v[i];

		if (!e->real_ns)
			e->real_ns = time_of_dump(e->path);
		if (!e->real_ns)
			e->real_ns = e->mtime_ns;
	}
	if (d->nr)
		qsort(d->v, d->nr, sizeof(*d->v), by_time);
}

void dump_dir_free(struct dump_dir *d)
{
	for (size_t i = 0; i < d->nr; i++)
		free(d->v[i].path);
	free(d->v);
	*d = (struct dump_dir){0};
}

const struct dump_dir_entry *dump_dir_newest(const struct dump_dir *d)
{
	for (size_t i = d->nr; i--;)
		if (!d->v[i].part)
			return &d->v[i];
	return NULL;
}

/* ---- default directory ---- */

static bool of_recorder(char dir[PATH_MAX])
{
	char names[MAX_RECORDERS][CTL_NAME_BYTES];
	size_t nr = ctl_running(names, MAX_RECORDERS), pick = 0;
	const char *told;
	json_t *reply;

	for (size_t i = 0; i < nr; i++)
		if (!strcmp(names[i], "default"))
			pick = i;
	if (!nr ||
	    ctl_call(names[pick], json_pack("{s:s}", "cmd", "status"), ANSWER_MS, &reply, NULL))
		return false;
	told = json_string_value(json_object_get(reply, "directory"));
	if (told)
		snprintf(dir, PATH_MAX, "%s", told);
	json_decref(reply);
	return told;
}

static bool of_file(char dir[PATH_MAX])
{
	struct config c = {0};
	bool told = !config_file_read(&c, NULL, NULL) && c.dir;

	if (told)
		snprintf(dir, PATH_MAX, "%s", c.dir);
	config_free(&c);
	return told;
}

static bool has_dumps(const char *dir)
{
	struct dump_dir d = {0};
	bool some = !dump_dir_read(dir, &d, NULL) && d.nr;

	dump_dir_free(&d);
	return some;
}

void dump_dir_default(char dir[PATH_MAX])
{
	if (of_recorder(dir) || of_file(dir))
		return;
	snprintf(dir, PATH_MAX, "%s",
		 !has_dumps(".") && has_dumps(SERVICE_DIR) ? SERVICE_DIR : ".");
}
