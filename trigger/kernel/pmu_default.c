// SPDX-License-Identifier: MIT
/* Default terms of hardware traces; see pmu.h. Without them Intel PT writes no timestamps, SPE none
 * that can be told from other packets, and CoreSight neither time nor thread. perf sets the same
 * terms. */
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/settings.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct default_term {
	const char *pmu; /* prefix of its name */
	const char *term;
	const char *cap;     /* file in caps/ that has to be 1; NULL: none */
	const char *choices; /* file in caps/: bit mask of the term's valid values */
	int value;	     /* the nearest valid value is used */
};

static const struct default_term wishes[] = {
	{"intel_pt", "pt", NULL, NULL, 1},
	{"intel_pt", "branch", NULL, NULL, 1},
	{"intel_pt", "tsc", NULL, NULL, 1},
	{"intel_pt", "mtc", "mtc", NULL, 1},
	{"intel_pt", "mtc_period", "mtc", "mtc_periods", 3},
	{"intel_pt", "psb_period", "psb_cyc", "psb_periods", 3},
	{"arm_spe_", "ts_enable", NULL, NULL, 1},
	{"cs_etm", "timestamp", NULL, NULL, 1},
	{"cs_etm", "contextid", NULL, NULL, 1},
};

static unsigned long cap(const char *pmu, const char *name)
{
	char path[300], text[64];

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%.100s/caps/%s", pmu, name);
	return setting_line(path, text, sizeof(text)) ? strtoul(text, NULL, 16) : 0;
}

/* The set bit nearest to `want`; negative: none. */
static int nearest(unsigned long bits, int want)
{
	int best = -1;

	for (int i = 0; i < (int)sizeof(bits) * CHAR_BIT; i++)
		if (bits & 1ul << i && (best < 0 || abs(i - want) < abs(best - want)))
			best = i;
	return best;
}

void pmu_default(const char *pmu, struct perf_event_attr *attr)
{
	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		const struct default_term *w = &wishes[i];
		int value = w->value;
		char text[16];

		if (strncmp(pmu, w->pmu, strlen(w->pmu)) || (w->cap && cap(pmu, w->cap) != 1))
			continue;
		if (w->choices)
			value = nearest(cap(pmu, w->choices), value);
		snprintf(text, sizeof(text), "%d", value);
		/* A term that this machine lacks is skipped. */
		if (value >= 0)
			pmu_term(pmu, w->term, text, attr, NULL);
	}
}
