// SPDX-License-Identifier: MIT
/* Membership and names of control groups; see cgroup.h. Names follow the paths that systemd,
 * container engines and the kubelet make. */
#include "dump/view/model/cgroup.h"

#include "dump/file/meta.h"
#include "dump/view/base/json.h"

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

/* The id in ID, ENGINE-ID.scope, SLICE:ENGINE:ID. */
static struct path_piece container_of(struct path_piece c)
{
	size_t n = 0;

	strip(&c, ".scope");
	while (n < c.n && isxdigit((unsigned char)c.p[c.n - 1 - n]))
		n++;
	if (n < MIN_ID || (n < c.n && !strchr("-:", c.p[c.n - 1 - n])))
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

/* NAME in lxc.payload.NAME, lxc/NAME and systemd-nspawn@NAME.service. `before`: the component before
 * it. */
static struct path_piece machine_of(struct path_piece c, struct path_piece before,
				    const char **runtime)
{
	static const char payload[] = "lxc.payload.", nspawn[] = "systemd-nspawn@";
	size_t n = 0;

	*runtime = "lxc";
	if (c.n > strlen(payload) && !memcmp(c.p, payload, strlen(payload))) {
		n = strlen(payload);
	} else if (c.n > strlen(nspawn) && !memcmp(c.p, nspawn, strlen(nspawn)) &&
		   strip(&c, ".service")) {
		*runtime = "nspawn";
		n = strlen(nspawn);
	} else if (before.n != 3 || memcmp(before.p, "lxc", 3) != 0) {
		return (struct path_piece){0};
	}
	return (struct path_piece){c.p + n, c.n - n};
}

/* What the components of a path tell. */
struct path_names {
	struct path_piece pod, container, machine, unit;
	const char *runtime; /* of the machine */
	const char *rest;    /* behind the one that gives the name */
};

static void read_path(const char *path, struct path_names *out)
{
	struct path_piece before = {0};

	for (const char *p = path; *p;) {
		struct path_piece c = {p, strcspn(p, "/")}, id = container_of(c), pod = pod_of(c);
		struct path_piece machine, unit = c;
		const char *runtime;

		p += c.n;
		machine = machine_of(c, before, &runtime);
		if (pod.n) {
			*out = (struct path_names){.pod = pod, .rest = p};
		} else if (id.n) {
			out->container = id;
			out->rest = p;
		} else if (machine.n) {
			*out = (struct path_names){
				.machine = machine, .runtime = runtime, .rest = p};
		} else if (!out->container.n && !out->machine.n &&
			   (strip(&unit, ".service") || strip(&unit, ".scope") ||
			    (!*p && strip(&unit, ".slice")))) {
			out->unit = unit;
			out->rest = p;
		}
		before = c;
		p += *p == '/';
	}
}

/* systemd writes the separators of a pod's id as underscores. */
static char *put_id(char *out, size_t n, struct path_piece id)
{
	snprintf(out, n, "%.*s", (int)id.n, id.n ? id.p : "");
	for (char *p = out; *p; p++)
		if (*p == '_')
			*p = '-';
	return out;
}

void cgroup_ids(const char *path, char pod[CGROUP_ID_BYTES], char container[CGROUP_ID_BYTES])
{
	struct path_names names = {.rest = ""};
	const char *from = path ? strchr(path, '/') : NULL;

	if (from)
		read_path(from, &names);
	put_id(pod, CGROUP_ID_BYTES, names.pod);
	put_id(container, CGROUP_ID_BYTES, names.container);
}

/* ---- names that the runtime gave ---- */

struct place {
	struct path_names path;
	struct path_piece ns, pod, container; /* n 0: unknown */
	const char *runtime;
};

static struct path_piece piece(const char *s)
{
	return (struct path_piece){s, strlen(s)};
}

static void find_place(const struct meta *m, const char *from, struct place *out)
{
	char id[CGROUP_ID_BYTES];
	const struct meta_names *names;

	*out = (struct place){.path = {.rest = ""}};
	read_path(from, &out->path);
	out->container = out->path.machine;
	out->runtime = out->path.runtime;
	names = meta_names_of(m, put_id(id, sizeof(id), out->path.pod));
	if (names && *id) {
		out->ns = piece(names->ns);
		out->pod = piece(names->pod);
	}
	names = meta_names_of(m, put_id(id, sizeof(id), out->path.container));
	if (!names || !*id)
		return;
	if (*names->pod) {
		out->ns = piece(names->ns);
		out->pod = piece(names->pod);
	}
	out->container = piece(names->container);
	out->runtime = names->runtime;
}

static void put_unnamed(char *out, size_t n, const char *from, const struct path_names *names)
{
	char pod[SHORT_ID + 1], container[SHORT_ID + 1];

	put_id(pod, sizeof(pod), names->pod);
	put_id(container, sizeof(container), names->container);
	if (names->pod.n && names->container.n)
		snprintf(out, n, "pod %s/%s%s", pod, container, names->rest);
	else if (names->pod.n)
		snprintf(out, n, "pod %s%s", pod, names->rest);
	else if (names->container.n)
		snprintf(out, n, "%s%s", container, names->rest);
	else if (names->unit.n)
		snprintf(out, n, "%.*s%s", (int)names->unit.n, names->unit.p, names->rest);
	else
		snprintf(out, n, "%s", from);
}

char *cgroup_name(char *out, size_t n, const struct meta *m, const char *path)
{
	const char *from = path ? strchr(path, '/') : NULL;
	char container[SHORT_ID + 1];
	struct place at;

	if (!from) {
		snprintf(out, n, "%s", path ? path : "unknown");
		return out;
	}
	find_place(m, from, &at);
	put_id(container, sizeof(container), at.path.container);
	if (at.pod.n && at.container.n)
		snprintf(out, n, "pod %s, container %s%s", at.pod.p, at.container.p, at.path.rest);
	else if (at.pod.n)
		snprintf(out, n, "pod %s%s%s%s", at.pod.p, *container ? "/" : "", container,
			 at.path.rest);
	else if (at.container.n)
		snprintf(out, n, "container %.*s%s (%s)", (int)at.container.n, at.container.p,
			 at.path.rest, at.runtime);
	else
		put_unnamed(out, n, from, &at.path);
	return out;
}

bool cgroup_is_named(const struct meta *m, const char *path)
{
	const char *from = path ? strchr(path, '/') : NULL;
	struct place at;

	if (from)
		find_place(m, from, &at);
	return from && (at.path.pod.n || at.container.n);
}

static void put_known(struct json *j, const char *key, struct path_piece s)
{
	if (s.n)
		json_str(j, key, s.p, s.n);
	else
		json_cstr(j, key, NULL);
}

void cgroup_json(struct json *j, const struct meta *m, const char *path)
{
	const char *from = path ? strchr(path, '/') : NULL;
	struct place at;

	find_place(m, from ? from : "", &at);
	put_known(j, "namespace", at.ns);
	put_known(j, "pod", at.pod);
	put_known(j, "container", at.container);
}
