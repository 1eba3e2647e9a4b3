/* SPDX-License-Identifier: MIT */
/*
 * The socket on which programs report to the recorder (trigger/client/app_socket.h): its path and
 * access rights.
 *
 *	NAME.tell in the control directory (ctl.h)	its owner's programs, and root's
 *	DIR.tell/NAME.tell, with a group (0750, 0660)	also members of that group
 *	NAME.tell.stream, beside it			a SOCK_STREAM, for languages without SOCK_SEQPACKET
 */
#pragma once

#include <stdint.h>

struct err;
struct app_listen;

/* Requires the recorder's lock (ctl_listen()), so an existing socket belongs to a killed recorder.
 * `group` may be NULL. The caller owns the listening sockets fd[]. *gid: the group, or -1. */
int app_listen_open(const char *name, const char *group, struct app_listen **out, int fd[2],
		    int64_t *gid, struct err *err);
/* Removes the sockets. NULL allowed. */
void app_listen_close(struct app_listen *t);
