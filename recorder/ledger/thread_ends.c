// SPDX-License-Identifier: MIT
/* Finds what threads wait for; see thread_ends.h. One pass over /proc/PID/fd of all processes finds
 * the other ends: a process has a pipe's or a peer's link among its own. */
#include "recorder/ledger/thread_ends.h"

#include "dump/base/bytes.h"
#include "recorder/ledger/socket_ends.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A link that the other end of a thread's file has in its process. */
struct wanted_link {
	char link[64];
	struct thread_seen *of;
	mode_t mode; /* S_IRUSR or S_IWUSR: only if open for this; 0: in any case */
};

struct search {
	int proc_fd;
	bool (*over)(void *ctx);
	void *ctx;
	struct buf wanted; /* struct wanted_link[]; sorted by link for the search */
};

static void add_peer(struct thread_seen *t, uint32_t pid)
{
	uint32_t nr = t->f.nr_peers < FMT_THREAD_MAX_PEERS ? t->f.nr_peers : FMT_THREAD_MAX_PEERS;

	for (uint32_t i = 0; i < nr; i++)
		if (t->f.peers[i] == pid)
			return;
	if (nr < FMT_THREAD_MAX_PEERS)
		t->f.peers[nr] = pid;
	t->f.nr_peers++;
}

/* ---- locks ---- */

static void find_owner(const struct search *s, struct thread_seen *t, const struct thread_seen *v,
		       size_t nr)
{
	char path[64];

	for (size_t i = 0; i < nr && !t->f.futex_owner; i++)
		if (v[i].f.pid == t->f.pid && v[i].inner_tid == t->futex_names)
			t->f.futex_owner = v[i].f.tid;
	snprintf(path, sizeof(path), "%u/task/%u", t->f.pid, t->futex_names);
	/* There was no time to read it. */
	if (!t->f.futex_owner && t->inner_tid == t->f.tid && !faccessat(s->proc_fd, path, F_OK, 0))
		t->f.futex_owner = t->futex_names;
}

static void add_holder(struct thread_seen *v, size_t nr, uint32_t waits, uint32_t holds)
{
	for (size_t i = 0; i < nr; i++)
		if (v[i].f.pid == waits && thread_wait_of(&v[i]) == THREAD_WAIT_LOCK)
			add_peer(&v[i], holds);
}

/* In /proc/locks, waiters follow the holder: "7: FLOCK  ADVISORY  WRITE 100 ...", "7: -> FLOCK ...". */
static void find_holders(const struct search *s, struct thread_seen *v, size_t nr)
{
	FILE *f = thread_proc_lines(s->proc_fd, "locks");
	int holds = 0, waits;
	char line[256];

	while (f && !s->over(s->ctx) && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*u: -> %*s %*s %*s %d", &waits) == 1) {
			if (holds > 0 && waits > 0)
				add_holder(v, nr, (uint32_t)waits, (uint32_t)holds);
		} else if (sscanf(line, "%*u: %*s %*s %*s %d", &holds) != 1) {
			holds = 0;
		}
	}
	if (f)
		fclose(f);
}

/* ---- what to search for ---- */

/* The number of a pseudo terminal, of its master's descriptor; -1: unknown. */
static int pty_number(const struct search *s, uint32_t pid, int fd)
{
	char text[512], *at;
	int nr = -1;

	thread_proc_text(s->proc_fd, text, sizeof(text), "%u/fdinfo/%d", pid, fd);
	at = strstr(text, "tty-index:");
	if (at)
		sscanf(at, "tty-index: %d", &nr);
	return nr;
}

static bool is_master(const char *link)
{
	return !strcmp(link, "/dev/ptmx") || !strcmp(link, "/dev/pts/ptmx");
}

static void want(struct search *s, struct thread_seen *t, mode_t mode, const char *link)
{
	struct wanted_link w = {.of = t, .mode = mode};

	if (snprintf(w.link, sizeof(w.link), "%s", link) < (int)sizeof(w.link))
		buf_put(&s->wanted, &w, sizeof(w));
}

static void want_ends(struct search *s, struct socket_ends *sockets, struct thread_seen *t)
{
	const char *link = t->file ? t->file->link : "";
	mode_t mode = thread_wait_of(t) == THREAD_WAIT_WRITE ? S_IRUSR : S_IWUSR;
	char text[64];
	uint64_t ino;
	int pty;

	if ((strstr(t->wchan, "fuse") || !strcmp(t->wchan, "request_wait_answer")) &&
	    strcmp(link, "/dev/fuse")) {
		want(s, t, 0, "/dev/fuse");
	} else if (!strncmp(link, "pipe:[", 6) || (*link == '/' && strstr(t->wchan, "pipe"))) {
		want(s, t, mode, link);
	} else if (!strncmp(link, "socket:[", 8)) {
		socket_ends_read(sockets, t->f.pid);
		ino = socket_ends_find(sockets, t->file);
		snprintf(text, sizeof(text), "socket:[%" PRIu64 "]", ino);
		if (ino)
			want(s, t, 0, text);
	} else if (sscanf(link, "/dev/pts/%d", &pty) == 1) {
		snprintf(text, sizeof(text), "master of %d", pty);
		want(s, t, 0, text);
	} else if (is_master(link)) {
		snprintf(text, sizeof(text), "/dev/pts/%d", pty_number(s, t->f.pid, t->f.fd));
		want(s, t, 0, text);
	}
}

/* ---- the search ---- */

static int compare_links(const void *a, const void *b)
{
	return strcmp(((const struct wanted_link *)a)->link, ((const struct wanted_link *)b)->link);
}

/* Descriptor `name` of the process leads to `link`. */
static void take_link(struct search *s, uint32_t pid, int dir, const char *name, const char *link)
{
	size_t nr = s->wanted.len / sizeof(struct wanted_link), from = 0, to = nr;
	struct wanted_link *v = (struct wanted_link *)s->wanted.p;
	char master[64];
	struct stat st;

	if (is_master(link)) {
		snprintf(master, sizeof(master), "master of %d", pty_number(s, pid, atoi(name)));
		link = master;
	}
	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (strcmp(v[mid].link, link) < 0)
			from = mid + 1;
		else
			to = mid;
	}
	for (; from < nr && !strcmp(v[from].link, link); from++) {
		/* The permissions of the link are those of the descriptor. */
		if (v[from].mode &&
		    (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !(st.st_mode & v[from].mode)))
			continue;
		add_peer(v[from].of, pid);
	}
}

/* False: not all of its files were searched. */
static bool search_process(struct search *s, uint32_t pid)
{
	const struct dirent *e;
	char path[32], link[64];
	ssize_t n;
	DIR *d;
	int fd;

	snprintf(path, sizeof(path), "%u/fd", pid);
	fd = openat(s->proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return false;
	}
	while (!s->over(s->ctx) && (e = readdir(d))) {
		n = readlinkat(fd, e->d_name, link, sizeof(link) - 1);
		if (n <= 0 || n == sizeof(link) - 1)
			continue;
		link[n] = '\0';
		take_link(s, pid, fd, e->d_name, link);
	}
	closedir(d);
	return !s->over(s->ctx);
}

static uint32_t search_all(struct search *s)
{
	int fd = openat(s->proc_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint32_t nr_unsearched = 0;
	const struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	while (d && (e = readdir(d))) {
		uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);

		if (pid && pid != (uint32_t)getpid())
			nr_unsearched += s->over(s->ctx) || !search_process(s, pid);
	}
	if (d)
		closedir(d);
	return nr_unsearched;
}

/* A process that has both ends counts only if no other has the other one. */
static void drop_self(struct thread_seen *t)
{
	uint32_t nr = t->f.nr_peers < FMT_THREAD_MAX_PEERS ? t->f.nr_peers : FMT_THREAD_MAX_PEERS;

	for (uint32_t i = 0; i < nr && t->f.nr_peers > 1; i++) {
		if (t->f.peers[i] != t->f.pid)
			continue;
		t->f.peers[i] = t->f.peers[nr - 1];
		t->f.peers[nr - 1] = 0;
		t->f.nr_peers--;
		break;
	}
}

uint32_t thread_ends_find(int proc_fd, struct thread_seen *v, size_t nr, bool (*over)(void *ctx),
			  void *ctx)
{
	struct search s = {.proc_fd = proc_fd, .over = over, .ctx = ctx};
	struct socket_ends *sockets;
	uint32_t nr_unsearched = 0;
	bool locks = false;

	if (socket_ends_new(proc_fd, over, ctx, &sockets))
		return 0;
	for (size_t i = 0; i < nr; i++) {
		locks |= thread_wait_of(&v[i]) == THREAD_WAIT_LOCK;
		if (v[i].futex_names)
			find_owner(&s, &v[i], v, nr);
		want_ends(&s, sockets, &v[i]);
	}
	if (locks)
		find_holders(&s, v, nr);
	if (s.wanted.len) {
		qsort(s.wanted.p, s.wanted.len / sizeof(struct wanted_link),
		      sizeof(struct wanted_link), compare_links);
		nr_unsearched = search_all(&s);
	}
	for (size_t i = 0; i < nr; i++)
		drop_self(&v[i]);
	socket_ends_free(sockets);
	buf_free(&s.wanted);
	return nr_unsearched;
}
