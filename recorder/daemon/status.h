/* SPDX-License-Identifier: MIT */
/* The state of a running recorder, as JSON (format: ctl.h) and as a status line. */
#pragma once

#include "recorder/daemon/session.h"

/* A new object, owned by the caller; NULL when out of memory. */
json_t *status_json(const struct session *s);

/* Sets the terminal's status line: each channel's horizon, and the number of dumps. */
void status_line(const struct session *s);
