/* SPDX-License-Identifier: MIT */
/*
 * The engine: all rules, and the decision about each of their hits. It owns the epoll descriptor of
 * the recorder's loop. It never calls back, prints or makes a dump. hit_machine.h decides about a
 * hit, given limits, cooldowns and post time.
 *
 * No hit is dropped without being counted: the next dump lists merged and held hits.
 */
#pragma once

#include "trigger/engine/hit_machine.h"
#include "trigger/engine/source.h"

#include <sys/epoll.h>

struct engine;
struct repeat;
struct repeats;

struct engine_options {
	int64_t post_ns;	      /* --post */
	int64_t cooldown_ns;	      /* --cooldown */
	const struct source_env *env; /* borrowed; NULL: no environment */
};

/* The hit that the dump is made for. */
struct engine_cause {
	const struct rule *rule; /* borrowed until the engine is freed or reloaded */
	struct sighting what;
	int64_t post_ns;
	uint64_t signature; /* repeats.h */
};

struct engine_merged {
	char name[64];
	uint64_t first_ns, last_ns, nr_hits;
};

struct engine_totals {
	uint64_t nr_hits, nr_dumps, nr_merged, nr_held;
};

/*
 * Starts with the built-in rules only: "manual" (control socket), "exit" (--dump-on-exit) and
 * "signal:USR2" under the name "SIGUSR2". Signals that rules wait on are blocked in the calling
 * thread, and unblocked when no rule waits on them any more. All other threads must block them too,
 * or a signal kills the recorder instead of triggering.
 */
int engine_new(const struct engine_options *opt, struct engine **out, struct err *err);
void engine_free(struct engine *e);

/* Adds a rule and arms it. On failure nothing changed. -EEXIST: the name is taken, or another rule
 * waits on the same signal. -EINVAL: this build does not have the source. */
int engine_add(struct engine *e, const char *text, struct err *err);
/*
 * Replaces all added rules and the options (SIGHUP), except their `env`, which has to be the same.
 * On failure the old ones stay. Rules with unchanged text continue, see armed_rules_renew(). Other
 * rules inherit counts, cooldown and limit from the rule that had their name. The cause of a dump
 * in progress stays valid. A deferred hit moves to the rule that has its rule's name, or is merged.
 * A rule whose target does not exist (-ESRCH), or that this kernel can't watch (-EOPNOTSUPP), is no
 * failure: it is in the list, not armed, and engine_rule_info() says why.
 */
int engine_reload(struct engine *e, const struct engine_options *opt, const char *const *rules,
		  size_t nr, struct err *err);

/*
 * The epoll descriptor to sleep on. The caller adds its own descriptors here, with epoll_data below
 * ENGINE_DATA, and must not nest this set in another one: perf events and PSI would lose wake-ups.
 * Pass all other events to engine_woken(), then call engine_poll().
 */
int engine_fd(const struct engine *e);
#define ENGINE_DATA 64
void engine_woken(struct engine *e, const struct epoll_event *ev);
/* Sleeps at most `ms`, then calls engine_woken() for each event. False: timeout. */
bool engine_wait(struct engine *e, int ms);

/*
 * Polls the sources. 1: *rule and *what describe a hit: pass it to engine_hit(), then *what to
 * sighting_fini(), and call again. 0: no source is ready. Negative: the source of *rule failed and
 * was disarmed.
 */
int engine_poll(struct engine *e, const struct rule **rule, struct sighting *what, struct err *err);

/*
 * Notify the sources that the recorded command has ended, or that a CPU came online or went
 * offline. engine_poll() returns resulting hits. engine_cpu() disarms the first source that fails
 * and returns its error.
 */
void engine_command_ended(struct engine *e, int status);
int engine_cpu(struct engine *e, int cpu, bool online, struct err *err);

/* Whether the source of an armed rule takes this capability (CAP_*). */
bool engine_takes(const struct engine *e, unsigned capability);

/* A built-in rule by name, such as "manual"; NULL: there is none. */
const struct rule *engine_builtin(const struct engine *e, const char *name);

/*
 * Decides about a hit, as of what->ns. `fill_percent`: how full the channel with the least history
 * is (100: its rings have wrapped); compared with ;min-fill=. "manual", "exit" and "SIGUSR2" are
 * never held; "exit" has no post time.
 */
enum hit_do engine_hit(struct engine *e, const struct rule *rule, const struct sighting *what,
		       unsigned fill_percent);
/* Call after engine_done(), until NOTHING: takes the oldest deferred hit, which gets its dump now
 * or is merged with another one's. The caller ends *what with sighting_fini(). */
enum hit_do engine_take(struct engine *e, const struct rule **rule, struct sighting *what);

/* The last hit of this rule was handled: a thread that its source holds may continue. */
void engine_answered(struct engine *e, const struct rule *rule);

/* The state machine; borrowed. */
struct hit_machine *engine_hits(struct engine *e);
/* In POST: when to freeze. */
uint64_t engine_due_ns(const struct engine *e);
/* The hit that triggered the dump; not in ARMED. */
const struct engine_cause *engine_cause(const struct engine *e);
/*
 * Copies at most `max` entries of hits that the current dump reports besides its cause: those held
 * or merged since the last dump was sealed, by rule name. Returns their number, at most
 * ENGINE_MERGED_MAX: beyond 64 names they are counted as "other". Moves from WRITING to NAMING.
 * Later hits go into the next dump. If this dump fails, these hits and the cause do too.
 */
#define ENGINE_MERGED_MAX 65
size_t engine_seal(struct engine *e, struct engine_merged *out, size_t max);
/* Ends the dump: back to ARMED. `committed`: cooldowns start at `now_ns`; otherwise the dump
 * failed, and the next hit may trigger another. */
void engine_done(struct engine *e, uint64_t now_ns, bool committed);

void engine_totals(const struct engine *e, struct engine_totals *out);
/* Hits that no dump reports yet: held, or merged after the last one was sealed. */
uint64_t engine_nr_open(const struct engine *e);
/* Counts of repeated hits; repeats.h. */
const struct repeats *engine_repeats(const struct engine *e);
/* The entry of the cause, not in ARMED; NULL: it was evicted. */
const struct repeat *engine_cause_repeat(const struct engine *e);
/* Rules for `status`: name, text, hits, held, next time it may fire (0: now). */
struct engine_rule_info {
	const char *name, *text;
	uint64_t nr_hits, nr_held, blocked_until_ns;
	bool armed;
	const char *why;   /* why it is not armed, or watches an older file; "": armed */
	char trouble[160]; /* events that its source missed; "": none */
};
/* Borrowed until the next reload. */
const struct rule *engine_rule(const struct engine *e, size_t i);
/* What rule `i` watches and costs; false: it has no source, like "manual". */
bool engine_rule_plan(const struct engine *e, size_t i, struct source_plan *out);
size_t engine_nr_rules(const struct engine *e);
void engine_rule_info(const struct engine *e, size_t i, struct engine_rule_info *out);
