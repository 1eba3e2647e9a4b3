/* SPDX-License-Identifier: MIT */
/* What folded and pprof count: which records are samples of a profile, and what one weighs. */
#pragma once

#include "dump/view/export/export.h"

/* Whether the record is a sample of an event that was asked for; without --event, of one that
 * counts or ticks, and not of a tracepoint. */
bool export_is_sample(const struct export *x, const struct timeline_record *rec);

/* CPU time that a sample of this event stands for; 0 when the event does not count time. */
uint64_t export_sample_ns(const struct timeline_record *rec);

/* No sample had a stack: says so, and which events have some. -ENOTSUP. */
int export_no_samples(const struct export *x, struct err *err);
