/* SPDX-License-Identifier: MIT */
/*
 * Hardware traces that rules' events have stopped in the kernel (trigger/events/aux_pause.h), over
 * all rings: some wait for a dump, others have to be resumed without one. Called by daemon.c, in
 * its thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct aux_pauses;
struct recording;

/* Whether a trace is stopped by a rule's event and is not being copied. */
bool traces_stand(const struct recording *r);
/*
 * Resumes traces that were stopped before `until_ns`, and restarts traces for new brakes. True:
 * some could not be restarted yet or were stopped later; call it again.
 */
bool traces_let_run(const struct recording *r, struct aux_pauses *b, uint64_t until_ns);
