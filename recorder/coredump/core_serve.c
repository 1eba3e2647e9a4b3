// SPDX-License-Identifier: MIT
/*
 * Receives crashes; see core_serve.h. The protocol of the kernel's socket is in
 * include/uapi/linux/coredump.h and linux/pidfd.h. Their structs are repeated here, since installed
 * headers may be older than the kernel.
 */
#include "recorder/coredump/core_serve.h"

#include "dump/base/err.h"
#include "recorder/coredump/core_state.h"
#include "recorder/coredump/core_work.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKLOG	    1024
#define MAX_WORKERS 256
/* Timeout for a client that connects and sends nothing. */
#define SILENT_MS 2000
/* How often to check for ended workers when their maximum is reached. */
#define FULL_MS 20
/* When all workers have made no progress for this long, new crashes are let go without a core, so
 * that those processes do not hang. */
#define STUCK_NS 2000000000ull

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define INFO_PID      (1ull << 0)
#define INFO_COREDUMP (1ull << 4)
#define WAS_DUMPED    1u
#define DUMP_AS_USER  4u
#define DUMP_AS_ROOT  8u

struct pidfd_facts {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code;
	uint32_t coredump_mask, coredump_signal;
};
_Static_assert(sizeof(struct pidfd_facts) == 72, "struct pidfd_info with coredump_mask");
#define GET_FACTS _IOWR(0xff, 11, struct pidfd_facts)

struct core_request {
	uint32_t size, size_ack;
	uint64_t mask;
};
struct ack {
	uint32_t size, spare;
	uint64_t mask;
};
#define KERNEL_WRITES (1ull << 0)
#define KERNEL_WAITS  (1ull << 3)

struct core_serve {
	const struct core_state *state;
	int listen_fd, report;
	size_t nr_workers, max_workers;
	uint64_t moved_ns; /* when a worker was last available */
};

/* ---- the socket ---- */

static void name_socket(int dir_fd, struct sockaddr_un *a)
{
	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(a->sun_path, sizeof(a->sun_path), "/proc/self/fd/%d/" CORE_SOCKET_NAME, dir_fd);
}

int core_serve_new(const struct core_state *s, int report, struct core_serve **out, struct err *err)
{
	const char *fewer = getenv("RINGBACK_CRASH_WORKERS");
	struct core_serve *c = calloc(1, sizeof(*c));
	struct sockaddr_un a;
	mode_t mask = umask(0177);
	int rc = 0;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	*c = (struct core_serve){.state = s, .report = report, .max_workers = MAX_WORKERS};
	if (fewer) /* set by tests */
		c->max_workers = (size_t)atoi(fewer);
	name_socket(s->dir_fd, &a);
	unlinkat(s->dir_fd, CORE_SOCKET_NAME, 0);
	c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->listen_fd < 0 || bind(c->listen_fd, (struct sockaddr *)&a, sizeof(a)) ||
	    listen(c->listen_fd, BACKLOG))
		rc = err_sys(err, -errno, "--crash-hold: can't listen in %s", s->dir);
	umask(mask);
	if (rc)
		core_serve_free(c);
	else
		*out = c;
	return rc;
}

void core_serve_free(struct core_serve *c)
{
	if (!c)
		return;
	unlinkat(c->state->dir_fd, CORE_SOCKET_NAME, 0);
	if (c->listen_fd >= 0)
		close(c->listen_fd);
	free(c);
}

/* ---- a crash ---- */

/* Identifies the crashed process. Only the kernel connects on behalf of a process that is being
 * dumped. */
static int who_crashed(int fd, struct core_names *names)
{
	struct pidfd_facts f = {.mask = INFO_PID | INFO_COREDUMP};
	socklen_t n = sizeof(int);
	int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n))
		return -1;
	if (ioctl(pidfd, GET_FACTS, &f) || !(f.mask & INFO_COREDUMP) ||
	    !(f.coredump_mask & WAS_DUMPED)) {
		close(pidfd);
		return -1;
	}
	names->pid = (pid_t)f.tgid;
	names->dumpable = f.coredump_mask & DUMP_AS_USER   ? 1
			  : f.coredump_mask & DUMP_AS_ROOT ? 2
							   : 0;
	return pidfd;
}

static bool get(int fd, void *to, size_t n)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, SILENT_MS) > 0 && recv(fd, to, n, MSG_WAITALL) == (ssize_t)n;
}

/* Asks the kernel to write the core, and to keep the process until the socket is closed. */
static bool shake_hands(int fd)
{
	struct ack a = {.size = sizeof(a), .mask = KERNEL_WRITES | KERNEL_WAITS};
	struct core_request r;
	uint32_t mark;
	char skip;

	if (!get(fd, &r, sizeof(r)) || r.size < sizeof(r))
		return false;
	for (uint32_t i = sizeof(r); i < r.size; i++)
		if (!get(fd, &skip, 1))
			return false;
	if ((r.mask & a.mask) != a.mask || r.size_ack < sizeof(a))
		return false;
	return send(fd, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a) && get(fd, &mark, sizeof(mark)) &&
	       !mark;
}

/* Sends the recorder's socket to our pipe handler. */
static void give_report(int fd, int report)
{
	char space[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec v = {&byte, 1};
	struct msghdr h = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = space,
			   .msg_controllen = sizeof(space)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &report, sizeof(report));
	(void)sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT);
}

int core_serve_ask(const char *dir)
{
	char space[CMSG_SPACE(sizeof(int))] = {0}, byte;
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct iovec v = {&byte, 1};
	struct msghdr h = {.msg_iov = &v,
			   .msg_iovlen = 1,
			   .msg_control = space,
			   .msg_controllen = sizeof(space)};
	struct pollfd p = {.events = POLLIN};
	struct cmsghdr *c = NULL;
	int report = -1;

	p.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (p.fd < 0 ||
	    snprintf(a.sun_path, sizeof(a.sun_path), "%s/" CORE_SOCKET_NAME, dir) >=
		    (int)sizeof(a.sun_path) ||
	    connect(p.fd, (struct sockaddr *)&a, sizeof(a)))
		goto out;
	if (poll(&p, 1, 100) > 0 && recvmsg(p.fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) == 1)
		c = CMSG_FIRSTHDR(&h);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&report, CMSG_DATA(c), sizeof(report));
out:
	if (p.fd >= 0)
		close(p.fd);
	return report;
}

static void be_worker(struct core_serve *c, enum core_way way, int fd, uint64_t now)
{
	struct core_job j = {
		.stream = fd, .report = c->report, .pattern = c->state->former, .began_ns = now};

	/* Only processes that can restore the pattern hold the lock. */
	close(c->state->lock_fd);
	close(c->listen_fd);
	j.pidfd = who_crashed(fd, &j.names);
	if (j.pidfd >= 0 && (way == CORE_BY_SOCKET || shake_hands(fd)))
		core_work(&j);
	_exit(0);
}

static void take_one(struct core_serve *c, enum core_way way, int fd)
{
	uint64_t now = clock_ns();
	pid_t pid;

	if (way == CORE_BY_PIPE) {
		give_report(fd, c->report);
	} else {
		pid = fork();
		if (!pid)
			be_worker(c, way, fd, now);
		c->nr_workers += pid > 0;
	}
	close(fd);
}

static void reap(struct core_serve *c)
{
	while (c->nr_workers && waitpid(-1, NULL, WNOHANG) > 0)
		c->nr_workers--;
}

static bool is_full(struct core_serve *c)
{
	reap(c);
	if (c->nr_workers < c->max_workers)
		c->moved_ns = clock_ns();
	return c->nr_workers >= c->max_workers;
}

static void let_go(struct core_serve *c)
{
	int fd;

	while ((fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		close(fd);
}

static void take_all(struct core_serve *c, enum core_way way)
{
	int fd;

	while (!is_full(c) && (fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		take_one(c, way, fd);
	if (is_full(c) && clock_ns() - c->moved_ns > STUCK_NS)
		let_go(c);
}

void core_serve_run(struct core_serve *c, enum core_way way, int talk, int recorder)
{
	struct pollfd p[] = {{.fd = recorder, .events = POLLIN},
			     {.fd = talk, .events = POLLIN},
			     {.fd = c->listen_fd, .events = POLLIN}};

	while (!p[0].revents && !p[1].revents) {
		bool full = is_full(c);

		p[2].events = full ? 0 : POLLIN;
		/* A timeout when full: workers are reaped only in is_full(). */
		if (poll(p, 3, full ? FULL_MS : -1) < 0 && errno != EINTR)
			return;
		take_all(c, way);
	}
}

void core_serve_rest(struct core_serve *c, enum core_way way)
{
	uint64_t end = clock_ns() + STUCK_NS;

	do {
		take_all(c, way);
	} while (is_full(c) && clock_ns() < end && !usleep(FULL_MS * 1000));
}
