/* SPDX-License-Identifier: MIT */
/* What engine.c (the rules), engine_poll.c (their sources) and engine_hits.c (their hits) share. */
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
	int rest_fd;	  /* a timer: some slot has rested enough, or may stop traces again */
	uint64_t wake_ns; /* when it comes; 0: not set */
	struct armed_rule *builtin[NR_BUILTIN];
	struct armed_rules added;
	struct sigmask mask;

	struct hit_machine hits;
	struct sighting deferred[HIT_MAX_DEFERRED]; /* of hits.deferred; owned */
	/* While a dump is due or in the making: */
	struct armed_rule *cause_slot;
	bool cause_retired; /* a reload took cause_slot off the list: freed when the dump is done */
	struct engine_cause cause;
	uint64_t due_ns;

	size_t turn;	       /* whose it is in engine_poll() */
	uint64_t last_dump_ns; /* committed; 0: none yet */
	struct repeats *repeats;
	struct merged_hits open;   /* not in any dump yet */
	struct merged_hits sealed; /* in the dump being written; if it fails they are open again */
	struct engine_totals totals;
};

/* Rule `i`: the built-in ones come first. */
struct armed_rule *engine_slot(const struct engine *e, size_t i);
struct armed_rule *engine_slot_of(const struct engine *e, const struct rule *rule);

/* Until when limits and cooldowns hold the rule; 0: not at all. */
uint64_t engine_blocked_until(const struct engine *e, const struct armed_rule *s);

/* The timer that wakes the recorder for a resting source, and the descriptor of env->tell. */
int engine_open_timer(struct engine *e, struct err *err);
int engine_watch_tell(struct engine *e, bool on, struct err *err);

/* Stops pausing traces for hits of a rule that would get no dump; and resumes. */
void engine_release_traces(struct engine *e, struct armed_rule *s, uint64_t now);
void engine_pause_traces(struct engine *e, uint64_t now);

/* The deferred hit of the rule `old` moves to `now`, its successor; NULL: it is merged. */
void engine_replace_deferred(struct engine *e, struct armed_rule *old, const struct rule *now);
