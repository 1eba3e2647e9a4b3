// SPDX-License-Identifier: MIT
/* All rules: the built-in ones, the added ones, their replacement by a reload, their status. See
 * engine.h. */
#include "trigger/engine/engine_impl.h"

#include "dump/base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

struct armed_rule *engine_slot(const struct engine *e, size_t i)
{
	return i < NR_BUILTIN ? e->builtin[i] : e->added.v[i - NR_BUILTIN];
}

struct armed_rule *engine_slot_of(const struct engine *e, const struct rule *rule)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++)
		if (engine_slot(e, i)->rule == rule)
			return engine_slot(e, i);
	assert(!"a rule of this engine");
	return NULL;
}

static void sync_signals(struct engine *e)
{
	sigset_t want;

	sigemptyset(&want);
	for (size_t i = 0; i < engine_nr_rules(e); i++)
		armed_rule_add_signals(engine_slot(e, i), &want);
	sigmask_sync(&e->mask, &want);
}

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
		rc = engine_open_timer(e, err);
	if (!rc)
		rc = engine_watch_tell(e, true, err);
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

/* A changed rule keeps its counts. The rule of the current dump outlives the list. */
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
		engine_replace_deferred(e, old, now ? now->rule : NULL);
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

int engine_fd(const struct engine *e)
{
	return e->epoll_fd;
}

bool engine_takes(const struct engine *e, unsigned capability)
{
	for (size_t i = 0; i < e->added.nr; i++)
		if (e->added.v[i]->source && e->added.v[i]->ops->capability == capability)
			return true;
	return false;
}

const struct rule *engine_builtin(const struct engine *e, const char *name)
{
	for (size_t i = 0; i < NR_BUILTIN; i++)
		if (!strcmp(e->builtin[i]->rule->name, name))
			return e->builtin[i]->rule;
	return NULL;
}

const struct rule *engine_rule(const struct engine *e, size_t i)
{
	return engine_slot(e, i)->rule;
}

uint64_t engine_blocked_until(const struct engine *e, const struct armed_rule *s)
{
	return armed_rule_blocked_until(s, e->last_dump_ns, e->opt.cooldown_ns);
}

void engine_rule_info(const struct engine *e, size_t i, struct engine_rule_info *out)
{
	const struct armed_rule *s = engine_slot(e, i);

	*out = (struct engine_rule_info){
		.name = s->rule->name,
		.text = s->rule->text,
		.nr_hits = s->nr_hits,
		.nr_held = s->nr_held,
		.blocked_until_ns = engine_blocked_until(e, s),
		.armed = s->source || !s->ops,
		.why = s->why,
	};
	if (!*s->why && s->source && s->ops->trouble &&
	    !s->ops->trouble(s->source, out->trouble, sizeof(out->trouble)))
		out->trouble[0] = '\0';
}

bool engine_rule_plan(const struct engine *e, size_t i, struct source_plan *out)
{
	const struct armed_rule *s = engine_slot(e, i);

	*out = (struct source_plan){0};
	if (!s->source || !s->ops->plan)
		return false;
	s->ops->plan(s->source, out);
	return true;
}
