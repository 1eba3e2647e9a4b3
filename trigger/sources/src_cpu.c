// SPDX-License-Identifier: MIT
/*
 * Source "cpu:PID>PERCENT/TIME": the CPU time that all threads of a process used within the last
 * TIME, as a share of one CPU (250% is two and a half CPUs). It reads the process's CPU clock, in
 * nanoseconds. The rule ends with the process.
 *
 *	samples, one a step:  ●────●────●────●────●────●
 *	                      └─────── TIME ───────────┘ newest
 */
#include "trigger/sources/polled.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule_check.h"

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

struct cpu_sample {
	uint64_t ns, used_ns;
};

struct cpu_source {
	struct source polled;
	clockid_t clock;
	uint64_t window_ns;
	struct cpu_sample samples[MAX_STEPS + 1];
	size_t nr_steps;     /* in a window */
	uint64_t nr_samples; /* total; the newest is at (nr_samples - 1) modulo (nr_steps + 1) */
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
	int rc = rule_check_value(r, "the pid of a process", "><", example, err);

	*window_ns = DEFAULT_WINDOW_NS;

	if (!rc)
		rc = rule_check_per(r, amount, sizeof(amount), window_ns, err);
	if (!rc)
		rc = parse_percent(r, amount, percent, err);
	if (!rc && (*window_ns < SHORTEST_WINDOW || *window_ns > LONGEST_WINDOW))
		rc = rule_err(r->text, r->threshold_at + strlen(amount) + 1, err,
			      "expected 1s to 1h");
	return rc;
}

/* Checks the process after it reads the clock: if it still lives, the clock was not that of a
 * process with a reused pid. */
static int take_sample(struct cpu_source *s, uint64_t now, struct err *err)
{
	struct timespec t;
	int failed = clock_gettime(s->clock, &t) ? errno : 0;

	if (process_ended(&s->polled.process))
		return process_gone(&s->polled.process, err);
	if (failed)
		return err_sys(err, -failed, "can't read the CPU clock of process %d",
			       s->polled.process.pid);
	s->samples[s->nr_samples++ % (s->nr_steps + 1)] = (struct cpu_sample){
		.ns = now, .used_ns = (uint64_t)t.tv_sec * TICK_NS + (uint64_t)t.tv_nsec};
	return 0;
}

/* The share over the window that ends with the newest sample; false: too few samples yet. */
static bool share(const struct cpu_source *s, double *percent, uint64_t *began_ns)
{
	size_t size = s->nr_steps + 1;
	const struct cpu_sample *last, *first;

	if (s->nr_samples < size)
		return false;
	last = &s->samples[(s->nr_samples - 1) % size];
	first = &s->samples[s->nr_samples % size];
	*percent =
		100.0 * (double)(last->used_ns - first->used_ns) / (double)(last->ns - first->ns);
	*began_ns = first->ns;
	return true;
}

static int cpu_look(struct source *p, uint64_t now_ns, double *value, uint64_t *began_ns,
		    struct err *err)
{
	struct cpu_source *s = (struct cpu_source *)p;
	int rc = take_sample(s, now_ns, err);

	return rc ? rc : share(s, value, began_ns);
}

static void cpu_text(const struct source *p, double value, char *out, size_t n)
{
	char time[32];

	snprintf(out, n, "%.1f%%/%s", value,
		 str_fmt_time(time, sizeof(time),
			      (int64_t)((const struct cpu_source *)p)->window_ns));
}

static const struct polled_ops ops = {sizeof(struct cpu_source), cpu_look, cpu_text, NULL};

static int cpu_open(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err)
{
	struct cpu_source *c;
	struct source *s;
	int64_t window_ns;
	double percent = 0;
	int rc = check(r, &percent, &window_ns, err);

	if (!rc)
		rc = polled_new(&ops, r, &s, err);
	if (rc)
		return rc;
	c = (struct cpu_source *)s;
	c->window_ns = (uint64_t)window_ns;
	s->step_s = (unsigned)(c->window_ns / TICK_NS + MAX_STEPS - 1) / MAX_STEPS;
	c->nr_steps = c->window_ns / TICK_NS / s->step_s;
	threshold_init(&s->level, r, percent, 0);
	if (!strchr(r->threshold, '/'))
		snprintf(s->threshold, sizeof(s->threshold), "%s/5s", r->threshold);
	rc = process_open(r, env, &s->process, err);
	if (!rc && clock_getcpuclockid(s->process.pid, &c->clock))
		rc = process_gone(&s->process, err);
	return polled_start(s, rc, out, err);
}

static void cpu_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches),
		 "the CPU time of all threads of process %d (%s)", s->process.pid, s->process.comm);
	polled_costs(s, out);
}

const struct source_ops source_cpu = {
	.name = "cpu",
	.syntax = "cpu:PID>PERCENT/TIME",
	.help = "a process uses more (or less) of a CPU than this (200%: two CPUs)",
	.example = "cpu:812>95%/5s",
	.open = cpu_open,
	.plan = cpu_plan,
	POLLED_OPS,
};
