/* SPDX-License-Identifier: MIT */
/*
 * What a JIT compiler says of the code that it made: /tmp/perf-PID.map, one line a function,
 * "START SIZE NAME" in hexadecimal. Only what holds one of the asked addresses is kept; of several
 * lines about an address the last, since memory is used again.
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
