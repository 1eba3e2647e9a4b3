// SPDX-License-Identifier: MIT
/* Membership and names of control groups; see cgroup.h. Names follow the paths that systemd,
 * container engines and the kubelet make. */
#include "dump/view/model/cgroup.h"

#include "dump/file/meta.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SHORT_ID 12
/* Ids of containers have 64 hexadecimal digits, those of pods 32, with or without separators. */
#define MIN_ID 32

bool cgroup_contains(const struct meta_cgroup *g, uint32_t pid, const char *path)
{
	size_t n = strlen(g->path);

	for (uint32_t i = 0; i < g->f.nr_pids; i++)
		if (meta_cgroup_pid(g, i) == pid)
			return true;
	/* For an ended process: in a hierarchy of version 1, controller names precede the path. */
	if (path && *path != '/' && g->f.version == 1 && !strncmp(path, "cpu", 3))
		path = strchr(path, '/');
	return path && *path == '/' && n && !strncmp(path, g->path, n) &&
	       (!path[n] || path[n] == '/');
}

/* ---- names ---- */

/* A piece of a path. */
struct path_piece {
	const char *p;
	size_t n; /* 0: none */
};

/* Removes a suffix; false: it has another end. */
static bool strip(struct path_piece *c, const char *suffix)
{
	size_t n = strlen(suffix);

	if (c->n <= n || memcmp(c->p + c->n - n, suffix, n) != 0)
		return false;
	c->n -= n;
	return true;
}

/* The id in ID, ENGINE-ID.scope. */
static struct path_piece container_of(struct path_piece c)
{
	size_t n = 0;

	strip(&c, ".scope");
	while (n < c.n && isxdigit((unsigned char)c.p[c.n - 1 - n]))
		n++;
	if (n < MIN_ID || (n < c.n && c.p[c.n - 1 - n] != '-'))
		return (struct path_piece){0};
	return (struct path_piece){c.p + c.n - n, n};
}

/* The id in podID, kubepods-burstable-podID.slice. */
static struct path_piece pod_of(struct path_piece c)
{
	strip(&c, ".slice");
	for (size_t i = 0; i + 3 + MIN_ID <= c.n; i++) {
		size_t n = i + 3;

		if (memcmp(c.p + i, "pod", 3) != 0 || (i && c.p[i - 1] != '-'))
			continue;
		while (n < c.n && (isxdigit((unsigned char)c.p[n]) || strchr("-_", c.p[n])))
			n++;
		if (n == c.n)
			return (struct path_piece){c.p + i + 3, n - i - 3};
	}
	return (struct path_piece){0};
}

/* What the components of a path tell. */
struct path_names {
	struct path_piece pod, container, unit;
	const char *rest; /* behind the one that gives the name */
};

static void read_path(const char *path, struct path_names *out)
{
	for (const char *p = path; *p;) {
		struct path_piece c = {p, strcspn(p, "/")}, id = container_of(c), pod = pod_of(c);
		struct path_piece unit = c;

		p += c.n;
		if (pod.n) {
			*out = (struct path_names){.pod = pod, .rest = p};
		} else if (id.n) {
			out->container = id;
			out->rest = p;
		} else if (!out->container.n &&
			   (strip(&unit, ".service") || strip(&unit, ".scope") ||
			    (!*p && strip(&unit, ".slice")))) {
			out->unit = unit;
			out->rest = p;
		}
		p += *p == '/';
	}
}

/* systemd writes the separators of a pod's id as underscores. */
static void put_id(char *out, struct path_piece id)
{
	snprintf(out, SHORT_ID + 1, "%.*s", (int)id.n, id.n ? id.p : "");
	for (; *out; out++)
		if (*out == '_')
			*out = '-';
}

char *cgroup_name(char *out, size_t n, const char *path)
{
	struct path_names names = {.rest = ""};
	char pod[SHORT_ID + 1], container[SHORT_ID + 1];
	const char *from = path ? strchr(path, '/') : NULL;

	if (!from) {
		snprintf(out, n, "%s", path ? path : "unknown");
		return out;
	}
	read_path(from, &names);
	put_id(pod, names.pod);
	put_id(container, names.container);
	if (names.pod.n && names.container.n)
		snprintf(out, n, "pod %s/%s%s", pod, container, names.rest);
	else if (names.pod.n)
		snprintf(out, n, "pod %s%s", pod, names.rest);
	else if (names.container.n)
		snprintf(out, n, "%s%s", container, names.rest);
	else if (names.unit.n)
		snprintf(out, n, "%.*s%s", (int)names.unit.n, names.unit.p, names.rest);
	else
		snprintf(out, n, "%s", from);
	return out;
}
