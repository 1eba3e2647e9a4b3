/* SPDX-License-Identifier: MIT */
/*
 * AUX areas in a perf.data; private to export_perf*.c:
 *
 *	export_perf_aux.c    the areas, the description of their PMU, their bytes
 *	export_perf_pt.c     Intel PT: its description; cutting its trace
 *	export_perf_switch.c the thread that ran before the first record
 *
 * perf decodes an area up to the time of each record that it reads, with the threads, names and
 * mappings known by then. So the areas stand before all other records:
 *
 *	[TIME_CONV] │ AUXTRACE_INFO │ AUXTRACE, bytes │ AUXTRACE, bytes │ ... │ records by time
 *
 * and a feature, AUXTRACE, has the places of the AUXTRACE records. A file holds areas of one event:
 * there is one AUXTRACE_INFO.
 */
#pragma once

#include "dump/file/aux_areas.h"
#include "dump/view/export/export_perf.h"

/* As in struct perf_event_mmap_page, but converts to the dump's clock; mult 0: unknown. */
struct perf_clock {
	uint64_t zero;
	uint32_t mult;
	uint32_t shift;
};

/* An area that is in the file. */
struct perf_area {
	const struct dump_area *d;
	uint64_t off;	   /* of its AUXTRACE record */
	uint64_t first_ns; /* when its trace begins; UINT64_MAX: unknown */
	/* The thread that ran at run_ns, if no record shows it. */
	bool ran;
	uint64_t run_ns;
	uint32_t pid, tid;
};

/* How perf learns which thread runs on a CPU, in Intel PT's numbers. */
enum perf_switches {
	PERF_SWITCH_NONE = 0,
	PERF_SWITCH_TASK = 2,	  /* PERF_RECORD_SWITCH */
	PERF_SWITCH_CPU_WIDE = 3, /* PERF_RECORD_SWITCH_CPU_WIDE, with both threads */
};

struct aux_kind;

struct perf_aux {
	struct aux_list list;
	const struct aux_kind *kind;
	const struct meta_event *event;
	struct perf_clock clock;
	enum perf_switches switches;
	struct perf_area *v;
	size_t nr;
};

/* ---- export_perf_pt.c ---- */

/* The words of AUXTRACE_INFO, in perf's order. */
void perf_pt_info(const struct perf_aux *a, struct text *t);
/* Cuts a trace, oldest bytes first, to the PSBs around the two times; sets area->first_ns. */
struct bytes perf_pt_cut(struct perf_area *area, struct bytes b, uint64_t from_ns, uint64_t to_ns);

/* ---- export_perf_switch.c ---- */

/* Sets a->switches, and the first thread of each area. 0, or as timeline_next(). */
int perf_switch_find(struct perf_export *p, struct perf_aux *a, struct err *err);
