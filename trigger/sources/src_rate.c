// SPDX-License-Identifier: MIT
/*
 * Source "rate:EVENT>N/TIME": an event comes more often than N per TIME, on all CPUs together. A
 * rare event does not wake the recorder: the event has a sampling period on each CPU, and only an
 * overflow wakes.
 *
 *	         a CPU counted T/CPUs              all CPUs together at most half of that
 *	IDLE ──────────────────────────▶ MEASURING ─────────────────────────────────────────▶ IDLE
 *	                                  │      ▲
 *	                                  └──────┘ more, or not yet back from a hit: one more window
 *
 * T is the count that the threshold allows in a window. The window is TIME, but at least one
 * second. If all CPUs together count T in a window, at least one of them counts T/CPUs and wakes
 * the recorder. A wake-up alone proves nothing, since the other CPUs may have counted nothing. It
 * starts a window, and at its end the counters of all CPUs are read. During a window overflows do
 * not wake. So a rate that stays above the threshold is a hit after at most two windows, and a rate
 * below it wakes at most once per window.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/evidence.h"
#include "trigger/kernel/settings.h"
#include "trigger/sources/threshold.h"
#include "trigger/engine/rule_check.h"
#include "trigger/events/wakeup_ring.h"
#include "trigger/sources/poll_timer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define MAX_WINDOW_NS (3600 * TICK_NS)
/* Overflows of a window that go into the dump. */
#define MAX_KEPT 64

struct source {
	struct event_list events;
	struct wakeup_ring *tap;
	struct poll_timer tick;
	int epoll_fd; /* the timer, and while idle the tap */
	struct threshold level;
	char per[24];	    /* "s", "5s" as written */
	double per_ns;	    /* the threshold's TIME */
	uint64_t window_ns; /* length of the measured window */
	double period;
	bool measuring;
	uint64_t began_ns, count; /* of the current window */
};

/* ---- opening ---- */

static int check(const struct rule *r, struct source *s, struct err *err)
{
	int64_t per_ns = 0;
	char amount[64];
	uint64_t n;
	int rc = rule_check_arg(r, "an event", "rate:page-faults>100000/s", err);

	if (!rc)
		rc = rule_check_op(r, ">", "rate:page-faults>100000/s", err);
	if (!rc)
		rc = rule_check_no_call(r, err);
	if (!rc)
		rc = rule_check_per(r, amount, sizeof(amount), &per_ns, err);
	if (rc)
		return rc;
	if (str_u64(amount, &n, NULL) || n > INT64_MAX / 2)
		return rule_err(r->text, r->threshold_at, err,
				"expected a whole number before '/', as in 100000/s, found '%s'",
				amount);
	if (per_ns > (int64_t)MAX_WINDOW_NS)
		return rule_err(r->text, r->threshold_at, err, "an hour is the longest time");
	snprintf(s->per, sizeof(s->per), "%s", strchr(r->threshold, '/') + 1);
	s->per_ns = (double)per_ns;
	s->window_ns = per_ns < (int64_t)TICK_NS ? TICK_NS : (uint64_t)per_ns;
	threshold_init(&s->level, r, (double)n, 0);
	return 0;
}

/* The source sets the period, so the event must not give one. */
static int parse_event(const struct rule *r, const struct source_env *env, struct source *s,
		       struct err *err)
{
	int rc;

	if (strstr(r->arg, "period=") || strstr(r->arg, "freq="))
		return rule_err(r->text, r->arg_at, err,
				"rate: counts every event: leave out period= and freq=");
	rc = event_parse(r->arg, env ? env->caps : NULL, &s->events, err);
	if (rc)
		return rc;
	if (s->events.nr != 1)
		return rule_err(r->text, r->arg_at, err,
				"%zu events are meant; a rate is of one: make a rule for each",
				s->events.nr);
	if (s->events.v[0]->has_aux ||
	    (s->events.v[0]->kind == EVENT_SOFTWARE && s->events.v[0]->attr.freq))
		return rule_err(r->text, r->arg_at, err,
				"%s is a clock or a trace, not something that is counted; for CPU "
				"time there are cpu:PID and load",
				s->events.v[0]->name);
	return 0;
}

static int open_tap(const struct rule *r, struct source *s, const struct source_env *env,
		    struct err *err)
{
	struct event *e = s->events.v[0];
	double in_window = s->level.threshold * (double)s->window_ns / s->per_ns;
	struct wakeup_ring_options o = {.event = e, .sample_type = PERF_SAMPLE_IP};

	s->period = in_window / setting_cpus_online();
	if (s->period < 1)
		s->period = 1;
	wakeup_ring_set_stack(&o, r);
	e->attr.freq = 0;
	e->attr.sample_period = (uint64_t)s->period;
	return wakeup_ring_open(&o, env, &s->tap, err);
}

static int wait_for(const struct source *s, int fd, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};

	return epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev)
		       ? err_sys(err, -errno, "can't wait for %s", s->events.v[0]->name)
		       : 0;
}

static void rate_close(struct source *s)
{
	if (!s)
		return;
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	poll_timer_close(&s->tick);
	wakeup_ring_close(s->tap);
	event_list_free(&s->events);
	free(s);
}

static int rate_open(const struct rule *r, const struct source_env *env, struct source **out,
		     struct err *err)
{
	struct source *s = calloc(1, sizeof(*s));
	int rc;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->tick.fd = s->epoll_fd = -1;
	rc = check(r, s, err);
	if (!rc)
		rc = parse_event(r, env, s, err);
	if (!rc)
		rc = open_tap(r, s, env, err);
	if (!rc)
		rc = poll_timer_open(&s->tick, err);
	if (!rc && (s->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0)
		rc = err_sys(err, -errno, "epoll_create1 for a trigger");
	if (!rc)
		rc = wait_for(s, s->tick.fd, err);
	if (!rc)
		rc = wait_for(s, wakeup_ring_fd(s->tap), err);
	if (rc)
		rate_close(s);
	else
		*out = s;
	return rc;
}

static int rate_fd(const struct source *s, uint32_t *events)
{
	return s->epoll_fd;
}

/* ---- measuring ---- */

static void begin_window(struct source *s, uint64_t now)
{
	s->began_ns = now;
	s->count = wakeup_ring_count(s->tap);
}

/* After an overflow: the timer ends the window, and overflows do not wake. */
static void measure(struct source *s, uint64_t now)
{
	epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, wakeup_ring_fd(s->tap), NULL);
	s->measuring = true;
	begin_window(s, now);
	poll_timer_at(&s->tick, now + s->window_ns);
}

/* Waits for overflows again, and drops those of the last window. */
static int idle(struct source *s, struct err *err)
{
	int rc;

	s->measuring = false;
	poll_timer_at(&s->tick, UINT64_MAX);
	rc = wait_for(s, wakeup_ring_fd(s->tap), err);
	wakeup_ring_skip(s->tap);
	return rc;
}

/* Starts a window that ends at a whole second, like the timers of other rules. */
static void next_window(struct source *s, uint64_t now)
{
	uint64_t end = now + s->window_ns;

	wakeup_ring_skip(s->tap);
	s->began_ns = now;
	poll_timer_at(&s->tick, (end + TICK_NS - 1) / TICK_NS * TICK_NS);
}

/* Adds the threads of the window's overflows; the hit names the last one. */
static void add_who(struct source *s, struct sighting *what, struct err *err)
{
	struct wakeup_ring_sample sample;
	struct evidence *all = NULL;

	for (int n = 0; n < MAX_KEPT && wakeup_ring_next(s->tap, &sample, err) == 1; n++) {
		what->stack_hash = 0;
		memset(what->comm, 0, sizeof(what->comm));
		wakeup_ring_sighting(s->tap, &sample, what);
		if (!all) {
			all = evidence_get(what->evidence);
			continue;
		}
		evidence_add(all, 0, sample.cpu, sample.rec);
	}
	if (all) {
		evidence_put(what->evidence);
		what->evidence = all;
	}
	wakeup_ring_skip(s->tap);
}

static void tell(struct source *s, double value, uint64_t now, struct sighting *what,
		 struct err *err)
{
	add_who(s, what, err);
	what->ns = now;
	what->nr_hits = 1;
	what->began_ns = s->level.for_ns ? s->level.began_ns : 0;
	sighting_add(what, "event=%s", s->events.v[0]->name);
	sighting_add(what, "value=%.0f/%s", value, s->per);
	sighting_add(what, "threshold=%.0f/%s", s->level.threshold, s->per);
}

/* True if an overflow is due within two windows: then the timer wakes less often. */
static bool is_near(const struct source *s, double value)
{
	return value * (double)s->window_ns / s->per_ns > s->period / 2;
}

static int rate_ready(struct source *s, struct sighting *what, struct err *err)
{
	uint64_t now = poll_timer_now(), count;
	struct wakeup_ring_sample sample;
	double value;
	bool hit;
	int rc;

	if (!s->measuring) {
		rc = wakeup_ring_next(s->tap, &sample, err);
		if (rc == 1)
			measure(s, now);
		return rc < 0 ? rc : 0;
	}
	if (!poll_timer_is_due(&s->tick, now))
		return 0;
	count = wakeup_ring_count(s->tap);
	now = poll_timer_now();
	value = (double)(count - s->count) * s->per_ns / (double)(now - s->began_ns);
	s->count = count;
	hit = threshold_feed(&s->level, value, now);
	if (hit)
		tell(s, value, now, what, err);
	if (s->level.state != LEVEL_ARMED || is_near(s, value)) {
		next_window(s, now);
		return hit;
	}
	rc = idle(s, err);
	return rc ? rc : hit;
}

static int rate_cpu(struct source *s, int cpu, bool online, struct err *err)
{
	return wakeup_ring_cpu(s->tap, cpu, online, err);
}

static void rate_plan(const struct source *s, struct source_plan *out)
{
	char window[32];

	snprintf(out->watches, sizeof(out->watches),
		 "%s, counted on all CPUs; it wakes when one CPU has counted %.0f",
		 s->events.v[0]->name, s->period);
	snprintf(out->costs, sizeof(out->costs),
		 "no wake-up while it is rare; near the threshold one each %s",
		 str_fmt_time(window, sizeof(window), (int64_t)s->window_ns));
}

const struct source_ops source_rate = {
	.name = "rate",
	.stacks = true,
	.syntax = "rate:EVENT>N/TIME",
	.help = "an event comes more often than that, on all CPUs together",
	.example = "rate:page-faults>100000/s",
	.open = rate_open,
	.fd = rate_fd,
	.ready = rate_ready,
	.cpu = rate_cpu,
	.plan = rate_plan,
	.close = rate_close,
};
