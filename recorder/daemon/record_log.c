// SPDX-License-Identifier: MIT
/* Messages of `record` while it runs; see record_log.h. Called by daemon.c. */
#include "recorder/daemon/record_log.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/daemon/dry_run.h"
#include "recorder/base/log.h"
#include "recorder/daemon/session.h"
#include "trigger/crash/held_cores.h"
#include "trigger/kernel/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000u

/* ---- at start ---- */

void record_log_rules(const struct engine *e)
{
	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		struct engine_rule_info r;

		engine_rule_info(e, i, &r);
		if (*r.why)
			log_warn("rule %s %s: %s", r.text, r.armed ? "is unchanged" : "is not used",
				 r.why);
		else if (*r.trouble && !r.nr_hits)
			log_warn("rule %s: %s", r.text, r.trouble);
	}
}

/* What was taken over from the recorder before. */
static void log_taken(const struct session *s)
{
	uint64_t since_ns;
	char time[32];

	if (!recording_nr_taken(s->recording, &since_ns))
		return;
	for (size_t i = 0; i < recording_nr_channels(s->recording); i++)
		if (!recording_channel_taken(s->recording, i))
			log_info("channel %s starts anew: it differs from that of the recorder "
				 "before, or can't be kept",
				 recording_channel(s->recording, i)->name);
	log_info("the rings of the recorder before are taken over; the oldest has recorded for %s",
		 str_fmt_time(time, sizeof(time), (int64_t)(clock_ns() - since_ns)));
}

void record_log_begin(const struct session *s)
{
	char *text = NULL, dir[PATH_MAX];
	size_t n;
	FILE *out = s->config.verbose ? open_memstream(&text, &n) : NULL;

	if (out) {
		store_dir(s->store, dir);
		plan_print(s, "records", out);
		fprintf(out, "dumps go to %s\n", dir);
		if (s->config.config_path)
			fprintf(out, "configuration %s is read\n", s->config.config_path);
		fclose(out);
	}
	for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		log_verbose("%s", line);
	}
	free(text);
	record_log_rules(s->engine);
	log_taken(s);
	log_event(LOG_RECORDING, (const char *[]){"RINGBACK_NAME", s->config.name, NULL},
		  "recording");
}

/* ---- hits ---- */

/* " (thread 812 redis-server): value=12 ms, threshold=10ms", cut to fit. */
static void saw_text(const struct sighting *what, char *out, size_t n)
{
	size_t len = 0;

	*out = '\0';
	if (what->tid)
		len += (size_t)snprintf(out, n, " (thread %u%s%.16s)", what->tid,
					*what->comm ? " " : "", what->comm);
	for (uint32_t i = 0; i < what->nr_saw && len < n; i++)
		len += (size_t)snprintf(out + len, n - len, "%s%s", i ? ", " : ": ", what->saw[i]);
}

static uint64_t blocked_until(const struct engine *e, const struct rule *rule)
{
	struct engine_rule_info info;

	for (size_t i = 0; i < engine_nr_rules(e); i++) {
		if (engine_rule(e, i) != rule)
			continue;
		engine_rule_info(e, i, &info);
		return info.blocked_until_ns;
	}
	return 0;
}

static void held_text(const struct session *s, const struct rule *rule, unsigned fill_percent,
		      char *out, size_t n)
{
	uint64_t now = clock_ns(), until = blocked_until(s->engine, rule);
	char time[32];

	if (until > now)
		snprintf(out, n, "held: no dump for another %s (cooldown or max)",
			 str_fmt_time(time, sizeof(time), (int64_t)(until - now)));
	else if (rule->min_fill_percent > 0 && fill_percent < (unsigned)rule->min_fill_percent)
		snprintf(out, n, "held: the rings are %u%% full, min-fill is %d%%", fill_percent,
			 rule->min_fill_percent);
	else
		snprintf(out, n, "held by probability or same");
}

void record_log_hit(const struct session *s, const struct rule *rule, const struct sighting *what,
		    enum hit_do next, unsigned fill_percent)
{
	char saw[512], answer[128] = "dump", time[32], thread[16];

	if (!s->config.verbose)
		return;
	saw_text(what, saw, sizeof(saw));
	if (next == DO_WAIT)
		snprintf(answer, sizeof(answer), "dump in %s",
			 str_fmt_time(time, sizeof(time), engine_cause(s->engine)->post_ns));
	else if (next == DO_MERGE)
		snprintf(answer, sizeof(answer),
			 "merged with a dump that was already being written");
	else if (next == DO_DEFER)
		snprintf(answer, sizeof(answer), "dump as soon as the current one is written");
	else if (next == DO_HOLD)
		held_text(s, rule, fill_percent, answer, sizeof(answer));
	snprintf(thread, sizeof(thread), "%u", what->tid);
	log_event(LOG_HIT,
		  (const char *[]){"RINGBACK_NAME", s->config.name, "RINGBACK_RULE", rule->name,
				   "RINGBACK_THREAD", what->tid ? thread : "", NULL},
		  "hit of %s%s; %s", rule->name, saw, answer);
}

bool record_log_evicted(const struct session *s)
{
	struct ledger_largest most;
	struct ledger_stats l;
	char size[32], who[128] = "";

	ledger_stats(s->ledger, &l);
	if (!l.nr_evicted)
		return false;
	if (ledger_largest(s->ledger, &most))
		snprintf(who, sizeof(who), "; %.16s (%u) takes most: %lu mapping%s, %lu thread%s",
			 most.comm, most.pid, most.nr_maps, str_plural(most.nr_maps),
			 most.nr_threads, str_plural(most.nr_threads));
	log_warn("the history of processes is full (--ledger-size %s): names may be missing in "
		 "dumps%s",
		 str_fmt_size(size, sizeof(size), l.max_bytes), who);
	return true;
}

void record_log_unheld(const struct session *s)
{
	struct held_cores_unheld u;
	char lost[64] = "";

	if (!s->parked || !held_cores_take_unheld(s->parked, &u))
		return;
	if (u.nr_refused)
		snprintf(lost, sizeof(lost), "; %u without a core", u.nr_refused);
	log_warn("too many crashes at once: %u %s not held and recorded without all threads%s",
		 u.nr, str_were(u.nr), lost);
}

/* ---- dumps ---- */

/* " of the last 3.40 s"; where channels differ, " (reach: cpu 3.40 s, sched 1.20 s)". */
static void reach_text(const struct dumper_result *r, char *out, size_t n)
{
	char time[32];
	size_t at = 0;
	bool same = true;

	*out = '\0';
	for (size_t i = 0; i < r->nr_reach; i++) /* rings are paused at slightly different times */
		same &= r->reach[i].ns / MS == r->reach[0].ns / MS;
	for (size_t i = 0; i < r->nr_reach && at < n; i++) {
		str_fmt_time(time, sizeof(time), (int64_t)(r->reach[i].ns / MS * MS));
		if (same) {
			snprintf(out, n, " of the last %s", time);
			return;
		}
		at += (size_t)snprintf(out + at, n - at, "%s%s %s",
				       i ? ", " : " (reach: ", r->reach[i].channel, time);
	}
	if (r->nr_reach && at < n)
		snprintf(out + at, n - at, ")");
}

void record_log_committed(const struct session *s, const struct dumper_result *r)
{
	char file[32], ring[32], reach[512], samples[32], lost[128] = "nothing lost",
							  trace[64] = "";
	char freeze[32], skew[32], write[32], names[32], nr_lost[24];
	const struct engine_cause *cause = engine_cause(s->engine);

	if (r->lost)
		snprintf(lost, sizeof(lost), "%lu sample%s LOST", r->lost, str_plural(r->lost));
	if (r->nr_stood)
		snprintf(lost + (r->lost ? strlen(lost) : 0),
			 sizeof(lost) - (r->lost ? strlen(lost) : 0),
			 "%s%zu trace%s stood for up to %s", r->lost ? ", " : "", r->nr_stood,
			 str_plural(r->nr_stood),
			 str_fmt_time(freeze, sizeof(freeze), (int64_t)r->stood_ns));
	if (r->aux_bytes)
		snprintf(trace, sizeof(trace), " and %s of trace",
			 str_fmt_size(file, sizeof(file), r->aux_bytes));
	reach_text(r, reach, sizeof(reach));
	snprintf(nr_lost, sizeof(nr_lost), "%lu", r->lost);
	log_event(LOG_DUMP,
		  (const char *[]){"RINGBACK_NAME", s->config.name, "RINGBACK_DUMP", r->path,
				   "RINGBACK_RULE", cause->rule->name, "RINGBACK_TRIGGER",
				   cause->rule->text, "RINGBACK_REASON", cause->what.reason,
				   "RINGBACK_LOST", nr_lost, NULL},
		  "dump: %s event%s%s, %s of rings%s in a file of %s, %s",
		  str_fmt_count(samples, sizeof(samples), r->nr_samples), str_plural(r->nr_samples),
		  reach, str_fmt_size(ring, sizeof(ring), r->ring_bytes), trace,
		  str_fmt_size(file, sizeof(file), r->file_bytes), lost);
	if (*r->cut.what) {
		struct err err = r->cut;

		err_prefix(&err, "the dump is incomplete");
		log_warn_err(&err);
	}
	log_verbose("dump: rings paused %s after the hit, within %s; file written in %s, with %s "
		    "for names",
		    str_fmt_time(freeze, sizeof(freeze), (int64_t)r->freeze_ns),
		    str_fmt_time(skew, sizeof(skew), (int64_t)r->skew_ns),
		    str_fmt_time(write, sizeof(write), (int64_t)r->write_ns),
		    str_fmt_time(names, sizeof(names), (int64_t)r->names_ns));
	if (r->hung_names)
		log_warn("process %d, which looks up names, hangs: a file system or a disk does "
			 "not answer; dumps have no names until it ends",
			 (int)r->hung_names);
}
