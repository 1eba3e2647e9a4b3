/* SPDX-License-Identifier: MIT */
/*
 * The sideband's rings, one per CPU. They are opened on every CPU even if only some are recorded,
 * since a process may start on any. They record from the opening on. Opened and closed by
 * recording.c, drained by sideband.c.
 */
#pragma once

#include "dump/format/record.h"
#include "trigger/kernel/ring.h"
#include "recorder/capture/target.h"

struct err;
struct keep_set;
struct kept;
struct kept_side;
struct sideband_rings;

/* Opens all rings, for the system, or for tasks and their descendants. Those in `from` (NULL: none)
 * are taken over with what is unread in them. `t` and `caps` are borrowed. */
int sideband_rings_open(const struct target *t, const struct caps *caps, struct kept *from,
			struct sideband_rings **out, struct err *err);
void sideband_rings_close(struct sideband_rings *s);

bool sideband_rings_has_cpu(const struct sideband_rings *s, int cpu);
/* Opens the ring of a CPU; -ESRCH when no task of the target is left. */
int sideband_rings_add(struct sideband_rings *s, int cpu, struct err *err);
/* Closes all rings of a CPU except the newest; their remaining contents are lost. */
void sideband_rings_drop_older(struct sideband_rings *s, int cpu);

/*
 * Whether all tasks of the target and their descendants have ended; false for other targets. The
 * rings' descriptors wake the poll for it. The check consumes a ring's wake-up: drain afterwards.
 */
bool sideband_rings_ended(struct sideband_rings *s);

/* For sideband_drain() and for polling their descriptors. Valid until the next add or drop. */
struct ring *const *sideband_rings_rings(const struct sideband_rings *s, size_t *nr);
const struct record_layout *sideband_rings_layout(const struct sideband_rings *s);
uint64_t sideband_rings_bytes(const struct sideband_rings *s);

/* Describes ring `i` for the keeper and adds its events. 0 or -ENOMEM. */
int sideband_rings_keep(const struct sideband_rings *s, size_t i, struct kept_side *entry,
			struct keep_set *set);
