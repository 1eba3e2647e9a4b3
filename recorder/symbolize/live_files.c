// SPDX-License-Identifier: MIT
/*
 * Files of processes that are alive or have just exited; see live_files.h. Called by
 * collect_live.c.
 */
#include "recorder/symbolize/live_files.h"

#include "dump/base/err.h"
#include "dump/base/elf.h"
#include "recorder/ledger/pinned_list.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define MAX_VDSO_BYTES	  (1u << 20)
#define MAX_PERFMAP_BYTES (256 << 20)
#define SECOND_NS	  1000000000ll
/* A perf map may be written up to this long after the process's exit, when buffers are flushed. */
#define LATE_NS (5 * SECOND_NS)

/* ---- opening regular files only ---- */

/* Opening a device may have side effects, so the type is checked on the O_PATH descriptor.
 * Closes it. */
static int open_regular(int path_fd, struct stat *st)
{
	char self[32];
	int fd;

	if (fstat(path_fd, st) || !S_ISREG(st->st_mode)) {
		close(path_fd);
		return -ENOENT;
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
	fd = open(self, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		fd = -errno;
	close(path_fd);
	return fd;
}

static int open_path(const char *path, int flags, struct stat *st)
{
	int fd = open(path, O_PATH | O_CLOEXEC | flags);

	return fd < 0 ? -errno : open_regular(fd, st);
}

/* Opens `path` as seen by the process; symbolic links can't lead out of its root. */
static int open_in_root(pid_t pid, const char *path, int flags, struct stat *st)
{
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_IN_ROOT};
	char root[48];
	int dir, fd;

	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd < 0 ? fd : open_regular(fd, st);
}

/* ---- identity ---- */

static bool has_build_id(int fd, const struct fmt_image *f)
{
	uint8_t id[ELF_BUILD_ID_MAX] = {0};
	struct elf *e;
	bool same;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own < 0 || elf_open_fd(own, "a file", &e, NULL))
		return false;
	same = elf_build_id(e, id) == f->build_id_bytes && !memcmp(id, f->build_id, sizeof(id));
	elf_close(e);
	return same;
}

static bool has_inode(const struct stat *st, const struct fmt_image *f)
{
	return st->st_ino == f->ino && st->st_dev == makedev(f->maj, f->min);
}

/* `mapped`: the kernel says that the descriptor is the mapping's file. */
static bool is_it(int fd, const struct stat *st, const struct fmt_image *f, bool mapped)
{
	if (f->build_id_bytes)
		return has_build_id(fd, f);
	return f->ino && (mapped || has_inode(st, f));
}

/* Returns `fd` if it is the wanted file. Else closes it; *worst becomes -ESTALE. */
static int judge(int fd, const struct stat *st, const struct fmt_image *f, bool mapped, int *worst)
{
	if (fd < 0) {
		if (*worst == -ENOENT)
			*worst = fd;
		return fd;
	}
	if (is_it(fd, st, f, mapped))
		return fd;
	close(fd);
	*worst = -ESTALE;
	return -ESTALE;
}

/* ---- the mapping ---- */

struct vma {
	uint64_t start, end, ino;
	unsigned maj, min;
	char path[PATH_MAX];
};

static bool parse_vma(const char *line, struct vma *v)
{
	uint64_t off;
	int path = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %x:%x %" SCNu64 " %n", &v->start,
		   &v->end, &off, &v->maj, &v->min, &v->ino, &path) < 6 ||
	    !path)
		return false;
	snprintf(v->path, sizeof(v->path), "%.*s", (int)strcspn(line + path, "\n"), line + path);
	return true;
}

static bool is_path_of(const char *now, const char *then)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(then), g = sizeof(gone) - 1;

	if (n > g && !strcmp(then + n - g, gone))
		n -= g;
	return !strncmp(now, then, n) && (!now[n] || !strcmp(now + n, gone));
}

static bool is_mapping_of(const struct vma *v, const struct fmt_image *f, const char *path)
{
	if (f->ino)
		return v->ino == f->ino && v->maj == f->maj && v->min == f->min;
	return is_path_of(v->path, path);
}

/* Finds the image's present mapping in the process, at any place, since it may have been split. */
static bool find_vma(pid_t pid, const struct addresses_image *image, struct vma *v)
{
	char name[32], *line = NULL;
	size_t cap = 0;
	bool found = false;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	f = fopen(name, "re");
	while (f && !found && getline(&line, &cap, f) > 0)
		found = parse_vma(line, v) && v->ino && is_mapping_of(v, &image->f, image->path);
	if (f)
		fclose(f);
	free(line);
	return found;
}

static int open_mapping(pid_t pid, const struct addresses_image *image, struct stat *st)
{
	struct vma *v = malloc(sizeof(*v));
	char name[96];
	int fd = -ENOENT;

	if (v && find_vma(pid, image, v)) {
		snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
			 v->start, v->end);
		fd = open_path(name, 0, st);
	}
	free(v);
	return fd;
}

/* ---- held files ---- */

static int open_kept(const struct addresses_image *image, const struct pinned_list *kept)
{
	const struct pinned_file *k;
	int worst = -ENOENT;
	struct stat st;
	size_t i = 0;

	while ((k = pinned_list_next(kept, &image->f, image->path, &i))) {
		int own = fcntl(k->fd, F_DUPFD_CLOEXEC, 0);
		int fd = own < 0 ? -errno : open_regular(own, &st);

		fd = judge(fd, &st, &image->f, true, &worst);
		if (fd >= 0)
			return fd;
	}
	return -ENOENT;
}

/* ---- a file ---- */

static int explain(int rc, const struct addresses_image *image, size_t nr_alive, struct err *err)
{
	if (!image->f.build_id_bytes && !image->f.ino)
		return err_set(err, -ESTALE, "nothing says which file this was");
	if (rc == -ESTALE)
		return err_set(err, rc, "what is there now is another file");
	if (rc == -ENOENT)
		return err_set(err, rc, "it is not there any more%s",
			       nr_alive ? "" : ", and no process has it mapped");
	return err_sys(err, rc, "it can't be opened");
}

int live_file_open(const struct addresses_image *image, const struct live_file_process *p,
		   size_t nr, const struct pinned_list *kept, struct err *err)
{
	int worst = -ENOENT, fd;
	struct stat st;

	for (size_t i = 0; i < nr; i++) {
		fd = judge(open_mapping(p[i].pid, image, &st), &st, &image->f, true, &worst);
		if (fd >= 0)
			return fd;
		fd = judge(open_in_root(p[i].pid, image->path, 0, &st), &st, &image->f, false,
			   &worst);
		if (fd >= 0)
			return fd;
	}
	fd = judge(open_path(image->path, 0, &st), &st, &image->f, false, &worst);
	if (fd < 0)
		fd = open_kept(image, kept);
	return fd >= 0 ? fd : explain(worst, image, nr, err);
}

int live_file_vdso(struct buf *out, struct err *err)
{
	uint64_t at = getauxval(AT_SYSINFO_EHDR);
	struct vma *v = malloc(sizeof(*v));
	char *line = NULL;
	size_t cap = 0;
	int rc = -ENOENT;
	FILE *f = v ? fopen("/proc/self/maps", "re") : NULL;

	while (f && rc == -ENOENT && at && getline(&line, &cap, f) > 0) {
		if (!parse_vma(line, v) || v->start != at || v->end - at > MAX_VDSO_BYTES)
			continue;
		out->len = 0;
		rc = buf_put(out, (const void *)(uintptr_t)at, v->end - at);
	}
	if (f)
		fclose(f);
	free(line);
	free(v);
	return rc ? err_set(err, rc, "this process has no vdso") : 0;
}

/* ---- perf maps ---- */

/* The process's PID in the innermost of its pid namespaces. */
static pid_t innermost_pid(pid_t pid)
{
	char name[32], line[256];
	pid_t found = pid;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/status", pid);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof(line), f)) {
		const char *last = strrchr(line, '\t');

		if (!strncmp(line, "NSpid:", 6) && last)
			found = atoi(last + 1);
	}
	if (f)
		fclose(f);
	return found > 0 ? found : pid;
}

static int64_t real_ns(const struct timespec *t)
{
	return (int64_t)t->tv_sec * SECOND_NS + t->tv_nsec;
}

static bool owner_fits(const struct live_file_jit *j, const struct stat *st)
{
	struct stat process;
	char name[32];

	snprintf(name, sizeof(name), "/proc/%d", j->pid);
	if (j->alive && !stat(name, &process) && process.st_uid == st->st_uid)
		return true;
	return !st->st_uid || (j->uid != UINT32_MAX && st->st_uid == j->uid);
}

/* Rejects files written before the process started or long after its exit: the PID was reused. */
static bool times_fit(const struct live_file_jit *j, const struct stat *st)
{
	int64_t ns = real_ns(&st->st_mtim);

	return ns >= j->start_ns - SECOND_NS && (j->alive || ns <= j->exit_ns + LATE_NS);
}

int live_file_perfmap(const struct live_file_jit *j, struct err *err)
{
	char name[48];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "/tmp/perf-%d.map", j->alive ? innermost_pid(j->pid) : j->pid);
	if (j->alive)
		fd = open_in_root(j->pid, name, O_NOFOLLOW, &st);
	else
		fd = open_path(name, O_NOFOLLOW, &st);
	if (fd < 0)
		return err_set(err, fd, "in no file, and there is no %s that names it", name);
	if (owner_fits(j, &st) && times_fit(j, &st) && st.st_size <= MAX_PERFMAP_BYTES)
		return fd;
	close(fd);
	return err_set(err, -ESTALE, "%s is %s", name,
		       !owner_fits(j, &st)  ? "another user's"
		       : !times_fit(j, &st) ? "another process's"
					    : "too large");
}
