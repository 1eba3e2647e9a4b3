// SPDX-License-Identifier: MIT
/* A rule, its source, its cooldown and its max=N/TIME; see slot.h. Nothing here looks at a clock.
 */
#include "trigger/slot.h"

#include "dump/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

static uint32_t window(const struct slot *s)
{
	return s->rule->max_hits > 0 ? (uint32_t)s->rule->max_hits : 1;
}

int slot_new_plain(const char *text, struct slot **out, struct err *err)
{
	struct slot *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	rc = rule_parse(text, &s->rule, err);
	if (!rc) {
		rc = quota_resize(&s->dumps, window(s));
		if (rc)
			err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	if (rc)
		slot_free(s);
	else
		*out = s;
	return rc;
}

static int no_such_source(const char *name, struct err *err)
{
	char list[560] = "";

	for (size_t i = 0; source_table[i]; i++) {
		size_t n = strlen(list);

		snprintf(list + n, sizeof(list) - n, "%s%s", i ? ", " : "",
			 source_table[i]->syntax);
	}
	err_set(err, -ENOENT, "this build of ringback has no trigger source '%s'", name);
	err_hint(err, "it has: %s", list);
	return -ENOENT;
}

static int limit(struct slot *s, struct err *err)
{
	if (s->rule->max_hits >= 0)
		return 0;
	s->rule->max_hits = SLOT_MAX_DUMPS;
	s->rule->max_period_ns = SLOT_MAX_DUMPS_NS;
	return quota_resize(&s->dumps, SLOT_MAX_DUMPS)
		       ? err_set(err, -ENOMEM, "out of memory for a trigger")
		       : 0;
}

int slot_new(const char *text, const struct source_env *env, struct slot **out, struct err *err)
{
	struct slot *s;
	int rc = slot_new_plain(text, &s, err);

	if (rc)
		return rc;
	s->ops = source_find(s->rule->source);
	if (s->ops && !s->ops->owners)
		rc = limit(s, err);
	if (rc) {
		slot_free(s);
		return rc;
	}
	if (s->ops && !s->ops->stacks && s->rule->stack != RULE_STACK_DEFAULT) {
		rc = rule_err(text, 0, err, "%s takes no stack=", s->rule->source);
		slot_free(s);
		return rc;
	}
	rc = s->ops ? s->ops->open(s->rule, env, &s->source, err)
		    : no_such_source(s->rule->source, err);
	if (rc)
		slot_free(s);
	else
		*out = s;
	return rc;
}

void slot_disarm(struct slot *s)
{
	if (s->ops)
		s->ops->close(s->source);
	s->source = NULL;
}

void slot_free(struct slot *s)
{
	if (!s)
		return;
	slot_disarm(s);
	rule_free(s->rule);
	quota_fini(&s->dumps);
	free(s);
}

int slot_watch(struct slot *s, int epoll_fd, struct err *err)
{
	uint32_t events = EPOLLIN;
	int fd = s->ops->fd(s->source, &events);
	struct epoll_event ev = {.events = events, .data.ptr = s};

	if (fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev))
		return err_sys(err, -errno, "can't wait for trigger '%s'", s->rule->name);
	return 0;
}

void slot_unwatch(const struct slot *s, int epoll_fd)
{
	uint32_t events = 0;

	if (s->source)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, s->ops->fd(s->source, &events), NULL);
}

void slot_add_signals(const struct slot *s, sigset_t *set)
{
	if (s->source && s->ops->signals)
		s->ops->signals(s->source, set);
}

static bool overlap(const struct slot *a, const struct slot *b)
{
	sigset_t of_a, of_b, both;

	sigemptyset(&of_a);
	sigemptyset(&of_b);
	slot_add_signals(a, &of_a);
	slot_add_signals(b, &of_b);
	sigandset(&both, &of_a, &of_b);
	return !sigisemptyset(&both);
}

int slot_clash(const struct slot *s, const struct slot *other, struct err *err)
{
	if (!strcmp(s->rule->name, other->rule->name)) {
		err_set(err, -EEXIST, "two triggers have the name '%s': %s and %s", s->rule->name,
			other->rule->text, s->rule->text);
		if (strstr(s->rule->text, "name="))
			err_hint(err, "give one another name=NAME");
		else
			err_hint(err, "give one another name: '%s;name=NAME'", s->rule->text);
		return -EEXIST;
	}
	if (overlap(s, other)) {
		err_set(err, -EEXIST, "%s: trigger '%s' waits for that signal already",
			s->rule->text, other->rule->name);
		err_hint(err,
			 other->always
				 ? "SIGUSR2 always triggers and needs no rule; take signal:USR1"
				 : "take another signal, such as RTMIN+1");
		return -EEXIST;
	}
	return 0;
}

bool slot_is_storm(struct slot *s, const struct sighting *what, uint64_t now)
{
	struct pace *p = &s->pace;

	if (now - p->window_ns >= PACE_WINDOW_NS)
		*p = (struct pace){.window_ns = now};
	memcpy(p->comm, what->comm, sizeof(p->comm));
	p->stack_hash = what->stack_hash;
	return ++p->nr > PACE_MAX;
}

void slot_dumped(struct slot *s, uint64_t ns)
{
	quota_note(&s->dumps, ns);
}

void slot_inherit(struct slot *s, const struct slot *old)
{
	const struct quota *q = &old->dumps;
	uint64_t n = q->nr < q->max ? q->nr : q->max;

	for (uint64_t i = q->nr - n; i < q->nr; i++)
		quota_note(&s->dumps, q->times[i % q->max]);
	s->nr_hits += old->nr_hits;
	s->nr_held += old->nr_held;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t slot_blocked_until(const struct slot *s, uint64_t last_dump_ns, int64_t cooldown_ns)
{
	uint64_t until = 0;

	if (s->always)
		return 0;
	if (s->rule->cooldown_ns >= 0) {
		cooldown_ns = s->rule->cooldown_ns;
		last_dump_ns = quota_last(&s->dumps);
	}
	if (last_dump_ns && cooldown_ns > 0)
		until = last_dump_ns + (uint64_t)cooldown_ns;
	if (s->rule->max_hits > 0)
		until = later(until, quota_until(&s->dumps, s->rule->max_period_ns));
	return until;
}
