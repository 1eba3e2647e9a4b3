/* SPDX-License-Identifier: MIT */
/*
 * Which thread ran when beside a hardware's trace, by the switches that the kernel recorded with
 * it. Once loaded it is only read.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct meta;
struct pt_threads;
struct reader;

/* Of all rings of these channels (bit i: channel i). 0, -ENOMEM. */
int pt_threads_load(struct reader *r, const struct meta *m, uint64_t channels,
		    struct pt_threads **out, struct err *err);
void pt_threads_free(struct pt_threads *w);

/*
 * The thread that ran on the ring's CPU at `ns`, UINT32_MAX: not known. `step` 0; or of the time
 * that much before (-1) or after (1) that thread's: what a trace says of the time of a switch is
 * not exact. *from_ns (may be NULL): since when.
 */
uint32_t pt_threads_at(const struct pt_threads *w, uint32_t ring, uint64_t ns, int step,
		       uint64_t *from_ns);
