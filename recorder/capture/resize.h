/* SPDX-License-Identifier: MIT */
/*
 * Rings that are sized for a time (--horizon): measures what is written to them, and replaces rings
 * by larger or smaller ones when the load changes, within --memory. A thread opens and closes rings;
 * the main loop's thread only turns to them (banks_resize.c), which takes some 50 us.
 *
 *	  look: a ring needs another size ──▶ the thread opens it ──▶ turn ──▶ the former ring is
 *	                                                                      read until its time is over
 *
 * Wakes the main loop when a quarter of a ring was written, so an idle machine is not disturbed; when
 * a former ring's time is over; and each eighth of the time asked as long as memory does not allow a
 * ring its size. Once a ring has its size, filling a quarter takes a sixth of the time or longer.
 */
#pragma once

#include "recorder/config/ring_size.h"

struct caps;
struct err;
struct recording;
struct resize;
struct target;

/* `r`, `t` and `caps` are borrowed. *out is NULL when no channel has a horizon. */
int resize_new(struct recording *r, const struct ring_size_memory *memory, const struct target *t,
	       const struct caps *caps, struct resize **out, struct err *err);
/* Before the recording is closed. */
void resize_free(struct resize *s);
/* Readable when resize_look() has something to do; -1: `s` is NULL. */
int resize_fd(const struct resize *s);
/*
 * Call it when resize_fd() is readable, after a dump and when CPUs have come or gone. `may_turn`: no
 * dump is being written. True: rings were replaced. `s` may be NULL.
 */
bool resize_look(struct resize *s, bool may_turn);
