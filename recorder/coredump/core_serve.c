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
#include "recorder/coredump/core_workers.h"
#include "trigger/crash/held_cores.h"
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
/* A burst of crashes that were not held ends when none came for QUIET_MS; a longer one is reported
 * in parts. */
#define QUIET_MS 1000
#define BURST_NS 10000000000ull

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define INFO_PID      (1ull << 0)
#define INFO_CREDS    (1ull << 1)
#define INFO_COREDUMP (1ull << 4)
#define WAS_DUMPED    1u
#define DUMP_AS_USER  4u
#define DUMP_AS_ROOT  8u

struct pidfd_facts {
	uint64_t mask, cgroup;
	uint32_t pid, tgid, ppid, ruid, ids[7];
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
	struct core_workers *workers;
	struct held_cores_unheld unheld; /* in this burst */
	uint64_t burst_ns;		 /* its begin; 0: none */
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
	mode_t mask;
	int rc = 0;

	/* `fewer` is set by tests. */
	if (!c || core_workers_new(fewer ? (size_t)atoi(fewer) : MAX_WORKERS, &c->workers)) {
		free(c);
		return err_set(err, -ENOMEM, "out of memory");
	}
	c->state = s;
	c->report = report;
	mask = umask(0177);
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
	core_workers_free(c->workers);
	free(c);
}

/* ---- a crash ---- */

/* Identifies the crashed process and its real user. Only the kernel connects on behalf of a process
 * that is being dumped. */
static int who_crashed(int fd, struct core_names *names)
{
	struct pidfd_facts f = {.mask = INFO_PID | INFO_CREDS | INFO_COREDUMP};
	socklen_t n = sizeof(int);
	int pidfd = -1;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &n))
		return -1;
	if (ioctl(pidfd, GET_FACTS, &f) || !(f.mask & INFO_COREDUMP) || !(f.mask & INFO_CREDS) ||
	    !(f.coredump_mask & WAS_DUMPED)) {
		close(pidfd);
		return -1;
	}
	names->pid = (pid_t)f.tgid;
	names->uid = f.ruid;
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

static void be_worker(struct core_serve *c, enum core_way way, const struct core_job *j)
{
	/* Only processes that can restore the pattern hold the lock. */
	close(c->state->lock_fd);
	close(c->listen_fd);
	if (way == CORE_BY_SOCKET || shake_hands(j->stream))
		core_work(j);
	_exit(0);
}

static void count_unheld(struct core_serve *c, bool refused)
{
	c->unheld.nr++;
	c->unheld.nr_refused += refused;
	if (!c->burst_ns)
		c->burst_ns = clock_ns();
}

/* Without a worker the process ends without a core. */
static void start_worker(struct core_serve *c, enum core_way way, struct core_job *j)
{
	enum core_turn turn = core_workers_turn(c->workers, j->names.uid);
	pid_t pid = -1;

	j->direct = turn == CORE_DIRECT;
	if (turn != CORE_REFUSE)
		pid = fork();
	if (!pid)
		be_worker(c, way, j);
	if (pid > 0)
		core_workers_add(c->workers, pid, j->names.uid, turn);
	if (pid < 0 || j->direct)
		count_unheld(c, pid < 0);
}

static void take_one(struct core_serve *c, enum core_way way, int fd)
{
	struct core_job j = {.stream = fd,
			     .report = c->report,
			     .pattern = c->state->former,
			     .began_ns = clock_ns()};

	if (way == CORE_BY_PIPE) {
		give_report(fd, c->report);
	} else {
		j.pidfd = who_crashed(fd, &j.names);
		if (j.pidfd >= 0) {
			start_worker(c, way, &j);
			close(j.pidfd);
		}
	}
	close(fd);
}

static void reap(struct core_serve *c)
{
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		core_workers_remove(c->workers, pid);
}

static void take_all(struct core_serve *c, enum core_way way)
{
	int fd;

	reap(c);
	while ((fd = accept4(c->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		take_one(c, way, fd);
		reap(c);
	}
}

/* Tells the recorder of the burst. If it does not read, the burst goes on. */
static void report_burst(struct core_serve *c)
{
	struct held_cores_message m = {.kind = PARKED_UNHELD};
	struct iovec v[] = {{&m, sizeof(m)}, {&c->unheld, sizeof(c->unheld)}};
	struct msghdr h = {.msg_iov = v, .msg_iovlen = 2};

	if (sendmsg(c->report, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return;
	c->unheld = (struct held_cores_unheld){0};
	c->burst_ns = 0;
}

void core_serve_run(struct core_serve *c, enum core_way way, int talk, int recorder)
{
	struct pollfd p[] = {{.fd = recorder, .events = POLLIN},
			     {.fd = talk, .events = POLLIN},
			     {.fd = c->listen_fd, .events = POLLIN}};
	int n;

	while (!p[0].revents && !p[1].revents) {
		n = poll(p, 3, c->burst_ns ? QUIET_MS : -1);
		if (n < 0 && errno != EINTR)
			return;
		take_all(c, way);
		if (c->burst_ns && (!n || clock_ns() - c->burst_ns > BURST_NS))
			report_burst(c);
	}
}

void core_serve_rest(struct core_serve *c, enum core_way way)
{
	take_all(c, way);
	if (c->burst_ns)
		report_burst(c);
}
