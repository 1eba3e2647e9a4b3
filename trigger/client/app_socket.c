// SPDX-License-Identifier: MIT
/* The recorder's end of the programs' socket; see app_socket.h. src_program.c, src_stall.c and
 * src_crash.c take their kind of message whenever the recorder is awake. */
#include "trigger/client/app_socket.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "trigger/client/crash_wire.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/recv_cred.h"
#include "trigger/client/ringback.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_PEERS    256
#define MAX_MESSAGES 64
#define MAX_GROUPS   1024
#define MAX_CRASHES  64 /* remembered */
#define MAX_AT_ONCE                                                                                \
	256 /* per peer, before the next peer's turn; a socket buffer holds about as many */

struct peer {
	uint64_t id; /* 0: free */
	int fd;
	uint32_t uid;	/* of the connecting process */
	bool is_member; /* that process is in the accepted group */
	bool is_stream;
};

struct taken {
	uint32_t pid;
	uint64_t ns;
};

struct app_socket {
	int listen_fd, stream_fd, epoll_fd;
	int64_t gid;
	struct peer peers[MAX_PEERS];
	uint64_t next_id;
	struct app_socket_message *queue; /* oldest first */
	size_t nr;
	uint8_t received[TELL_MAX_BYTES];
	struct taken crashes[MAX_CRASHES];
	size_t nr_crashes; /* total; the newest overwrite the oldest */
	uint64_t nr_dropped;
};

int app_socket_new(struct app_socket **out, struct err *err)
{
	struct app_socket *t = calloc(1, sizeof(*t));

	if (t)
		t->queue = calloc(MAX_MESSAGES, sizeof(*t->queue));
	if (!t || !t->queue) {
		free(t);
		return err_set(err, -ENOMEM, "out of memory for what programs tell");
	}
	t->listen_fd = t->stream_fd = -1;
	t->next_id = 1;
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0) {
		int rc = err_sys(err, -errno, "can't wait for what programs tell");

		app_socket_free(t);
		return rc;
	}
	*out = t;
	return 0;
}

int app_socket_listen(struct app_socket *t, int listen_fd, int64_t gid, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int type = SOCK_SEQPACKET;
	socklen_t n = sizeof(type);

	getsockopt(listen_fd, SOL_SOCKET, SO_TYPE, &type, &n);
	*(type == SOCK_STREAM ? &t->stream_fd : &t->listen_fd) = listen_fd;
	t->gid = gid;
	return recv_cred_enable(listen_fd) || epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, listen_fd, &ev)
		       ? err_sys(err, -errno, "can't wait for what programs tell")
		       : 0;
}

static void drop_peer(struct peer *p)
{
	if (p->id)
		close(p->fd);
	*p = (struct peer){0};
}

/* Removes a message from the queue. */
static void remove_at(struct app_socket *t, size_t i)
{
	memmove(&t->queue[i], &t->queue[i + 1], (--t->nr - i) * sizeof(*t->queue));
}

void app_socket_free(struct app_socket *t)
{
	if (!t)
		return;
	while (t->nr)
		free(t->queue[--t->nr].more);
	for (size_t i = 0; i < MAX_PEERS; i++)
		drop_peer(&t->peers[i]);
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	if (t->listen_fd >= 0)
		close(t->listen_fd);
	if (t->stream_fd >= 0)
		close(t->stream_fd);
	free(t->queue);
	free(t);
}

int app_socket_fd(const struct app_socket *t)
{
	return t->epoll_fd;
}

uint64_t app_socket_nr_dropped(const struct app_socket *t)
{
	return t->nr_dropped;
}

/* ---- peers ---- */

static struct peer *find(const struct app_socket *t, uint64_t id)
{
	for (size_t i = 0; i < MAX_PEERS; i++)
		if (t->peers[i].id == id)
			return (struct peer *)&t->peers[i];
	return NULL;
}

bool app_socket_alive(const struct app_socket *t, uint64_t id)
{
	return id && find(t, id);
}

static bool has_gid(const struct app_socket *t, const struct ucred *cred)
{
	return t->gid >= 0 && cred->gid == (gid_t)t->gid;
}

static bool is_member(int fd, int64_t gid)
{
	gid_t groups[MAX_GROUPS];
	socklen_t n = sizeof(groups);

	if (gid < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &n))
		return false;
	for (size_t i = 0; i < n / sizeof(groups[0]); i++)
		if (groups[i] == (gid_t)gid)
			return true;
	return false;
}

static bool is_owner(const struct ucred *cred)
{
	return !cred->uid || cred->uid == geteuid();
}

static void take_in(struct app_socket *t, int fd, bool is_stream)
{
	struct peer *p = find(t, 0);
	struct ucred cred;
	socklen_t n = sizeof(cred);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP};
	bool member = false, heard = false;

	if (p && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n)) {
		member = has_gid(t, &cred) || is_member(fd, t->gid);
		heard = member || is_owner(&cred);
	}
	if (!heard) {
		t->nr_dropped++;
		close(fd);
		return;
	}
	*p = (struct peer){.id = t->next_id,
			   .fd = fd,
			   .uid = cred.uid,
			   .is_member = member,
			   .is_stream = is_stream};
	ev.data.u64 = p->id;
	if (epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, fd, &ev)) {
		drop_peer(p);
		return;
	}
	t->next_id++;
}

static void accept_all(struct app_socket *t, int listen_fd)
{
	int fd;

	while ((fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
		take_in(t, fd, listen_fd == t->stream_fd);
}

/* ---- messages ---- */

static bool is_thread_of(uint32_t pid, uint32_t tid)
{
	return tid == pid || (tid && !syscall(SYS_tgkill, pid, tid, 0));
}

static bool copy_more(struct bytes b, struct app_socket_message *m)
{
	if (!b.len)
		return true;
	m->more = malloc(b.len);
	if (!m->more)
		return false;
	m->nr_more = b.len;
	memcpy(m->more, b.p, b.len);
	return true;
}

static bool parse(struct bytes b, struct app_socket_message *m)
{
	struct ringback_message raw;
	uint64_t now = clock_ns();

	if (!bytes_get(&b, &raw, sizeof(raw)) || raw.version != RINGBACK_VERSION_1 || !raw.kind)
		return false;
	m->kind = raw.kind;
	m->nr = 1;
	m->ns = raw.ns < now ? raw.ns : now;
	m->said_tid = raw.tid;
	m->tid = is_thread_of(m->pid, raw.tid) ? raw.tid : m->pid;
	memcpy(m->text, raw.text, sizeof(m->text) - 1);
	m->text[sizeof(m->text) - 1] = '\0';
	if (m->kind == RINGBACK_CRASH || m->kind == RINGBACK_CRASH_FRAMES)
		return copy_more(b, m);
	return true;
}

/*
 * The sender may have dropped privileges since it connected, or may be another process. Its groups
 * are known from connect only, so they hold for the same user. Crash messages are accepted from any
 * sender: the workers of a server that started as root use its connection (crash_lib_tell.c), and a
 * process may only tell of its own crash.
 */
static bool is_heard(const struct app_socket *t, const struct peer *p, const struct ucred *cred,
		     uint32_t kind)
{
	return is_owner(cred) || has_gid(t, cred) || (p->is_member && cred->uid == p->uid) ||
	       kind == RINGBACK_CRASH || kind == RINGBACK_CRASH_FRAMES;
}

/* Counts the message in an equal one that is still queued. */
static bool is_repeated(struct app_socket *t, const struct app_socket_message *m)
{
	for (size_t i = t->nr; i-- > 0;) {
		struct app_socket_message *q = &t->queue[i];

		if (q->kind == m->kind && q->pid == m->pid && q->tid == m->tid && !q->nr_more &&
		    !m->nr_more && !strcmp(q->text, m->text)) {
			q->nr++;
			return true;
		}
	}
	return false;
}

/* 1: a message was queued or dropped; 0: none pending; -1: the peer is gone. */
static int receive(struct app_socket *t, const struct peer *p)
{
	struct app_socket_message *m;
	struct ucred cred;
	bool cut, heard;
	size_t max = p->is_stream ? sizeof(struct ringback_message) : sizeof(t->received);
	ssize_t n = recv_cred(p->fd, t->received, max, &cred, &cut);

	if (n == -EAGAIN || n == -EINTR)
		return 0;
	if (n <= 0)
		return -1;
	if (p->is_stream && (size_t)n != max) { /* where the next begins is unknown */
		t->nr_dropped++;
		return -1;
	}
	if (t->nr == MAX_MESSAGES) { /* most likely of a kind that no rule takes */
		t->nr_dropped += t->queue[0].nr;
		free(t->queue[0].more);
		remove_at(t, 0);
	}
	m = &t->queue[t->nr];
	*m = (struct app_socket_message){.peer = p->id, .pid = (uint32_t)cred.pid, .uid = cred.uid};
	heard = !cut && parse((struct bytes){t->received, (size_t)n}, m) &&
		is_heard(t, p, &cred, m->kind) && (!p->is_stream || m->kind == RINGBACK_TRIGGER);
	t->nr_dropped += !heard;
	if (heard && !is_repeated(t, m))
		t->nr++;
	else
		free(m->more);
	return 1;
}

static void receive_some(struct app_socket *t, struct peer *p)
{
	int rc = 1;

	for (int i = 0; i < MAX_AT_ONCE && rc > 0; i++)
		rc = receive(t, p);
	if (rc < 0)
		drop_peer(p);
}

void app_socket_pump(struct app_socket *t)
{
	struct epoll_event ev[16];
	int n = epoll_wait(t->epoll_fd, ev, 16, 0);

	for (int i = 0; i < n; i++) {
		struct peer *p = ev[i].data.u64 ? find(t, ev[i].data.u64) : NULL;

		if (!ev[i].data.u64) {
			accept_all(t, t->listen_fd);
			accept_all(t, t->stream_fd);
		} else if (p)
			receive_some(t, p);
	}
}

bool app_socket_take(struct app_socket *t, uint32_t kind,
		     bool (*wants)(void *ctx, const struct app_socket_message *m), void *ctx,
		     struct app_socket_message *out)
{
	for (size_t i = 0; i < t->nr; i++) {
		const struct app_socket_message *m = &t->queue[i];

		if (m->kind != kind || (wants && !wants(ctx, m)))
			continue;
		*out = *m;
		if (kind == RINGBACK_CRASH)
			t->crashes[t->nr_crashes++ % MAX_CRASHES] =
				(struct taken){m->pid, clock_ns()};
		remove_at(t, i);
		return true;
	}
	return false;
}

size_t app_socket_nr_taken(const struct app_socket *t, uint32_t pid, uint64_t since_ns)
{
	size_t nr = 0;

	for (size_t i = 0; i < MAX_CRASHES; i++)
		nr += t->crashes[i].pid == pid && t->crashes[i].ns >= since_ns;
	return nr;
}

void app_socket_refuse(struct app_socket *t)
{
	struct crash_reply r = {.version = RINGBACK_VERSION_1, .kind = RINGBACK_CRASH};
	size_t left = 0;

	for (size_t i = 0; i < t->nr; i++) {
		const struct app_socket_message *m = &t->queue[i];

		if (m->kind != RINGBACK_CRASH && m->kind != RINGBACK_CRASH_FRAMES) {
			if (left != i)
				t->queue[left] = *m;
			left++;
			continue;
		}
		r.tid = m->said_tid;
		if (m->kind == RINGBACK_CRASH)
			app_socket_reply(t, m->peer, &r, sizeof(r), -1);
		free(m->more);
	}
	t->nr = left;
}

int app_socket_reply(struct app_socket *t, uint64_t id, const void *bytes, size_t n, int fd)
{
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {0};
	struct iovec iov = {(void *)bytes, n};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct peer *p = id ? find(t, id) : NULL;
	struct cmsghdr *c;

	if (!p)
		return -ENOTCONN;
	if (fd >= 0) {
		msg.msg_control = control.room;
		msg.msg_controllen = sizeof(control.room);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	return sendmsg(p->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}
