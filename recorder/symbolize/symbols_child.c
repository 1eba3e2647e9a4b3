// SPDX-License-Identifier: MIT
/* The process that collects names, both sides; see symbols_child.h. Called by dumper_file.c and
 * cmd_symbols.c. */
#include "recorder/symbolize/symbols_child.h"

#include "dump/base/err.h"
#include "dump/base/sanitized.h"
#include "trigger/kernel/clock.h"
#include "dump/view/pt/pt_flow.h"
#include "recorder/base/exit_code.h"
#include "recorder/symbolize/collect_live.h"
#include "recorder/ledger/pinned_list.h"
#include "recorder/base/priority.h"
#include "recorder/base/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* After this time the child gets ordinary priority if it used less than a quarter of a CPU. */
#define PATIENCE_NS  500000000ull
#define KILL_WAIT_NS 200000000ull /* for its end after SIGKILL */
#define MAX_MEMORY   (1ull << 30)
#define MAX_CODE     (128ull << 20) /* of code executed in traces */
#define OOM_SCORE    "900"
#define MAX_PAYLOAD  FMT_BLOCK_BYTES

/* Before each payload. */
struct message {
	uint32_t bytes;
	uint32_t section; /* FMT_SYMBOLS, FMT_CGROUPS */
};

/* ---- the recorder ---- */

struct parent {
	const struct symbols_child_options *opt;
	pid_t pid;
	int fd;
	struct buf in; /* the beginning of the next message */
	uint64_t started_ns;
	bool judged; /* the child's CPU time was checked */
};

/* Passes the files on under the same descriptor numbers. */
static void hand_on(posix_spawn_file_actions_t *actions, const struct pinned_share *files)
{
	const int *fds = (const int *)files->fds.p;

	if (files->table_fd < 0)
		return;
	posix_spawn_file_actions_adddup2(actions, files->table_fd, files->table_fd);
	for (size_t i = 0; i < files->fds.len / sizeof(*fds); i++)
		posix_spawn_file_actions_adddup2(actions, fds[i], fds[i]);
}

static int spawn(struct parent *p, int out)
{
	char dump[32], arg[64];
	char *argv[] = {"ringback", "symbols", arg, NULL},
	     *open_argv[] = {"ringback", "--no-sandbox", "symbols", arg, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc;

	snprintf(dump, sizeof(dump), "/proc/self/fd/%d", p->opt->dump_fd);
	snprintf(arg, sizeof(arg), "--collect=%" PRIu64 ",%d,%d", p->opt->budget_ns,
		 p->opt->low_priority, p->opt->files->table_fd);
	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&files);
	/* Opened again: the recorder's lock on the dump must not be inherited. */
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, dump, O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	hand_on(&files, p->opt->files);
	rc = posix_spawn(&p->pid, "/proc/self/exe", &files, &attr,
			 sandbox_is_off() ? open_argv : argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attr);
	return -rc;
}

static int start(struct parent *p)
{
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	rc = spawn(p, ends[1]);
	close(ends[1]);
	p->fd = ends[0];
	if (rc)
		close(ends[0]);
	return rc;
}

static void judge(struct parent *p, uint64_t now)
{
	struct timespec t = {0};
	clockid_t clock;

	if (p->judged || now - p->started_ns < PATIENCE_NS)
		return;
	p->judged = true;
	if (p->opt->low_priority && !clock_getcpuclockid(p->pid, &clock) &&
	    !clock_gettime(clock, &t) &&
	    ((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) * 4 < now - p->started_ns)
		priority_set(p->pid, PRIORITY_ORDINARY);
}

/* Passes on complete messages. 0; 1: that was the last; -errno: stop. */
static int take_messages(struct parent *p)
{
	size_t at = 0;
	int rc = 0;

	while (!rc && p->in.len - at >= sizeof(struct message)) {
		struct message m;

		memcpy(&m, p->in.p + at, sizeof(m));
		if (!m.bytes)
			return 1;
		if (m.bytes > MAX_PAYLOAD || (m.section != FMT_SYMBOLS && m.section != FMT_CGROUPS))
			return -EBADMSG;
		if (p->in.len - at - sizeof(m) < m.bytes)
			break;
		at += sizeof(m);
		rc = p->opt->take(p->opt->ctx, (uint16_t)m.section,
				  (struct bytes){p->in.p + at, m.bytes});
		at += m.bytes;
	}
	p->in.len -= at;
	memmove(p->in.p, p->in.p + at, p->in.len);
	return rc;
}

/* 0: more may come; -EPIPE: the child closed its end; else as take_messages(). */
static int receive(struct parent *p)
{
	ssize_t n;

	if (buf_reserve(&p->in, 1 << 16))
		return -ENOMEM;
	n = read(p->fd, p->in.p + p->in.len, p->in.cap - p->in.len);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (!n)
		return -EPIPE;
	p->in.len += (size_t)n;
	return take_messages(p);
}

static uint32_t wait_for_end(struct parent *p)
{
	struct pollfd fds[] = {{.fd = p->fd, .events = POLLIN},
			       {.fd = p->opt->stop_fd, .events = POLLIN}};
	uint64_t now = p->started_ns, end = now + p->opt->budget_ns;
	int rc = 0;

	for (; !rc; now = clock_ns()) {
		uint64_t until = p->judged || now - p->started_ns >= PATIENCE_NS
					 ? end
					 : p->started_ns + PATIENCE_NS;

		if (now >= end)
			return FMT_SYMBOLS_TIME;
		judge(p, now);
		if (until <= now)
			until = end;
		if (poll(fds, 2, (int)((until - now) / 1000000 + 1)) < 0 && errno != EINTR)
			return FMT_SYMBOLS_DIED;
		if (fds[1].revents)
			return FMT_SYMBOLS_HIT;
		if (fds[0].revents)
			rc = receive(p);
	}
	return rc > 0 ? FMT_SYMBOLS_DONE : rc == -ENOSPC ? FMT_SYMBOLS_ROOM : FMT_SYMBOLS_DIED;
}

/* False: it is still there. */
static bool reap(pid_t pid, uint64_t wait_ns)
{
	uint64_t end = clock_ns() + wait_ns;
	pid_t ended;

	while (!(ended = waitpid(pid, NULL, WNOHANG)) && clock_ns() < end)
		usleep(1000);
	return ended;
}

/* SIGKILL has no effect while the child waits in the kernel for a file system that does not
 * answer. */
static void end_child(struct parent *p)
{
	kill(p->pid, SIGKILL);
	if (p->opt->low_priority)
		priority_set(p->pid, PRIORITY_ORDINARY); /* on a busy machine it exits sooner */
	if (!reap(p->pid, KILL_WAIT_NS))
		*p->opt->hung = p->pid;
}

uint32_t symbols_child_run(const struct symbols_child_options *opt)
{
	struct parent p = {.opt = opt, .started_ns = clock_ns()};
	uint32_t end;

	if (*opt->hung && !reap(*opt->hung, 0))
		return FMT_SYMBOLS_FAIL;
	*opt->hung = 0;
	if (start(&p))
		return FMT_SYMBOLS_FAIL;
	end = wait_for_end(&p);
	end_child(&p);
	close(p.fd);
	buf_free(&p.in);
	return end;
}

/* ---- the child ---- */

static int write_all(const void *src, size_t n)
{
	const uint8_t *p = src;

	while (n) {
		ssize_t done = write(STDOUT_FILENO, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return -EPIPE;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

static int send_payload(uint32_t section, struct bytes payload)
{
	struct message m = {(uint32_t)payload.len, section};
	int rc = write_all(&m, sizeof(m));

	return rc ? rc : write_all(payload.p, payload.len);
}

static int send_symbols(void *ctx, struct bytes payload)
{
	return send_payload(FMT_SYMBOLS, payload);
}

static int send_cgroups(void *ctx, struct bytes payload)
{
	return send_payload(FMT_CGROUPS, payload);
}

static void limit(int what, rlim_t value)
{
	struct rlimit r = {value, value};

	setrlimit(what, &r);
}

static void be_harmless(bool low_priority)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (write(fd, OOM_SCORE, strlen(OOM_SCORE)) < 0)
			errno = 0; /* it keeps the ordinary score */
		close(fd);
	}
	prctl(PR_SET_NAME, "ringback-names");
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_FSIZE, 0); /* it writes only to its pipe */
	if (!SANITIZED)
		limit(RLIMIT_AS, MAX_MEMORY);
	priority_set(0, low_priority ? PRIORITY_IDLE : PRIORITY_ORDINARY);
	sandbox_enter_for_names();
}

int symbols_child_main(const char *text)
{
	struct collect_live_options opt = {
		.path = "/proc/self/fd/0", .out = send_symbols, .out_cgroups = send_cgroups};
	struct message last = {0};
	uint64_t budget_ns;
	char *end;
	int rc, low;

	/* If the parent has already exited, writing to the pipe fails. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	budget_ns = strtoull(text, &end, 10);
	if (end == text || *end != ',' || sscanf(end + 1, "%d,%d", &low, &opt.table_fd) != 2)
		return EXIT_USAGE;
	/* Before be_harmless(), since it makes a file and RLIMIT_FSIZE forbids writing. */
	if (pt_store_new(MAX_CODE, &opt.store, NULL))
		opt.store = NULL;
	be_harmless(low);
	opt.deadline_ns = clock_ns() + budget_ns / 10 * 9;
	rc = collect_live(&opt, NULL);
	pt_store_free(opt.store);
	if (!rc)
		rc = write_all(&last, sizeof(last));
	return rc ? EXIT_FAILED : EXIT_FINE;
}
