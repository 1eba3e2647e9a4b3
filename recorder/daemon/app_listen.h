/* SPDX-License-Identifier: MIT */
/*
 * The socket that programs tell the recorder through (trigger/client/app_socket.h), where it lies
 *and who may connect:
 *
 *	NAME.tell in the control directory (ctl.h)	its owner's programs, and root's
 *	DIR.tell/NAME.tell, with a group (0750, 0660)	also members of that group
 */
#pragma once

#include <stdint.h>

struct err;
struct app_listen;

/* Called with the recorder's lock held (ctl_listen()): what lies there is of one that was killed.
 * `group` may be NULL. *fd listens, and is the caller's; *gid: of the group, or -1. */
int app_listen_open(const char *name, const char *group, struct app_listen **out, int *fd,
		    int64_t *gid, struct err *err);
/* Removes the socket. NULL allowed. */
void app_listen_close(struct app_listen *t);
