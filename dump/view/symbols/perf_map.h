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

struct perfmap;

/* `addrs`: ascending, borrowed until perfmap_free(). Lines that are none are skipped. 0 or -ENOMEM.
 */
int perfmap_new(const uint64_t *addrs, size_t nr, struct perfmap **out);
int perfmap_read(struct perfmap *m, FILE *in);
void perfmap_free(struct perfmap *m);

/*
 * Calls `each` for the functions that were hit, ascending, cut where they would lie in one another.
 */
void perfmap_each(const struct perfmap *m,
		  void (*each)(void *ctx, uint64_t start, uint64_t bytes, const char *name),
		  void *ctx);
/* Whether the i-th address is in a function. */
bool perfmap_has(const struct perfmap *m, size_t i);
