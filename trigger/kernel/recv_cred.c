// SPDX-License-Identifier: MIT
/* Receives with the sender's credentials; see recv_cred.h. Called by app_socket.c and ctl.c. */
#include "trigger/kernel/recv_cred.h"

#include <errno.h>
#include <string.h>

int recv_cred_enable(int listen_fd)
{
	const int on = 1;

	return setsockopt(listen_fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ? -errno : 0;
}

ssize_t recv_cred(int fd, void *to, size_t max, struct ucred *cred, bool *cut)
{
	/* Room for the credentials only: the kernel closes descriptors that do not fit. */
	union {
		char room[CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec iov = {to, max};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof(control.room)};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *c;

	if (n < 0)
		return -errno;
	*cut = msg.msg_flags & MSG_TRUNC;
	*cred = (struct ucred){.uid = (uid_t)-1, .gid = (gid_t)-1};
	if (!n)
		return 0;
	c = CMSG_FIRSTHDR(&msg);
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
		return -EPERM;
	memcpy(cred, CMSG_DATA(c), sizeof(*cred));
	return n;
}
