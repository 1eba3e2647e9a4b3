/* SPDX-License-Identifier: MIT */
/*
 * The engine: all rules, and what to do about each of their hits. It owns the epoll descriptor of
 * the recorder's loop; it never calls back, prints or makes a dump. What a hit leads to is decided
 * by hit_machine.h with what the rules say: limits, cooldowns, post time.
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
	const struct source_env *env; /* borrowed; NULL: nothing is known */
};

/* The hit a dump is made for. */
struct engine_cause {
	const struct rule *rule; /* borrowed until the engine is freed or reloaded */
	struct sighting what;
	int64_t post_ns;
	uint64_t signature; /* see repeats.h */
};

struct engine_merged {
	char name[64];
	uint64_t first_ns, last_ns, nr_hits;
};

struct engine_totals {
	uint64_t nr_hits, nr_dumps, nr_merged, nr_held;
};

/*
 * Takes no rules yet but the built-in ones: "manual" (control socket), "exit" (--dump-on-exit) and
 * "signal:USR2" under the name "SIGUSR2". Signals that rules wait on get blocked in the calling
 * thread, and unblocked again when no rule waits on them any more; other threads must have them all
 * blocked, or a signal kills the recorder instead of triggering.
 */
int engine_new(const struct engine_options *opt, struct engine **out, struct err *err);
void engine_free(struct engine *e);

/* Adds a rule and arms it. On failure nothing changed. -EEXIST for a name used twice, or for a
 * signal that another rule waits on; -EINVAL for a source that this build does not have. */
int engine_add(struct engine *e, const char *text, struct err *err);
/*
 * Replaces all added rules and the options, but for their `env`, which has to be the same one
 * (SIGHUP). On failure the old ones stay. Rules with the same text go on as they are, see
 * armed_rules_renew(); others keep the counts, cooldown and limit of the one that had
 * their name; the cause of a dump in the making stays valid, and a deferred hit goes on with the rule
 * that has its name, or is merged. A rule about what is not there any more
 * (-ESRCH), or that this kernel can't watch (-EOPNOTSUPP), is no failure: it is in the list, not
 * armed, and engine_rule_info() says why.
 */
int engine_reload(struct engine *e, const struct engine_options *opt, const char *const *rules,
		  size_t nr, struct err *err);

/*
 * The epoll descriptor to sleep on. Whoever has further descriptors to wait for adds them here,
 * with epoll_data below ENGINE_DATA: in an epoll set within another the descriptors of perf events
 * and PSI would lose what they have to say. All other events are given to engine_woken(); then
 * engine_poll() is due.
 */
int engine_fd(const struct engine *e);
#define ENGINE_DATA 64
void engine_woken(struct engine *e, const struct epoll_event *ev);
/* For those who wait for nothing else: sleeps at most `ms`, and does that. False: nothing came. */
bool engine_wait(struct engine *e, int ms);

/*
 * Asks the sources. 1: *rule and *what describe a hit, to be given to engine_hit(), and *what to be
 * ended with sighting_fini(); there may be more. 0: nothing (more) is ready; negative: a source
 * failed and was disarmed; *rule says which.
 */
int engine_poll(struct engine *e, const struct rule **rule, struct sighting *what, struct err *err);

/* The recorded command has ended, a CPU came or went: for the sources that want to know. What meets
 * a rule shows at engine_poll(). engine_cpu() tells of the first source that failed, and disarms
 * it. */
void engine_command_ended(struct engine *e, int status);
int engine_cpu(struct engine *e, int cpu, bool online, struct err *err);

/* The built-in rules of things that have no descriptor of their own: "manual", "exit". */
const struct rule *engine_builtin(const struct engine *e, const char *name);

/*
 * What to do about a hit, as of what->ns. `fill_percent`: how full the channel with the least
 * history is (100: its rings have wrapped); compared with ;min-fill=. "manual", "exit" and
 * "SIGUSR2" are never held; "exit" has no post time.
 */
enum hit_do engine_hit(struct engine *e, const struct rule *rule, const struct sighting *what,
		       unsigned fill_percent);
/* After engine_done(), until NOTHING: the oldest deferred hit, to be ended with sighting_fini(). It
 * gets its dump now, or is merged with that of another one. */
enum hit_do engine_take(struct engine *e, const struct rule **rule, struct sighting *what);

/* What engine_poll() told of this rule was dealt with: who waits for it may go on. */
void engine_answered(struct engine *e, const struct rule *rule);

/* For what has no rule to it: states, the end of post time, stopping, askers. */
struct hit_machine *engine_hits(struct engine *e);
/* In POST: when to freeze. */
uint64_t engine_due_ns(const struct engine *e);
/* The hit that the dump is for; not in ARMED. */
const struct engine_cause *engine_cause(const struct engine *e);
/*
 * The hits, by the name of their rule, that the dump in the making answers besides its cause:
 * merged so far, and held or merged since the dump before was sealed. At most `max`; their number,
 * at most ENGINE_MERGED_MAX: what exceeds 64 names is counted under "other". Called in WRITING,
 * when the list is written, and leads to NAMING; later hits go into the next dump, and if this one
 * fails, all of them do, with the hit it was made for.
 */
#define ENGINE_MERGED_MAX 65
size_t engine_seal(struct engine *e, struct engine_merged *out, size_t max);
/* The dump is over: ARMED again. `committed`: cooldowns start at `now_ns`; otherwise it failed and
 * the next hit may try again. */
void engine_done(struct engine *e, uint64_t now_ns, bool committed);

void engine_totals(const struct engine *e, struct engine_totals *out);
/* Hits that no dump tells of yet: held, or merged too late for the last one. */
uint64_t engine_nr_open(const struct engine *e);
/* What has come again and again; repeats.h. */
const struct repeats *engine_repeats(const struct engine *e);
/* Not in ARMED: that of the hit that the dump is for; NULL: forgotten meanwhile. */
const struct repeat *engine_cause_repeat(const struct engine *e);
/* Rules for `status`: name, text, hits, held, next time it may fire (0: now). */
struct engine_rule_info {
	const char *name, *text;
	uint64_t nr_hits, nr_held, blocked_until_ns;
	bool armed;
	const char *why;   /* it is not armed, or not as its text says; "" it is */
	char trouble[160]; /* what its source missed; "" nothing */
};
/* What it means to have rule `i` armed; false: it has no source, as "manual". */
/* The rule itself, for its options; borrowed until the next reload. */
const struct rule *engine_rule(const struct engine *e, size_t i);
bool engine_rule_plan(const struct engine *e, size_t i, struct source_plan *out);
size_t engine_nr_rules(const struct engine *e);
void engine_rule_info(const struct engine *e, size_t i, struct engine_rule_info *out);
