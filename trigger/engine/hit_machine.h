/* SPDX-License-Identifier: MIT */
/*
 * What a hit leads to: the one state machine of the recorder. It has no clock, no descriptor and no
 * thread: the engine tells it what its rules say of a hit (engine_hits.c), the daemon what becomes of
 * the dump (daemon.c), and each move returns what to do about it.
 *
 *	          hit of a rule with post time   post time over, or stop
 *	   ┌───────▶ POST ─────────────────────────────────────┐
 *	   │                                                   ▼    sealed
 *	 ARMED ─────────── hit without post time ─────────▶ WRITING ────────▶ NAMING
 *	   ▲                                                   │                 │
 *	   │                                                   ▼                 ▼
 *	   └──────────────────────────── done: committed, or failed ─────────────┘
 *
 * A hit in POST or WRITING is merged with that dump. In NAMING, where the rings are free again and
 * the dump already says which hits it answers, a hit waits for a dump of its own if it is certain
 * to get one: the search for names, which takes seconds, is cut short for it. Other hits are merged
 * with the next dump.
 *
 * Stopping lies across this: a dump that is due, asked for or promised is still made.
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
	HIT_NAMING,  /* the list of hits is in the dump; names are looked up */
};

enum hit_run {
	HIT_RUNNING,
	HIT_STOPPING,
	HIT_EXIT_DUMP, /* stopping, and the dump at exit was asked for */
	HIT_LEFT,
};

enum hit_do {
	DO_FREEZE,   /* freeze the rings and start the dump */
	DO_WAIT,     /* freeze when the post time is over */
	DO_MERGE,    /* count it: a dump in the making, or the next one, tells of it */
	DO_HOLD,     /* count it: a limit holds its rule */
	DO_DEFER,    /* keep it for hit_machine_take(), and end the search for names */
	DO_EXIT_HIT, /* hit the rule "exit" */
	DO_LEAVE,
	DO_NOTHING,
};

/* Waits for the end of dump number `dump`. */
struct hit_asker {
	void *who;
	uint32_t dump;
	bool merged; /* with a dump that was already begun */
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

/* What the rules say of a hit. */
struct hit_facts {
	const void *rule; /* only compared: one hit of each can be deferred */
	bool post;	  /* it has post time */
	/* In ARMED: a limit holds it. In NAMING: one would if the dump were committed now. */
	bool is_over_limit;
};

/* FREEZE, WAIT or HOLD in ARMED, else MERGE or DEFER. Deferred hits have to be taken first. */
enum hit_do hit_machine_hit(struct hit_machine *m, const struct hit_facts *f);
/* The post time is over: WRITING. */
void hit_machine_due(struct hit_machine *m);
/* The list of hits was handed to the dump: NAMING. */
void hit_machine_seal(struct hit_machine *m);
/* The dump is committed, or failed: ARMED. Next, its askers are answered, then deferred hits taken. */
void hit_machine_done(struct hit_machine *m);
/* What to do about the oldest deferred hit, which leaves the list: FREEZE or WAIT (`post`: it has
 * post time), MERGE if another one was first; NOTHING when there is none. After done() only. */
enum hit_do hit_machine_take(struct hit_machine *m, bool post);
/* The rule of deferred hit `i` has a successor; NULL: it is gone, the hit leaves the list. */
void hit_machine_replace(struct hit_machine *m, size_t i, const void *rule);

/* `who` waits for what becomes of a hit that led to `what`. There has to be room. */
void hit_machine_ask(struct hit_machine *m, void *who, enum hit_do what);
/* An asker whose dump has ended, each once; false: no more. */
bool hit_machine_answer(struct hit_machine *m, struct hit_asker *out);

/* A stop is wanted; to be called again in ARMED until it says LEAVE. FREEZE, EXIT_HIT (only with
 * `exit_dump`), LEAVE or NOTHING. */
enum hit_do hit_machine_stop(struct hit_machine *m, bool exit_dump);
