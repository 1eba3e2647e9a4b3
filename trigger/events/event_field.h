/* SPDX-License-Identifier: MIT */
/* Offsets and sizes of a tracepoint's fields, from its format in tracefs. BPF programs use them
 * instead of fixed layouts. */
#pragma once

#include <stdint.h>

struct err;

struct event_field {
	char name[32];
	uint32_t offset, bytes;
};

/* Finds the field `name` of "SYSTEM/EVENT". 0, -ENOENT or an error of tracefs_read(). */
int event_field_find(const char *event, const char *name, struct event_field *out, struct err *err);
/* Copies at most `max` fields, in order, without the common ones; their number in *nr. */
int event_field_list(const char *event, struct event_field *out, unsigned max, unsigned *nr,
		     struct err *err);
