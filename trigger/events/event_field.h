/* SPDX-License-Identifier: MIT */
/* Where a tracepoint has its fields, from its format in tracefs: what BPF programs read is never
 * assumed. */
#pragma once

#include <stdint.h>

struct err;

struct event_field {
	char name[32];
	uint32_t offset, bytes;
};

/* The field `name` of "SYSTEM/EVENT". 0, -ENOENT or what tracefs_read() says. */
int event_field_find(const char *event, const char *name, struct event_field *out, struct err *err);
/* At most `max` of the fields that follow the common ones, in order; their number in *nr. */
int event_field_list(const char *event, struct event_field *out, unsigned max, unsigned *nr,
		     struct err *err);
