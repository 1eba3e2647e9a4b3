// SPDX-License-Identifier: MIT
/* Finds the writer of a file in /proc; see file_owner.h. */
#include "trigger/sources/file_owner.h"

#include "dump/base/str.h"
#include "trigger/engine/source.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The search stops after this many descriptors, because the rule's dump waits for it. */
#define MAX_LINKS   20000
#define MAX_WRITERS 4

struct writer_search {
	char path[PATH_MAX]; /* as the kernel shows it in /proc */
	uint64_t ino;
	unsigned nr_links;
	uint32_t writers[MAX_WRITERS];
	unsigned nr; /* may be more than MAX_WRITERS */
};

static bool link_of(int dir, const char *name, char out[PATH_MAX])
{
	ssize_t n = readlinkat(dir, name, out, PATH_MAX - 1);

	if (n < 0)
		return false;
	out[n] = '\0';
	return true;
}

static bool read_fdinfo(uint32_t pid, const char *number, char text[256])
{
	char path[80];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%.20s", pid, number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, 255);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The inode number: as st_ino except on overlayfs; 0 before Linux 5.14. */
static uint64_t ino_of(const char *fdinfo)
{
	const char *at = strstr(fdinfo, "ino:");

	return at ? strtoull(at + 4, NULL, 10) : 0;
}

/* True if the descriptor is open for writing and has the same inode: in another mount namespace the
 * same path may be another file. */
static bool writes(const struct writer_search *s, uint32_t pid, const char *number)
{
	char text[256];
	const char *at = read_fdinfo(pid, number, text) ? strstr(text, "flags:") : NULL;

	return at && (strtoul(at + 6, NULL, 8) & O_ACCMODE) != O_RDONLY && ino_of(text) == s->ino;
}

static void look_at_process(struct writer_search *s, uint32_t pid)
{
	char dir_path[32], target[PATH_MAX];
	const struct dirent *e;
	DIR *dir;

	snprintf(dir_path, sizeof(dir_path), "/proc/%u/fd", pid);
	dir = opendir(dir_path);
	while (dir && s->nr_links < MAX_LINKS && (e = readdir(dir))) {
		s->nr_links++;
		if (!link_of(dirfd(dir), e->d_name, target) || strcmp(target, s->path) != 0 ||
		    !writes(s, pid, e->d_name))
			continue;
		if (s->nr < MAX_WRITERS)
			s->writers[s->nr] = pid;
		s->nr++;
		break;
	}
	if (dir)
		closedir(dir);
}

static void is_of(uint32_t pid, struct sighting *what)
{
	what->pid = what->tid = pid;
	what->uid = source_uid(pid);
	sighting_name(what);
}

static void add_writer(uint32_t pid, struct sighting *what)
{
	char comm[16], safe[64];

	source_comm(pid, comm);
	str_safe(safe, sizeof(safe), comm, strlen(comm));
	sighting_add(what, "writer=%s (%u)", safe, pid);
}

void file_owner_writer(int fd, struct sighting *what)
{
	struct writer_search s = {.nr = 0};
	const struct dirent *e;
	char self[32], text[256];
	DIR *proc;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	proc = opendir("/proc");
	if (!proc || !link_of(AT_FDCWD, self, s.path)) {
		if (proc)
			closedir(proc);
		return;
	}
	if (read_fdinfo((uint32_t)getpid(), strrchr(self, '/') + 1, text))
		s.ino = ino_of(text);
	while ((e = readdir(proc))) {
		uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (pid && pid != (uint32_t)getpid())
			look_at_process(&s, pid);
	}
	closedir(proc);
	if (s.nr == 1 && s.nr_links < MAX_LINKS)
		is_of(s.writers[0], what);
	for (unsigned i = 0; i < s.nr && i < MAX_WRITERS; i++)
		add_writer(s.writers[i], what);
	if (s.nr > MAX_WRITERS)
		sighting_add(what, "writers=%u", s.nr);
}

void file_owner_from_line(const regex_t *re, const char *line, size_t len, struct sighting *what)
{
	regmatch_t m[2] = {{.rm_so = 0, .rm_eo = (regoff_t)len}};
	char digits[16], path[32];
	const regmatch_t *at;
	uint64_t pid;

	if (regexec(re, line, 2, m, REG_STARTEND))
		return;
	at = re->re_nsub && m[1].rm_so >= 0 ? &m[1] : &m[0];
	snprintf(digits, sizeof(digits), "%.*s", (int)(at->rm_eo - at->rm_so), line + at->rm_so);
	if (str_u64(digits, &pid, NULL) || !pid || pid > INT_MAX)
		return;
	snprintf(path, sizeof(path), "/proc/%u", (unsigned)pid);
	if (access(path, F_OK))
		sighting_add(what, "pid=%u (no such process)", (unsigned)pid);
	else
		is_of((uint32_t)pid, what);
}
