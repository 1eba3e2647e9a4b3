/* SPDX-License-Identifier: MIT */
/* A rule with its open source and its limits. The engine keeps a list of these; only the engine
 * uses this file. */
#pragma once

#include "trigger/engine/quota.h"
#include "trigger/engine/source.h"

#include <sys/types.h>
#include <time.h>

struct err;

/* Detects a storm: thousands of hits in a short time, none of which would get a dump. During a
 * storm the source rests for a while; after the rest its hits are only counted. */
struct pace {
	uint64_t window_ns; /* start of the current window */
	uint32_t nr;	    /* hits in the window */
	uint64_t rest_ns;   /* resting until then; 0: not resting */
	/* Of the last hit that was read. Hits that are only counted are assumed to equal it. */
	char comm[16];
	uint64_t stack_hash;
};
#define PACE_WINDOW_NS 100000000ull
#define PACE_MAX       32	   /* hits in a window */
#define PACE_REST_NS   10000000ull /* 10,000 hits/s fill no ring meanwhile */

/* Limit of a rule that other users can hit, when the rule has no max= of its own. */
#define SLOT_MAX_DUMPS	  100
#define SLOT_MAX_DUMPS_NS 86400000000000ll

/* Identity of a file, to detect a replacement; all zero: no file. */
struct armed_rule_file {
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
};

struct armed_rule {
	struct rule *rule;
	const struct source_ops *ops;
	struct source *source;	     /* NULL: disarmed, or a built-in rule without a source */
	char why[160];		     /* why it is disarmed, or watches an older file */
	bool is_over;		     /* its target ended while the rule was armed */
	struct armed_rule_file file; /* of sources that are `in_file`, when it was opened */
	bool always;		     /* limits never hold it */
	uint64_t nr_hits, nr_held;
	struct pace pace;
	bool released;	    /* its hits pause no traces for now: none would get a dump */
	struct quota dumps; /* the last `rule->max_hits` (at least one) */
};

/* A rule that only the recorder itself can hit ("manual", "exit"). */
int armed_rule_new_plain(const char *text, struct armed_rule **out, struct err *err);
/* Parses `text`. -EINVAL; -ENOENT: this build does not have the source. */
int armed_rule_parse(const char *text, struct armed_rule **out, struct err *err);
/* Opens its source. -ESRCH: the target of the rule does not exist (any more). */
int armed_rule_open(struct armed_rule *s, const struct source_env *env, struct err *err);
/* armed_rule_parse() and armed_rule_open(). */
int armed_rule_new(const char *text, const struct source_env *env, struct armed_rule **out,
		   struct err *err);
/* The file at its path is not the one that was opened. */
bool armed_rule_is_stale(const struct armed_rule *s);
/* NULL allowed. */
void armed_rule_free(struct armed_rule *s);
/* Closes the source. The rule stays, for its counters. */
void armed_rule_disarm(struct armed_rule *s);
/* armed_rule_disarm() if it has a source, and notes the reason: the error `rc` of its source, or 0
 * when the rule was not armed. */
void armed_rule_off(struct armed_rule *s, int rc, const struct err *why);
/* Only notes the reason, with the prefix `how`. */
void armed_rule_say(struct armed_rule *s, const char *how, const struct err *why);

/* Adds the descriptor of its source, if any, to the epoll set, with the slot as data. */
int armed_rule_watch(struct armed_rule *s, int epoll_fd, struct err *err);
/* Removes it again. Call this before the source is closed: a descriptor that has a duplicate stays
 * in the epoll set after close(). */
void armed_rule_unwatch(const struct armed_rule *s, int epoll_fd);

/* Adds the signals that its source waits on. */
void armed_rule_add_signals(const struct armed_rule *s, sigset_t *set);
/* -EEXIST when two rules can't be in one engine: same name, or waiting on the same signal. */
int armed_rule_clash(const struct armed_rule *s, const struct armed_rule *other, struct err *err);

/* Notes one more hit; true: the rate is that of a storm. */
bool armed_rule_is_storm(struct armed_rule *s, const struct sighting *what, uint64_t now_ns);

/* Notes that a dump made for this rule was committed. */
void armed_rule_dumped(struct armed_rule *s, uint64_t ns);
/* Takes over the counts of `old`, the rule of the same name before a reload. */
void armed_rule_inherit(struct armed_rule *s, const struct armed_rule *old);

/* Time until which the rule is held; 0 or a past time: not held. `last_dump_ns` (0: no dump yet)
 * and `cooldown_ns` are the recorder's own; they apply to rules without ;cooldown=. */
uint64_t armed_rule_blocked_until(const struct armed_rule *s, uint64_t last_dump_ns,
				  int64_t cooldown_ns);
/* The same, if a dump were committed at `ns` for this rule (`own`) or another one. */
uint64_t armed_rule_blocked_after(const struct armed_rule *s, int64_t cooldown_ns, bool own,
				  uint64_t ns);
