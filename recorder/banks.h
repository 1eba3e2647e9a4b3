/* SPDX-License-Identifier: MIT */
/*
 * One ring of a channel, with its banks: the events of one CPU (or thread) opened once per bank,
 *each bank with a mapped buffer of its own.
 *
 *	            open            start          freeze            release
 *	  bank A  ───────▶ SPARE ─────────▶ ACTIVE ───────▶ FROZEN ───────────▶ SPARE
 *	  bank B  ───────▶ SPARE ────────────────────────▶ ACTIVE   (enabled before A is paused)
 *
 *	  one bank:  SPARE ──▶ ACTIVE ──▶ FROZEN ──▶ ACTIVE         (a gap, reported)
 *
 * Enabling and disabling goes to group leaders only: siblings are left enabled and run when their
 *leader does, so that a freeze costs one call per group and CPU, however many events there are.
 */
#pragma once

#include "recorder/channel.h"
#include "recorder/ring.h"
#include "recorder/target.h"

enum bank_state { BANK_SPARE, BANK_ACTIVE, BANK_FROZEN };

struct bank {
	enum bank_state state;
	struct ring ring;
	int *fds;	 /* all events; fds[0] owns the ring */
	uint32_t *event; /* index in the channel, for each of fds */
	size_t nr_fds;
	int *leaders; /* those of fds that lead a group */
	size_t nr_leaders;
	uint64_t armed_ns;  /* when it was last switched on */
	uint64_t paused_ns; /* when it was last paused */
};

/* A run of whole records that makes one block. */
struct banks_run {
	uint64_t off; /* from head */
	uint32_t bytes;
	uint32_t nr_records;
	uint64_t first_ns, last_ns;
};

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
	struct bank *frozen; /* NULL: none */
	bool offline;
	uint64_t prev_paused_ns;	     /* of the last dump; 0: there was none */
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

/* ---- the freeze: each step for all rings before the next; nothing allocates ---- */
void banks_enable_spare(struct banks *b); /* two banks: the spare records from here on */
void banks_pause(struct banks *b);	  /* the active bank stops: it is FROZEN */
void banks_disable_frozen(struct banks *b);
/* The frozen bank may be written again: SPARE, or ACTIVE when it is the only one. */
void banks_release(struct banks *b);

/* Notes how far the ring is, for banks_oldest(). Cheap; call it now and then. */
void banks_note(struct banks *b, uint64_t now_ns);
/* No record in any bank is older than this. */
uint64_t banks_oldest(const struct banks *b);
/* How far back the active ring reaches, by going through it: exact, costs a pass over the ring. */
uint64_t banks_horizon(const struct banks *b, uint64_t now_ns);
/* Bytes written to the active bank since it was armed. */
uint64_t banks_written(const struct banks *b);
