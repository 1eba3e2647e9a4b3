/* SPDX-License-Identifier: MIT */
/*
 * The sideband's rings, one per CPU, opened on every CPU also when only some are recorded: a
 * process may start on any. They record from when they are opened. Opened and closed by
 * recording.c, drained by sideband.c.
 */
#pragma once

#include "dump/format/record.h"
#include "trigger/kernel/ring.h"
#include "recorder/capture/target.h"

struct err;
struct sides;

/* Opens all, for the system, or for tasks and what they start. `t` and `caps` are borrowed. */
int sides_open(const struct target *t, const struct caps *caps, struct sides **out,
	       struct err *err);
void sides_close(struct sides *s);

bool sides_has_cpu(const struct sides *s, int cpu);
/* Opens the ring of a CPU; -ESRCH when no task of the target is left. */
int sides_add(struct sides *s, int cpu, struct err *err);
/* Closes all rings of a CPU but the newest; what is in them is lost. */
void sides_drop_older(struct sides *s, int cpu);

/*
 * Whether all tasks of the target, and who they started, have ended; false for other targets. The
 * rings' descriptors wake for it. Asking takes a wake-up off the rings: drain them afterwards.
 */
bool sides_ended(struct sides *s);

/* For sideband_drain(), and their descriptors to be waited for; right until the next add or drop.
 */
struct ring *const *sides_rings(const struct sides *s, size_t *nr);
const struct record_layout *sides_layout(const struct sides *s);
uint64_t sides_bytes(const struct sides *s);
