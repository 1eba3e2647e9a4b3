/* SPDX-License-Identifier: MIT */
/*
 * Finds tracepoints by name or pattern in tracefs' events directory; for event_parse.c and doctor.
 */
#pragma once

#include <stdint.h>

struct closest;
struct err;

/*
 * Calls `each` with every tracepoint whose system and name match the patterns (* and ?), sorted by
 * system and name, until it returns non-zero, and returns that. A pattern for the system excludes
 * "ftrace", whose events perf can't open. -ENOENT when nothing matches; the error says whether
 * system or event is unknown, and the hint has the closest names.
 */
int tracepoint_find(const char *system, const char *name,
		    int (*each)(void *ctx, const char *system, const char *name, uint32_t id),
		    void *ctx, struct err *err);

/* Offers all tracepoints, matched by the part after the colon, shown as SYSTEM:NAME. */
void tracepoint_closest(struct closest *c);
