// SPDX-License-Identifier: MIT
/*
 * CPU hotplug through kobject uevents; see hotplug.h. A message begins with "ACTION@DEVPATH"; the
 * relevant actions are online@ and offline@ of /devices/system/cpu/cpuN (drivers/base/core.c,
 * lib/kobject_uevent.c). Called by daemon.c.
 */
#include "recorder/capture/hotplug.h"

#include "dump/base/err.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define UEVENT_GROUP 1 /* messages of the kernel, not of udev */

struct hotplug {
	int fd;
};

/* Attaches a socket filter for messages that begin with "on" or "of": online and offline. */
static int only_on_and_off(int fd)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'o' << 8 | 'n', 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'o' << 8 | 'f', 0, 1),
		BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog prog = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog)) ? -errno : 0;
}

int hotplug_open(struct hotplug **out, struct err *err)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = UEVENT_GROUP};
	struct hotplug *h = calloc(1, sizeof(*h));
	int rc = 0;

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	if (h->fd < 0)
		rc = -errno;
	if (!rc)
		rc = only_on_and_off(h->fd);
	if (!rc && bind(h->fd, (struct sockaddr *)&addr, sizeof(addr)))
		rc = -errno;
	if (rc) {
		hotplug_close(h);
		return err_sys(err, rc, "can't hear of CPUs that come and go (netlink uevents)");
	}
	*out = h;
	return 0;
}

void hotplug_close(struct hotplug *h)
{
	if (!h)
		return;
	if (h->fd >= 0)
		close(h->fd);
	free(h);
}

int hotplug_fd(const struct hotplug *h)
{
	return h->fd;
}

bool hotplug_next(struct hotplug *h, int *cpu, bool *online, bool *lost)
{
	struct sockaddr_nl from;
	char msg[4096];

	for (;;) {
		socklen_t n = sizeof(from);
		ssize_t got =
			recvfrom(h->fd, msg, sizeof(msg) - 1, 0, (struct sockaddr *)&from, &n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == ENOBUFS) {
			*lost = true;
			continue;
		}
		if (got < 0)
			return false;
		msg[got] = '\0';
		if (from.nl_pid != 0) /* accept only messages from the kernel */
			continue;
		if (sscanf(msg, "online@/devices/system/cpu/cpu%d", cpu) == 1) {
			*online = true;
			return true;
		}
		if (sscanf(msg, "offline@/devices/system/cpu/cpu%d", cpu) == 1) {
			*online = false;
			return true;
		}
	}
}
