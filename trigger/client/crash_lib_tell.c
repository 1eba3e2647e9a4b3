// SPDX-License-Identifier: MIT
/*
 * libringback-crash.so: reports a crash to the recorder. A program started as root connects at
 * start, since it may later lose access to the recorder (chroot, another user). Other programs
 * connect when they crash. A child uses its parent's connection if it can't make its own.
 *
 * All memory is static; one thread at a time uses it.
 */
#include "trigger/client/crash_lib.h"

#include "trigger/client/crash_wire.h"
#include "trigger/client/ringback.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <ucontext.h>

#define KEPT_MIN  200 /* high, since some programs rely on low descriptor numbers */
#define NR_PLACES 3
#define PAGE	  4096u

struct kept_socket {
	int fd; /* -1: none */
	pid_t pid;
	dev_t dev; /* identity of the socket, to recognize it */
	ino_t ino;
};

static struct sockaddr_un places[NR_PLACES];
static size_t nr_places;
static struct kept_socket kept = {.fd = -1};

/* The crash that is being reported. */
static int fd = -1;
static bool is_kept;
static struct ringback_message head;
static struct crash_tell body;

uint64_t crash_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- at start ---- */

static void add_place(const char *dir, const char *file)
{
	size_t n = dir ? strlen(dir) : 0, m = strlen(file);
	struct sockaddr_un *to = &places[nr_places];

	if (!dir || n + m >= sizeof(to->sun_path))
		return;
	to->sun_family = AF_UNIX;
	memcpy(to->sun_path, dir, n);
	memcpy(to->sun_path + n, file, m + 1);
	nr_places++;
}

/* The same places as ringback_connect_() in ringback.h. */
static void find_places(void)
{
	const char *own = secure_getenv("RINGBACK_TELL");

	add_place(own, "");
	if (own)
		return;
	add_place("/run/ringback/default.tell", "");
	add_place("/run/ringback.tell/default.tell", "");
	add_place(secure_getenv("XDG_RUNTIME_DIR"), "/ringback/default.tell");
}

static int connect_anew(void)
{
	for (size_t i = 0; i < nr_places; i++) {
		int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (s < 0)
			return -1;
		if (!connect(s, (struct sockaddr *)&places[i], sizeof(places[i])))
			return s;
		close(s);
	}
	return -1;
}

static bool keep(int s)
{
	struct stat st;
	int high;

	if (s < 0)
		return false;
	high = fcntl(s, F_DUPFD_CLOEXEC, KEPT_MIN);
	if (high >= 0) {
		close(s);
		s = high;
	}
	if (fstat(s, &st)) {
		close(s);
		return false;
	}
	kept = (struct kept_socket){s, getpid(), st.st_dev, st.st_ino};
	return true;
}

bool crash_tell_start(void)
{
	find_places();
	if (!geteuid())
		return keep(connect_anew());
	for (size_t i = 0; i < nr_places; i++)
		if (!access(places[i].sun_path, W_OK))
			return true;
	return false;
}

/* ---- the connection ---- */

/* The program may have closed the descriptor and reused its number. */
static bool kept_is_there(void)
{
	struct stat st;

	return kept.fd >= 0 && !fstat(kept.fd, &st) && st.st_dev == kept.dev &&
	       st.st_ino == kept.ino;
}

static void use(int s, bool of_kept)
{
	fd = s;
	is_kept = of_kept;
}

void crash_tell_end(void)
{
	if (fd >= 0 && !is_kept)
		close(fd);
	fd = -1;
}

/* ---- the message ---- */

static void set_head(uint32_t kind)
{
	memset(&head, 0, sizeof(head));
	head.version = RINGBACK_VERSION_1;
	head.kind = kind;
	head.ns = crash_now_ns();
	head.pid = (uint32_t)getpid();
	head.tid = (uint32_t)syscall(SYS_gettid);
}

static int send_parts(const void *part, size_t n, const void *more, size_t nr_more)
{
	struct iovec v[3] = {{&head, sizeof(head)}, {(void *)part, n}, {(void *)more, nr_more}};
	struct msghdr msg = {.msg_iov = v, .msg_iovlen = nr_more ? 3 : 2};

	return sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Sends the stack up to the end of the last page that is mapped. Uses sendmsg() to probe memory:
 * with -EFAULT nothing was sent. The other two errors: the socket's buffer is too small or full. */
static int send_crash_from(uintptr_t sp)
{
	size_t n = CRASH_TELL_STACK - sp % PAGE - body.nr_skipped;
	int rc;

	do {
		rc = send_parts(&body, sizeof(body), (const void *)(sp + body.nr_skipped), n);
		n -= n < PAGE ? n : PAGE;
	} while (n && (rc == -EFAULT || rc == -EMSGSIZE || rc == -EAGAIN));
	return rc;
}

/* After a stack overflow the stack pointer is below the mapped stack: skip unmapped pages. */
static int send_crash(uintptr_t sp)
{
	int rc;

	body.nr_skipped = 0;
	rc = send_crash_from(sp);
	if (rc == -EFAULT)
		body.nr_skipped = PAGE - sp % PAGE;
	for (; rc == -EFAULT && body.nr_skipped < CRASH_TELL_STACK - PAGE;
	     body.nr_skipped += PAGE) {
		rc = send_crash_from(sp);
		if (!rc)
			return 0;
	}
	if (rc != -EFAULT)
		return rc;
	body.nr_skipped = 0;
	return send_parts(&body, sizeof(body), NULL, 0);
}

static void set_body(int sig, const siginfo_t *info, const void *ucontext)
{
	int cpu = sched_getcpu();

	body.sig = sig;
	body.code = info->si_code;
	/* si_addr is an address only if the kernel sent the signal. */
	body.addr = info->si_code > 0 ? (uintptr_t)info->si_addr : 0;
	body.cpu = cpu < 0 ? 0 : (uint32_t)cpu;
	event_regs_of_signal(ucontext, body.regs);
}

static uintptr_t stack_pointer(void)
{
	struct event_frame f = {0};

	event_user_frame((struct bytes){(const uint8_t *)body.regs, sizeof(body.regs)}, &f);
	return f.sp;
}

static bool send_over(int s, bool of_kept)
{
	if (s < 0)
		return false;
	use(s, of_kept);
	if (!send_crash(stack_pointer()))
		return true;
	crash_tell_end();
	return false;
}

bool crash_tell(int sig, const siginfo_t *info, const void *ucontext)
{
	set_head(RINGBACK_CRASH);
	set_body(sig, info, ucontext);
	if (kept.pid == getpid() && kept_is_there() && send_over(kept.fd, true))
		return true;
	if (send_over(connect_anew(), false))
		return true;
	return kept.pid != getpid() && kept_is_there() && send_over(kept.fd, true);
}

/* ---- the answer ---- */

/* 1: the answer is ours; 0: none yet; -1: there will be none. */
static int take_answer(struct crash_reply *r)
{
	ssize_t n = recv(fd, r, sizeof(*r), MSG_DONTWAIT | MSG_PEEK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (!n)
		return -1;
	/* A connection shared with other processes also carries their answers. */
	if (n == sizeof(*r) && r->kind == RINGBACK_CRASH && r->tid != head.tid) {
		struct timespec t = {.tv_nsec = 1000000};

		nanosleep(&t, NULL);
		return 0;
	}
	recv(fd, r, sizeof(*r), MSG_DONTWAIT);
	return n == sizeof(*r) && r->kind == RINGBACK_CRASH;
}

bool crash_tell_wait(uint64_t until_ns)
{
	struct crash_reply r = {0};
	uint64_t now;
	int rc = 0;

	while (!rc && (now = crash_now_ns()) < until_ns) {
		struct pollfd p = {.fd = fd, .events = POLLIN};
		struct timespec left = {.tv_nsec = (long)(until_ns - now)};

		ppoll(&p, 1, &left, NULL);
		rc = take_answer(&r);
	}
	return rc > 0 && r.taken;
}

void crash_tell_frames(const struct crash_frames *f)
{
	static const struct crash_frames none;

	set_head(RINGBACK_CRASH_FRAMES);
	send_parts(f ? f : &none, sizeof(none), NULL, 0);
}
