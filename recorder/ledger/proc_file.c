// SPDX-License-Identifier: MIT
/* Reads the files of a process in /proc; see proc_file.h. Their formats are in the kernel's
 * Documentation/filesystems/proc.rst. */
#include "recorder/ledger/proc_file.h"

#include "trigger/kernel/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CMDLINE_BYTES 4096
#define PF_WQ_WORKER  0x20u /* include/linux/sched.h */

/* The files in /proc/PID/ns, by enum fmt_namespace_kind. */
static const char *const kinds[] = {
	[FMT_NS_NET] = "net",	    [FMT_NS_UTS] = "uts",   [FMT_NS_IPC] = "ipc",
	[FMT_NS_PID] = "pid",	    [FMT_NS_USER] = "user", [FMT_NS_MNT] = "mnt",
	[FMT_NS_CGROUP] = "cgroup",
};
#define NR_KINDS (sizeof(kinds) / sizeof(kinds[0]))

struct proc_file {
	int proc_fd;
	uint64_t boot_minus_clock;
	uint64_t ns_dev; /* device of all namespaces */
	bool has_kind[NR_KINDS];
	struct fmt_namespace namespaces[NR_KINDS];
	struct buf text;
	struct buf maps; /* struct ledger_seen_map[] */
	char cmdline[CMDLINE_BYTES];
	char cgroup[4096];
};

/* Finds the kinds that this kernel has, and their common device. */
static void probe_kinds(struct proc_file *f)
{
	char path[32];
	struct stat st;

	for (size_t i = 0; i < NR_KINDS; i++) {
		snprintf(path, sizeof(path), "self/ns/%s", kinds[i]);
		f->has_kind[i] = !fstatat(f->proc_fd, path, &st, 0);
		if (f->has_kind[i])
			f->ns_dev = st.st_dev;
	}
}

int proc_file_new(int proc_fd, struct proc_file **out)
{
	struct proc_file *f = calloc(1, sizeof(*f));
	uint64_t mono;

	if (!f)
		return -ENOMEM;
	f->proc_fd = proc_fd;
	mono = clock_ns();
	f->boot_minus_clock = clock_of(CLOCK_BOOTTIME) - mono;
	probe_kinds(f);
	*out = f;
	return 0;
}

void proc_file_free(struct proc_file *f)
{
	if (!f)
		return;
	buf_free(&f->text);
	buf_free(&f->maps);
	free(f);
}

static int open_of(const struct proc_file *f, uint32_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "%u/%s", pid, name);
	return openat(f->proc_fd, path, O_RDONLY | O_CLOEXEC);
}

/* Reads at most `n` bytes and closes `fd`. Returns their number; 0 on errors. */
static size_t read_some(int fd, char *out, size_t n)
{
	size_t have = 0;
	ssize_t got;

	if (fd < 0)
		return 0;
	while (have < n && (got = read(fd, out + have, n - have)) > 0)
		have += got;
	close(fd);
	return have;
}

/* ---- stat ---- */

static int unescape(const char *s, char *c)
{
	if (s[0] == '\\' && (s[1] == 'n' || s[1] == '\\')) {
		*c = s[1] == 'n' ? '\n' : '\\';
		return 2;
	}
	*c = s[0];
	return 1;
}

/* Parses the name between the parentheses. The kernel escapes newline and backslash in it. */
static void parse_comm(const char *p, const char *end, char comm[16])
{
	size_t n = 0;

	while (p < end && n < 15)
		p += unescape(p, &comm[n++]);
	memset(comm + n, 0, 16 - n);
}

/* For a kernel worker, /proc appends its current work: "kworker/0:1-events". */
static void cut_worker(char comm[16])
{
	char *behind = strncmp(comm, "kworker/R", 9) ? strpbrk(comm, "-+") : NULL;

	if (behind)
		memset(behind, 0, comm + 16 - behind);
}

bool proc_file_parse_stat(const char *text, uint64_t boot_minus_clock, struct proc_file_stat *out)
{
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t ticks, boot_ns, tick_ns = 1000000000u / sysconf(_SC_CLK_TCK);
	unsigned ppid, flags, nr_threads;
	char state;

	if (!open || !close || close < open)
		return false;
	if (sscanf(close + 1,
		   " %c %u %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d "
		   "%" SCNu64,
		   &state, &ppid, &flags, &nr_threads, &ticks) != 5)
		return false;
	boot_ns = ticks * tick_ns;
	*out = (struct proc_file_stat){
		.ppid = ppid,
		.nr_threads = nr_threads,
		/* Started before the current zero of CLOCK_MONOTONIC: use the earliest time. */
		.start_ns = boot_ns > boot_minus_clock ? boot_ns - boot_minus_clock : 1,
		.exited = state == 'X' || state == 'Z',
		.gone = state == 'X' || (state == 'Z' && nr_threads <= 1),
	};
	parse_comm(open + 1, close, out->comm);
	if (flags & PF_WQ_WORKER)
		cut_worker(out->comm);
	return true;
}

bool proc_file_stat(struct proc_file *f, uint32_t pid, uint32_t tid, struct proc_file_stat *out)
{
	char name[32] = "stat", text[1024];
	size_t n;

	if (tid)
		snprintf(name, sizeof(name), "task/%u/stat", tid);
	n = read_some(open_of(f, pid, name), text, sizeof(text) - 1);
	text[n] = '\0';
	return proc_file_parse_stat(text, f->boot_minus_clock, out);
}

/* ---- small files ---- */

bool proc_file_uid(struct proc_file *f, uint32_t pid, uint32_t *uid)
{
	char path[16];
	struct stat st;

	snprintf(path, sizeof(path), "%u", pid);
	if (fstatat(f->proc_fd, path, &st, 0))
		return false;
	*uid = st.st_uid;
	return true;
}

const char *proc_file_cmdline(struct proc_file *f, uint32_t pid, size_t *bytes)
{
	*bytes = read_some(open_of(f, pid, "cmdline"), f->cmdline, sizeof(f->cmdline));
	return f->cmdline;
}

/* Whether a line of /proc/PID/cgroup, "4:cpu,cpuacct:/x", has this controller. */
static bool has_controller(const char *line, const char *name)
{
	const char *at = strchr(line, ':'), *end = at ? strchr(at + 1, ':') : NULL;
	size_t n = strlen(name);

	while (end && at < end) {
		at++;
		if (!strncmp(at, name, n) && (at[n] == ',' || at + n == end))
			return true;
		at = memchr(at, ',', end - at);
		if (!at)
			break;
	}
	return false;
}

/* Ranks a line: the unified hierarchy comes first; a root path is the last resort. */
static int worth(const char *line)
{
	const char *path = strstr(line, ":/");
	bool root = !path || !path[2], unified = !strncmp(line, "0::", 3);

	if (!path)
		return 0;
	if (unified)
		return root ? 2 : 5;
	return root ? 1 : has_controller(line, "perf_event") ? 4 : 3;
}

const char *proc_file_parse_cgroup(char *text)
{
	char *line = text, *best = "", *end;
	int most = 0;

	while (line && *line) {
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		if (worth(line) > most) {
			most = worth(line);
			best = strchr(line, ':') + 1;
		}
		line = end ? end + 1 : NULL;
	}
	return most == 5 || most == 2 ? best + 1 : best;
}

const char *proc_file_cgroup(struct proc_file *f, uint32_t pid)
{
	size_t n = read_some(open_of(f, pid, "cgroup"), f->cgroup, sizeof(f->cgroup) - 1);

	f->cgroup[n] = '\0';
	return proc_file_parse_cgroup(f->cgroup);
}

/* The link text is "mnt:[4026531841]". */
static uint64_t inode_of(int dir_fd, const char *kind)
{
	char text[64];
	ssize_t n = readlinkat(dir_fd, kind, text, sizeof(text) - 1);
	const char *number;

	if (n <= 0)
		return 0;
	text[n] = '\0';
	number = strchr(text, '[');
	return number ? strtoull(number + 1, NULL, 10) : 0;
}

const struct fmt_namespace *proc_file_namespaces(struct proc_file *f, uint32_t pid, size_t *nr)
{
	char path[32];
	uint64_t ino;
	int fd;

	*nr = 0;
	snprintf(path, sizeof(path), "%u/ns", pid);
	fd = openat(f->proc_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return f->namespaces;
	for (size_t i = 0; i < NR_KINDS; i++) {
		ino = f->has_kind[i] ? inode_of(fd, kinds[i]) : 0;
		if (ino) {
			f->namespaces[(*nr)++] =
				(struct fmt_namespace){.kind = i, .dev = f->ns_dev, .ino = ino};
		} else if (f->has_kind[i]) {
			*nr = 0; /* no permission, or the process has just exited */
			break;
		}
	}
	close(fd);
	return f->namespaces;
}

DIR *proc_file_tasks(struct proc_file *f, uint32_t pid)
{
	int fd = open_of(f, pid, "task");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* ---- maps ---- */

/* Replaces "\012", the only escape that the kernel uses in a path here. */
static void unescape_path(char *s)
{
	char *to = s;

	while (*s) {
		if (!strncmp(s, "\\012", 4)) {
			*to++ = '\n';
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* Parses "7f00-7f01 r-xp 00001000 fe:01 1234      /usr/lib/x.so"; false when not executable. */
static bool parse_map(char *line, struct ledger_seen_map *m)
{
	const char *perms = strchr(line, ' ');
	char perm[5];
	int at = 0;

	/* Checked first for speed: most mappings are not executable. */
	if (!perms || strnlen(perms, 5) < 5 || perms[3] != 'x')
		return false;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &m->start,
		   &m->end, perm, &m->pgoff, &m->maj, &m->min, &m->ino, &at) != 7)
		return false;
	m->prot = (perm[0] == 'r' ? PROT_READ : 0) | (perm[1] == 'w' ? PROT_WRITE : 0) | PROT_EXEC;
	m->flags = perm[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	unescape_path(line + at);
	m->path = line[at] ? line + at : "//anon"; /* as in the kernel's records */
	return true;
}

int proc_file_parse_maps(char *text, struct buf *maps)
{
	struct ledger_seen_map m;
	char *line = text, *end;
	int rc;

	maps->len = 0;
	while (line && *line) {
		end = strchr(line, '\n');
		if (end)
			*end = '\0';
		if (parse_map(line, &m)) {
			rc = buf_put(maps, &m, sizeof(m));
			if (rc)
				return rc;
		}
		line = end ? end + 1 : NULL;
	}
	return 0;
}

/* Reads a whole file, appends a NUL, and closes `fd`; false on errors. */
static bool read_all(int fd, struct buf *out)
{
	ssize_t got = -1;

	out->len = 0;
	while (fd >= 0 && !buf_reserve(out, 16384)) {
		got = read(fd, out->p + out->len, 16383);
		if (got <= 0)
			break;
		out->len += got;
	}
	if (fd >= 0)
		close(fd);
	if (got)
		return false;
	out->p[out->len] = '\0';
	return true;
}

bool proc_file_maps(struct proc_file *f, uint32_t pid, const struct ledger_seen_map **maps,
		    size_t *nr)
{
	/* Empty for a kernel thread, and for an exiting process: its mappings must not be ended
	 * here. */
	if (!read_all(open_of(f, pid, "maps"), &f->text) || !f->text.len)
		return false;
	if (proc_file_parse_maps((char *)f->text.p, &f->maps))
		return false;
	*maps = (const struct ledger_seen_map *)f->maps.p;
	*nr = f->maps.len / sizeof(**maps);
	return true;
}
