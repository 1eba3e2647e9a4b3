/* SPDX-License-Identifier: MIT */
/* What a running recorder says of itself, as JSON (cmd_status.c tells the shape) and on a terminal.
 */
#pragma once

#include "recorder/daemon/session.h"

/* A new object, owned by the caller; NULL when out of memory. */
json_t *status_json(const struct session *s);

/* Sets the terminal's status line: horizon of each channel, dumps. */
void status_line(const struct session *s);
