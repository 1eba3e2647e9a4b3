/* SPDX-License-Identifier: MIT */
/* Tracepoints by name and pattern, from tracefs' events directory; for event_parse.c and doctor. */
#pragma once

#include <stdint.h>

struct closest;
struct err;

/*
 * Calls `each` with every tracepoint whose system and name match the patterns (* and ?), sorted by
 * system and name, until it returns non-zero, and returns that. A pattern for the system leaves out
 * "ftrace", whose events perf can't open. -ENOENT, telling an unknown system from an unknown event
 * and with the closest names in the hint, when nothing matches.
 */
int tracepoint_find(const char *system, const char *name,
		    int (*each)(void *ctx, const char *system, const char *name, uint32_t id),
		    void *ctx, struct err *err);

/* Offers all tracepoints by the part behind the colon, shown as SYSTEM:NAME. */
void tracepoint_closest(struct closest *c);
