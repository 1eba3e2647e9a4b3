/* SPDX-License-Identifier: MIT */
/*
 * One ring of a channel, with its banks: the events of one CPU (or thread) opened once per bank,
 * each bank with a mapped buffer of its own.
 *
 *	            open            start          freeze            release
 *	  bank A  ───────▶ SPARE ─────────▶ ACTIVE ───────▶ FROZEN ───────────▶ SPARE
 *	  bank B  ───────▶ SPARE ────────────────────────▶ ACTIVE   (enabled before A is paused)
 *
 *	  one bank:  SPARE ──▶ ACTIVE ──▶ FROZEN ──▶ ACTIVE         (a gap, reported)
 *	  CPU gone:            ACTIVE ──▶ FROZEN ──▶ closed, or ACTIVE again when the dump failed
 *	  AUX area:  bank A  ACTIVE all the time; bank B is memory that it is copied to, FROZEN
 *	                     from the stop of the trace on (aux_areas.h)
 *
 * Enabling and disabling goes to group leaders only: siblings are left enabled and run when their
 * leader does, so that a freeze costs one call per group and CPU, however many events there are.
 *
 * Where tasks inherit their parent's events, the spare's stay enabled too, and its ring is paused
 * instead. A task that is forked while its parent's events are being enabled may have looked at
 * them before (inherit_event() in kernel/events/core.c reads their state before it waits for the
 * lock that enabling holds) and would be silent, with all that it forks, until its bank's next
 * turn. A pause is the ring's and holds for all who write into it; it costs what it costs to
 * prepare a sample that is then dropped.
 *
 * All of it belongs to the main loop's thread, but from the freeze to banks_release() `frozen`,
 * `window` and `runs` belong to the dump's. What both look at meanwhile is `frozen` and a bank's
 * `state`, which are read and written atomically; a bank's other fields are right for whoever has
 * seen it ACTIVE.
 */
#pragma once

#include <stdatomic.h>

#include "recorder/capture/aux.h"
#include "recorder/capture/aux_resume.h"
#include "recorder/capture/channel.h"
#include "trigger/kernel/ring.h"
#include "recorder/capture/target.h"

enum bank_state { BANK_SPARE, BANK_ACTIVE, BANK_FROZEN };

struct bank {
	_Atomic enum bank_state state;
	struct ring ring;
	int *fds;	 /* all events; fds[0] owns the ring */
	uint32_t *event; /* index in the channel, for each of fds */
	size_t nr_fds;
	int *leaders; /* those of fds that lead a group */
	size_t nr_leaders;
	uint64_t armed_ns;  /* when it was last switched on */
	uint64_t paused_ns; /* when it was last paused */
	bool running;	    /* it could not be */
};

/*
 * A run of whole records that makes one block. No run is planned shorter than this (window.h), but
 * one ends early where the next record would make it too long.
 */
#define BANKS_MIN_RUN_BYTES (64u << 10)

struct banks_run {
	uint64_t off; /* from head */
	uint32_t bytes;
	uint32_t nr_records;
	uint64_t first_ns, last_ns;
};

/* Room for all runs of a ring: one and the first record of the next are longer than planned, and so
 * are any two. */
static inline size_t banks_max_runs(uint64_t ring_bytes)
{
	return 2 * ring_bytes / BANKS_MIN_RUN_BYTES + 2;
}

/* How far a ring had been written when: tells what it can't hold any more. */
struct banks_mark {
	uint64_t ns, head;
};

#define BANKS_MARKS 16

struct banks {
	const struct channel *channel;
	int cpu;   /* -1: any */
	pid_t tid; /* ring per thread, else -1 */
	unsigned nr_banks;
	struct bank bank[2];
	struct bank *active;
	struct bank *_Atomic frozen; /* NULL: none */
	bool always_on;	 /* events are never disabled: pausing the ring switches on and off */
	bool offline;	 /* its CPU is gone: nothing is written into it any more */
	struct aux *aux; /* its AUX area; NULL: it has none */
	struct aux_resume *notes; /* rules' events may stop its trace; NULL: they can't */
	atomic_bool copying;	  /* from the stop of its trace until it goes on */
	uint64_t last_paused_ns;  /* of the last freeze */
	uint64_t prev_paused_ns;  /* of the last dump that was committed; 0: there was none */
	struct banks_mark mark[BANKS_MARKS]; /* of the active bank, oldest first */
	size_t nr_marks;
	uint64_t frozen_oldest_ns; /* what the frozen bank may refer to */
	/* Filled by window.c when frozen; room for every block a full ring can make. */
	struct fmt_window window;
	struct banks_run *runs;
	size_t nr_runs, max_runs;
};

/*
 * Opens all events of `c` for `cpu` (and `tid` with a ring per thread), all banks, disabled. -ESRCH
 * when no task of the target is left.
 */
int banks_open(const struct channel *c, const struct target *t, const struct caps *caps, int cpu,
	       pid_t tid, struct banks **out, struct err *err);
void banks_close(struct banks *b);

/* Switches the first bank on. */
void banks_start(struct banks *b);
/*
 * Switches on again what is on, with a second look at what inherited an event while it was switched
 * on and may have missed it; and what the driver switched off itself, having found no room.
 */
void banks_start_again(struct banks *b);
/* Its CPU is gone: what it holds is kept for the next dump. */
void banks_retire(struct banks *b);

/* ---- the freeze: each step for all rings before the next; nothing allocates ---- */
void banks_enable_spare(struct banks *b); /* two banks: the spare records from here on */
void banks_pause(struct banks *b);	  /* the active bank stops: it is FROZEN */
void banks_stop_aux(struct banks *b);	  /* the trace into its area stops, if it has one */
void banks_disable_frozen(struct banks *b);
/* Whether a rule's event has stopped its trace, and when the last did (NULL: of no interest); but
 * not while it is stopped for a dump. */
bool banks_stands(const struct banks *b, uint64_t *last_ns);
/*
 * Lets a trace go on that a rule's event has stopped and that was not stopped for a dump since. One
 * that was not stopped before `until_ns` is left alone: true.
 */
bool banks_let_run(struct banks *b, uint64_t until_ns);
/* Brakes were added or switched on while it ran: they are on when its trace is started the next
 * time, which is now. False: not now, it is being copied. */
bool banks_take_brakes(struct banks *b);
/* The event that leads the trace's group, for brakes; -1: its trace can't be stopped by events. */
int banks_trace_fd(const struct banks *b);
/* Copies the area and lets the trace go on. Several may be copied at once; not an area's twice. */
void banks_copy_aux(struct banks *b);
/* Of the copy: how much of it is new, and the records that go with it. */
void banks_measure_aux(struct banks *b);
/* The frozen bank may be written again: SPARE, or ACTIVE when it is the only one. */
void banks_release(struct banks *b);
/*
 * The dump is over, its end in the thread that freezes. One that was not committed never was: what
 * was frozen for it is missing in the next one, which is told of the whole time since the last that
 * was; but the rings of a CPU that is gone are kept. True when the bank is to be closed.
 */
bool banks_settle(struct banks *b, bool committed);

/* Notes how far the ring is, for banks_oldest(). Cheap; call it now and then. */
void banks_note(struct banks *b, uint64_t now_ns);
/* No record in any bank is older than this. */
uint64_t banks_oldest(const struct banks *b);
/* How far back the active ring reaches, about: as if between two notes it was written evenly. */
uint64_t banks_reach(const struct banks *b, uint64_t now_ns);
/*
 * The same exactly: to when it was armed, or to its oldest record, which is found by going through
 * what is older than the oldest note. When CLOCK_MONOTONIC is past `until_ns` before that is done,
 * the answer is banks_reach().
 */
uint64_t banks_horizon(const struct banks *b, uint64_t now_ns, uint64_t until_ns);
/* Bytes written to the active bank since it was armed. */
uint64_t banks_written(const struct banks *b);
