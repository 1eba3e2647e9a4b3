// SPDX-License-Identifier: MIT
/* What would be recorded and watched, for people; see dryrun.h. Called by cmd_record.c. */
#include "recorder/dryrun.h"

#include "dump/base/str.h"
#include "recorder/session.h"
#include "trigger/brake.h"

#include <stdio.h>
#include <string.h>

static void print_aux(const struct session *s, const struct channel *c)
{
	char area[32], ring[32];

	printf("  channel %s: %s into an AUX area of %s a %s, with as much to copy it to; its "
	       "records "
	       "in a ring of %s\n",
	       c->name, c->events.v[0]->name, str_fmt_size(area, sizeof(area), c->aux_bytes),
	       s->target.per_thread ? "thread" : "CPU",
	       str_fmt_size(ring, sizeof(ring), c->ring_bytes));
}

static void print_channels(const struct session *s)
{
	const struct recording *r = s->recording;
	char bytes[32];

	if (!r) {
		printf("would record: the command, once it is started\n");
		return;
	}
	printf("would record: %s; %zu rings, %s of memory with the sideband\n", s->target.text,
	       recording_nr_banks(r), str_fmt_size(bytes, sizeof(bytes), recording_ring_bytes(r)));
	for (size_t i = 0; i < recording_nr_channels(r); i++) {
		const struct channel *c = recording_channel(r, i);

		if (c->aux_bytes) {
			print_aux(s, c);
			continue;
		}
		printf("  channel %s: %zu event%s, %u bank%s of %s a CPU\n", c->name, c->events.nr,
		       c->events.nr == 1 ? "" : "s", c->nr_banks, c->nr_banks == 1 ? "" : "s",
		       str_fmt_size(bytes, sizeof(bytes), c->ring_bytes));
	}
}

/* An option of the rule's own, or the recorder's. */
static int64_t either(int64_t own, int64_t common)
{
	return own >= 0 ? own : common;
}

static void print_answer(const struct session *s, const struct rule *r)
{
	int64_t post = either(r->post_ns, s->config.post_ns),
		cooldown = either(r->cooldown_ns, s->config.cooldown_ns);
	char time[32];

	printf("    answers  a hit with a dump");
	if (post > 0)
		printf(" %s after it", str_fmt_time(time, sizeof(time), post));
	if (r->probability < 1)
		printf(", %g %% of the hits", r->probability * 100);
	if (r->min_fill_percent > 0)
		printf(", once the rings are %d %% full", r->min_fill_percent);
	if (cooldown > 0)
		printf("; none within %s after %s", str_fmt_time(time, sizeof(time), cooldown),
		       r->cooldown_ns >= 0 ? "one of its own" : "any");
	if (r->max_hits > 0)
		printf("; at most %d in %s", r->max_hits,
		       str_fmt_time(time, sizeof(time), r->max_period_ns));
	if (r->max_same > 0)
		printf("; at most %d of one signature in %s", r->max_same,
		       str_fmt_time(time, sizeof(time), r->same_period_ns));
	printf("\n");
}

static bool has_traces(const struct session *s)
{
	for (size_t i = 0; s->recording && i < recording_nr_channels(s->recording); i++)
		if (recording_channel(s->recording, i)->aux_bytes)
			return true;
	return false;
}

/* Who stops hardware traces when the rule is met. */
static void print_traces(const struct session *s, const struct rule *r, bool brakes)
{
	const char *why = "what meets the rule is not an event on a CPU that the kernel could see";

	if (!has_traces(s))
		return;
	if (brakes) {
		printf("    traces   stopped by the event itself, in the kernel, on the CPU where "
		       "it "
		       "comes\n");
		return;
	}
	if (!s->caps.aux_pause)
		why = "an event can't stop a trace before Linux 6.13";
	else if (!brakes_nr_traces(s->brakes))
		why = "an event can stop only traces of whole CPUs, and of PMUs that allow it";
	else if (brake_unfit(r, &s->env))
		why = brake_unfit(r, &s->env);
	printf("    traces   stopped by the recorder when it has woken: %s\n", why);
}

static void print_rule(const struct session *s, size_t i)
{
	const struct rule *r = engine_rule(s->engine, i);
	struct source_plan plan;
	char text[512];

	if (!engine_rule_plan(s->engine, i, &plan))
		return;
	printf("rule %s: %s\n", r->name, str_safe(text, sizeof(text), r->text, strlen(r->text)));
	printf("    watches  %s\n",
	       str_safe(text, sizeof(text), plan.watches, strlen(plan.watches)));
	printf("    costs    %s\n", str_safe(text, sizeof(text), plan.costs, strlen(plan.costs)));
	print_answer(s, r);
	print_traces(s, r, plan.brakes);
}

void dryrun_print(const struct session *s)
{
	print_channels(s);
	for (size_t i = 0; i < engine_nr_rules(s->engine); i++)
		print_rule(s, i);
	printf("nothing was started; without --dry-run this would be recording now\n");
}
