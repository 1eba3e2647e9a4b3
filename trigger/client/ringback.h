/* SPDX-License-Identifier: MIT */
/*
 * Lets a program trigger a dump when it detects a problem itself. For C and C++; header only: no
 * library, no thread, no allocation.
 *
 *	#include "ringback.h"
 *
 *	if (took > 2.0)
 *		ringback_trigger("checkout > 2s");	asks a running recorder for a dump
 *
 *	for (;;) {
 *		ringback_heartbeat();			with the recorder's rule stall:2s
 *		work();
 *	}
 *
 * Cost: without a recorder a call reads a coarse clock and returns, in some 10 ns; once a second
 * one call tries to connect. With a recorder, a trigger costs one sendmsg(2). A heartbeat costs one
 * timerfd_settime(2) per 32nd of the rule's time, otherwise the clock; the recorder sleeps until a
 * heartbeat is missing. Neither call blocks. Both are thread-safe. After fork() the child's
 * triggers have its own pid, while a heartbeat belongs to the process that called it first. Not for
 * signal handlers.
 *
 * The recorder must run as root or as the program's user. Other users need `ringback record
 * --tell-group GROUP` and membership in that group; a program that drops root after its first call
 * needs it as its primary group. The default is the recorder named "default";
 * for another one set RINGBACK_TELL=/run/ringback/NAME.tell in the environment.
 *
 * The protocol, for clients in other languages: ringback-protocol(7).
 */
#ifndef RINGBACK_H
#define RINGBACK_H

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RINGBACK_VERSION_1    1u
#define RINGBACK_TRIGGER      1u /* text: the reason */
#define RINGBACK_HEARTBEAT    2u /* text: a name of the heartbeat, or "" */
#define RINGBACK_CRASH	      3u /* these two are for libringback-crash.so */
#define RINGBACK_CRASH_FRAMES 4u
#define RINGBACK_TEXT_BYTES   224

struct ringback_message {
	uint32_t version, kind;
	uint64_t ns; /* CLOCK_MONOTONIC */
	uint32_t pid, tid;
	uint64_t reserved;
	char text[RINGBACK_TEXT_BYTES];
};

struct ringback_reply {
	uint32_t version, kind;
	uint64_t interval_ns; /* of a heartbeat: set the timer to this each time */
};

/* One instance per program, however many files include this header. */
struct ringback_state_ {
	/* Descriptors are never closed but replaced in place (dup3), so that no thread can use a
	 * number that was reused for another file. */
	int fd_plus_1;	  /* the connection, maybe a closed one; 0: none yet */
	int timer_plus_1; /* the heartbeat timer, likewise */
	int connected, beating;
	int64_t retry_ns; /* no connection attempt before this time */
	int64_t beat_ns;  /* when the timer was last set */
	int64_t interval_ns;
	int asked; /* requested the timer over this connection */
	int busy;  /* a thread is connecting */
};
__attribute__((weak)) struct ringback_state_ ringback_state_;

static inline int64_t ringback_coarse_ns_(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int ringback_try_(const char *dir, const char *file)
{
	struct sockaddr_un to;
	int n, fd, saved = errno;

	memset(&to, 0, sizeof(to));
	to.sun_family = AF_UNIX;
	n = snprintf(to.sun_path, sizeof(to.sun_path), "%s%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof(to.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		fd = -1;
	}
	errno = saved;
	return fd;
}

static inline int ringback_connect_(void)
{
	const char *own = getenv("RINGBACK_TELL"), *user = getenv("XDG_RUNTIME_DIR");
	int fd;

	if (own)
		return ringback_try_(own, "");
	fd = ringback_try_("/run/ringback/default.tell", "");
	if (fd < 0)
		fd = ringback_try_("/run/ringback.tell/default.tell", "");
	if (fd < 0 && user)
		fd = ringback_try_(user, "/ringback/default.tell");
	return fd;
}

/* Replaces the old descriptor by `fd` and returns the resulting number. One thread at a time. */
static inline int ringback_replace_(int *number_plus_1, int fd)
{
	int old = *number_plus_1 - 1;

	if (fd < 0 || old < 0) {
		*number_plus_1 = fd < 0 ? *number_plus_1 : fd + 1;
		return fd;
	}
	if (syscall(SYS_dup3, fd, old, O_CLOEXEC) < 0)
		old = -1;
	close(fd);
	return old;
}

/* The connection; tries to connect when due. -1: none. */
static inline int ringback_fd_(void)
{
	struct ringback_state_ *s = &ringback_state_;
	int64_t now;
	int fd;

	if (__atomic_load_n(&s->connected, __ATOMIC_ACQUIRE))
		return s->fd_plus_1 - 1;
	now = ringback_coarse_ns_();
	if (now < __atomic_load_n(&s->retry_ns, __ATOMIC_RELAXED) ||
	    __atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE))
		return -1;
	fd = ringback_connect_();
	__atomic_store_n(&s->retry_ns, now + 1000000000, __ATOMIC_RELAXED);
	__atomic_store_n(&s->asked, 0, __ATOMIC_RELAXED);
	fd = ringback_replace_(&s->fd_plus_1, fd);
	if (fd >= 0)
		__atomic_store_n(&s->connected, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
	return fd;
}

/* The recorder is gone, so the timer is useless. */
static inline void ringback_drop_(void)
{
	__atomic_store_n(&ringback_state_.beating, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&ringback_state_.connected, 0, __ATOMIC_RELEASE);
}

static inline int ringback_send_(uint32_t kind, const char *text)
{
	struct ringback_message m;
	struct timespec t;
	int fd = ringback_fd_(), saved = errno;
	ssize_t n;

	if (fd < 0)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &t);
	memset(&m, 0, sizeof(m));
	m.version = RINGBACK_VERSION_1;
	m.kind = kind;
	m.ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	m.pid = (uint32_t)getpid();
	m.tid = (uint32_t)syscall(SYS_gettid);
	strncpy(m.text, text ? text : "", sizeof(m.text) - 1);
	n = send(fd, &m, sizeof(m), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		ringback_drop_();
	errno = saved;
	return n == (ssize_t)sizeof(m) ? 0 : -1;
}

/* Asks for a dump, with `reason` (cut at 223 bytes) in it. 0: sent, which does not guarantee a dump
 * (limits and cooldowns apply); -1: no recorder accepts it. */
static inline int ringback_trigger(const char *reason)
{
	return ringback_send_(RINGBACK_TRIGGER, reason);
}

/* Receives the answer to the first heartbeat, if it has arrived. */
static inline void ringback_take_timer_(int fd)
{
	struct ringback_state_ *s = &ringback_state_;
	struct ringback_reply reply;
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov;
	struct msghdr msg;
	struct cmsghdr *c;
	int timer = -1;
	ssize_t n;

	iov.iov_base = &reply;
	iov.iov_len = sizeof(reply);
	memset(&msg, 0, sizeof(msg));
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	msg.msg_control = control.room;
	msg.msg_controllen = sizeof(control.room);
	n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n == 0)
		ringback_drop_();
	if (n <= 0)
		return;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&timer, CMSG_DATA(c), sizeof(timer));
	if (timer < 0)
		return;
	if (n != (ssize_t)sizeof(reply) || __atomic_exchange_n(&s->busy, 1, __ATOMIC_ACQUIRE)) {
		close(timer);
		return;
	}
	__atomic_store_n(&s->interval_ns, (int64_t)reply.interval_ns, __ATOMIC_RELAXED);
	if (ringback_replace_(&s->timer_plus_1, timer) >= 0)
		__atomic_store_n(&s->beating, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&s->busy, 0, __ATOMIC_RELEASE);
}

/* A heartbeat without a timer yet: requests one. 1: the timer is available now. */
static inline int ringback_beat_first_(void)
{
	struct ringback_state_ *s = &ringback_state_;
	int fd = ringback_fd_();

	if (fd < 0)
		return 0;
	if (!__atomic_exchange_n(&s->asked, 1, __ATOMIC_RELAXED) &&
	    ringback_send_(RINGBACK_HEARTBEAT, ""))
		__atomic_store_n(&s->asked, 0, __ATOMIC_RELAXED);
	ringback_take_timer_(fd);
	__atomic_store_n(&s->beat_ns, 0, __ATOMIC_RELAXED);
	return __atomic_load_n(&s->beating, __ATOMIC_ACQUIRE);
}

/*
 * Reports that the program is alive: a recorder with a rule such as stall:2s makes a dump when this
 * is not called for that long. The end of the program is no stall. 0: received; -1: no recorder
 * accepts it, or it has no such rule.
 */
static inline int ringback_heartbeat(void)
{
	struct ringback_state_ *s = &ringback_state_;
	int64_t now = ringback_coarse_ns_(), interval;
	struct itimerspec t;
	int timer, saved;

	if (!__atomic_load_n(&s->beating, __ATOMIC_ACQUIRE)) {
		if (!__atomic_load_n(&s->connected, __ATOMIC_RELAXED) &&
		    now < __atomic_load_n(&s->retry_ns, __ATOMIC_RELAXED))
			return -1;
		if (!ringback_beat_first_())
			return -1;
	}
	interval = __atomic_load_n(&s->interval_ns, __ATOMIC_RELAXED);
	if (now - __atomic_load_n(&s->beat_ns, __ATOMIC_RELAXED) < interval / 32)
		return 0;
	/* Checks once a second whether the recorder is still there. */
	if (now >= __atomic_load_n(&s->retry_ns, __ATOMIC_RELAXED)) {
		__atomic_store_n(&s->retry_ns, now + 1000000000, __ATOMIC_RELAXED);
		ringback_take_timer_(s->fd_plus_1 - 1);
	}
	timer = s->timer_plus_1 - 1;
	__atomic_store_n(&s->beat_ns, now, __ATOMIC_RELAXED);
	memset(&t, 0, sizeof(t));
	t.it_value.tv_sec = (time_t)(interval / 1000000000);
	t.it_value.tv_nsec = (long)(interval % 1000000000);
	saved = errno;
	if (timerfd_settime(timer, 0, &t, NULL))
		ringback_drop_();
	errno = saved;
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif
