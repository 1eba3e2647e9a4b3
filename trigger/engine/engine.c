// SPDX-License-Identifier: MIT
/*
 * All rules, and what to do about each hit; called by the recorder's loop. See engine.h for the
 * states. Their transitions are asserted; an illegal call is our mistake. Time comes in with the
 * hits, so the engine can be tested without a clock.
 */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "trigger/engine/merged_hits.h"
#include "trigger/kernel/clock.h"
#include "trigger/engine/repeats.h"
#include "trigger/engine/sigmask.h"
#include "trigger/engine/armed_rules.h"
#include "trigger/client/app_socket.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

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

static void set_options(struct engine *e, const struct engine_options *opt)
{
	e->opt.post_ns = opt->post_ns > 0 ? opt->post_ns : 0;
	e->opt.cooldown_ns = opt->cooldown_ns > 0 ? opt->cooldown_ns : 0;
	e->opt.env = opt->env;
}

size_t engine_nr_rules(const struct engine *e)
{
	return NR_BUILTIN + e->added.nr;
}

static struct armed_rule *slot_at(const struct engine *e, size_t i)
{
	return i < NR_BUILTIN ? e->builtin[i] : e->added.v[i - NR_BUILTIN];
}

/* ---- signals ---- */

static void sync_signals(struct engine *e)
{
	sigset_t want;

	sigemptyset(&want);
	for (size_t i = 0; i < engine_nr_rules(e); i++)
		armed_rule_add_signals(slot_at(e, i), &want);
	sigmask_sync(&e->mask, &want);
}

/* ---- the list of rules ---- */

static struct armed_rules_env slots_env(const struct engine *e)
{
	return (struct armed_rules_env){
		e->opt.env, e->epoll_fd, {(struct armed_rule **)e->builtin, NR_BUILTIN}};
}

static int add_builtin(struct engine *e, struct err *err)
{
	char *name;
	int rc = armed_rule_new_plain("manual", &e->builtin[MANUAL], err);

	if (!rc)
		rc = armed_rule_new_plain("exit", &e->builtin[EXIT], err);
	if (!rc)
		rc = armed_rule_new("signal:USR2", NULL, &e->builtin[SIGUSR2_RULE], err);
	if (!rc)
		rc = armed_rule_watch(e->builtin[SIGUSR2_RULE], e->epoll_fd, err);
	if (rc)
		return rc;
	name = strdup("SIGUSR2");
	if (!name)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	free(e->builtin[SIGUSR2_RULE]->rule->name);
	e->builtin[SIGUSR2_RULE]->rule->name = name;
	e->builtin[EXIT]->rule->post_ns = 0;
	for (size_t i = 0; i < NR_BUILTIN; i++)
		e->builtin[i]->always = true;
	return 0;
}

/* Whatever programs tell, the sources are asked. */
static int watch_tell(struct engine *e, bool on, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = e};

	if (!e->opt.env || !e->opt.env->tell)
		return 0;
	if (!epoll_ctl(e->epoll_fd, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL,
		       app_socket_fd(e->opt.env->tell), &ev) ||
	    errno == EEXIST || errno == ENOENT)
		return 0;
	return err_sys(err, -errno, "can't wait for what programs tell");
}

static int open_rest_timer(struct engine *e, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = e};

	e->rest_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (e->rest_fd < 0 || epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->rest_fd, &ev))
		return err_sys(err, -errno, "a timer for the triggers");
	return 0;
}

int engine_new(const struct engine_options *opt, struct engine **out, struct err *err)
{
	struct engine *e = calloc(1, sizeof(*e));
	int rc;

	if (!e)
		return err_set(err, -ENOMEM, "out of memory for the triggers");
	sigmask_init(&e->mask);
	set_options(e, opt);
	e->rest_fd = -1;
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = e->epoll_fd < 0 ? err_sys(err, -errno, "epoll_create1 for the triggers")
			     : repeats_new(&e->repeats);
	if (rc == -ENOMEM)
		err_set(err, rc, "out of memory for the triggers");
	if (!rc)
		rc = open_rest_timer(e, err);
	if (!rc)
		rc = watch_tell(e, true, err);
	if (!rc)
		rc = add_builtin(e, err);
	if (rc) {
		engine_free(e);
		return rc;
	}
	sync_signals(e);
	*out = e;
	return 0;
}

void engine_free(struct engine *e)
{
	sigset_t none;

	if (!e)
		return;
	sigemptyset(&none);
	armed_rules_free(&e->added, NULL, e->epoll_fd);
	sigmask_sync(&e->mask, &none);
	for (size_t i = 0; i < NR_BUILTIN; i++) {
		if (e->builtin[i])
			armed_rule_unwatch(e->builtin[i], e->epoll_fd);
		armed_rule_free(e->builtin[i]);
	}
	if (e->cause_retired)
		armed_rule_free(e->cause_slot);
	sighting_fini(&e->cause.what);
	for (size_t i = 0; i < e->hits.nr_deferred; i++)
		sighting_fini(&e->deferred[i]);
	repeats_free(e->repeats);
	if (e->rest_fd >= 0)
		close(e->rest_fd);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	free(e);
}

int engine_add(struct engine *e, const char *text, struct err *err)
{
	const struct armed_rules_env with = slots_env(e);
	int rc = armed_rules_add(&e->added, text, &with, err);

	if (!rc)
		sync_signals(e);
	return rc;
}

void engine_woken(struct engine *e, const struct epoll_event *ev)
{
	struct armed_rule *s = ev->data.ptr;
	uint64_t n;

	if (ev->data.ptr == e) {
		while (read(e->rest_fd, &n, sizeof(n)) < 0 && errno == EINTR)
			;
		e->wake_ns = 0;
		return;
	}
	if (s->source && s->ops->woken)
		s->ops->woken(s->source, ev->events);
}

bool engine_wait(struct engine *e, int ms)
{
	struct epoll_event ev[16];
	int n = epoll_wait(e->epoll_fd, ev, 16, ms);

	for (int i = 0; i < n; i++)
		engine_woken(e, &ev[i]);
	return n > 0;
}

/* Its signals stay blocked: the next one must not kill the recorder. */
static void disarm(struct engine *e, struct armed_rule *s, int rc, const struct err *err)
{
	armed_rule_unwatch(s, e->epoll_fd);
	armed_rule_off(s, rc, err);
}

void engine_command_ended(struct engine *e, int status)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		struct armed_rule *s = slot_at(e, i);

		if (s->source && s->ops->command_ended)
			s->ops->command_ended(s->source, status);
	}
}

int engine_cpu(struct engine *e, int cpu, bool online, struct err *err)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		struct armed_rule *s = slot_at(e, i);
		int rc;

		if (!s->source || !s->ops->cpu)
			continue;
		rc = s->ops->cpu(s->source, cpu, online, err);
		if (rc) {
			err_prefix(err, "trigger '%s' on CPU %d", s->rule->name, cpu);
			disarm(e, s, rc, err);
			return rc;
		}
	}
	return 0;
}

int engine_fd(const struct engine *e)
{
	return e->epoll_fd;
}

const struct rule *engine_builtin(const struct engine *e, const char *name)
{
	for (size_t i = 0; i < NR_BUILTIN; i++)
		if (!strcmp(e->builtin[i]->rule->name, name))
			return e->builtin[i]->rule;
	return NULL;
}

/* ---- hits ---- */

/* ---- storms ---- */

/* No hit of it could get a dump of its own now. */
static bool is_blocked(const struct engine *e, const struct armed_rule *s, uint64_t now)
{
	return !s->always &&
	       (e->hits.state != HIT_ARMED ||
		now < armed_rule_blocked_until(s, e->last_dump_ns, e->opt.cooldown_ns));
}

/* One without a descriptor of its own is woken for by what programs tell. */
static void watch_again(struct engine *e, struct armed_rule *s, bool on)
{
	uint32_t events;

	if (s->ops->fd(s->source, &events) < 0)
		watch_tell(e, on, NULL);
	else if (on)
		armed_rule_watch(s, e->epoll_fd, NULL);
	else
		armed_rule_unwatch(s, e->epoll_fd);
}

/* The earliest that was asked for. */
static void wake_at(struct engine *e, uint64_t ns)
{
	struct itimerspec t = {.it_value = {.tv_sec = (time_t)(ns / 1000000000),
					    .tv_nsec = (long)(ns % 1000000000)}};

	if (e->wake_ns && e->wake_ns <= ns)
		return;
	e->wake_ns = ns;
	timerfd_settime(e->rest_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

static void rest(struct engine *e, struct armed_rule *s, uint64_t now)
{
	watch_again(e, s, false);
	s->pace.rest_ns = now + PACE_REST_NS;
	wake_at(e, s->pace.rest_ns);
}

/* ---- traces that hits stop ---- */

/* The first hit that gets no dump may be one of thousands. */
static void release(struct engine *e, struct armed_rule *s, uint64_t now)
{
	if (s->released || !s->source || !s->ops->brake || !is_blocked(e, s, now))
		return;
	s->ops->brake(s->source, false);
	s->released = true;
	if (e->hits.state == HIT_ARMED)
		wake_at(e, armed_rule_blocked_until(s, e->last_dump_ns, e->opt.cooldown_ns));
}

static void hold_again(struct engine *e, uint64_t now)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		struct armed_rule *s = slot_at(e, i);

		if (!s->released || e->hits.state != HIT_ARMED)
			continue;
		if (is_blocked(e, s, now)) {
			wake_at(e,
				armed_rule_blocked_until(s, e->last_dump_ns, e->opt.cooldown_ns));
			continue;
		}
		s->released = false;
		if (s->source)
			s->ops->brake(s->source, true);
	}
}

/* True: it rests on, or what came meanwhile was only counted, into `what`. */
static bool is_resting(struct engine *e, struct armed_rule *s, uint64_t now, struct sighting *what)
{
	uint64_t nr;

	if (now < s->pace.rest_ns) {
		wake_at(e, s->pace.rest_ns);
		return true;
	}
	s->pace.rest_ns = 0;
	/* Before it is asked: perf descriptors say to the set that they are ready once only. */
	watch_again(e, s, true);
	if (!is_blocked(e, s, now) || !s->ops->skip)
		return false;
	nr = s->ops->skip(s->source);
	what->nr_hits = nr < UINT32_MAX ? (uint32_t)nr : UINT32_MAX;
	memcpy(what->comm, s->pace.comm, sizeof(what->comm));
	what->stack_hash = s->pace.stack_hash;
	if (nr * (PACE_WINDOW_NS / PACE_REST_NS) > PACE_MAX)
		rest(e, s, now);
	return true;
}

/* Asks one source: as engine_poll(). */
static int ask(struct engine *e, struct armed_rule *s, uint64_t now, struct sighting *what,
	       struct err *err)
{
	int rc;

	memset(what, 0, sizeof(*what));
	if (s->pace.rest_ns && is_resting(e, s, now, what)) {
		what->ns = now;
		return what->nr_hits > 0;
	}
	rc = s->ops->ready(s->source, what, err);
	if (rc < 0) {
		sighting_fini(what);
		disarm(e, s, rc, err);
	}
	if (rc <= 0)
		return rc;
	if (!what->ns)
		what->ns = clock_ns();
	if (armed_rule_is_storm(s, what, now) && is_blocked(e, s, now))
		rest(e, s, now);
	return 1;
}

/* What nobody wanted is not waited with: but one that rests may want it. */
static void refuse_rest(struct engine *e)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++)
		if (slot_at(e, i)->pace.rest_ns)
			return;
	app_socket_refuse(e->opt.env->tell);
}

int engine_poll(struct engine *e, const struct rule **rule, struct sighting *what, struct err *err)
{
	uint64_t now = clock_ns();

	if (e->opt.env && e->opt.env->tell)
		app_socket_pump(e->opt.env->tell);
	hold_again(e, now);
	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		struct armed_rule *s = slot_at(e, e->turn++ % engine_nr_rules(e));
		int rc = s->source ? ask(e, s, now, what, err) : 0;

		*rule = s->rule;
		if (rc)
			return rc;
	}
	if (e->opt.env && e->opt.env->tell)
		refuse_rest(e);
	return 0;
}

static struct armed_rule *slot_of(const struct engine *e, const struct rule *rule)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++)
		if (slot_at(e, i)->rule == rule)
			return slot_at(e, i);
	assert(!"a rule of this engine");
	return NULL;
}

static int64_t post_ns(const struct engine *e, const struct rule *rule)
{
	return rule->post_ns >= 0 ? rule->post_ns : e->opt.post_ns;
}

/* After a reload the rule that is dumped for may have a successor of its name. */
static struct armed_rule *dumped_slot(const struct engine *e)
{
	if (!e->cause_retired)
		return e->cause_slot;
	for (size_t i = 0; i < e->added.nr; i++)
		if (!strcmp(e->added.v[i]->rule->name, e->cause.rule->name))
			return e->added.v[i];
	return NULL;
}

/*
 * Whether a limit holds this hit. In NAMING: whether one would if the dump in the making were
 * committed now, so that names are not given up for a dump that is not made then.
 */
static bool is_over_limit(const struct engine *e, const struct armed_rule *s,
			  const struct sighting *what, unsigned fill_percent)
{
	bool committed = e->hits.state == HIT_NAMING;
	uint64_t id = repeats_signature(s->rule, what), until;
	struct repeat *repeat = repeats_find(e->repeats, id);

	if (s->always)
		return false;
	until = committed ? armed_rule_blocked_after(s, e->opt.cooldown_ns, s == dumped_slot(e),
						     what->ns)
			  : armed_rule_blocked_until(s, e->last_dump_ns, e->opt.cooldown_ns);
	if (what->ns < until || (int64_t)fill_percent < s->rule->min_fill_percent)
		return true;
	if (repeat && committed && id == e->cause.signature)
		until = repeat_blocked_after(repeat, s->rule, what->ns);
	else
		until = repeat ? repeat_blocked_until(repeat, s->rule) : 0;
	return what->ns < until || rule_is_unlucky(s->rule);
}

/* Counts a hit, and notes what the machine has decided about it. */
static void note_hit(struct engine *e, struct armed_rule *s, const struct sighting *what,
		     enum hit_do next)
{
	const struct repeat *repeat = repeats_note(e->repeats, s->rule, what);
	uint64_t nr = merged_hits_of(what);

	s->nr_hits += nr;
	e->totals.nr_hits += nr;
	if (next == DO_FREEZE || next == DO_WAIT) {
		e->cause_slot = s;
		e->cause = (struct engine_cause){.rule = s->rule,
						 .what = sighting_share(what),
						 .post_ns = post_ns(e, s->rule),
						 .signature = repeat->id};
		e->due_ns = what->ns + (uint64_t)e->cause.post_ns;
		return;
	}
	if (next == DO_HOLD) {
		s->nr_held += nr;
		e->totals.nr_held += nr;
	} else {
		e->totals.nr_merged += nr;
	}
	merged_hits_note(&e->open, s->rule, what);
	release(e, s, what->ns);
}

enum hit_do engine_hit(struct engine *e, const struct rule *rule, const struct sighting *what,
		       unsigned fill_percent)
{
	struct armed_rule *s = slot_of(e, rule);
	struct hit_facts facts = {.rule = rule, .post = post_ns(e, rule) > 0};
	enum hit_do next;

	assert(what->ns);
	if (e->hits.state == HIT_ARMED || e->hits.state == HIT_NAMING)
		facts.is_over_limit = is_over_limit(e, s, what, fill_percent);
	next = hit_machine_hit(&e->hits, &facts);
	if (next == DO_DEFER)
		e->deferred[e->hits.nr_deferred - 1] = sighting_share(what);
	else
		note_hit(e, s, what, next);
	return next;
}

/* Takes the sighting of deferred hit `i` off the list. */
static struct sighting take_sighting(struct engine *e, size_t i)
{
	struct sighting what = e->deferred[i];

	memmove(e->deferred + i, e->deferred + i + 1, (e->hits.nr_deferred - i - 1) * sizeof(what));
	return what;
}

enum hit_do engine_take(struct engine *e, const struct rule **rule, struct sighting *what)
{
	enum hit_do next;

	if (!e->hits.nr_deferred)
		return DO_NOTHING;
	*rule = e->hits.deferred[0];
	*what = take_sighting(e, 0);
	next = hit_machine_take(&e->hits, post_ns(e, *rule) > 0);
	note_hit(e, slot_of(e, *rule), what, next);
	return next;
}

/* ---- the list of rules is replaced ---- */

/* A deferred hit goes on under the rule that has its rule's name now, or is merged. */
static void replace_deferred(struct engine *e, struct armed_rule *old, const struct rule *now)
{
	struct sighting what;

	for (size_t i = 0; i < e->hits.nr_deferred; i++) {
		if (e->hits.deferred[i] != old->rule)
			continue;
		if (!now) {
			what = take_sighting(e, i);
			note_hit(e, old, &what, DO_MERGE);
			sighting_fini(&what);
		}
		hit_machine_replace(&e->hits, i, now);
		return;
	}
}

/* A rule that was changed keeps its counts; one that a dump is being made for outlives the list. */
static void replace_list(struct engine *e, struct armed_rules *next)
{
	for (size_t i = 0; i < e->added.nr; i++) {
		struct armed_rule *old = e->added.v[i], *now = NULL;

		if (armed_rules_have(next, old))
			continue;
		for (size_t j = 0; j < next->nr && !now; j++)
			if (!strcmp(next->v[j]->rule->name, old->rule->name))
				now = next->v[j];
		if (now)
			armed_rule_inherit(now, old);
		armed_rule_unwatch(old, e->epoll_fd);
		armed_rule_disarm(old);
		replace_deferred(e, old, now ? now->rule : NULL);
		if (old == e->cause_slot)
			e->cause_retired = true;
		else
			armed_rule_free(old);
	}
	free(e->added.v);
	e->added = *next;
}

int engine_reload(struct engine *e, const struct engine_options *opt, const char *const *rules,
		  size_t nr, struct err *err)
{
	struct armed_rules_env with = slots_env(e);
	struct armed_rules next = {0};
	int rc;

	with.env = opt->env;
	rc = armed_rules_renew(&e->added, rules, nr, &with, &next, err);
	if (rc)
		return rc;
	replace_list(e, &next);
	set_options(e, opt);
	sync_signals(e);
	return 0;
}

void engine_answered(struct engine *e, const struct rule *rule)
{
	struct armed_rule *s = slot_of(e, rule);

	if (s->source && s->ops->answered)
		s->ops->answered(s->source);
}

/* ---- states ---- */

struct hit_machine *engine_hits(struct engine *e)
{
	return &e->hits;
}

uint64_t engine_due_ns(const struct engine *e)
{
	assert(e->hits.state == HIT_POST);
	return e->due_ns;
}

const struct engine_cause *engine_cause(const struct engine *e)
{
	assert(e->hits.state != HIT_ARMED);
	return &e->cause;
}

size_t engine_seal(struct engine *e, struct engine_merged *out, size_t max)
{
	size_t n = e->open.nr < max ? e->open.nr : max;

	hit_machine_seal(&e->hits);
	memcpy(out, e->open.v, n * sizeof(*out));
	e->sealed = e->open;
	e->open.nr = 0;
	return n;
}

static void note_committed(struct engine *e, uint64_t now)
{
	struct repeat *repeat = repeats_find(e->repeats, e->cause.signature);
	struct armed_rule *s = dumped_slot(e);

	if (s)
		armed_rule_dumped(s, now);
	if (repeat)
		repeat_kept(repeat, e->cause.rule, now);
	e->last_dump_ns = now;
	e->totals.nr_dumps++;
}

/* Nothing of what the dump was to answer is answered. */
static void reopen_hits(struct engine *e)
{
	for (size_t i = 0; i < e->sealed.nr; i++)
		merged_hits_add(&e->open, &e->sealed.v[i]);
	merged_hits_note(&e->open, e->cause.rule, &e->cause.what);
}

void engine_done(struct engine *e, uint64_t now, bool committed)
{
	hit_machine_done(&e->hits);
	if (committed)
		note_committed(e, now);
	else
		reopen_hits(e);
	e->sealed.nr = 0;
	sighting_fini(&e->cause.what);
	if (e->cause_retired)
		armed_rule_free(e->cause_slot);
	e->cause_slot = NULL;
	e->cause_retired = false;
	hold_again(e, now);
}

/* ---- for status ---- */

void engine_totals(const struct engine *e, struct engine_totals *out)
{
	*out = e->totals;
}

uint64_t engine_nr_open(const struct engine *e)
{
	return merged_hits_sum(&e->open);
}

const struct repeats *engine_repeats(const struct engine *e)
{
	return e->repeats;
}

const struct repeat *engine_cause_repeat(const struct engine *e)
{
	return repeats_find(e->repeats, e->cause.signature);
}

void engine_rule_info(const struct engine *e, size_t i, struct engine_rule_info *out)
{
	const struct armed_rule *s = slot_at(e, i);

	*out = (struct engine_rule_info){
		.name = s->rule->name,
		.text = s->rule->text,
		.nr_hits = s->nr_hits,
		.nr_held = s->nr_held,
		.blocked_until_ns =
			armed_rule_blocked_until(s, e->last_dump_ns, e->opt.cooldown_ns),
		.armed = s->source || !s->ops,
		.why = s->why,
	};
	if (!*s->why && s->source && s->ops->trouble &&
	    !s->ops->trouble(s->source, out->trouble, sizeof(out->trouble)))
		out->trouble[0] = '\0';
}

const struct rule *engine_rule(const struct engine *e, size_t i)
{
	return slot_at(e, i)->rule;
}

bool engine_rule_plan(const struct engine *e, size_t i, struct source_plan *out)
{
	const struct armed_rule *s = slot_at(e, i);

	*out = (struct source_plan){0};
	if (!s->source || !s->ops->plan)
		return false;
	s->ops->plan(s->source, out);
	return true;
}
