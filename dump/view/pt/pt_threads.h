/* SPDX-License-Identifier: MIT */
/* Which thread ran at a time, by the switches that the kernel recorded beside a hardware trace.
 * Read-only once loaded. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct meta;
struct pt_threads;
struct reader;

/* Loads the switches of all rings of these channels (bit i: channel i). 0, -ENOMEM. */
int pt_threads_load(struct reader *r, const struct meta *m, uint64_t channels,
		    struct pt_threads **out, struct err *err);
void pt_threads_free(struct pt_threads *w);

/*
 * The thread that ran on the ring's CPU at `ns`; UINT32_MAX: unknown. `step`: 0, or -1 and 1 for
 * the thread before and after that one, because a trace's time of a switch is not exact. *from_ns
 * (may be NULL): the start of its turn.
 */
uint32_t pt_threads_at(const struct pt_threads *w, uint32_t ring, uint64_t ns, int step,
		       uint64_t *from_ns);
