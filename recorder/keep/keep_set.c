// SPDX-License-Identifier: MIT
/* Descriptors and their way through a socket; see keep_set.h. */
#include "recorder/keep/keep_set.h"

#include "dump/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bounds what the keeper holds for a peer that sends without an end. */
#define MAX_FDS (1u << 20)

int keep_set_add(struct keep_set *s, int fd, uint64_t map_bytes)
{
	if (!array_room(s->v, s->nr))
		return -ENOMEM;
	s->v[s->nr++] = (struct keep_fd){.fd = fd, .map_bytes = map_bytes};
	return 0;
}

void keep_set_free(struct keep_set *s)
{
	free(s->v);
	*s = (struct keep_set){0};
}

void keep_set_close(struct keep_set *s)
{
	for (size_t i = 0; i < s->nr; i++) {
		if (s->v[i].map)
			munmap(s->v[i].map, s->v[i].map_bytes);
		if (s->v[i].fd >= 0)
			close(s->v[i].fd);
	}
	keep_set_free(s);
}

/* ---- messages ---- */

union control {
	char bytes[CMSG_SPACE(KEEP_MESSAGE_FDS * sizeof(int))];
	struct cmsghdr align;
};

static int send_message(int sock, const struct keep_message *m, const int *fds)
{
	size_t fd_bytes = fds ? m->nr * sizeof(int) : 0;
	struct iovec iov = {(void *)m, sizeof(*m)};
	struct msghdr h = {.msg_iov = &iov, .msg_iovlen = 1};
	union control control = {0};
	struct cmsghdr *c;

	if (fd_bytes) {
		h.msg_control = control.bytes;
		h.msg_controllen = CMSG_SPACE(fd_bytes);
		c = CMSG_FIRSTHDR(&h);
		*c = (struct cmsghdr){.cmsg_len = CMSG_LEN(fd_bytes),
				      .cmsg_level = SOL_SOCKET,
				      .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(c), fds, fd_bytes);
	}
	return sendmsg(sock, &h, MSG_NOSIGNAL) == sizeof(*m) ? 0 : -errno;
}

/* Returns the number of descriptors that came with it, or -errno. */
static int receive_message(int sock, struct keep_message *m, int fds[KEEP_MESSAGE_FDS])
{
	struct iovec iov = {m, sizeof(*m)};
	union control control;
	struct msghdr h = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	ssize_t n = recvmsg(sock, &h, MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&h) : NULL;
	size_t nr = 0;

	if (n <= 0)
		return n ? -errno : -EPIPE;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		nr = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(c), nr * sizeof(int));
	}
	/* The kernel drops descriptors for which there is no room, and says so. */
	if (n == sizeof(*m) && !(h.msg_flags & MSG_CTRUNC) && (m->what != KEEP_FDS || m->nr == nr))
		return (int)nr;
	while (nr)
		close(fds[--nr]);
	return h.msg_flags & MSG_CTRUNC ? -EMFILE : -EBADMSG;
}

int keep_send(int sock, enum keep_what what, int rc)
{
	struct keep_message m = {.what = what, .rc = rc};

	return send_message(sock, &m, NULL);
}

int keep_receive(int sock, struct keep_message *m)
{
	int fds[KEEP_MESSAGE_FDS], nr = receive_message(sock, m, fds);

	for (int i = 0; i < nr; i++)
		close(fds[i]);
	return nr > 0 ? -EBADMSG : nr;
}

int keep_send_set(int sock, const struct keep_set *s)
{
	struct keep_message m;
	int fds[KEEP_MESSAGE_FDS], rc = 0;

	for (size_t i = 0; i < s->nr && !rc; i += m.nr) {
		m = (struct keep_message){.what = KEEP_FDS};
		for (; m.nr < KEEP_MESSAGE_FDS && i + m.nr < s->nr; m.nr++) {
			fds[m.nr] = s->v[i + m.nr].fd;
			m.map_bytes[m.nr] = s->v[i + m.nr].map_bytes;
		}
		rc = send_message(sock, &m, fds);
	}
	m = (struct keep_message){.what = KEEP_END, .nr = (uint32_t)s->nr};
	return rc ? rc : send_message(sock, &m, NULL);
}

int keep_receive_set(int sock, struct keep_set *out)
{
	struct keep_message m;
	int fds[KEEP_MESSAGE_FDS], nr, rc = 0;

	*out = (struct keep_set){0};
	do {
		nr = receive_message(sock, &m, fds);
		if (nr < 0) {
			rc = nr;
			break;
		}
		for (int i = 0; i < nr; i++) {
			if (rc || (rc = keep_set_add(out, fds[i], m.map_bytes[i])))
				close(fds[i]);
		}
		if (out->nr > MAX_FDS)
			rc = -E2BIG;
	} while (!rc && m.what == KEEP_FDS);
	if (!rc && (m.what != KEEP_END || m.nr != out->nr))
		rc = -EBADMSG;
	if (rc)
		keep_set_close(out);
	return rc;
}
