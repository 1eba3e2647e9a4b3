/* SPDX-License-Identifier: MIT */
/*
 * A rule with its open source and its limits: what the engine keeps a list of. Only the engine uses
 * it.
 */
#pragma once

#include "trigger/engine/quota.h"
#include "trigger/engine/source.h"

#include <sys/types.h>
#include <time.h>

struct err;

/*
 * A storm: hits that come by the thousand while none of them would get a dump. Its source rests for
 * a while, and then is only asked how many there were.
 */
struct pace {
	uint64_t window_ns; /* when the present one began */
	uint32_t nr;	    /* hits in it */
	uint64_t rest_ns;   /* resting until then; 0: not */
	/* Of the last hit that was looked at: those that are only counted are taken for the same.
	 */
	char comm[16];
	uint64_t stack_hash;
};
#define PACE_WINDOW_NS 100000000ull
#define PACE_MAX       32	   /* hits in a window */
#define PACE_REST_NS   10000000ull /* no ring or socket is full by then at 10,000 a second */

/* Of a rule that others than the recorder's owner can meet, when it has no max= of its own. */
#define SLOT_MAX_DUMPS	  100
#define SLOT_MAX_DUMPS_NS 86400000000000ll

/* A file, as far as it can be told from another; all zero: none. */
struct armed_rule_file {
	dev_t dev;
	ino_t ino;
	struct timespec mtime;
};

struct armed_rule {
	struct rule *rule;
	const struct source_ops *ops;
	struct source *source;	     /* NULL: has none (built-in), or is off */
	char why[160];		     /* it is off, or watches another file than the rule says */
	bool is_over;		     /* what it was about has ended while it was on */
	struct armed_rule_file file; /* of sources that are `in_file`, when it was opened */
	bool always;		     /* never held */
	uint64_t nr_hits, nr_held;
	struct pace pace;
	bool released;	    /* its hits stop no traces for now: none would get a dump */
	struct quota dumps; /* the last `rule->max_hits` (at least one) */
};

/* A rule that only the recorder itself can hit ("manual", "exit"). */
int armed_rule_new_plain(const char *text, struct armed_rule **out, struct err *err);
/* Parses `text`. -EINVAL, -ENOENT for a source that this build does not have. */
int armed_rule_parse(const char *text, struct armed_rule **out, struct err *err);
/* Opens its source. -ESRCH: what it is about is not there (any more). */
int armed_rule_open(struct armed_rule *s, const struct source_env *env, struct err *err);
/* Both. */
int armed_rule_new(const char *text, const struct source_env *env, struct armed_rule **out,
		   struct err *err);
/* Another file is at its path than when it was opened. */
bool armed_rule_is_stale(const struct armed_rule *s);
/* NULL allowed. */
void armed_rule_free(struct armed_rule *s);
/* Closes the source; the rule stays, for its counters. */
void armed_rule_disarm(struct armed_rule *s);
/* That, if it has one, and notes why: an error `rc` of its source, 0 when it was not on. */
void armed_rule_off(struct armed_rule *s, int rc, const struct err *why);
/* Notes why, and that is all; `how`: what is said before it. */
void armed_rule_say(struct armed_rule *s, const char *how, const struct err *why);

/* Adds the descriptor of its source, when it has one, to the set, with the slot as data, and takes
 * it out. */
int armed_rule_watch(struct armed_rule *s, int epoll_fd, struct err *err);
/* Before its source is closed: a descriptor that somebody has a copy of stays in the epoll set. */
void armed_rule_unwatch(const struct armed_rule *s, int epoll_fd);

/* The signals that its source waits on. */
void armed_rule_add_signals(const struct armed_rule *s, sigset_t *set);
/* -EEXIST when two rules can't be in one engine: they have one name or wait on one signal. */
int armed_rule_clash(const struct armed_rule *s, const struct armed_rule *other, struct err *err);

/* One more hit; true: they come as a storm. */
bool armed_rule_is_storm(struct armed_rule *s, const struct sighting *what, uint64_t now_ns);

/* Notes that a dump made for this rule was committed. */
void armed_rule_dumped(struct armed_rule *s, uint64_t ns);
/* What `old`, a rule of the same name before a reload, has counted. */
void armed_rule_inherit(struct armed_rule *s, const struct armed_rule *old);

/*
 * Until when the rule is held; 0 or a time gone by: not at all. `last_dump_ns` and `cooldown_ns`
 * are the recorder's own, which hold for rules without ;cooldown=; 0: there was no dump.
 */
uint64_t armed_rule_blocked_until(const struct armed_rule *s, uint64_t last_dump_ns,
				  int64_t cooldown_ns);
/* The same if a dump were committed at `ns`, for this rule (`own`) or another one. */
uint64_t armed_rule_blocked_after(const struct armed_rule *s, int64_t cooldown_ns, bool own,
				  uint64_t ns);
