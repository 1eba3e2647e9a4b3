/* SPDX-License-Identifier: MIT */
/* Messages to a service manager: sd_notify(3) without its library. Does nothing when $NOTIFY_SOCKET
 * is not set. */
#pragma once

/* state: "READY=1\nSTATUS=..." */
void notify_manager(const char *state);
