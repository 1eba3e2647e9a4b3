/* SPDX-License-Identifier: MIT */
/* Shared by engine.c (rules), engine_poll.c (their sources) and engine_hits.c (their hits). */
#pragma once

#include "trigger/engine/armed_rules.h"
#include "trigger/engine/engine.h"
#include "trigger/engine/merged_hits.h"
#include "trigger/engine/repeats.h"
#include "trigger/engine/sigmask.h"

enum { MANUAL, EXIT, SIGUSR2_RULE, NR_BUILTIN };

struct engine {
	struct engine_options opt;
	int epoll_fd;
	int rest_fd;	  /* timer: a slot has rested enough, or may pause traces again */
	uint64_t wake_ns; /* expiry of rest_fd; 0: not set */
	struct armed_rule *builtin[NR_BUILTIN];
	struct armed_rules added;
	struct sigmask mask;

	struct hit_machine hits;
	struct sighting deferred[HIT_MAX_DEFERRED]; /* parallel to hits.deferred; owned */
	/* While a dump is due or in progress: */
	struct armed_rule *cause_slot;
	bool cause_retired; /* a reload removed cause_slot from the list; freed after the dump */
	struct engine_cause cause;
	uint64_t due_ns;

	size_t turn;	       /* next slot for engine_poll() */
	uint64_t last_dump_ns; /* committed; 0: none yet */
	struct repeats *repeats;
	struct merged_hits open;   /* not in any dump yet */
	struct merged_hits sealed; /* in the dump being written; reopened if it fails */
	struct engine_totals totals;
};

/* Rule `i`; the built-in ones come first. */
struct armed_rule *engine_slot(const struct engine *e, size_t i);
struct armed_rule *engine_slot_of(const struct engine *e, const struct rule *rule);

/* Time until which limits and cooldowns hold the rule; 0: not held. */
uint64_t engine_blocked_until(const struct engine *e, const struct armed_rule *s);

/*
 * Create the timer that wakes the recorder for a resting source; watch the descriptor of env->tell.
 */
int engine_open_timer(struct engine *e, struct err *err);
int engine_watch_tell(struct engine *e, bool on, struct err *err);

/* Release: stop pausing traces for hits of a rule that would get no dump. Pause: resume that. */
void engine_release_traces(struct engine *e, struct armed_rule *s, uint64_t now);
void engine_pause_traces(struct engine *e, uint64_t now);

/* Moves the deferred hit of the rule `old` to its successor `now`; NULL: merges it. */
void engine_replace_deferred(struct engine *e, struct armed_rule *old, const struct rule *now);
