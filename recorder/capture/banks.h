/* SPDX-License-Identifier: MIT */
/*
 * One ring of a channel, with its banks. The events of one CPU (or thread) are opened once per
 * bank, and each bank has its own mapped buffer.
 *
 *	            open            start          freeze            release
 *	  bank A  ───────▶ SPARE ─────────▶ ACTIVE ───────▶ FROZEN ───────────▶ SPARE
 *	  bank B  ───────▶ SPARE ────────────────────────▶ ACTIVE   (enabled before A is paused)
 *
 *	  resized:                 ACTIVE ──▶ OLDER, read with the new bank   (resize.h)
 *	  one bank:  SPARE ──▶ ACTIVE ──▶ FROZEN ──▶ ACTIVE         (a gap, reported)
 *	  CPU gone:            ACTIVE ──▶ FROZEN ──▶ closed, or ACTIVE again when the dump failed
 *	  compact:   as with two banks; one store turns all CPUs instead of enabling and pausing
 *	  AUX area:  bank A is always ACTIVE; bank B is the memory of the copy, FROZEN from the
 *	             stop of the trace on (aux.h)
 *
 * Only group leaders are enabled and disabled. Siblings stay enabled and run with their leader, so
 * a freeze costs one call per group and CPU, regardless of the number of events.
 *
 * If tasks inherit their parent's events, the spare bank's events stay enabled too, and its ring is
 * paused instead. Otherwise a task forked while its parent's events are being enabled might inherit
 * the old state (inherit_event() in kernel/events/core.c reads it before it waits for the lock that
 * enabling holds), and the task and its descendants would record nothing until the bank's next
 * turn. A pause applies to the ring and so to all its writers. It costs the preparation of samples
 * that are then dropped.
 *
 * Everything belongs to the main loop's thread, except that from the freeze to banks_release()
 * `frozen`, `window` and `runs` belong to the dump's threads. Both sides access only `frozen` and a
 * bank's `state` meanwhile, both atomically. A bank's other fields are valid for a thread that has
 * seen the state ACTIVE.
 */
#pragma once

#include <stdatomic.h>

#include "recorder/trace/aux.h"
#include "recorder/trace/aux_records.h"
#include "recorder/trace/aux_resume.h"
#include "recorder/capture/channel.h"
#include "recorder/capture/compact_records.h"
#include "recorder/capture/manifest.h"
#include "recorder/config/ring_time.h"
#include "trigger/kernel/ring.h"
#include "recorder/capture/target.h"
#include "recorder/trace/trace_watch.h"

enum bank_state { BANK_SPARE, BANK_ACTIVE, BANK_FROZEN, BANK_OLDER };

struct bank {
	_Atomic enum bank_state state;
	uint64_t ring_bytes;
	struct ring ring; /* with an AUX area: of context switches, or the copy of the records */
	struct ring aux_ring; /* of the AUX event; not mapped: there is no AUX area */
	int *fds;	      /* all events; fds[0] owns the ring, or aux_ring */
	uint32_t *event;      /* index of the event in the channel, for each fd */
	size_t nr_fds;
	int *leaders; /* the fds of group leaders */
	size_t nr_leaders;
	uint64_t armed_ns;  /* time of the last enabling */
	uint64_t paused_ns; /* time of the last pause */
	bool running;	    /* the ring could not be paused */
	bool is_watched;    /* wakes the main loop (resize.h) */
	bool is_first;	    /* what recorded before it is gone, and in no dump */
	struct bank *older; /* what recorded until this one did, owned; NULL: none */
	uint64_t oldest_ns; /* OLDER: lower bound of its times */
	uint64_t reach_ns;  /* OLDER: about the time of its oldest record */
};

/* What was written to the bank since it was armed. */
static inline uint64_t bank_written(const struct bank *b)
{
	return b->ring.armed_head - ring_head(&b->ring);
}

/* The bank whose records precede this one's without a gap; NULL: there is none. */
static inline const struct bank *bank_before(const struct bank *b)
{
	return bank_written(b) <= b->ring.size && !b->running ? b->older : NULL;
}

/*
 * A run of whole records that becomes one block. No planned run is shorter (window.h), but a run
 * ends early if the next record would make it too long.
 */
#define BANKS_MIN_RUN_BYTES (64u << 10)

struct banks_run {
	const struct ring *ring;
	uint64_t at;  /* offset from the ring's head */
	uint64_t off; /* bytes of the window that are newer */
	uint32_t bytes;
	uint32_t nr_records;
	uint64_t first_ns, last_ns;
	struct compact_reader reader; /* of a compact channel, at the newest record */
};

/* Enough for all runs of a ring: a run and the first record of the next are longer than the planned
 * length, so any two adjacent runs are too. */
static inline size_t banks_max_runs(uint64_t ring_bytes)
{
	return 2 * ring_bytes / BANKS_MIN_RUN_BYTES + 2;
}

/* The most bytes that a dump has of a ring. */
static inline uint64_t banks_max_bytes(const struct channel *c, uint64_t ring_bytes)
{
	return c->compact ? ring_bytes * COMPACT_GROWTH : ring_bytes;
}

/* The ring's head at a time: tells what has been overwritten since. */
struct banks_mark {
	uint64_t ns, head;
};

#define BANKS_MARKS 16

struct banks {
	const struct channel *channel;
	int cpu;   /* -1: any */
	pid_t tid; /* its thread with a ring per thread, else -1 */
	unsigned nr_banks;
	struct bank bank[2];
	struct bank *active;
	struct bank *_Atomic frozen; /* NULL: none */
	bool always_on;	 /* events stay enabled; pausing the ring replaces enabling and disabling */
	bool offline;	 /* its CPU is offline: nothing is written any more */
	uint64_t missed; /* events that the programs of a compact channel missed, on any CPU */
	struct aux *aux; /* NULL: no AUX area, nor the next two */
	struct aux_records *records;
	struct trace_watch *watch;
	struct aux_resume *notes;	     /* NULL: events can't stop its trace */
	atomic_bool copying;		     /* from the freeze until the trace is resumed */
	atomic_bool stopped;		     /* the trace, for the dump being made */
	uint64_t last_paused_ns;	     /* time of the last freeze */
	uint64_t prev_paused_ns;	     /* of the last committed dump; 0: none */
	struct banks_mark mark[BANKS_MARKS]; /* of the active bank, oldest first */
	size_t nr_marks;
	uint64_t frozen_oldest_ns; /* lower bound of times in the frozen bank */
	/* Filled by window.c after a freeze; room for every block of a full ring. */
	struct fmt_window window;
	struct banks_run *runs;
	size_t nr_runs, max_runs;
	uint64_t need_bytes;	 /* size for its channel's horizon, by the last look (resize.h) */
	uint64_t short_since_ns; /* it has less, since memory does not allow more; 0: it has it */
	bool taken;		 /* another recorder opened it */
	struct kept_ring *kept;	 /* its entry in the manifest; NULL: the ring is not kept */
};

/*
 * Opens all events of `c` for `cpu` (and `tid` with a ring per thread) in all banks, disabled.
 * -ESRCH when no task of the target is left.
 */
int banks_open(const struct channel *c, const struct target *t, const struct caps *caps, int cpu,
	       pid_t tid, struct banks **out, struct err *err);
void banks_close(struct banks *b);
/* Closes and frees a list of banks linked by `older`. */
void banks_close_older(struct bank *older);

/* Identifies everything about the ring of a channel that has to be the same for another recorder to
 * take it over; 0: it can't be taken over (AUX areas, uprobes, rings that are not of a CPU). */
uint64_t banks_signature(const struct channel *c, const struct target *t);
/*
 * Takes over the ring of `cpu`, which went on recording. A bank that was being dumped is `frozen`
 * as after banks_pause(). -ENOENT: there is none in `from` (which may be NULL), or none that
 * records.
 */
int banks_take_over(const struct channel *c, const struct target *t, struct kept *from, int cpu,
		    struct banks **out, struct err *err);
/* Takes over the programs of a compact channel. 0 or -errno, -ENOENT: there are none. */
int banks_take_programs(const struct channel *c, const struct target *t, const struct kept *from,
			struct compact **out);
/* The channel's programs were turned for a dump that is not finished: it has nothing of this ring of a
 * compact channel. */
void banks_join_unfinished(struct banks *b, uint64_t paused_ns);
/* Writes its entry in the manifest from now on; NULL: no more. `programs`: see kept_ring. */
void banks_keep(struct banks *b, struct kept_ring *entry, uint64_t signature, uint32_t programs);

/* Enables the first bank, unless it was taken over. */
void banks_start(struct banks *b);
/*
 * Enables the active events again. This reaches tasks that inherited an event while it was being
 * enabled and missed it, and an event that its driver disabled for lack of room.
 */
void banks_start_again(struct banks *b);
/* Its CPU is offline: disables the ring and keeps it for the next dump. */
void banks_retire(struct banks *b);

/* ---- the freeze: do each step for all rings before the next; no step allocates ---- */
void banks_enable_spare(struct banks *b); /* with two banks the spare records from here on */
void banks_pause(struct banks *b);	  /* pauses the active bank: it is FROZEN */
void banks_will_stop(struct banks *b);	  /* the next two follow in other threads */
void banks_stop_aux(struct banks *b);	  /* any thread: stops the trace into the AUX area */
void banks_disable_frozen(struct banks *b);
/* Whether a rule's event has stopped its trace; *last_ns (may be NULL) gets the time of the last
 * stop. False while the trace is stopped for a dump. */
bool banks_stands(const struct banks *b, uint64_t *last_ns);
/*
 * Resumes a trace that a rule's event has stopped, unless it is stopped for a dump. Returns true
 * when the last stop was at `until_ns` or later: the trace then stays stopped.
 */
bool banks_let_run(struct banks *b, uint64_t until_ns);
/* Restarts the trace, so that brakes that were added or enabled meanwhile become effective. False:
 * not possible now, because the area is being copied. */
bool banks_take_brakes(struct banks *b);
/* Becomes readable when the driver has ended the trace; -1: no AUX area. Poll it edge-triggered: it
 * also reports EPOLLHUP when all tasks of the event have exited. */
int banks_watch_fd(const struct banks *b);
/*
 * Starts the trace again if its driver has ended it or did not start it. Returns the time when to
 * call it again; 0: only when it wakes. *reason: FMT_STOP_* if it stood.
 */
uint64_t banks_start_ended(struct banks *b, uint64_t now_ns, uint32_t *reason);
/* The event that leads the trace's group, for brakes; -1: events can't stop its trace. */
int banks_trace_fd(const struct banks *b);
/* Waits for the stop, copies the area and resumes the trace. Different areas may be copied at the
 * same time. */
void banks_copy_aux(struct banks *b);
/* Finds out how much of the copy is new, and copies the records beside it. */
void banks_measure_aux(struct banks *b);
/* Memory of its AUX area, of the copy and of its records. */
uint64_t banks_aux_bytes(const struct banks *b);
/* The dump no longer needs the frozen bank: it becomes SPARE, or ACTIVE when it is the only one. */
void banks_release(struct banks *b);
/*
 * Ends a dump, in the thread that freezes. A dump that was not committed does not count: the next
 * one reports the whole time since the last committed one as missing. The rings of an offline CPU
 * are kept for the next dump in that case. True when the banks must be closed.
 */
bool banks_settle(struct banks *b, bool committed);

/* Marks the ring's head for banks_oldest(). Cheap; call it regularly. */
void banks_note(struct banks *b, uint64_t now_ns);
/* No record in any bank is older than this. */
uint64_t banks_oldest(const struct banks *b);
/* The approximate time that the newest `bytes` of the active bank took, interpolated between two
 * marks; since it was armed if that is less. */
uint64_t banks_time_back(const struct banks *b, uint64_t now_ns, uint64_t bytes);
/* The approximate time span of the active ring and the one before it. */
uint64_t banks_reach(const struct banks *b, uint64_t now_ns);
/*
 * The exact time span: back to when it was armed, or to its oldest record, found by reading the
 * records older than the oldest mark. Falls back to banks_reach() when CLOCK_MONOTONIC passes
 * `until_ns` before that.
 */
uint64_t banks_horizon(const struct banks *b, uint64_t now_ns, uint64_t until_ns);
/* Bytes written to the active bank since it was armed. */
uint64_t banks_written(const struct banks *b);
/* What was written to the active bank lately. */
void banks_load(const struct banks *b, uint64_t now_ns, struct ring_load *out);
/* Memory of all its rings, without an AUX area. */
uint64_t banks_bytes(const struct banks *b);
