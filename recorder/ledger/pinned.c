// SPDX-License-Identifier: MIT
/* Executables that are held open; see pinned.h. Called by the ledger. */
#include "recorder/ledger/pinned.h"

#include "dump/base/err.h"
#include "recorder/ledger/pinned_mounts.h"
#include "recorder/ledger/pinned_list.h"
#include "recorder/ledger/path_table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_FILES 4096
/* 1/SHARE of RLIMIT_NOFILE is used; a dump briefly needs as many descriptors again. */
#define SHARE	 8
#define MAX_GONE 128
/* A RESOLVE_CACHED look-up fails when another process renames something nearby. */
#define MAX_TRIES 3

struct pinned_executable {
	struct pinned_executable *prev, *next; /* in the order in which they were mapped */
	struct path *path;
	int fd;
	uint32_t maj, min;
	uint64_t ino;
};

struct gone {
	size_t nr;
	int fds[MAX_GONE];
};

struct pinned {
	struct pinned_mounts *mounts;
	struct pinned_executable all; /* list head; next is the one mapped longest ago */
	struct gone *gone;
	uint64_t namespaces[2]; /* mount namespaces with the same files as ours */
	struct pinned_stats stats;
};

/* ---- closing ---- */

static void *close_gone(void *arg)
{
	struct gone *g = arg;

	for (size_t i = 0; i < g->nr; i++)
		close(g->fds[i]);
	free(g);
	return NULL;
}

void pinned_settle(struct pinned *k)
{
	pthread_attr_t attr;
	pthread_t thread;

	if (!k || !k->gone)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attr, close_gone, k->gone))
		close_gone(k->gone);
	pthread_attr_destroy(&attr);
	k->gone = NULL;
}

static void let_go(struct pinned *k, int fd)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_nlink) {
		close(fd);
		return;
	}
	if (k->gone && k->gone->nr == MAX_GONE)
		pinned_settle(k);
	if (!k->gone)
		k->gone = calloc(1, sizeof(*k->gone));
	if (k->gone)
		k->gone->fds[k->gone->nr++] = fd;
	else
		close(fd);
}

static void unlink_kept(struct pinned_executable *e)
{
	e->prev->next = e->next;
	e->next->prev = e->prev;
}

static void link_last(struct pinned *k, struct pinned_executable *e)
{
	e->prev = k->all.prev;
	e->next = &k->all;
	e->prev->next = e;
	k->all.prev = e;
}

void pinned_drop(struct pinned *k, struct path *p)
{
	struct pinned_executable *e = p->kept;

	if (!k || !e)
		return;
	unlink_kept(e);
	let_go(k, e->fd);
	free(e);
	p->kept = NULL;
	p->tried = false; /* the next mapping tries again */
	k->stats.nr--;
}

/* ---- opening ---- */

static int look_up(int dir, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS |
					  RESOLVE_CACHED};
	int fd = -1;

	for (int i = 0; i < MAX_TRIES && fd < 0; i++) {
		fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd < 0 && errno == EINVAL && how.resolve & RESOLVE_CACHED)
			how.resolve &= ~(uint64_t)RESOLVE_CACHED; /* before Linux 5.12 */
		else if (fd < 0 && errno != EAGAIN)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* Opens the file of `p` and sets its place in `e`; a descriptor or -errno. */
static int open_file(const struct pinned *k, const struct path *p, struct pinned_executable *e)
{
	const struct pinned_mount *m;
	const char *rest;
	struct stat st;
	int fd;

	m = pinned_mounts_of(k->mounts, p->text, &rest);
	if (!m || (p->ino && (p->maj != m->maj || p->min != m->min)))
		return -EXDEV;
	fd = look_up(m->fd, rest);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || (p->ino && st.st_ino != p->ino)) {
		close(fd);
		return -ESTALE;
	}
	e->maj = m->maj;
	e->min = m->min;
	e->ino = st.st_ino;
	return fd;
}

static bool is_seen_here(const struct pinned *k, uint64_t mnt_ns)
{
	return !mnt_ns || mnt_ns == k->namespaces[0] || mnt_ns == k->namespaces[1];
}

void pinned_want(struct pinned *k, struct path *p, uint64_t mnt_ns)
{
	struct pinned_executable *e;

	if (!k)
		return;
	if (p->kept) {
		unlink_kept(p->kept);
		link_last(k, p->kept);
		return;
	}
	if (p->tried || p->text[0] != '/' || !is_seen_here(k, mnt_ns))
		return;
	p->tried = true;
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->fd = open_file(k, p, e);
	if (e->fd < 0) {
		free(e);
		return;
	}
	e->path = p;
	p->kept = e;
	link_last(k, e);
	k->stats.nr++;
	if (k->stats.nr > k->stats.max) {
		k->stats.nr_dropped++;
		pinned_drop(k, k->all.next->path);
	}
}

/* ---- all ---- */

static uint64_t mount_namespace(const char *name)
{
	struct stat st;

	return stat(name, &st) ? 0 : st.st_ino;
}

static int open_mounts(struct pinned *k, struct err *err)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	int rc = f ? pinned_mounts_new(f, &k->mounts, err)
		   : err_sys(err, -errno, "/proc/self/mountinfo");

	if (f)
		fclose(f);
	return rc;
}

int pinned_new(struct pinned **out, struct err *err)
{
	struct pinned *k = calloc(1, sizeof(*k));
	struct rlimit r = {.rlim_cur = 1024};
	int rc = k ? open_mounts(k, err) : err_set(err, -ENOMEM, "no memory for held files");

	if (rc) {
		free(k);
		return rc;
	}
	getrlimit(RLIMIT_NOFILE, &r);
	k->stats.max = r.rlim_cur / SHARE < MAX_FILES ? r.rlim_cur / SHARE : MAX_FILES;
	k->all.prev = k->all.next = &k->all;
	/* The recorder's service may have its own mount namespace with the same files. */
	k->namespaces[0] = mount_namespace("/proc/self/ns/mnt");
	k->namespaces[1] = mount_namespace("/proc/1/ns/mnt");
	*out = k;
	return 0;
}

void pinned_free(struct pinned *k)
{
	struct pinned_executable *e, *next;

	if (!k)
		return;
	for (e = k->all.next; e != &k->all; e = next) {
		next = e->next;
		close(e->fd);
		free(e);
	}
	if (k->gone)
		close_gone(k->gone);
	pinned_mounts_free(k->mounts);
	free(k);
}

int pinned_share(const struct pinned *k, struct pinned_share *out)
{
	int rc = 0;

	*out = (struct pinned_share){.table_fd = -1};
	for (const struct pinned_executable *e = k->all.next; !rc && e != &k->all; e = e->next) {
		struct pinned_file f = {
			.fd = e->fd,
			.maj = e->maj,
			.min = e->min,
			.ino = e->ino,
			.build_id_bytes = e->path->build_id_bytes,
			.path = e->path->text,
		};

		memcpy(f.build_id, e->path->build_id, sizeof(f.build_id));
		rc = pinned_share_add(out, &f);
	}
	return rc;
}

void pinned_stats(const struct pinned *k, struct pinned_stats *out)
{
	*out = k ? k->stats : (struct pinned_stats){0};
}
