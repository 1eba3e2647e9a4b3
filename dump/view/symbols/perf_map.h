/* SPDX-License-Identifier: MIT */
/*
 * The functions that a JIT compiler lists in /tmp/perf-PID.map, one per line: "START SIZE NAME"
 * with hexadecimal numbers. Keeps only functions that contain one of the given addresses; the last
 * line for an address wins, since compilers reuse memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct perf_map;

/* `addrs`: ascending, borrowed until perf_map_free(). Invalid lines are skipped. 0 or -ENOMEM. */
int perf_map_new(const uint64_t *addrs, size_t nr, struct perf_map **out);
int perf_map_read(struct perf_map *m, FILE *in);
void perf_map_free(struct perf_map *m);

/* Calls `each` for the functions that were hit, ascending; overlapping functions are cut. */
void perf_map_each(const struct perf_map *m,
		   void (*each)(void *ctx, uint64_t start, uint64_t bytes, const char *name),
		   void *ctx);
/* Whether a function contains the i-th address. */
bool perf_map_has(const struct perf_map *m, size_t i);
