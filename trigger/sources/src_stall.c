// SPDX-License-Identifier: MIT
/*
 * Sources "stall:TIME" and "stall:TIME:COMM": a program that calls ringback_heartbeat() has not
 * done so for TIME. Each such program gets a timer, and sets it forward itself at each heartbeat.
 * The recorder wakes only when a timer expires:
 *
 *	program                 recorder
 *	first heartbeat  ─────▶ makes a timer, sends it back
 *	timerfd_settime ...     sleeps
 *	(nothing)               the timer expires: hit
 *
 * Each stall is one hit: the timer stays stopped until the next heartbeat sets it. The end of the
 * program is not a stall.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/clock.h"
#include "trigger/engine/rule_check.h"
#include "trigger/client/ringback.h"
#include "trigger/client/app_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define MAX_HEARTS 256
#define MIN_NS	   10000000 /* heartbeats read a coarse clock of 4 ms */
#define MAX_NS	   86400000000000
/* Programs set their timers themselves, so a wrong one could stall at any rate. */
#define COOLDOWN_NS 10000000000

struct heart {
	uint64_t peer; /* 0: free */
	int timer_fd;
	uint32_t pid, uid;
	char comm[16];
};

struct source {
	struct app_socket *tell;
	int64_t ns;
	char comm[16]; /* "": any */
	int epoll_fd;
	struct heart hearts[MAX_HEARTS];
	uint64_t nr_refused;
};

static int check_time(const struct rule *r, const char *text, int64_t *ns, struct err *err)
{
	if (str_time(text, ns, NULL) || *ns < MIN_NS || *ns > MAX_NS)
		return rule_err(r->text, r->arg_at, err,
				"expected a time from 10ms to 24h, and maybe ':' and the name of "
				"the program, found '%s'",
				r->arg);
	return 0;
}

/* "2s" or "2s:nginx" */
static int parse(const struct rule *r, struct source *s, struct err *err)
{
	const char *colon = strchr(r->arg, ':');
	char time[32];

	if (!*r->arg)
		return rule_err(r->text, strlen(r->source), err,
				"expected ':' and how long no heartbeat may be missing, such as "
				"stall:2s");
	if (r->op != RULE_OP_NONE)
		return rule_err(r->text, r->op_at, err,
				"stall:TIME takes no comparison: the time is the threshold");
	if (r->for_ns >= 0)
		return rule_err(r->text, r->arg_at, err,
				"stall:TIME already has a duration: for= does not apply");
	if (rule_check_moment(r, "a stall", err))
		return -EINVAL;
	snprintf(time, sizeof(time), "%.*s",
		 (int)(colon ? colon - r->arg : (ptrdiff_t)strlen(r->arg)), r->arg);
	if (colon && strlen(colon + 1) >= sizeof(s->comm))
		return rule_err(r->text, r->arg_at + (size_t)(colon + 1 - r->arg), err,
				"the kernel keeps 15 characters of a name: '%s' is longer",
				colon + 1);
	snprintf(s->comm, sizeof(s->comm), "%s", colon ? colon + 1 : "");
	return check_time(r, time, &s->ns, err);
}

static void stall_close(struct source *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < MAX_HEARTS; i++)
		if (s->hearts[i].peer)
			close(s->hearts[i].timer_fd);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	free(s);
}

static int stall_open(const struct rule *r, const struct source_env *env, struct source **out,
		      struct err *err)
{
	struct source *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->epoll_fd = -1;
	rc = parse(r, s, err);
	if (!rc && (!env || !env->tell))
		rc = err_set(err, -ENOTSUP, "this recorder has no socket for programs");
	if (!rc) {
		s->tell = env->tell;
		s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (s->epoll_fd < 0)
			rc = err_sys(err, -errno, "epoll_create1 for a trigger");
	}
	if (rc)
		stall_close(s);
	else
		*out = s;
	return rc;
}

static int stall_fd(const struct source *s, uint32_t *events)
{
	return s->epoll_fd;
}

/* ---- hearts ---- */

static void forget(struct heart *h)
{
	close(h->timer_fd);
	*h = (struct heart){0};
}

static struct heart *free_heart(struct source *s)
{
	struct heart *found = NULL;

	for (size_t i = 0; i < MAX_HEARTS; i++) {
		struct heart *h = &s->hearts[i];

		if (h->peer && !app_socket_alive(s->tell, h->peer))
			forget(h);
		if (!h->peer && !found)
			found = h;
	}
	return found;
}

static bool wants(void *ctx, const struct app_socket_message *m)
{
	const struct source *s = ctx;
	char comm[16];

	source_comm(m->pid, comm);
	return !*s->comm || !strcmp(s->comm, comm);
}

static void take_in(struct source *s, const struct app_socket_message *m)
{
	struct ringback_reply reply = {
		.version = RINGBACK_VERSION_1, .kind = m->kind, .interval_ns = (uint64_t)s->ns};
	struct heart *h = free_heart(s);
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = h};

	if (!h) {
		s->nr_refused++;
		return;
	}
	h->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (h->timer_fd < 0) {
		s->nr_refused++;
		return;
	}
	h->peer = m->peer;
	h->pid = m->pid;
	h->uid = m->uid;
	source_comm(m->pid, h->comm);
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, h->timer_fd, &ev) ||
	    app_socket_reply(s->tell, m->peer, &reply, sizeof(reply), h->timer_fd)) {
		s->nr_refused++;
		forget(h);
	}
}

/* Ignores the timer of a program that has ended. */
static bool has_stalled(struct source *s, struct heart *h)
{
	uint64_t n;

	if (read(h->timer_fd, &n, sizeof(n)) != sizeof(n))
		return false;
	if (app_socket_alive(s->tell, h->peer))
		return true;
	forget(h);
	return false;
}

static int stall_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct app_socket_message m;
	struct epoll_event ev;
	char time[32];

	while (app_socket_take(s->tell, RINGBACK_HEARTBEAT, wants, s, &m))
		take_in(s, &m);
	while (epoll_wait(s->epoll_fd, &ev, 1, 0) == 1) {
		struct heart *h = ev.data.ptr;

		if (!has_stalled(s, h))
			continue;
		what->ns = clock_ns();
		what->began_ns = what->ns - (uint64_t)s->ns;
		what->pid = what->tid = h->pid;
		what->uid = h->uid;
		what->nr_hits = 1;
		memcpy(what->comm, h->comm, sizeof(what->comm));
		sighting_add(what, "no_heartbeat_for=%s", str_fmt_time(time, sizeof(time), s->ns));
		return 1;
	}
	return 0;
}

static void stall_plan(const struct source *s, struct source_plan *out)
{
	char time[32];

	snprintf(out->watches, sizeof(out->watches),
		 "a timer for each program%s%s that calls ringback_heartbeat()",
		 *s->comm ? " named " : "", s->comm);
	snprintf(out->costs, sizeof(out->costs),
		 "nothing here; a program sets its timer %d times in %s at most", 32,
		 str_fmt_time(time, sizeof(time), s->ns));
}

static bool stall_trouble(const struct source *s, char *out, size_t n)
{
	snprintf(out, n, "%lu program%s with a heartbeat could not be watched", s->nr_refused,
		 str_plural(s->nr_refused));
	return s->nr_refused > 0;
}

const struct source_ops source_stall = {
	.name = "stall",
	.syntax = "stall:TIME[:COMM]",
	.help = "a program that calls ringback_heartbeat() has stopped doing so",
	.example = "stall:2s",
	.cooldown_ns = COOLDOWN_NS,
	.open = stall_open,
	.fd = stall_fd,
	.ready = stall_ready,
	.plan = stall_plan,
	.trouble = stall_trouble,
	.close = stall_close,
};
