/* SPDX-License-Identifier: MIT */
/*
 * Hardware traces that rules' events have stopped in the kernel (trigger/events/aux_pause.h), over
 * all rings: which of them wait for a dump, and which have to run on without one. For daemon.c, in
 * its thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct aux_pauses;
struct recording;

/* Whether there are some that stand; but for those that are being copied. */
bool traces_stand(const struct recording *r);
/*
 * Lets those run that were stopped before `until_ns`, and puts on the brakes that wait for that.
 * True: not all could be, or others stand: to be called again.
 */
bool traces_let_run(const struct recording *r, struct aux_pauses *b, uint64_t until_ns);
