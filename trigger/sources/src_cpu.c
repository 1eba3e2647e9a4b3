// SPDX-License-Identifier: MIT
/*
 * Source "cpu:PID>PERCENT/TIME": the CPU time that all threads of a process have used within the
 * last TIME, as a share of one CPU: 250% are two and a half of them. The clock of the process is
 * read, which counts in nanoseconds. When the process ends, the rule is over.
 *
 *	samples, one a step:  ●────●────●────●────●────●
 *	                      └─────── TIME ───────────┘ newest
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/sources/threshold.h"
#include "trigger/engine/rule_check.h"
#include "trigger/sources/process.h"
#include "trigger/sources/poll_timer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_WINDOW_NS (5 * (int64_t)TICK_NS)
#define SHORTEST_WINDOW	  ((int64_t)TICK_NS)
#define LONGEST_WINDOW	  (3600 * (int64_t)TICK_NS)
#define MAX_STEPS	  60

struct sample {
	uint64_t ns, used_ns;
};

struct source {
	struct process process;
	clockid_t clock;
	struct poll_timer tick;
	struct threshold level;
	uint64_t window_ns;
	unsigned step; /* s between samples */
	struct sample samples[MAX_STEPS + 1];
	size_t nr_steps;     /* in a window */
	uint64_t nr_samples; /* taken; the newest is at (nr_samples - 1) modulo (nr_steps + 1) */
	char threshold[32];
};

static int parse_percent(const struct rule *r, const char *amount, double *out, struct err *err)
{
	double most = 100.0 * (double)sysconf(_SC_NPROCESSORS_CONF);
	char *end;
	double v = strtod(amount, &end);

	if (end == amount || (*end && strcmp(end, "%") != 0))
		return rule_err(r->text, r->threshold_at, err,
				"expected a share of one CPU such as 95%%, found '%s'", amount);
	if (r->op == RULE_OP_ABOVE && v >= most)
		return rule_err(r->text, r->threshold_at, err,
				"there is %g%% in all (100%% is one CPU), so the rule can't be met",
				most);
	if (r->op == RULE_OP_BELOW && v <= 0)
		return rule_err(r->text, r->threshold_at, err,
				"nothing is below %s, so the rule can't be met", amount);
	*out = v;
	return 0;
}

static int check(const struct rule *r, double *percent, int64_t *window_ns, struct err *err)
{
	static const char example[] = "cpu:812>95%/5s";
	char amount[32];
	int rc = rule_check_arg(r, "the pid of a process", example, err);

	*window_ns = DEFAULT_WINDOW_NS;
	if (!rc)
		rc = rule_check_op(r, "><", example, err);
	if (!rc)
		rc = rule_check_no_call(r, err);
	if (!rc)
		rc = rule_check_per(r, amount, sizeof(amount), window_ns, err);
	if (!rc)
		rc = parse_percent(r, amount, percent, err);
	if (!rc && (*window_ns < SHORTEST_WINDOW || *window_ns > LONGEST_WINDOW))
		rc = rule_err(r->text, r->threshold_at + strlen(amount) + 1, err,
			      "expected 1s to 1h");
	return rc;
}

static void cpu_close(struct source *s)
{
	if (!s)
		return;
	poll_timer_close(&s->tick);
	process_close(&s->process);
	free(s);
}

/* After the clock was read the process is there still: so it was its own, and of no successor. */
static int take_sample(struct source *s, uint64_t now, struct err *err)
{
	struct timespec t;
	int failed = clock_gettime(s->clock, &t) ? errno : 0;

	if (process_ended(&s->process))
		return process_gone(&s->process, err);
	if (failed)
		return err_sys(err, -failed, "can't read the CPU clock of process %d",
			       s->process.pid);
	s->samples[s->nr_samples++ % (s->nr_steps + 1)] = (struct sample){
		.ns = now, .used_ns = (uint64_t)t.tv_sec * TICK_NS + (uint64_t)t.tv_nsec};
	return 0;
}

static int cpu_open(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err)
{
	struct source *s;
	int64_t window_ns;
	double percent = 0;
	int rc = check(r, &percent, &window_ns, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->tick.fd = s->process.pidfd = s->process.dir_fd = -1;
	s->window_ns = (uint64_t)window_ns;
	s->step = (unsigned)(s->window_ns / TICK_NS + MAX_STEPS - 1) / MAX_STEPS;
	s->nr_steps = s->window_ns / TICK_NS / s->step;
	threshold_init(&s->level, r, percent, 0);
	snprintf(s->threshold, sizeof(s->threshold), "%s%s", r->threshold,
		 strchr(r->threshold, '/') ? "" : "/5s");
	rc = process_open(r, env, &s->process, err);
	if (!rc && clock_getcpuclockid(s->process.pid, &s->clock))
		rc = process_gone(&s->process, err);
	if (!rc)
		rc = poll_timer_open(&s->tick, err);
	if (rc) {
		cpu_close(s);
		return rc;
	}
	poll_timer_in(&s->tick, poll_timer_now(), 1);
	*out = s;
	return 0;
}

static int cpu_fd(const struct source *s, uint32_t *events)
{
	return s->tick.fd;
}

/* Over the window that ends with the newest sample; false: it is not full yet. */
static bool share(const struct source *s, double *percent, uint64_t *began_ns)
{
	size_t size = s->nr_steps + 1;
	const struct sample *last, *first;

	if (s->nr_samples < size)
		return false;
	last = &s->samples[(s->nr_samples - 1) % size];
	first = &s->samples[s->nr_samples % size];
	*percent =
		100.0 * (double)(last->used_ns - first->used_ns) / (double)(last->ns - first->ns);
	*began_ns = first->ns;
	return true;
}

static int cpu_ready(struct source *s, struct sighting *what, struct err *err)
{
	uint64_t now = poll_timer_now(), began_ns;
	double percent;
	char time[32];
	int rc;

	if (!poll_timer_is_due(&s->tick, now))
		return 0;
	poll_timer_in(&s->tick, now, s->step);
	rc = take_sample(s, now, err);
	if (rc)
		return rc;
	if (!share(s, &percent, &began_ns) || !threshold_feed(&s->level, percent, now))
		return 0;
	what->ns = now;
	what->began_ns = s->level.for_ns ? s->level.began_ns : began_ns;
	sighting_add(what, "value=%.1f%%/%s", percent,
		     str_fmt_time(time, sizeof(time), (int64_t)s->window_ns));
	sighting_add(what, "threshold=%s", s->threshold);
	process_who(&s->process, what);
	return 1;
}

static void cpu_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches),
		 "the CPU time of all threads of process %d (%s)", s->process.pid, s->process.comm);
	snprintf(out->costs, sizeof(out->costs),
		 "a look each %u s, together with other rules that look", s->step);
}

const struct source_ops source_cpu = {
	.name = "cpu",
	.syntax = "cpu:PID>PERCENT/TIME",
	.help = "a process uses more (or less) of a CPU than this (200%: two CPUs)",
	.example = "cpu:812>95%/5s",
	.open = cpu_open,
	.fd = cpu_fd,
	.ready = cpu_ready,
	.plan = cpu_plan,
	.close = cpu_close,
};
