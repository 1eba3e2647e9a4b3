// SPDX-License-Identifier: MIT
/* The plan of a recorder; see dry_run.h. Called by cmd_record.c. */
#include "recorder/daemon/dry_run.h"

#include "dump/base/str.h"
#include "recorder/daemon/session.h"
#include "trigger/events/aux_pause.h"
#include "trigger/kernel/settings.h"

#include <stdio.h>
#include <string.h>

#define MAX_EVENTS 8 /* printed for each channel */

static void print_aux(FILE *out, const struct session *s, const struct channel *c)
{
	char area[32], ring[32];

	fprintf(out,
		"  channel %s: %s into an AUX area of %s a %s, with as much to copy it to; its "
		"records "
		"in a ring of %s\n",
		c->name, c->events.v[0]->name, str_fmt_size(area, sizeof(area), c->aux_bytes),
		s->target.per_thread ? "thread" : "CPU",
		str_fmt_size(ring, sizeof(ring), c->ring_bytes));
}

static void print_events(FILE *out, const struct channel *c)
{
	size_t shown = c->events.nr > MAX_EVENTS + 1 ? MAX_EVENTS : c->events.nr;

	for (size_t i = 0; i < shown; i++)
		fprintf(out, "%s %s", i ? "," : "", c->events.v[i]->name);
	if (shown < c->events.nr)
		fprintf(out, " and %zu more", c->events.nr - shown);
	fputc('\n', out);
}

/* What a time costs depends on the load. */
static void print_sized(FILE *out, const struct session *s, const struct channel *c)
{
	char time[32], first[32], cost[32], all[32];

	fprintf(out,
		"  channel %s: %u bank%s a CPU, %s at first, resized to hold %s: %s of memory for "
		"each "
		"MiB a second that a CPU writes; with all others at most %s (--memory):",
		c->name, c->nr_banks, str_plural(c->nr_banks),
		str_fmt_size(first, sizeof(first), c->ring_bytes),
		str_fmt_time(time, sizeof(time), c->horizon_ns),
		str_fmt_size(cost, sizeof(cost),
			     c->nr_banks * ring_time_bytes(1u << 20, c->horizon_ns)),
		str_fmt_size(all, sizeof(all),
			     ring_size_budget(&s->config.memory, ring_size_machine(),
					      setting_cpus_online(), &s->caps)));
	print_events(out, c);
}

static void print_channels(FILE *out, const struct session *s, const char *what)
{
	const struct recording *r = s->recording;
	char bytes[32];

	if (!r) {
		fprintf(out, "%s: the command, once it is started\n", what);
		return;
	}
	fprintf(out, "%s: %s; %zu ring%s, %s of memory with the sideband\n", what, s->target.text,
		recording_nr_banks(r), str_plural(recording_nr_banks(r)),
		str_fmt_size(bytes, sizeof(bytes), recording_ring_bytes(r)));
	for (size_t i = 0; i < recording_nr_channels(r); i++) {
		const struct channel *c = recording_channel(r, i);

		if (c->aux_bytes) {
			print_aux(out, s, c);
			continue;
		}
		if (c->horizon_ns) {
			print_sized(out, s, c);
			continue;
		}
		fprintf(out, "  channel %s: %u bank%s of %s a %s:", c->name, c->nr_banks,
			str_plural(c->nr_banks), str_fmt_size(bytes, sizeof(bytes), c->ring_bytes),
			s->target.per_thread ? "thread" : "CPU");
		print_events(out, c);
	}
}

/* The rule's own option, or else the recorder's. */
static int64_t either(int64_t own, int64_t common)
{
	return own >= 0 ? own : common;
}

static void print_answer(FILE *out, const struct session *s, const struct rule *r)
{
	int64_t post = either(r->post_ns, s->config.post_ns),
		own = either(r->cooldown_ns, r->kind_cooldown_ns),
		any = r->cooldown_ns >= 0 ? 0 : s->config.cooldown_ns;
	char time[32];

	fprintf(out, "    answers  a hit with a dump");
	if (post > 0)
		fprintf(out, " %s after it", str_fmt_time(time, sizeof(time), post));
	if (r->probability < 1)
		fprintf(out, ", %g %% of the hits", r->probability * 100);
	if (r->min_fill_percent > 0)
		fprintf(out, ", once the rings are %d %% full", r->min_fill_percent);
	if (own > 0)
		fprintf(out, "; none within %s after one of its own",
			str_fmt_time(time, sizeof(time), own));
	if (any > 0)
		fprintf(out, "; none within %s after any", str_fmt_time(time, sizeof(time), any));
	if (r->max_hits > 0)
		fprintf(out, "; at most %d in %s", r->max_hits,
			str_fmt_time(time, sizeof(time), r->max_period_ns));
	if (r->max_same > 0)
		fprintf(out, "; at most %d of one signature in %s", r->max_same,
			str_fmt_time(time, sizeof(time), r->same_period_ns));
	fprintf(out, "\n");
}

static bool has_traces(const struct session *s)
{
	for (size_t i = 0; s->recording && i < recording_nr_channels(s->recording); i++)
		if (recording_channel(s->recording, i)->aux_bytes)
			return true;
	return false;
}

/* Says whether the kernel or the recorder stops hardware traces when the rule is met. */
static void print_traces(FILE *out, const struct session *s, const struct rule *r, bool brakes)
{
	const char *why = "what meets the rule is not an event on a CPU that the kernel could see";

	if (!has_traces(s))
		return;
	if (brakes) {
		fprintf(out,
			"    traces   stopped by the event itself, in the kernel, on the CPU where "
			"it "
			"comes\n");
		return;
	}
	if (!s->caps.aux_pause)
		why = "an event can't stop a trace before Linux 6.13";
	else if (!aux_pauses_nr_traces(s->brakes))
		why = "an event can stop only traces of whole CPUs, and of PMUs that allow it";
	else if (aux_pause_unfit(r, &s->env))
		why = aux_pause_unfit(r, &s->env);
	fprintf(out, "    traces   stopped by the recorder when it has woken: %s\n", why);
}

static void print_rule(FILE *out, const struct session *s, size_t i)
{
	const struct rule *r = engine_rule(s->engine, i);
	struct source_plan plan;
	char text[512];

	if (!engine_rule_plan(s->engine, i, &plan))
		return;
	fprintf(out, "rule %s: %s\n", r->name,
		str_safe(text, sizeof(text), r->text, strlen(r->text)));
	fprintf(out, "    watches  %s\n",
		str_safe(text, sizeof(text), plan.watches, strlen(plan.watches)));
	fprintf(out, "    costs    %s\n",
		str_safe(text, sizeof(text), plan.costs, strlen(plan.costs)));
	print_answer(out, s, r);
	print_traces(out, s, r, plan.brakes);
}

void plan_print(const struct session *s, const char *what, FILE *out)
{
	print_channels(out, s, what);
	for (size_t i = 0; i < engine_nr_rules(s->engine); i++)
		print_rule(out, s, i);
}

void dryrun_print(const struct session *s)
{
	plan_print(s, "would record", stdout);
	printf("nothing was started; without --dry-run this would be recording now\n");
}
