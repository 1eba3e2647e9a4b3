/* SPDX-License-Identifier: MIT */
/*
 * The state machine of the recorder: what a hit leads to. It has no clock, descriptor or thread.
 * The engine reports what its rules say about a hit (engine_hits.c), the daemon reports the
 * progress of the dump (daemon.c); each transition returns the action to take.
 *
 *	          hit of a rule with post time   post time over, or stop
 *	   ┌───────▶ POST ─────────────────────────────────────┐
 *	   │                                                   ▼    sealed
 *	 ARMED ─────────── hit without post time ─────────▶ WRITING ────────▶ NAMING
 *	   ▲                                                   │                 │
 *	   │                                                   ▼                 ▼
 *	   └──────────────────────────── done: committed, or failed ─────────────┘
 *
 * A hit in POST or WRITING is merged with that dump. In NAMING the rings are free again and the
 * dump's list of hits is complete. A hit that is certain to get its own dump is deferred, and the
 * name lookup, which takes seconds, is cut short for it. Other hits are merged with the next dump.
 *
 * A stop is independent of these states: a dump that is due, requested or promised is still made.
 *
 *	 RUNNING ── stop ──▶ STOPPING ── ARMED ──▶ [EXIT_DUMP ── ARMED ──▶] LEFT
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HIT_MAX_ASKERS	 32
#define HIT_MAX_DEFERRED 16

enum hit_state {
	HIT_ARMED,
	HIT_POST,    /* waits for the post time of a hit */
	HIT_WRITING, /* the rings are frozen or being written */
	HIT_NAMING,  /* the dump has the list of hits; names are looked up */
};

enum hit_run {
	HIT_RUNNING,
	HIT_STOPPING,
	HIT_EXIT_DUMP, /* stopping; the dump at exit was requested */
	HIT_LEFT,
};

enum hit_do {
	DO_FREEZE,   /* freeze the rings and start the dump */
	DO_WAIT,     /* freeze when the post time is over */
	DO_MERGE,    /* count it: the current or the next dump reports it */
	DO_HOLD,     /* count it: a limit holds its rule */
	DO_DEFER,    /* keep it for hit_machine_take(), and end the name lookup */
	DO_EXIT_HIT, /* hit the rule "exit" */
	DO_LEAVE,
	DO_NOTHING,
};

/* Waits for the end of dump number `dump`. */
struct hit_asker {
	void *who;
	uint32_t dump;
	bool merged; /* with a dump that had already begun */
};

struct hit_machine {
	enum hit_state state;
	enum hit_run run;
	uint32_t nr_begun, nr_ended; /* dumps */
	const void *deferred[HIT_MAX_DEFERRED];
	size_t nr_deferred;
	struct hit_asker askers[HIT_MAX_ASKERS];
	size_t nr_askers;
};

/* The state of a hit's rule. */
struct hit_facts {
	const void *rule; /* only compared: one hit of each rule can be deferred */
	bool post;	  /* the rule has post time */
	/* In ARMED: a limit holds it. In NAMING: one would if the dump were committed now. */
	bool is_over_limit;
};

/* FREEZE, WAIT or HOLD in ARMED, else MERGE or DEFER. Take all deferred hits first. */
enum hit_do hit_machine_hit(struct hit_machine *m, const struct hit_facts *f);
/* The post time is over: WRITING. */
void hit_machine_due(struct hit_machine *m);
/* The dump has the list of hits: NAMING. */
void hit_machine_seal(struct hit_machine *m);
/* The dump is committed or failed: ARMED. Next, answer its askers, then take deferred hits. */
void hit_machine_done(struct hit_machine *m);
/*
 * Removes the oldest deferred hit and returns what to do about it: FREEZE or WAIT (`post`: it has
 * post time), MERGE if another one was taken first, NOTHING when there is none. Only after done().
 */
enum hit_do hit_machine_take(struct hit_machine *m, bool post);
/* Gives deferred hit `i` the successor of its rule; NULL: the rule is gone, the hit is removed. */
void hit_machine_replace(struct hit_machine *m, size_t i, const void *rule);

/* Registers `who` to wait for the result of a hit that led to `what`. The list must have room. */
void hit_machine_ask(struct hit_machine *m, void *who, enum hit_do what);
/* Takes an asker whose dump has ended; false: no more. */
bool hit_machine_answer(struct hit_machine *m, struct hit_asker *out);

/* Requests a stop; call it again in ARMED until it returns LEAVE. Returns FREEZE, EXIT_HIT (only
 * with `exit_dump`), LEAVE or NOTHING. */
enum hit_do hit_machine_stop(struct hit_machine *m, bool exit_dump);
