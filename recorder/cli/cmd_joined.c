// SPDX-License-Identifier: MIT
/* Opens several dumps of one recorder as one; see cmd_joined.h. */
#include "recorder/cli/cmd_joined.h"

#include "dump/base/err.h"
#include "dump/file/join.h"
#include "dump/file/meta.h"
#include "recorder/base/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Maximum number of earlier dumps to join. */
#define MAX_BACK 8

int cmd_joined_args(struct cmd_joined *h, const struct command *c, char **operands)
{
	h->paths = operands;
	for (h->nr = 0; operands[h->nr];)
		h->nr++;
	if (h->always && h->never)
		return cmd_misuse(c, "--history and --no-history contradict each other");
	if (h->nr > 1 && (h->always || h->never))
		return cmd_misuse(c, "--%shistory takes one dump", h->never ? "no-" : "");
	return EXIT_FINE;
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Joins `d` and `older` into `d`, which is unchanged on failure. */
static int join(struct cmd_dump *d, const char *name, const struct cmd_dump *older,
		const char *older_name, struct err *err)
{
	struct join_dump o = {older->r, older->m, base(older_name)}, n = {d->r, d->m, base(name)};
	int fd = memfd_create("ringback-history", MFD_CLOEXEC), rc;
	struct cmd_dump both;
	char path[64];
	size_t nr;

	if (fd < 0)
		return err_sys(err, -errno, "no memory to join dumps");
	rc = join_dumps(&o, &n, fd, &nr, err);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!rc && cmd_dump_open(path, &both) != EXIT_FINE)
		rc = err_set(err, -EIO, "the joined dumps can't be read");
	close(fd);
	if (rc)
		return rc;
	both.damaged = d->damaged | older->damaged;
	cmd_dump_close(d);
	*d = both;
	return 0;
}

/* ---- dumps given on the command line ---- */

struct named_dump {
	struct cmd_dump d;
	const char *path;
};

static int newest_first(const void *a, const void *b)
{
	const struct named_dump *x = a, *y = b;
	uint32_t m = x->d.m->trigger.nr, n = y->d.m->trigger.nr;

	return m > n ? -1 : m < n;
}

static int open_named(struct cmd_joined *h, struct cmd_dump *d)
{
	struct named_dump *v = calloc((size_t)h->nr, sizeof(*v));
	struct err err = ERR_INIT;
	int code = v ? EXIT_FINE : EXIT_FAILED, nr = 0;

	for (; nr < h->nr && code == EXIT_FINE; nr += code == EXIT_FINE) {
		v[nr].path = h->paths[nr];
		code = cmd_dump_open(v[nr].path, &v[nr].d);
	}
	if (code == EXIT_FINE) {
		qsort(v, (size_t)nr, sizeof(*v), newest_first);
		h->path = v[0].path;
	}
	for (int i = 1; i < nr && code == EXIT_FINE; i++) {
		if (!join(&v[0].d, v[i - 1].path, &v[i].d, v[i].path, &err))
			continue;
		err_hint(&err, "give consecutive dumps of one recorder");
		log_err(&err);
		code = EXIT_FAILED;
	}
	if (code == EXIT_FINE) {
		*d = v[0].d;
		v[0].d = (struct cmd_dump){0};
	}
	for (int i = 0; i < nr; i++)
		cmd_dump_close(&v[i].d);
	free(v);
	return code;
}

/* ---- the previous dump ---- */

/* True when the rule's condition began before the start of a ring. */
static bool began_before(const struct meta *m)
{
	for (size_t i = 0; i < m->nr_windows && m->trigger_began_ns; i++)
		if (meta_is_ring(&m->windows[i]) && m->windows[i].armed_ns > m->trigger_began_ns)
			return true;
	return false;
}

/* The path of `name` in the directory of `path`; NULL if it is no file name. */
static char *beside(const char *path, const char *name)
{
	size_t dir = (size_t)(base(path) - path);
	char *out;

	if (!*name || strchr(name, '/'))
		return NULL;
	out = malloc(dir + strlen(name) + 1);
	if (out) {
		memcpy(out, path, dir);
		strcpy(out + dir, name);
	}
	return out;
}

/* Joins the predecessor of `d`. 0: *name is its path. */
static int join_before(struct cmd_dump *d, const char *path, char **name, char **before,
		       struct err *err)
{
	struct cmd_dump older;
	char *at = beside(path, *before);
	int rc;

	if (!at || access(at, R_OK)) {
		rc = err_set(err, -ENOENT, "the previous dump%s%s does not exist",
			     *before[0] ? ", " : "", *before);
		goto out;
	}
	rc = cmd_dump_open(at, &older) ? err_set(err, -EIO, "'%s' can't be read", at) : 0;
	if (rc)
		goto out;
	rc = join(d, *name, &older, at, err);
	if (!rc) {
		free(*before);
		*before = strdup(older.m->before);
		free(*name);
		*name = at;
		at = NULL;
	}
	cmd_dump_close(&older);
out:
	free(at);
	return rc;
}

static int open_before(struct cmd_joined *h, struct cmd_dump *d)
{
	char *name = strdup(h->path), *before = strdup(d->m->before);
	struct err err = ERR_INIT;
	int rc = 0;

	for (int i = 0; i < MAX_BACK && name && before && !rc; i++) {
		if (!(h->always && i == 0) && !began_before(d->m))
			break;
		rc = join_before(d, h->path, &name, &before, &err);
	}
	free(name);
	free(before);
	if (!rc || !h->always || d->m->nr_joined)
		return EXIT_FINE;
	err_hint(&err, "--no-history reads the dump alone");
	log_err(&err);
	return EXIT_FAILED;
}

int cmd_joined_open(struct cmd_joined *h, const struct command *c, const char *also,
		    struct cmd_dump *d)
{
	int code = cmd_dump_begin(c, h->paths, also, h->nr == 1 && !h->never, &h->path);

	if (code != EXIT_FINE)
		return code;
	if (h->nr > 1)
		return open_named(h, d);
	code = cmd_dump_open(h->path, d);
	if (code != EXIT_FINE || h->never || d->damaged)
		return code;
	code = open_before(h, d);
	if (code != EXIT_FINE)
		cmd_dump_close(d);
	return code;
}
