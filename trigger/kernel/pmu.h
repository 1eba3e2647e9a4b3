/* SPDX-License-Identifier: MIT */
/*
 * PMUs as sysfs describes them (Documentation/ABI/testing/sysfs-bus-event_source-devices-*): type
 * numbers, term formats, event aliases. The kernel tells all of it; nothing about a PMU is built
 * in but what a hardware trace is asked for (pmu_default.c).
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>

struct buf;
struct closest;
struct err;

/* The type for perf_event_attr; false when there is no such PMU. */
bool pmu_type(const char *pmu, __u32 *type);

/*
 * Sets one term of `pmu` in attr: a field of its format directory, config, config1, config2, or one
 * of its event aliases (value NULL). `value` NULL means 1 for a field. -EINVAL with the known terms
 * in the hint, -ERANGE when the value does not fit its bits.
 */
int pmu_term(const char *pmu, const char *term, const char *value, struct perf_event_attr *attr,
	     struct err *err);

/* The terms that a hardware trace of `pmu` has unless others are set; of other PMUs none. */
void pmu_default(const char *pmu, struct perf_event_attr *attr);

/* Offers all PMUs' names. */
void pmu_closest(struct closest *c);

/* Calls `each` for every PMU, sorted by name. */
void pmu_each(void (*each)(void *ctx, const char *pmu, __u32 type), void *ctx);

/* Whether it has an AUX area, found by trying to map one; false too where that may not be tried. */
bool pmu_has_aux(const char *pmu);

/* Whether events for this CPU can be opened: what serves some only says which (cpumask). */
bool pmu_serves_cpu(const char *pmu, int cpu);

/*
 * What it says of itself: of each small text file in its directory, in format/ and in caps/, the
 * path there and the content without its last newline, a NUL behind each, appended to `out`. 0 or
 * -ENOMEM.
 */
int pmu_files(const char *pmu, struct buf *out);
