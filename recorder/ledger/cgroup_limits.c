// SPDX-License-Identifier: MIT
/* Limits of control groups and their counters; see cgroup_limits.h. Used by dumper_file.c. */
#include "recorder/ledger/cgroup_limits.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/format/format.h"
#include "dump/file/writer.h"
#include "trigger/kernel/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_HIERARCHIES 4
#define MAX_DEPTH	16
#define MAX_DIRS	4096
/* A version 1 hierarchy reports "no limit" as the largest number of whole pages. */
#define NO_LIMIT (1ull << 62)

struct hierarchy {
	char path[PATH_MAX];
	bool v2, cpu, memory;
};

/* The state at one scan. The counters in `f` are the kernel's absolute values. */
struct cgroup_limit {
	struct fmt_cgroup f;
	size_t hierarchy;
	char path[512];
	uint32_t pids[FMT_CGROUP_MAX_PIDS];
};

struct cgroup_limits {
	struct hierarchy in[MAX_HIERARCHIES];
	size_t nr_in;
	struct buf groups; /* struct cgroup_limit[], of the last scan */
	uint64_t at_ns;
};

/* A walk through one hierarchy. */
struct cgroup_walk {
	const struct cgroup_limits *l;
	size_t hierarchy;
	struct buf *groups;
	size_t above[MAX_DEPTH + 1]; /* indices of the limited groups that contain this directory */
	size_t nr_above;
	unsigned nr_dirs;
	char path[512];
};

/* ---- files ---- */

/* Reads a small file as NUL-terminated text; false when it can't be read. */
static bool read_text(int dir, const char *name, char *text, size_t size)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* Reads a file that holds one number; 0 when it can't be read or says "max". */
static uint64_t read_number(int dir, const char *name)
{
	char text[64];

	return read_text(dir, name, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

/* Finds a key in "key number" lines; 0 when it is missing. */
static uint64_t value_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, key, n) && line[n] == ' ')
			return strtoull(line + n, NULL, 10);
	}
	return 0;
}

static void read_cpu(int dir, bool v2, struct fmt_cgroup *f)
{
	char text[1024];
	char *end;

	if (v2) {
		if (!read_text(dir, "cpu.max", text, sizeof(text)) || !strncmp(text, "max", 3))
			return;
		f->quota_ns = strtoull(text, &end, 10) * 1000;
		f->period_ns = strtoull(end, NULL, 10) * 1000;
	} else {
		if (!read_text(dir, "cpu.cfs_quota_us", text, sizeof(text)) || *text == '-')
			return;
		f->quota_ns = strtoull(text, NULL, 10) * 1000;
		f->period_ns = read_number(dir, "cpu.cfs_period_us") * 1000;
	}
	read_text(dir, "cpu.stat", text, sizeof(text));
	f->nr_throttled = value_of(text, "nr_throttled");
	f->throttled_ns =
		v2 ? value_of(text, "throttled_usec") * 1000 : value_of(text, "throttled_time");
}

static void read_memory(int dir, bool v2, struct fmt_cgroup *f)
{
	char text[1024];

	f->memory_limit_bytes = read_number(dir, v2 ? "memory.max" : "memory.limit_in_bytes");
	if (f->memory_limit_bytes >= NO_LIMIT)
		f->memory_limit_bytes = 0;
	if (!f->memory_limit_bytes)
		return;
	f->memory_bytes = read_number(dir, v2 ? "memory.current" : "memory.usage_in_bytes");
	read_text(dir, v2 ? "memory.events" : "memory.oom_control", text, sizeof(text));
	f->nr_oom_kills = value_of(text, "oom_kill");
	f->nr_limit_hits = v2 ? value_of(text, "max") : read_number(dir, "memory.failcnt");
}

static struct cgroup_limit *group_at(const struct buf *groups, size_t i)
{
	return (struct cgroup_limit *)groups->p + i;
}

static void add_pid(struct cgroup_limit *g, uint32_t pid)
{
	if (g->f.nr_pids < FMT_CGROUP_MAX_PIDS)
		g->pids[g->f.nr_pids++] = pid;
	else
		g->f.flags |= FMT_CGROUP_MORE;
}

/* Adds the processes of this directory to all limited groups that contain it. */
static void read_pids(struct cgroup_walk *w, int dir)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned pid;

	if (!f && fd >= 0)
		close(fd);
	while (f && fscanf(f, "%u", &pid) == 1)
		for (size_t i = 0; i < w->nr_above; i++)
			add_pid(group_at(w->groups, w->above[i]), pid);
	if (f)
		fclose(f);
}

/* ---- walking ---- */

/* Adds the group of a directory if it has limits. The root has none. */
static int look(struct cgroup_walk *w, int dir)
{
	const struct hierarchy *in = &w->l->in[w->hierarchy];
	struct cgroup_limit *g = calloc(1, sizeof(*g));
	int rc = 0;

	if (!g)
		return -ENOMEM;
	g->hierarchy = w->hierarchy;
	g->f.version = in->v2 ? 2 : 1;
	if (in->cpu)
		read_cpu(dir, in->v2, &g->f);
	if (in->memory)
		read_memory(dir, in->v2, &g->f);
	if (g->f.quota_ns || g->f.memory_limit_bytes) {
		size_t nr = w->groups->len / sizeof(*g);

		strcpy(g->path, w->path);
		if (nr < LIMITS_MAX_GROUPS && !(rc = buf_put(w->groups, g, sizeof(*g))))
			w->above[w->nr_above++] = nr;
	}
	free(g);
	return rc;
}

static int descend(struct cgroup_walk *w, int dir, unsigned depth)
{
	size_t nr_above = w->nr_above, end = strlen(w->path);
	const struct dirent *e;
	DIR *d = fdopendir(dir);
	int rc = 0;

	if (!d) {
		close(dir);
		return -ENOMEM;
	}
	if (depth)
		rc = look(w, dirfd(d));
	if (!rc && w->nr_above)
		read_pids(w, dirfd(d));
	while (!rc && depth < MAX_DEPTH && (e = readdir(d))) {
		int fd;

		if (e->d_type != DT_DIR || *e->d_name == '.' || w->nr_dirs >= MAX_DIRS ||
		    end + strlen(e->d_name) + 2 > sizeof(w->path))
			continue;
		fd = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		w->nr_dirs++;
		sprintf(w->path + end, "/%s", e->d_name);
		rc = descend(w, fd, depth + 1);
		w->path[end] = '\0';
	}
	w->nr_above = nr_above;
	closedir(d);
	return rc;
}

static int look_at_all(const struct cgroup_limits *l, struct buf *groups)
{
	int rc = 0;

	for (size_t i = 0; i < l->nr_in && !rc; i++) {
		struct cgroup_walk w = {.l = l, .hierarchy = i, .groups = groups};
		int fd = open(l->in[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd >= 0)
			rc = descend(&w, fd, 0);
	}
	return rc;
}

/* ---- life ---- */

static void find_hierarchies(struct cgroup_limits *l, const char *mounts)
{
	FILE *f = setmntent(mounts, "re");
	struct mntent entry;
	const struct mntent *m;
	char text[2 * PATH_MAX];

	while (f && l->nr_in < MAX_HIERARCHIES &&
	       (m = getmntent_r(f, &entry, text, sizeof(text)))) {
		struct hierarchy h = {.v2 = !strcmp(m->mnt_type, "cgroup2")};

		h.cpu = h.v2 || hasmntopt(m, "cpu");
		h.memory = h.v2 || hasmntopt(m, "memory");
		if ((!h.v2 && strcmp(m->mnt_type, "cgroup")) || (!h.cpu && !h.memory) ||
		    strlen(m->mnt_dir) >= sizeof(h.path))
			continue;
		strcpy(h.path, m->mnt_dir);
		l->in[l->nr_in++] = h;
	}
	if (f)
		endmntent(f);
}

int cgroup_limits_new(const char *mounts, struct cgroup_limits **out)
{
	struct cgroup_limits *l = calloc(1, sizeof(*l));
	int rc = l ? 0 : -ENOMEM;

	if (!rc) {
		find_hierarchies(l, mounts ? mounts : "/proc/mounts");
		l->at_ns = clock_ns();
		rc = look_at_all(l, &l->groups);
	}
	if (rc) {
		cgroup_limits_free(l);
		return rc;
	}
	*out = l;
	return 0;
}

void cgroup_limits_free(struct cgroup_limits *l)
{
	if (!l)
		return;
	buf_free(&l->groups);
	free(l);
}

static const struct cgroup_limit *same_group(const struct cgroup_limits *l,
					     const struct cgroup_limit *g)
{
	for (size_t i = 0; i < l->groups.len / sizeof(*g); i++) {
		const struct cgroup_limit *had = group_at(&l->groups, i);

		if (had->hierarchy == g->hierarchy && !strcmp(had->path, g->path))
			return had;
	}
	return NULL;
}

/* A counter that went down belongs to a group that was removed and created again. */
static uint64_t since(uint64_t now, uint64_t had)
{
	return now >= had ? now - had : now;
}

static void write_group(const struct cgroup_limits *l, const struct cgroup_limit *g, uint64_t at_ns,
			struct writer *w)
{
	const struct cgroup_limit *had = same_group(l, g);
	struct {
		struct fmt_cgroup f;
		uint32_t pids[FMT_CGROUP_MAX_PIDS];
	} item = {.f = g->f};

	item.f.since_ns = l->at_ns;
	item.f.at_ns = at_ns;
	if (had) {
		item.f.nr_throttled = since(g->f.nr_throttled, had->f.nr_throttled);
		item.f.throttled_ns = since(g->f.throttled_ns, had->f.throttled_ns);
		item.f.nr_limit_hits = since(g->f.nr_limit_hits, had->f.nr_limit_hits);
		item.f.nr_oom_kills = since(g->f.nr_oom_kills, had->f.nr_oom_kills);
	} else {
		item.f.flags |= FMT_CGROUP_NEW;
	}
	memcpy(item.pids, g->pids, g->f.nr_pids * sizeof(item.pids[0]));
	writer_item(w, FMT_CGROUP, &item, sizeof(item.f) + g->f.nr_pids * sizeof(item.pids[0]),
		    g->path, strlen(g->path), NULL);
}

int cgroup_limits_write(struct cgroup_limits *l, struct writer *w, struct err *err)
{
	uint64_t at_ns = clock_ns();
	struct buf groups = {0};
	int rc = look_at_all(l, &groups);

	if (rc) {
		buf_free(&groups);
		return err_set(err, rc, "out of memory for limits of control groups");
	}
	writer_section(w, FMT_CGROUPS);
	writer_item(w, FMT_CGROUP_TIME, (uint64_t[]){l->at_ns, at_ns}, 2 * sizeof(uint64_t), NULL,
		    0, NULL);
	for (size_t i = 0; i < groups.len / sizeof(struct cgroup_limit); i++)
		write_group(l, group_at(&groups, i), at_ns, w);
	buf_free(&l->groups);
	l->groups = groups;
	l->at_ns = at_ns;
	return 0;
}
