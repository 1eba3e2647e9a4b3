/* SPDX-License-Identifier: MIT */
/* The PMU type number for perf_event_open(). */
#pragma once

#include <stdint.h>
#include <stdio.h>

/* The type of the PMU with that name in sysfs; UINT32_MAX: no such PMU. */
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
