/* SPDX-License-Identifier: MIT */
/* The samples of a profile and their weight; used by folded and pprof. */
#pragma once

#include "dump/view/export/export.h"

/* Whether the record is a sample of a selected event; without --event, of any event that is no
 * tracepoint. */
bool export_is_sample(const struct export *x, const struct timeline_record *rec);

/* The CPU time that the sample stands for; 0 when its event is no clock. */
uint64_t export_sample_ns(const struct timeline_record *rec);

/* Sets the error for a dump without samples with stacks; the hint lists events with stacks.
 * -ENOTSUP. */
int export_no_samples(const struct export *x, struct err *err);
