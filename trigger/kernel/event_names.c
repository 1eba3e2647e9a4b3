// SPDX-License-Identifier: MIT
/* Fixed event names; see event_names.h. Names and numbers as in perf_event_open(2) and perf. */
#include "trigger/kernel/event_names.h"

#include "dump/base/closest.h"

#include <ctype.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

/* Linux 5.13; missing in older headers. */
#define SW_CGROUP_SWITCHES 11

enum count_kind { COUNT, CLOCK, FAULT };

#define SW(id, kind) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##id, kind
#define HW(id)	     PERF_TYPE_HARDWARE, PERF_COUNT_HW_##id, COUNT

static const struct fixed_event {
	const char *name, *alias;
	uint32_t type;
	uint64_t config;
	enum count_kind kind;
} rows[] = {
	{"cpu-clock", NULL, SW(CPU_CLOCK, CLOCK)},
	{"task-clock", NULL, SW(TASK_CLOCK, CLOCK)},
	{"page-faults", "faults", SW(PAGE_FAULTS, FAULT)},
	{"minor-faults", NULL, SW(PAGE_FAULTS_MIN, FAULT)},
	{"major-faults", NULL, SW(PAGE_FAULTS_MAJ, FAULT)},
	{"alignment-faults", NULL, SW(ALIGNMENT_FAULTS, FAULT)},
	{"emulation-faults", NULL, SW(EMULATION_FAULTS, FAULT)},
	{"context-switches", "cs", SW(CONTEXT_SWITCHES, COUNT)},
	{"cpu-migrations", "migrations", SW(CPU_MIGRATIONS, COUNT)},
	{"dummy", NULL, SW(DUMMY, COUNT)},
	{"bpf-output", NULL, SW(BPF_OUTPUT, COUNT)},
	{"sleep-stacks", NULL, SW(BPF_OUTPUT, COUNT)},
	{"cgroup-switches", NULL, PERF_TYPE_SOFTWARE, SW_CGROUP_SWITCHES, COUNT},

	{"cycles", "cpu-cycles", HW(CPU_CYCLES)},
	{"instructions", NULL, HW(INSTRUCTIONS)},
	{"cache-references", NULL, HW(CACHE_REFERENCES)},
	{"cache-misses", NULL, HW(CACHE_MISSES)},
	{"branches", "branch-instructions", HW(BRANCH_INSTRUCTIONS)},
	{"branch-misses", NULL, HW(BRANCH_MISSES)},
	{"bus-cycles", NULL, HW(BUS_CYCLES)},
	{"ref-cycles", NULL, HW(REF_CPU_CYCLES)},
	{"stalled-cycles-frontend", "idle-cycles-frontend", HW(STALLED_CYCLES_FRONTEND)},
	{"stalled-cycles-backend", "idle-cycles-backend", HW(STALLED_CYCLES_BACKEND)},
};

static const struct cache_part {
	const char *name;
	unsigned id;
} caches[] = {
	{"L1-dcache", PERF_COUNT_HW_CACHE_L1D}, {"L1-icache", PERF_COUNT_HW_CACHE_L1I},
	{"LLC", PERF_COUNT_HW_CACHE_LL},	{"dTLB", PERF_COUNT_HW_CACHE_DTLB},
	{"iTLB", PERF_COUNT_HW_CACHE_ITLB},	{"branch", PERF_COUNT_HW_CACHE_BPU},
	{"node", PERF_COUNT_HW_CACHE_NODE},
};

/* Suffixes of a cache's name; config bits 8.. are the operation, 16.. the result. */
static const struct cache_part actions[] = {
	{"-loads", PERF_COUNT_HW_CACHE_OP_READ | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 8},
	{"-load-misses", PERF_COUNT_HW_CACHE_OP_READ | PERF_COUNT_HW_CACHE_RESULT_MISS << 8},
	{"-stores", PERF_COUNT_HW_CACHE_OP_WRITE | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 8},
	{"-store-misses", PERF_COUNT_HW_CACHE_OP_WRITE | PERF_COUNT_HW_CACHE_RESULT_MISS << 8},
	{"-prefetches", PERF_COUNT_HW_CACHE_OP_PREFETCH | PERF_COUNT_HW_CACHE_RESULT_ACCESS << 8},
	{"-prefetch-misses",
	 PERF_COUNT_HW_CACHE_OP_PREFETCH | PERF_COUNT_HW_CACHE_RESULT_MISS << 8},
};

static bool find_cache(const char *name, struct event_name *out)
{
	for (size_t i = 0; i < NR(caches); i++) {
		size_t n = strlen(caches[i].name);

		if (strncmp(name, caches[i].name, n))
			continue;
		for (size_t j = 0; j < NR(actions); j++) {
			if (strcmp(name + n, actions[j].name))
				continue;
			*out = (struct event_name){.type = PERF_TYPE_HW_CACHE,
						   .config = caches[i].id | actions[j].id << 8};
			return true;
		}
	}
	return false;
}

static bool find_raw(const char *name, struct event_name *out)
{
	size_t n = strlen(name);

	if (n < 2 || n > 17 || name[0] != 'r')
		return false;
	for (size_t i = 1; i < n; i++)
		if (!isxdigit((unsigned char)name[i]))
			return false;
	*out = (struct event_name){.type = PERF_TYPE_RAW, .config = strtoull(name + 1, NULL, 16)};
	return true;
}

bool event_name_find(const char *name, struct event_name *out)
{
	for (size_t i = 0; i < NR(rows); i++) {
		if (strcmp(name, rows[i].name) && (!rows[i].alias || strcmp(name, rows[i].alias)))
			continue;
		*out = (struct event_name){.type = rows[i].type,
					   .config = rows[i].config,
					   .clock = rows[i].kind == CLOCK,
					   .sample_addr = rows[i].kind == FAULT};
		return true;
	}
	return find_cache(name, out) || find_raw(name, out);
}

const char *event_name_software(size_t i)
{
	return i < NR(rows) && rows[i].type == PERF_TYPE_SOFTWARE ? rows[i].name : NULL;
}

void event_name_closest(struct closest *c)
{
	char name[64];

	for (size_t i = 0; i < NR(rows); i++) {
		closest_add(c, rows[i].name, NULL);
		if (rows[i].alias)
			closest_add(c, rows[i].alias, NULL);
	}
	for (size_t i = 0; i < NR(caches); i++) {
		for (size_t j = 0; j < NR(actions); j++) {
			snprintf(name, sizeof(name), "%s%s", caches[i].name, actions[j].name);
			closest_add(c, name, NULL);
		}
	}
}
