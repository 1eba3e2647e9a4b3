/* SPDX-License-Identifier: MIT */
/*
 * Everything that is being recorded: channels × CPUs (or threads), the sideband rings, and the
 * freeze over all of them. Opened by cmd_record.c, driven by daemon.c; dumper.c reads what is
 * frozen.
 */
#pragma once

#include "recorder/capture/banks.h"
#include "recorder/config/config.h"

struct aux_pauses;
struct sleeps;
struct err;
struct recording;

/*
 * Parses the channels and opens all their rings, disabled. Ring sizes that were not asked for are
 * made of `memory` (ring_size.h; NULL: they are not), and halved (down to 16K) until they fit the
 * user's mlock limit. `caps` and `t` are borrowed.
 */
int recording_open(const struct config_channel *channels, size_t nr, unsigned nr_banks,
		   const struct ring_size_memory *memory, const struct caps *caps, struct target *t,
		   struct recording **out, struct err *err);
void recording_close(struct recording *r);

/*
 * From now on rules' events may stop the traces of CPUs (trigger/events/aux_pause.h); `b` is
 * borrowed. 0 or -ENOMEM.
 */
int recording_join_brakes(struct recording *r, struct aux_pauses *b, struct err *err);
/* From now on BPF programs write into the rings of channels with sleep-stacks
 * (trigger/bpf/sleeps.h); `s` is borrowed. 0 or -errno. */
int recording_join_sleeps(struct recording *r, struct sleeps *s, struct err *err);
/* Switches everything on. */
void recording_start(struct recording *r);

/* The moments of a freeze. */
struct recording_freeze {
	uint64_t enable_ns, pause_ns, disable_ns; /* how long each step took */
	uint64_t first_paused_ns, last_paused_ns;
};

/*
 * Freezes all rings: spares on, active ones paused in one loop, traces into AUX areas stopped in
 * another, then disabled. Areas are being copied when it returns.
 */
void recording_freeze(struct recording *r, struct recording_freeze *f);
/* Returns when all AUX areas are copied and their traces go on. Any thread, once after a freeze. */
void recording_wait_copied(struct recording *r);
/* Lets the frozen banks go. Any thread, once, between recording_freeze() and the next. */
void recording_release(struct recording *r);
/*
 * When the dump is over, in the thread that freezes: the next one is told what it follows, and the
 * rings of CPUs that are gone are closed once a dump with them was committed.
 */
void recording_settle(struct recording *r, bool committed);

/*
 * CPUs that come and go; not while a dump is in the making. Tasks' events outlive their CPU and
 * work again when it is back; those of the system or a cgroup are lost with it and have to be
 * opened anew.
 */
bool recording_wants_cpu(const struct recording *r, int cpu);
/* `cpu` is online: gets what it lacks. Its old sideband ring goes: drain it before. */
int recording_cpu_online(struct recording *r, int cpu, struct err *err);
void recording_cpu_offline(struct recording *r, int cpu);
/* After messages about CPUs were missed: as above for all of them. */
int recording_recount_cpus(struct recording *r, struct err *err);

size_t recording_nr_channels(const struct recording *r);
const struct channel *recording_channel(const struct recording *r, size_t i);
/* The attr of event `i` of channel `c` as it was opened for the active bank's leader or sibling. */
void recording_attr(const struct recording *r, const struct channel *c, size_t i,
		    struct perf_event_attr *attr);
/* All rings, those of CPUs gone offline included. Stable between freeze and settle. */
size_t recording_nr_banks(const struct recording *r);
struct banks *recording_banks(struct recording *r, size_t i);
struct banks *const *recording_all_banks(const struct recording *r, size_t *nr);
uint64_t recording_ring_bytes(const struct recording *r); /* all banks and the sideband */

/* The sideband's rings for sideband_drain(), and the descriptors that wake for them. */
struct ring *const *recording_sideband(const struct recording *r, size_t *nr);
const struct record_layout *recording_sideband_layout(const struct recording *r);

/* Whether nothing more can come: the processes or threads that were to be recorded, and who they
 * started, have all ended. Their descriptors wake for it; sideband_drain() is due afterwards. */
bool recording_target_ended(struct recording *r);

/* A channel's AUX areas, and how the last dump that was committed found them. */
struct recording_aux {
	size_t nr_areas;	       /* now */
	uint64_t area_bytes;	       /* of one; 0: the channel has none */
	uint64_t bytes, new_bytes;     /* as in fmt_window_aux, over all of them */
	uint64_t blackout_ns, copy_ns; /* the longest */
};

void recording_channel_aux(const struct recording *r, size_t channel, struct recording_aux *out);

/* Notes how far all rings are; nothing in any of them is older than what it returns. */
uint64_t recording_oldest(struct recording *r, uint64_t now_ns);

/* How full the channel with the least history is, in percent: 100 when all its rings have wrapped.
 */
unsigned recording_fill_percent(const struct recording *r);

/* For the status line: how far back the channel reaches, about (banks_reach()); cheap. */
uint64_t recording_channel_reach(const struct recording *r, size_t channel, uint64_t now_ns);

/* For status: a channel's shortest horizon (banks_horizon() tells about `until_ns`) and how full
 * it is over all its rings. */
void recording_channel_state(const struct recording *r, size_t channel, uint64_t now_ns,
			     uint64_t until_ns, uint64_t *horizon_ns, unsigned *fill_percent,
			     uint64_t *written, size_t *nr_rings);
