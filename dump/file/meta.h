/* SPDX-License-Identifier: MIT */
/*
 * The metadata of a dump, loaded at once: host, trigger, channels, events, formats, windows, stats;
 * not records and ledger (reader, view/). Everything returned is borrowed until meta_free(). Text is
 * as in the file: use str_safe() or str_json() before printing.
 *
 * Missing text is "", never NULL. In a damaged dump the tables may have holes: a missing event has
 * f.id UINT32_MAX, a window ring FMT_NO_RING, a channel f.id UINT32_MAX. The channel of every event
 * and window, holes included, is a valid index of `channels`.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"
#include "dump/format/record.h"

#include <string.h>

struct err;
struct reader;

struct meta_event {
	struct fmt_event f;
	struct perf_event_attr attr; /* extended or cut to this build's size */
	const char *name;	     /* "" when missing, like the following ones */
	const char *filter;
	const char *target;
	const char *pmu;	/* of an event with an AUX area, else "" */
	struct bytes pmu_files; /* meta_pmu_file() */
};

struct meta_channel {
	struct fmt_channel f;
	const char *name;
	uint64_t horizon_ns; /* FMT_CHANNEL_HORIZON; 0: none */
	struct record_layout layout;
	uint32_t nr_events;
	uint32_t nr_shared;    /* events whose samples can have another event's id */
	uint32_t likely_event; /* of a sample whose id tells nothing: the only event, or the only
				  shared one; else UINT32_MAX */
	bool of_trigger;       /* not of a ring: see FMT_WINDOW_TRIGGER */
};

struct meta_tracepoint {
	uint32_t id;
	const char *system;
	struct bytes format;
};

struct meta_merged {
	struct fmt_merged f;
	const char *name;
};

struct meta_cgroup {
	struct fmt_cgroup f;
	const char *path;
	const uint8_t *pids; /* meta_cgroup_pid() */
};

/* Names of a container or pod. "": unknown. */
struct meta_names {
	const char *id, *runtime, *ns, *pod, *container;
};

struct meta_text {
	struct bytes b;
};

struct meta {
	struct fmt_host host;
	const char *hostname, *uname, *cpu_model, *boot_id, *os, *recorder, *instance;
	const char *cpu_id;   /* FMT_HOST_CPU_ID */
	struct bytes cmdline; /* NUL-separated */
	struct bytes session; /* of the recorder; empty: unknown */
	const char *before;   /* file name of the previous dump; "": none */
	const char **joined;  /* file names of the dumps joined with this one, newest first */
	size_t nr_joined;
	const char **caps;
	size_t nr_caps;

	struct fmt_trigger trigger;
	const char *trigger_name, *trigger_rule, *trigger_reason;
	const char *trigger_comm;   /* name of trigger.tid at the hit; "": unknown */
	uint64_t trigger_began_ns;  /* 0: the event that met the rule has no duration */
	struct fmt_repeats repeats; /* 0: unknown */
	const char **saw;
	size_t nr_saw;
	struct meta_merged *merged;
	size_t nr_merged;

	struct meta_channel *channels; /* index = id */
	size_t nr_channels;
	struct meta_event *events; /* index = id */
	size_t nr_events;
	struct meta_tracepoint *tracepoints;
	size_t nr_tracepoints;
	struct bytes header_page;   /* text of events/header_page */
	struct fmt_window *windows; /* index = ring id */
	size_t nr_windows;
	struct fmt_window_aux *areas; /* unsorted; see dump/file/aux_areas.h */
	size_t nr_areas;
	struct fmt_trace_stop *stops; /* of traces into areas; unsorted */
	size_t nr_stops;
	struct meta_cgroup *cgroups; /* with limits */
	size_t nr_cgroups;
	bool knows_cgroups;	  /* the list is complete */
	struct meta_names *names; /* of containers and pods, by id */
	size_t nr_names;
	struct fmt_dump_stats stats;
	struct fmt_sideband_stats sideband;
	bool has_stats;
	struct fmt_salvage salvage; /* all 0 unless salvaged from a damaged file */
	bool salvaged;
	const char *cut;		 /* why writing was cut short; "": it was not */
	struct fmt_symbol_stats symbols; /* of symbol collection */
	bool has_symbol_stats;
	size_t nr_broken; /* unreadable blocks or items of these sections */
};

/* Damaged blocks are counted in nr_broken, not fatal. 0 or -ENOMEM. */
int meta_load(struct reader *r, struct meta **out, struct err *err);
void meta_free(struct meta *m);

/* NULL: unknown. */
const struct meta_names *meta_names_of(const struct meta *m, const char *id);

/* The i-th of f.nr_pids processes. */
static inline uint32_t meta_cgroup_pid(const struct meta_cgroup *g, uint32_t i)
{
	uint32_t pid;

	memcpy(&pid, g->pids + i * sizeof(pid), sizeof(pid));
	return pid;
}

/* True for the window of a ring: neither missing nor that of the triggering event. */
static inline bool meta_is_ring(const struct fmt_window *w)
{
	return w->ring != FMT_NO_RING && !(w->flags & FMT_WINDOW_TRIGGER);
}

/* True for an event that is present and was recorded in rings. */
static inline bool meta_in_rings(const struct meta *m, const struct meta_event *e)
{
	return e->f.id != UINT32_MAX && !m->channels[e->f.channel].of_trigger;
}

/*
 * The event of a sample of channel `c`: by id, else by tracepoint type, else the channel's likely_event.
 * NULL when unknown.
 */
const struct meta_event *meta_event_of(const struct meta *m, const struct meta_channel *c,
				       const struct record_sample *s);

/* The content of a sysfs file of the event's PMU, for example "format/tsc"; NULL: none. */
const char *meta_pmu_file(const struct meta_event *e, const char *path);

/* Records of all rings. */
uint64_t meta_nr_records(const struct meta *m);

/* Maps the ids in samples to events; sorted by id, `*nr` entries. */
const struct fmt_event_id *meta_event_ids(const struct meta *m, size_t *nr);

/*
 * The thread of a record: TID, or common_pid of the tracepoint `e` when TID is not recorded or the
 * exiting thread had no id left, if the recorder ran in the initial pid namespace. 0: the idle
 * task; UINT32_MAX: unknown. `e` NULL: unknown event.
 */
uint32_t meta_tid_of(const struct meta *m, const struct meta_event *e,
		     const struct record_sample *s);
