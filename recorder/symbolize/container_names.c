// SPDX-License-Identifier: MIT
/*
 * Names of containers and pods; see container_names.h.
 *
 * A file is opened in two steps. Up to the directory of the runtime, links are followed: only root
 * can make them, and moves a large directory to another disk that way. Below it neither links nor
 * mounts are followed.
 */
#include "recorder/symbolize/container_names.h"

#include "dump/format/format.h"
#include "dump/view/model/cgroup.h"
#include "trigger/kernel/clock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FILE_BYTES (1u << 20)
#define MAX_TEXT       255 /* longer names are cut */
#define MAX_PODS       4096
#define KUBELET_LOGS   "var/log/pods"

/* Where a runtime keeps the state of container ID, DIR/ID/FILE, and the keys in it. */
static const struct runtime_state {
	const char *name, *dir, *file;
	const char *outer, *labels; /* object with the labels; outer NULL: at the top */
	const char *ns, *pod, *container;
	const char *names_file; /* in `dir`: [{"id": ID, "names": [NAME]}] */
} runtimes[] = {
	{"containerd", "run/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json", NULL,
	 "annotations", "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.cri.sandbox-name",
	 "io.kubernetes.cri.container-name", NULL},
	{"containerd", "run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io", "config.json",
	 NULL, "annotations", "io.kubernetes.cri.sandbox-namespace",
	 "io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.container-name", NULL},
	{"docker", "var/lib/docker/containers", "config.v2.json", "Config", "Labels",
	 "io.kubernetes.pod.namespace", "io.kubernetes.pod.name", "io.kubernetes.container.name",
	 NULL},
	{"podman", "var/lib/containers/storage/overlay-containers", "userdata/config.json", NULL,
	 "annotations", "io.kubernetes.pod.namespace", "io.kubernetes.pod.name",
	 "io.kubernetes.container.name", "containers.json"},
};

#define NR_RUNTIMES (sizeof(runtimes) / sizeof(runtimes[0]))

/* As in FMT_CGROUP_NAMES. */
struct container_texts {
	char ns[MAX_TEXT + 1], pod[MAX_TEXT + 1], container[MAX_TEXT + 1];
	const char *runtime;
};

struct container_names {
	struct container_names_options opt;
	struct buf seen; /* char[CGROUP_ID_BYTES] each: ids that were looked up */
	struct buf payload;
	json_t *names[NR_RUNTIMES]; /* of names_file; NULL: not read */
};

/* ---- files ---- */

static int open_at(int dir, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {.flags = (uint64_t)(O_CLOEXEC | flags), .resolve = resolve};

	return (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
}

static int open_dir(const struct container_names *c, const char *path, int flags)
{
	if (clock_ns() >= c->opt.deadline_ns)
		return -1;
	return open_at(c->opt.root_fd, path, O_DIRECTORY | flags, RESOLVE_IN_ROOT);
}

static json_t *parse(int fd)
{
	struct stat st;
	char *text;
	json_t *j = NULL;
	size_t have = 0;
	ssize_t n;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > MAX_FILE_BYTES)
		return NULL;
	text = malloc(MAX_FILE_BYTES);
	while (text && have < MAX_FILE_BYTES &&
	       (n = read(fd, text + have, MAX_FILE_BYTES - have)) > 0)
		have += (size_t)n;
	if (text)
		j = json_loadb(text, have, 0, NULL);
	free(text);
	return j;
}

/* NULL: there is no such file, or no JSON in it. The caller owns the result. */
static json_t *read_json(const struct container_names *c, const char *dir, const char *name)
{
	int at = open_dir(c, dir, O_PATH), fd;
	json_t *j = NULL;

	if (at < 0)
		return NULL;
	fd = open_at(at, name, O_RDONLY | O_NONBLOCK | O_NOCTTY,
		     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
	close(at);
	if (fd < 0)
		return NULL;
	j = parse(fd);
	close(fd);
	return j;
}

/* ---- runtimes ---- */

/* Docker's names begin with a slash. */
static void take_text(char out[MAX_TEXT + 1], const json_t *text)
{
	const char *s = json_string_value(text);

	if (s)
		snprintf(out, MAX_TEXT + 1, "%s", s + (*s == '/'));
}

/* The name in a file that lists all containers. */
static void take_listed(struct container_names *c, size_t runtime, const char *id,
			struct container_texts *out)
{
	const struct runtime_state *r = &runtimes[runtime];
	const json_t *entry;
	size_t i;

	if (!c->names[runtime])
		c->names[runtime] = read_json(c, r->dir, r->names_file);
	json_array_foreach(c->names[runtime], i, entry)
	{
		const char *s = json_string_value(json_object_get(entry, "id"));

		if (!s || strcmp(s, id) != 0)
			continue;
		take_text(out->container, json_array_get(json_object_get(entry, "names"), 0));
		return;
	}
}

/* False: it is not this runtime's. */
static bool take_state(struct container_names *c, size_t runtime, const char *id,
		       struct container_texts *out)
{
	const struct runtime_state *r = &runtimes[runtime];
	char path[CGROUP_ID_BYTES + 32];
	const json_t *labels;
	json_t *state;

	snprintf(path, sizeof(path), "%s/%s", id, r->file);
	state = read_json(c, r->dir, path);
	if (!state)
		return false;
	labels = json_object_get(r->outer ? json_object_get(state, r->outer) : state, r->labels);
	take_text(out->ns, json_object_get(labels, r->ns));
	take_text(out->pod, json_object_get(labels, r->pod));
	take_text(out->container, json_object_get(labels, r->container));
	/* Podman and CRI-O share a store. */
	out->runtime = r->names_file && *out->pod ? "cri-o" : r->name;
	if (!*out->container && r->names_file)
		take_listed(c, runtime, id, out);
	if (!*out->container)
		take_text(out->container, json_object_get(state, "Name"));
	json_decref(state);
	return true;
}

/* ---- the kubelet ---- */

/* Parses NAMESPACE_POD_UID. */
static bool is_pod(const char *name, const char *uid, struct container_texts *out)
{
	const char *pod = strchr(name, '_'), *end = pod ? strchr(pod + 1, '_') : NULL;

	if (!end || strcmp(end + 1, uid) != 0)
		return false;
	snprintf(out->ns, sizeof(out->ns), "%.*s", (int)(pod - name), name);
	snprintf(out->pod, sizeof(out->pod), "%.*s", (int)(end - pod - 1), pod + 1);
	return true;
}

static void take_pod(const struct container_names *c, const char *uid, struct container_texts *out)
{
	int fd = open_dir(c, KUBELET_LOGS, O_RDONLY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir && fd >= 0)
		close(fd);
	for (unsigned i = 0; dir && i < MAX_PODS && (e = readdir(dir)); i++)
		if (is_pod(e->d_name, uid, out))
			break;
	if (dir)
		closedir(dir);
}

/* ---- items ---- */

static int put(struct container_names *c, const char *id, const struct container_texts *v)
{
	const char *texts[] = {id, v->runtime, v->ns, v->pod, v->container};
	const size_t nr = sizeof(texts) / sizeof(texts[0]);
	struct fmt_item item = {.kind = FMT_CGROUP_NAMES};
	static const uint8_t zeros[8];
	int rc = 0;

	for (size_t i = 0; i < nr; i++)
		item.bytes += (uint32_t)strlen(texts[i]) + 1;
	if (c->payload.len + sizeof(item) + align_up(item.bytes, 8) > FMT_BLOCK_BYTES)
		rc = container_names_flush(c);
	if (!rc)
		rc = buf_put(&c->payload, &item, sizeof(item));
	for (size_t i = 0; i < nr && !rc; i++)
		rc = buf_put(&c->payload, texts[i], strlen(texts[i]) + 1);
	return rc ? rc : buf_put(&c->payload, zeros, align_up(item.bytes, 8) - item.bytes);
}

/* True once for each id, up to the number that a dump has room for. */
static bool is_new(struct container_names *c, const char id[CGROUP_ID_BYTES])
{
	size_t nr = c->seen.len / CGROUP_ID_BYTES;

	for (size_t i = 0; i < nr; i++)
		if (!strcmp((const char *)c->seen.p + i * CGROUP_ID_BYTES, id))
			return false;
	return *id && nr < FMT_CGROUP_MAX_NAMES && !buf_put(&c->seen, id, CGROUP_ID_BYTES);
}

int container_names_add(struct container_names *c, const char *path)
{
	char pod[CGROUP_ID_BYTES], container[CGROUP_ID_BYTES];
	struct container_texts v = {.runtime = ""};
	int rc = 0;

	cgroup_ids(path, pod, container);
	if (is_new(c, container)) {
		for (size_t i = 0; i < NR_RUNTIMES; i++)
			if (take_state(c, i, container, &v))
				break;
		if (*v.pod || *v.container)
			rc = put(c, container, &v);
	}
	if (rc || !is_new(c, pod))
		return rc;
	if (!*v.pod)
		take_pod(c, pod, &v);
	*v.container = '\0';
	return *v.pod ? put(c, pod, &v) : 0;
}

int container_names_flush(struct container_names *c)
{
	struct bytes payload = {c->payload.p, c->payload.len};

	c->payload.len = 0;
	return payload.len ? c->opt.out(c->opt.ctx, payload) : 0;
}

/* ---- life ---- */

int container_names_new(const struct container_names_options *opt, struct container_names **out)
{
	struct container_names *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->opt = *opt;
	*out = c;
	return 0;
}

void container_names_free(struct container_names *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < NR_RUNTIMES; i++)
		json_decref(c->names[i]);
	buf_free(&c->seen);
	buf_free(&c->payload);
	free(c);
}
