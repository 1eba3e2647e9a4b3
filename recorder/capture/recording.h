/* SPDX-License-Identifier: MIT */
/*
 * Everything that is recorded: channels × CPUs (or threads), the sideband rings, and the freeze of
 * all rings. Opened by cmd_record.c, driven by daemon.c; dumper.c reads what is frozen.
 */
#pragma once

#include "recorder/capture/banks.h"
#include "recorder/config/config.h"

struct aux_pauses;
struct keep_set;
struct kept;
struct sleeps;
struct err;
struct recording;

/*
 * Parses the channels and opens all their rings, disabled. Ring sizes that were not requested are
 * computed from `memory` (ring_size.h; NULL: kept as they are) and halved (down to 16K) until they
 * fit the user's mlock limit. Rings that are in `from` (NULL: none) are taken over and record
 * already. `caps` and `t` are borrowed.
 */
int recording_open(const struct config_channel *channels, size_t nr, unsigned nr_banks,
		   const struct ring_size_memory *memory, const struct caps *caps, struct target *t,
		   struct kept *from, struct recording **out, struct err *err);
void recording_close(struct recording *r);

/*
 * Lets rules' events stop the traces of CPUs from now on (trigger/events/aux_pause.h). `b` is
 * borrowed. 0 or -ENOMEM.
 */
int recording_join_brakes(struct recording *r, struct aux_pauses *b, struct err *err);
/* Lets BPF programs write into the rings of channels with sleep-stacks from now on
 * (trigger/bpf/sleeps.h). `s` is borrowed. 0 or -errno. */
int recording_join_sleeps(struct recording *r, struct sleeps *s, struct err *err);
/* Enables all events. 0 or -errno. */
int recording_start(struct recording *r, struct err *err);

/* ---- rings that outlive the recorder (recording_keep.c) ---- */

/*
 * Makes the set for the keeper, with the sideband's log `log_fd`. From now on the manifest follows
 * the rings. Call it again when rings were opened or closed. An empty set: this target's rings
 * can't be kept. 0 or -errno.
 */
int recording_keep(struct recording *r, int log_fd, struct keep_set *out);
/* Rings that were taken over, and the time from which on they record. */
size_t recording_nr_taken(const struct recording *r, uint64_t *since_ns);
/* Whether a ring of the channel was taken over. */
bool recording_channel_taken(const struct recording *r, size_t channel);
/* The time of a freeze whose dump the recorder before did not finish; 0: there is none. The next
 * recording_freeze() completes it. */
uint64_t recording_unfinished(const struct recording *r);

/* Times of a freeze. */
struct recording_freeze {
	uint64_t enable_ns, pause_ns, disable_ns; /* durations of the steps */
	uint64_t first_paused_ns, last_paused_ns;
};

/*
 * Freezes all rings: enables the spares, pauses the active banks in one loop, stops the traces into
 * AUX areas in another, then disables the frozen banks. The areas are still being copied when it
 * returns.
 */
void recording_freeze(struct recording *r, struct recording_freeze *f);
/* Waits until all AUX areas are copied and their traces resumed. Any thread, once per freeze. */
void recording_wait_copied(struct recording *r);
/* Releases the frozen banks. Any thread, once between recording_freeze() and the next. */
void recording_release(struct recording *r);
/*
 * Ends a dump, in the thread that freezes: notes where the next one continues. If the dump was
 * committed, closes the rings of offline CPUs.
 */
void recording_settle(struct recording *r, bool committed);

/*
 * CPU hotplug; do not call during a dump. Events of tasks survive and work again when the CPU is
 * back. Events of the system or a cgroup are lost with the CPU and are reopened.
 */
bool recording_wants_cpu(const struct recording *r, int cpu);
/* `cpu` is online: opens its missing rings. Drain its old sideband ring before, it is closed. */
int recording_cpu_online(struct recording *r, int cpu, struct err *err);
void recording_cpu_offline(struct recording *r, int cpu);
/* Does the same for all CPUs after hotplug messages were lost. */
int recording_recount_cpus(struct recording *r, struct err *err);

size_t recording_nr_channels(const struct recording *r);
const struct channel *recording_channel(const struct recording *r, size_t i);
/* Whether any channel is compact. */
bool recording_is_compact(const struct recording *r);
/* The attr of event `i` of channel `c` as it was opened for the active bank. */
void recording_attr(const struct recording *r, const struct channel *c, size_t i,
		    struct perf_event_attr *attr);
/* All rings, including those of offline CPUs. Stable between freeze and settle. */
size_t recording_nr_banks(const struct recording *r);
struct banks *recording_banks(struct recording *r, size_t i);
struct banks *const *recording_all_banks(const struct recording *r, size_t *nr);
uint64_t recording_ring_bytes(const struct recording *r); /* all banks and the sideband */

/* The sideband's rings for sideband_drain(); poll their descriptors. */
struct ring *const *recording_sideband(const struct recording *r, size_t *nr);
const struct record_layout *recording_sideband_layout(const struct recording *r);

/* Whether all processes or threads of the target and their descendants have ended. Their
 * descriptors wake the poll. Call sideband_drain() afterwards. */
bool recording_target_ended(struct recording *r);

/* State of a channel's AUX areas at the last committed dump. */
struct recording_aux {
	size_t nr_areas;	       /* current number */
	uint64_t area_bytes;	       /* size of one; 0: the channel has none */
	uint64_t bytes, new_bytes;     /* as in fmt_window_aux, summed over all areas */
	uint64_t blackout_ns, copy_ns; /* maximum over all areas */
	uint32_t told;		       /* bits: stops of this FMT_STOP_* were reported since */
};

void recording_channel_aux(const struct recording *r, size_t channel, struct recording_aux *out);

/* Marks the heads of all rings; nothing in any ring is older than the returned time. */
uint64_t recording_oldest(struct recording *r, uint64_t now_ns);

/* Fill level in percent of the least full channel: 100 when all its rings have wrapped. */
unsigned recording_fill_percent(const struct recording *r);

/* For the status line: the approximate time span of the channel (banks_reach()); cheap. */
uint64_t recording_channel_reach(const struct recording *r, size_t channel, uint64_t now_ns);

/* For status: the shortest horizon of the channel's rings (for `until_ns` see banks_horizon()) and
 * its fill level. */
void recording_channel_state(const struct recording *r, size_t channel, uint64_t now_ns,
			     uint64_t until_ns, uint64_t *horizon_ns, unsigned *fill_percent,
			     uint64_t *written, size_t *nr_rings);
