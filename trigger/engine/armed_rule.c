// SPDX-License-Identifier: MIT
/* A rule, its source, its cooldown and its max=N/TIME; see armed_rule.h. Never reads a clock. */
#include "trigger/engine/armed_rule.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>

static uint32_t window(const struct armed_rule *s)
{
	return s->rule->max_hits > 0 ? (uint32_t)s->rule->max_hits : 1;
}

int armed_rule_new_plain(const char *text, struct armed_rule **out, struct err *err)
{
	struct armed_rule *s = calloc(1, sizeof(*s));
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
		armed_rule_free(s);
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
	err_set(err, -EINVAL, "this build of ringback has no trigger source '%s'", name);
	err_hint(err, "it has: %s", list);
	return -EINVAL;
}

static int limit(struct armed_rule *s, struct err *err)
{
	if (s->rule->max_hits >= 0)
		return 0;
	s->rule->max_hits = SLOT_MAX_DUMPS;
	s->rule->max_period_ns = SLOT_MAX_DUMPS_NS;
	return quota_resize(&s->dumps, SLOT_MAX_DUMPS)
		       ? err_set(err, -ENOMEM, "out of memory for a trigger")
		       : 0;
}

int armed_rule_parse(const char *text, struct armed_rule **out, struct err *err)
{
	struct armed_rule *s;
	int rc = armed_rule_new_plain(text, &s, err);

	if (rc)
		return rc;
	s->ops = source_find(s->rule->source);
	if (!s->ops)
		rc = no_such_source(s->rule->source, err);
	else if (!s->ops->owners)
		rc = limit(s, err);
	if (!rc)
		s->rule->kind_cooldown_ns = s->ops->cooldown_ns;
	if (!rc && !s->ops->stacks && s->rule->stack != RULE_STACK_DEFAULT)
		rc = rule_err(text, 0, err, "%s takes no stack=", s->rule->source);
	if (!rc && s->ops != &source_file && s->rule->pid_from)
		rc = rule_err(text, s->rule->pid_from_at, err,
			      "%s takes no pid-from=", s->rule->source);
	if (rc)
		armed_rule_free(s);
	else
		*out = s;
	return rc;
}

/* The file named at the start of "PATH:SYMBOL" and the like. The path may contain ':'. */
static struct armed_rule_file file_of(const struct armed_rule *s)
{
	struct armed_rule_file file = {0};
	const char *arg = s->rule->arg;
	struct stat st;

	if (!s->ops->in_file || *arg != '/')
		return file;
	for (const char *end = strchr(arg, ':'); end && !file.ino; end = strchr(end + 1, ':')) {
		char *path = strndup(arg, (size_t)(end - arg));

		if (path && !stat(path, &st) && S_ISREG(st.st_mode))
			file = (struct armed_rule_file){st.st_dev, st.st_ino, st.st_mtim};
		free(path);
	}
	return file;
}

bool armed_rule_is_stale(const struct armed_rule *s)
{
	struct armed_rule_file now;

	if (!s->source || !s->file.ino)
		return false;
	now = file_of(s);
	return now.ino != s->file.ino || now.dev != s->file.dev ||
	       now.mtime.tv_sec != s->file.mtime.tv_sec ||
	       now.mtime.tv_nsec != s->file.mtime.tv_nsec;
}

/* Without this, the kernel's own error would not tell that root can have the rule. */
static int check_capability(const struct armed_rule *s, const struct source_env *env,
			    struct err *err)
{
	unsigned cap = s->ops->capability;

	if (!cap || !env || !(env->dropped & 1ull << cap))
		return 0;
	return err_set(err, -EOPNOTSUPP,
		       "it needs %s, which the recorder gave up at its start, when no rule needed "
		       "it; restart the recorder",
		       setting_capability(cap));
}

int armed_rule_open(struct armed_rule *s, const struct source_env *env, struct err *err)
{
	struct armed_rule_file file = file_of(s); /* before open(), to notice a later replacement */
	int rc = check_capability(s, env, err);

	rc = rc ? rc : s->ops->open(s->rule, env, &s->source, err);
	if (rc)
		return rc;
	s->file = file;
	s->why[0] = '\0';
	return 0;
}

int armed_rule_new(const char *text, const struct source_env *env, struct armed_rule **out,
		   struct err *err)
{
	struct armed_rule *s;
	int rc = armed_rule_parse(text, &s, err);

	if (rc)
		return rc;
	rc = armed_rule_open(s, env, err);
	if (rc)
		armed_rule_free(s);
	else
		*out = s;
	return rc;
}

void armed_rule_disarm(struct armed_rule *s)
{
	if (s->ops)
		s->ops->close(s->source);
	s->source = NULL;
	s->released = false;
}

/* Strips the column: it only helps the author of the rule's text. */
static const char *without_place(const char *what)
{
	static const char place[] = "trigger rule, column ";
	const char *rest = strncmp(what, place, sizeof(place) - 1) ? NULL : strstr(what, ": ");

	return rest ? rest + 2 : what;
}

void armed_rule_say(struct armed_rule *s, const char *how, const struct err *why)
{
	const char *text = why ? without_place(why->what) : "";
	size_t n = strlen(how);

	snprintf(s->why, sizeof(s->why), "%s", how);
	if (n < sizeof(s->why))
		str_safe(s->why + n, sizeof(s->why) - n, text, strlen(text));
}

void armed_rule_off(struct armed_rule *s, int rc, const struct err *why)
{
	armed_rule_disarm(s);
	s->is_over = rc == -ESRCH;
	armed_rule_say(s, "", why);
}

void armed_rule_free(struct armed_rule *s)
{
	if (!s)
		return;
	armed_rule_disarm(s);
	rule_free(s->rule);
	quota_fini(&s->dumps);
	free(s);
}

int armed_rule_watch(struct armed_rule *s, int epoll_fd, struct err *err)
{
	uint32_t events = EPOLLIN;
	int fd = s->source ? s->ops->fd(s->source, &events) : -1;
	struct epoll_event ev = {.events = events, .data.ptr = s};

	if (fd >= 0 && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &ev))
		return err_sys(err, -errno, "can't wait for trigger '%s'", s->rule->name);
	return 0;
}

void armed_rule_unwatch(const struct armed_rule *s, int epoll_fd)
{
	uint32_t events = 0;

	if (s->source)
		epoll_ctl(epoll_fd, EPOLL_CTL_DEL, s->ops->fd(s->source, &events), NULL);
}

void armed_rule_add_signals(const struct armed_rule *s, sigset_t *set)
{
	if (s->source && s->ops->signals)
		s->ops->signals(s->source, set);
}

static bool overlap(const struct armed_rule *a, const struct armed_rule *b)
{
	sigset_t of_a, of_b, both;

	sigemptyset(&of_a);
	sigemptyset(&of_b);
	armed_rule_add_signals(a, &of_a);
	armed_rule_add_signals(b, &of_b);
	sigandset(&both, &of_a, &of_b);
	return !sigisemptyset(&both);
}

int armed_rule_clash(const struct armed_rule *s, const struct armed_rule *other, struct err *err)
{
	if (!strcmp(s->rule->name, other->rule->name)) {
		err_set(err, -EEXIST, "two rules have the name '%s': %s and %s", s->rule->name,
			other->rule->text, s->rule->text);
		if (strstr(s->rule->text, "name="))
			err_hint(err, "give one of them another name=NAME");
		else
			err_hint(err, "give one of them another name: '%s;name=NAME'",
				 s->rule->text);
		return -EEXIST;
	}
	if (overlap(s, other)) {
		err_set(err, -EEXIST, "%s: rule '%s' already waits for that signal", s->rule->text,
			other->rule->name);
		err_hint(err, other->always
				      ? "SIGUSR2 always triggers and needs no rule; use signal:USR1"
				      : "use another signal, such as RTMIN+1");
		return -EEXIST;
	}
	return 0;
}

bool armed_rule_is_storm(struct armed_rule *s, const struct sighting *what, uint64_t now)
{
	struct pace *p = &s->pace;

	if (now - p->window_ns >= PACE_WINDOW_NS)
		*p = (struct pace){.window_ns = now};
	memcpy(p->comm, what->comm, sizeof(p->comm));
	p->stack_hash = what->stack_hash;
	return ++p->nr > PACE_MAX;
}

void armed_rule_dumped(struct armed_rule *s, uint64_t ns)
{
	quota_note(&s->dumps, ns);
}

void armed_rule_inherit(struct armed_rule *s, const struct armed_rule *old)
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

static uint64_t end_of(uint64_t last_ns, int64_t cooldown_ns)
{
	return last_ns && cooldown_ns > 0 ? last_ns + (uint64_t)cooldown_ns : 0;
}

/* The end of the cooldown. `own_ns`, `any_ns`: last dump for this rule, and for any rule. */
static uint64_t cooldown_until(const struct armed_rule *s, uint64_t own_ns, uint64_t any_ns,
			       int64_t cooldown_ns)
{
	if (s->rule->cooldown_ns >= 0)
		return end_of(own_ns, s->rule->cooldown_ns);
	return later(end_of(any_ns, cooldown_ns), end_of(own_ns, s->rule->kind_cooldown_ns));
}

uint64_t armed_rule_blocked_until(const struct armed_rule *s, uint64_t last_dump_ns,
				  int64_t cooldown_ns)
{
	uint64_t until;

	if (s->always)
		return 0;
	until = cooldown_until(s, quota_last(&s->dumps), last_dump_ns, cooldown_ns);
	return s->rule->max_hits > 0 ? later(until, quota_until(&s->dumps, s->rule->max_period_ns))
				     : until;
}

uint64_t armed_rule_blocked_after(const struct armed_rule *s, int64_t cooldown_ns, bool own,
				  uint64_t ns)
{
	uint64_t until;

	if (!own)
		return armed_rule_blocked_until(s, ns, cooldown_ns);
	until = cooldown_until(s, ns, ns, cooldown_ns);
	return s->rule->max_hits > 0
		       ? later(until, quota_until_after(&s->dumps, s->rule->max_period_ns, ns))
		       : until;
}
