/* SPDX-License-Identifier: MIT */
/*
 * The functions that a JIT compiler lists in /tmp/perf-PID.map, one a line: "START SIZE NAME" in
 * hexadecimal. Keeps only functions that contain one of the asked addresses; the last line about an
 * address wins, since compilers reuse memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct perf_map;

/* `addrs`: ascending, borrowed until perf_map_free(). Lines that are none are skipped. 0 or -ENOMEM.
 */
int perf_map_new(const uint64_t *addrs, size_t nr, struct perf_map **out);
int perf_map_read(struct perf_map *m, FILE *in);
void perf_map_free(struct perf_map *m);

/*
 * Calls `each` for the functions that were hit, ascending, cut where they would lie in one another.
 */
void perf_map_each(const struct perf_map *m,
		   void (*each)(void *ctx, uint64_t start, uint64_t bytes, const char *name),
		   void *ctx);
/* Whether the i-th address is in a function. */
bool perf_map_has(const struct perf_map *m, size_t i);
