// SPDX-License-Identifier: MIT
/* Talks to the keeper; see keep_client.h. Called by daemon/keeping.c. */
#include "recorder/keep/keep_client.h"

#include "dump/base/err.h"
#include "recorder/base/ctl_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/time.h>
#include <unistd.h>

void keep_address(int dir_fd, const char *name, struct sockaddr_un *addr)
{
	*addr = (struct sockaddr_un){.sun_family = AF_UNIX};
	snprintf(addr->sun_path, sizeof(addr->sun_path), "/proc/self/fd/%d/%.*s.keep", dir_fd,
		 CTL_NAME_BYTES - 1, name);
}

int keep_connect(const char *name, int *out, struct err *err)
{
	struct sockaddr_un addr;
	int dir_fd, sock, rc = ctl_name_check(name, err);

	*out = -1;
	if (!rc)
		rc = ctl_dir_open(true, &dir_fd, err);
	if (rc)
		return rc;
	keep_address(dir_fd, name, &addr);
	sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		rc = -errno;
	else if (!connect(sock, (struct sockaddr *)&addr, sizeof(addr)))
		*out = sock;
	else if (errno != ENOENT && errno != ECONNREFUSED)
		rc = -errno;
	if (sock >= 0 && *out < 0)
		close(sock);
	close(dir_fd);
	return rc ? err_sys(err, rc, "can't connect to the keeper '%s'", name) : 0;
}

static int set_waiting(int sock, bool waits)
{
	struct timeval patience = {.tv_sec = KEEP_TIMEOUT_S};

	if (fcntl(sock, F_SETFL, waits ? 0 : O_NONBLOCK) ||
	    setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return -errno;
	return 0;
}

int keep_take(int sock, struct keep_set *out)
{
	int rc = keep_send(sock, KEEP_GET, 0);

	*out = (struct keep_set){0};
	if (!rc)
		rc = set_waiting(sock, true);
	if (!rc)
		rc = keep_receive_set(sock, out);
	if (!rc && (rc = set_waiting(sock, false)))
		keep_set_close(out);
	return rc;
}

int keep_put(int sock, const struct keep_set *s)
{
	int rc = keep_send(sock, KEEP_PUT, 0);

	return rc ? rc : keep_send_set(sock, s);
}

int keep_answer(int sock)
{
	struct keep_message m;
	int rc = keep_receive(sock, &m);

	return rc ? rc : m.what == KEEP_DONE ? m.rc : -EBADMSG;
}
