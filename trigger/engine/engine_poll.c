// SPDX-License-Identifier: MIT
/* Polls the sources of all rules and wakes the recorder for them. During a storm a source rests:
 * its descriptor is removed from the epoll set for a while; then its hits are only counted. */
#include "trigger/engine/engine_impl.h"

#include "dump/base/err.h"
#include "trigger/client/app_socket.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* A message of any program makes the engine poll all sources. */
int engine_watch_tell(struct engine *e, bool on, struct err *err)
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

int engine_open_timer(struct engine *e, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = e};

	e->rest_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (e->rest_fd < 0 || epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->rest_fd, &ev))
		return err_sys(err, -errno, "a timer for the triggers");
	return 0;
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
		struct armed_rule *s = engine_slot(e, i);

		if (s->source && s->ops->command_ended)
			s->ops->command_ended(s->source, status);
	}
}

int engine_cpu(struct engine *e, int cpu, bool online, struct err *err)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		struct armed_rule *s = engine_slot(e, i);
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

void engine_answered(struct engine *e, const struct rule *rule)
{
	struct armed_rule *s = engine_slot_of(e, rule);

	if (s->source && s->ops->answered)
		s->ops->answered(s->source);
}

/* No hit of this rule can get its own dump now. */
static bool is_blocked(const struct engine *e, const struct armed_rule *s, uint64_t now)
{
	return !s->always && (e->hits.state != HIT_ARMED || now < engine_blocked_until(e, s));
}

/* A source without a descriptor is woken by messages of programs. */
static void watch_again(struct engine *e, struct armed_rule *s, bool on)
{
	uint32_t events;

	if (s->ops->fd(s->source, &events) < 0)
		engine_watch_tell(e, on, NULL);
	else if (on)
		armed_rule_watch(s, e->epoll_fd, NULL);
	else
		armed_rule_unwatch(s, e->epoll_fd);
}

/* Sets the timer unless it expires earlier already. */
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

/* ---- traces that hits pause ---- */

/* Called at the first hit that gets no dump: thousands may follow, and none may pause a trace. */
void engine_release_traces(struct engine *e, struct armed_rule *s, uint64_t now)
{
	if (s->released || !s->source || !s->ops->brake || !is_blocked(e, s, now))
		return;
	s->ops->brake(s->source, false);
	s->released = true;
	if (e->hits.state == HIT_ARMED)
		wake_at(e, engine_blocked_until(e, s));
}

void engine_pause_traces(struct engine *e, uint64_t now)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		struct armed_rule *s = engine_slot(e, i);

		if (!s->released || e->hits.state != HIT_ARMED)
			continue;
		if (is_blocked(e, s, now)) {
			wake_at(e, engine_blocked_until(e, s));
			continue;
		}
		s->released = false;
		if (s->source)
			s->ops->brake(s->source, true);
	}
}

/* ---- polling ---- */

/* True: the source still rests, or its pending hits were counted into `what`. */
static bool is_resting(struct engine *e, struct armed_rule *s, uint64_t now, struct sighting *what)
{
	uint64_t nr;

	if (now < s->pace.rest_ns) {
		wake_at(e, s->pace.rest_ns);
		return true;
	}
	s->pace.rest_ns = 0;
	/* Watch before reading: perf descriptors report readiness to the epoll set only once. */
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

/* Polls one source; returns as engine_poll(). */
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

/* Refuses the messages that no source took, unless a resting source may still take them. */
static void refuse_rest(struct engine *e)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++)
		if (engine_slot(e, i)->pace.rest_ns)
			return;
	app_socket_refuse(e->opt.env->tell);
}

int engine_poll(struct engine *e, const struct rule **rule, struct sighting *what, struct err *err)
{
	uint64_t now = clock_ns();

	if (e->opt.env && e->opt.env->tell)
		app_socket_pump(e->opt.env->tell);
	engine_pause_traces(e, now);
	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		struct armed_rule *s = engine_slot(e, e->turn++ % engine_nr_rules(e));
		int rc = s->source ? ask(e, s, now, what, err) : 0;

		*rule = s->rule;
		if (rc)
			return rc;
	}
	if (e->opt.env && e->opt.env->tell)
		refuse_rest(e);
	return 0;
}
