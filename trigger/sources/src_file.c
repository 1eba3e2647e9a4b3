// SPDX-License-Identifier: MIT
/*
 * Source "file:PATH~REGEX": a matching line is written to a file. inotify reports appended data and
 * the file's rotation. Text from before the start is never read.
 *
 *	         too many wake-ups
 *	 WATCH ─────────────────────▶ TICK      WATCH  asleep until inotify reports
 *	   ▲                           │        TICK   polls at whole seconds, without inotify
 *	   └───────────────────────────┘
 *	        a quiet while
 *
 * A file that is written to a thousand times a second must not wake the recorder as often. Each
 * wake-up costs a credit and each second gives one; without credit the file is polled once a
 * second.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/sources/file_owner.h"
#include "trigger/sources/file_lines.h"
#include "trigger/engine/rule_check.h"
#include "trigger/sources/safe_path.h"
#include "trigger/sources/poll_timer.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHUNK	   (64 << 10)
#define MAX_CHUNKS 16 /* read per call, so that other sources get their turn */
#define MAX_CREDIT 8.0
#define DIR_EVENTS                                                                                 \
	(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |     \
	 IN_ONLYDIR)

enum mode { MODE_WATCH, MODE_TICK };

struct source {
	char *path;
	regex_t regex, pid_from;
	bool has_regex, has_pid_from;
	int epoll_fd, inotify_fd;
	struct poll_timer tick;
	enum mode mode;
	bool woken;

	/* Remaining wake-ups; negative: none left. */
	double credit;
	uint64_t credited_ns;

	int file_watch, dir_watches[SAFEPATH_DIRS], nr_dir_watches;
	int fd; /* the file that has, or last had, the name; -1: none yet */
	dev_t dev;
	ino_t ino;
	uint64_t offset;
	struct timespec start; /* real time */
	struct file_lines lines;
	char chunk[CHUNK];

	uint64_t nr_refused; /* times that the name was not a readable file */
	char refused[200];
};

/* ---- opening ---- */

/* Back references could make a match of a line of a few thousand bytes take forever. */
static bool has_back_reference(const char *regex)
{
	for (const char *c = regex; *c; c++) {
		if (*c != '\\' || !c[1])
			continue;
		if (c[1] >= '1' && c[1] <= '9')
			return true;
		c++;
	}
	return false;
}

static int compile(const struct rule *r, const char *text, size_t at, int flags, regex_t *re,
		   struct err *err)
{
	char why[128];
	int rc;

	if (has_back_reference(text))
		return rule_err(r->text, at, err,
				"a regular expression with \\1 to \\9 could take too long: do "
				"without");
	rc = regcomp(re, text, REG_EXTENDED | flags);
	if (!rc)
		return 0;
	regerror(rc, re, why, sizeof(why));
	return rule_err(r->text, at, err, "expected a POSIX extended regular expression: %s", why);
}

static int compile_both(struct source *s, const struct rule *r, struct err *err)
{
	int rc = compile(r, r->threshold, r->threshold_at, REG_NOSUB, &s->regex, err);

	s->has_regex = !rc;
	if (rc || !r->pid_from)
		return rc;
	rc = compile(r, r->pid_from, r->pid_from_at, 0, &s->pid_from, err);
	s->has_pid_from = !rc;
	return rc;
}

static int check(const struct rule *r, struct err *err)
{
	static const char example[] = "file:/var/log/app.log~ERROR";
	int rc = rule_check_arg(r, "a path", example, err);

	if (!rc && r->op != RULE_OP_MATCH)
		rc = rule_err(r->text, r->op ? r->op_at : strcspn(r->text, ";"), err,
			      "expected '~' and a regular expression, such as %s", example);
	if (!rc)
		rc = rule_check_moment(r, "a line in a file", err);
	if (!rc && r->arg[0] != '/')
		rc = rule_err(r->text, r->arg_at, err, "expected an absolute path, found '%s'",
			      r->arg);
	return rc;
}

static int add_to_epoll(struct source *s, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

static int open_descriptors(struct source *s, struct err *err)
{
	int rc = poll_timer_open(&s->tick, err);

	if (rc)
		return rc;
	s->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (s->inotify_fd < 0) {
		rc = err_sys(err, -errno, "can't watch files with inotify");
		if (rc == -EMFILE)
			err_hint(err, "sysctl fs.inotify.max_user_instances=1024");
		return rc;
	}
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = s->epoll_fd < 0 ? -errno : add_to_epoll(s, s->inotify_fd);
	if (!rc)
		rc = add_to_epoll(s, s->tick.fd);
	return rc ? err_sys(err, rc, "can't wait for changes of files") : 0;
}

/* ---- which file ---- */

static void drain_inotify(struct source *s, bool *names_changed)
{
	char buf[4096] __attribute__((aligned(8)));
	const struct inotify_event *ev;
	ssize_t n;

	/* Bounded: a writer may be faster than this loop. */
	for (int i = 0; i < 64 && (n = read(s->inotify_fd, buf, sizeof(buf))) > 0; i++) {
		for (char *at = buf; at < buf + n; at += sizeof(*ev) + ev->len) {
			ev = (const struct inotify_event *)at;
			if (ev->wd != s->file_watch || ev->mask & ~(uint32_t)IN_MODIFY)
				*names_changed = true;
		}
	}
}

static bool is_in(int wd, const int *list, int nr)
{
	for (int i = 0; i < nr; i++)
		if (list[i] == wd)
			return true;
	return false;
}

static int watch_fd(const struct source *s, int fd, uint32_t events)
{
	char self[32];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	return inotify_add_watch(s->inotify_fd, self, events);
}

/* Watches the directories of `p` and no others. */
static int watch_dirs(struct source *s, const struct safe_path *p)
{
	int wds[SAFEPATH_DIRS], nr = 0, rc = 0;

	for (int i = 0; i < p->nr_dirs; i++) {
		wds[nr] = watch_fd(s, p->dirs[i], DIR_EVENTS);
		if (wds[nr] < 0)
			rc = -errno;
		else
			nr++;
	}
	for (int i = 0; i < s->nr_dir_watches; i++)
		if (!is_in(s->dir_watches[i], wds, nr))
			inotify_rm_watch(s->inotify_fd, s->dir_watches[i]);
	memcpy(s->dir_watches, wds, sizeof(wds));
	s->nr_dir_watches = nr;
	return rc;
}

static void watch_file(struct source *s)
{
	if (s->file_watch >= 0 || s->fd < 0)
		return;
	s->file_watch = watch_fd(s, s->fd, IN_MODIFY);
}

static void unwatch_file(struct source *s)
{
	if (s->file_watch >= 0)
		inotify_rm_watch(s->inotify_fd, s->file_watch);
	s->file_watch = -1;
}

static void unwatch_all(struct source *s)
{
	bool ignored;

	unwatch_file(s);
	watch_dirs(s, &(struct safe_path){0});
	/* Removed watches queue IN_IGNORED events, which would wake the recorder. */
	drain_inotify(s, &ignored);
}

/* True if the file was created before the rule was opened; a file system without creation times
 * counts as false. */
static bool is_older_than_us(const struct source *s, int fd)
{
	struct statx x;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &x) || !(x.stx_mask & STATX_BTIME))
		return false;
	return x.stx_btime.tv_sec < s->start.tv_sec ||
	       (x.stx_btime.tv_sec == s->start.tv_sec &&
		x.stx_btime.tv_nsec < (uint32_t)s->start.tv_nsec);
}

/* Takes over p's descriptor. Reads a new file from its beginning, and one older than the rule from
 * its end. */
static void adopt(struct source *s, struct safe_path *p)
{
	bool watched = s->file_watch >= 0;

	unwatch_file(s);
	if (s->fd >= 0)
		close(s->fd);
	s->fd = p->fd;
	p->fd = -1;
	s->dev = p->st.st_dev;
	s->ino = p->st.st_ino;
	s->offset = is_older_than_us(s, s->fd) ? (uint64_t)p->st.st_size : 0;
	s->lines.len = 0;
	s->lines.any = false;
	if (watched || s->mode == MODE_WATCH)
		watch_file(s);
}

/* Watches the directories before it opens the file, so that no later change is missed. */
static int look_up(struct source *s, struct safe_path *p, struct err *err)
{
	if (s->mode == MODE_WATCH) {
		int rc;

		safe_path_open(s->path, p, NULL);
		rc = watch_dirs(s, p);
		safe_path_close(p);
		if (rc) {
			err_sys(err, rc, "can't watch the directory of %s", s->path);
			if (rc == -ENOSPC)
				err_hint(err, "sysctl fs.inotify.max_user_watches=65536");
			return rc;
		}
	}
	return safe_path_open(s->path, p, err);
}

static void note_refused(struct source *s, const struct err *err)
{
	s->nr_refused++;
	snprintf(s->refused, sizeof(s->refused), "%.199s", err->what);
}

/* ---- lines ---- */

/* A NUL counts as a blank, since '.' does not match it. */
static bool matches(const struct source *s, const char *line, size_t len)
{
	regmatch_t range = {.rm_so = 0, .rm_eo = (regoff_t)len};
	char copy[LINES_MAX], *nul;

	if (memchr(line, '\0', len)) {
		memcpy(copy, line, len);
		for (nul = copy; (nul = memchr(nul, '\0', len - (size_t)(nul - copy)));)
			*nul++ = ' ';
		line = copy;
	}
	return !regexec(&s->regex, line, 1, &range, REG_STARTEND);
}

static void take_line(struct source *s, const char *line, size_t len, struct sighting *what)
{
	char text[160];

	if (!matches(s, line, len))
		return;
	if (what->nr_hits++)
		return;
	sighting_add(what, "file=%.180s", s->path);
	str_safe(text, sizeof(text), line, len);
	sighting_add(what, "line=%s%s", text, strlen(text) < sizeof(text) - 5 ? "" : "...");
	if (s->has_pid_from)
		file_owner_from_line(&s->pid_from, line, len, what);
	else if (s->fd >= 0)
		file_owner_writer(s->fd, what);
}

/* Reads appended data; false: there is more. */
static bool read_on(struct source *s, struct sighting *what)
{
	const char *line;
	struct stat st;
	size_t len;

	if (s->fd < 0 || fstat(s->fd, &st))
		return true;
	if ((uint64_t)st.st_size < s->offset) {
		/* Truncated: drop the incomplete line. */
		s->offset = 0;
		s->lines.len = 0;
		s->lines.any = false;
	}
	for (int i = 0; i < MAX_CHUNKS; i++) {
		ssize_t got = pread(s->fd, s->chunk, sizeof(s->chunk), (off_t)s->offset);
		const char *at = s->chunk;
		size_t n;

		if (got <= 0)
			return true;
		s->offset += (uint64_t)got;
		n = (size_t)got;
		while (file_lines_next(&s->lines, &at, &n, &line, &len))
			take_line(s, line, len, what);
	}
	return false;
}

static void read_rest(struct source *s, struct sighting *what)
{
	const char *line;
	size_t len;

	if (file_lines_rest(&s->lines, &line, &len))
		take_line(s, line, len, what);
}

/* Checks which file has the name now. If it is another one, reads the old file to its end first.
 * False: there is more to read. */
static bool follow_name(struct source *s, struct sighting *what)
{
	struct err err = ERR_INIT;
	struct safe_path p;
	bool all = true;
	int rc = look_up(s, &p, &err);

	if (!rc && (s->fd < 0 || p.st.st_dev != s->dev || p.st.st_ino != s->ino)) {
		all = read_on(s, what);
		if (all) {
			read_rest(s, what);
			adopt(s, &p);
		}
	} else if (rc && rc != -ENOENT) {
		note_refused(s, &err);
	}
	safe_path_close(&p);
	return all;
}

/* ---- waking up ---- */

static void pay(struct source *s, uint64_t now)
{
	s->credit += (double)(now - s->credited_ns) / (double)TICK_NS;
	if (s->credit > MAX_CREDIT)
		s->credit = MAX_CREDIT;
	s->credited_ns = now;
	if (--s->credit < -1)
		s->credit = -1;
}

static void begin_watch(struct source *s, struct sighting *what)
{
	s->mode = MODE_WATCH;
	poll_timer_at(&s->tick, UINT64_MAX);
	watch_file(s);
	/* Reads what was written between the last poll and the watch. */
	if (!follow_name(s, what) || !read_on(s, what))
		poll_timer_at(&s->tick, 0);
}

/* Chooses between inotify and the timer, and sets the timer. */
static void set_mode(struct source *s, uint64_t now, bool any_new, struct sighting *what)
{
	if (s->mode == MODE_TICK && s->credit >= 1)
		begin_watch(s, what);
	else if (s->mode == MODE_TICK)
		poll_timer_in(&s->tick, now, any_new ? 1 : 2);
	else if (s->tick.due_ns != UINT64_MAX)
		poll_timer_at(&s->tick, UINT64_MAX);
	/* Too many wake-ups; or the directory does not exist, so that inotify can't report it. */
	if (s->mode == MODE_WATCH && (s->credit < 0 || !s->nr_dir_watches)) {
		s->mode = MODE_TICK;
		unwatch_all(s);
		poll_timer_in(&s->tick, now, 1);
	}
}

static int file_ready(struct source *s, struct sighting *what, struct err *err)
{
	bool names_changed = s->mode == MODE_TICK, all;
	uint64_t now, before = s->offset;

	if (!s->woken)
		return 0;
	s->woken = false;
	now = poll_timer_now();
	pay(s, now);
	drain_inotify(s, &names_changed);
	all = read_on(s, what);
	if (all && names_changed)
		all = follow_name(s, what) && read_on(s, what);
	if (all)
		set_mode(s, now, s->offset != before, what);
	else
		poll_timer_at(&s->tick, 0);
	if (!what->nr_hits)
		return 0;
	what->ns = now;
	if (what->nr_hits > 1)
		sighting_add(what, "lines=%u", what->nr_hits);
	return 1;
}

static void file_woken(struct source *s, uint32_t events)
{
	s->woken = true;
}

static int file_fd(const struct source *s, uint32_t *events)
{
	return s->epoll_fd;
}

static void file_close(struct source *s)
{
	if (!s)
		return;
	poll_timer_close(&s->tick);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	if (s->inotify_fd >= 0)
		close(s->inotify_fd);
	if (s->fd >= 0)
		close(s->fd);
	if (s->has_regex)
		regfree(&s->regex);
	if (s->has_pid_from)
		regfree(&s->pid_from);
	free(s->path);
	free(s);
}

/* The file may be missing, but its directory must exist; an existing file must be a regular one. */
static int first_look(struct source *s, struct err *err)
{
	struct safe_path p;
	int rc = look_up(s, &p, err);

	if (rc == -ENOENT && s->nr_dir_watches) {
		rc = 0;
	} else if (rc == -ENOENT) {
		err_hint(err, "the file may come later, its directory must be there");
	} else if (!rc) {
		adopt(s, &p);
		s->offset = (uint64_t)p.st.st_size;
	}
	safe_path_close(&p);
	return rc;
}

static int file_open(const struct rule *r, const struct source_env *env, struct source **out,
		     struct err *err)
{
	struct source *s;
	int rc = check(r, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->fd = s->epoll_fd = s->inotify_fd = s->tick.fd = s->file_watch = -1;
	s->path = strdup(r->arg);
	s->credit = MAX_CREDIT;
	s->credited_ns = poll_timer_now();
	/* The clock of the file systems' time stamps. */
	clock_gettime(CLOCK_REALTIME_COARSE, &s->start);
	rc = s->path ? compile_both(s, r, err)
		     : err_set(err, -ENOMEM, "out of memory for a trigger");
	if (!rc)
		rc = open_descriptors(s, err);
	if (!rc)
		rc = first_look(s, err);
	if (rc) {
		file_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

static void file_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "what is appended to %.240s%s", s->path,
		 s->fd < 0 ? " (not there yet)" : "");
	snprintf(out->costs, sizeof(out->costs),
		 "nothing while nothing is appended; for a file that is written to all the time a "
		 "look each second, and the regular expression for each line");
}

static bool file_trouble(const struct source *s, char *out, size_t n)
{
	if (s->nr_refused)
		snprintf(out, n, "%llu time%s not read: %s", (unsigned long long)s->nr_refused,
			 str_plural(s->nr_refused), s->refused);
	return s->nr_refused > 0;
}

const struct source_ops source_file = {
	.name = "file",
	.syntax = "file:PATH~REGEX",
	.help = "a line that matches is written to a file",
	.example = "file:/var/log/syslog~Out of memory",
	.open = file_open,
	.fd = file_fd,
	.woken = file_woken,
	.ready = file_ready,
	.plan = file_plan,
	.trouble = file_trouble,
	.close = file_close,
};
