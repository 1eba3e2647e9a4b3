/* SPDX-License-Identifier: MIT */
/* The number by which perf_event_open() knows a PMU. */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* Of the PMU with that name in sysfs; UINT32_MAX: there is none. */
static inline uint32_t pmu_type(const char *pmu)
{
	uint32_t type = UINT32_MAX;
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	f = fopen(path, "r");
	if (!f)
		return UINT32_MAX;
	if (fscanf(f, "%u", &type) != 1)
		type = UINT32_MAX;
	fclose(f);
	return type;
}
