/* SPDX-License-Identifier: MIT */
/*
 * PMUs as described by sysfs (Documentation/ABI/testing/sysfs-bus-event_source-devices-*): type
 * numbers, term formats, event aliases. The only built-in knowledge about PMUs is the default terms
 * of hardware traces (pmu_default.c).
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

struct buf;
struct closest;
struct err;

/* The type for perf_event_attr; false: no such PMU. */
bool pmu_type(const char *pmu, __u32 *type);

/*
 * Sets one term of `pmu` in attr: a field of its format directory, config, config1, config2, or an
 * event alias (value NULL). `value` NULL means 1 for a field. -EINVAL with the known terms in the
 * hint; -ERANGE when the value does not fit the field.
 */
int pmu_term(const char *pmu, const char *term, const char *value, struct perf_event_attr *attr,
	     struct err *err);

/* Sets the default terms of a hardware trace; does nothing for other PMUs. */
void pmu_default(const char *pmu, struct perf_event_attr *attr);

/* Offers all PMUs' names. */
void pmu_closest(struct closest *c);

/* Calls `each` for every PMU, sorted by name. */
void pmu_each(void (*each)(void *ctx, const char *pmu, __u32 type), void *ctx);

/* Whether it has an AUX area, found by mapping one; false if that is not permitted. */
bool pmu_has_aux(const char *pmu);

/* The CPUs in its cpumask file, such as "0,2-3"; false: it has none and serves all CPUs. */
bool pmu_cpus(const char *pmu, char *out, size_t n);

/* Whether events can be opened on this CPU: some PMUs serve only those in their cpumask file. */
bool pmu_serves_cpu(const char *pmu, int cpu);

/* Appends the PMU's description to `out`: each small text file in its directory, in format/ and in
 * caps/, and of CoreSight in cpuN/trcidr/ and cpuN/mgmt/, as path NUL content NUL, without the
 * last newline. 0 or -ENOMEM. */
int pmu_files(const char *pmu, struct buf *out);
