// SPDX-License-Identifier: MIT
/*
 * From a hit to a finished dump: what the engine's decision asks for is done. Called by daemon.c.
 */
#include "recorder/daemon/daemon_parts.h"

#include "dump/base/str.h"
#include "recorder/base/exit_code.h"
#include "recorder/base/log.h"
#include "recorder/capture/paused_traces.h"
#include "recorder/daemon/horizon.h"
#include "recorder/daemon/manager.h"
#include "recorder/daemon/record_log.h"
#include "trigger/engine/repeats.h"
#include "trigger/kernel/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MAX_MERGED 66
#define MAX_HITS   16 /* read from the triggers at a time */

/* One-shot, at `ns` of CLOCK_MONOTONIC; 0: off. */
static void set_timer(struct daemon *d, uint64_t ns)
{
	struct itimerspec t = {.it_value = {.tv_sec = (time_t)(ns / 1000000000),
					    .tv_nsec = (long)(ns % 1000000000)}};

	timerfd_settime(d->timer_fd, TFD_TIMER_ABSTIME, &t, NULL);
}

/* The time recorded after the hit: less than post_ns when the recorder had to stop early. */
static int64_t time_after(const struct engine_cause *c, const struct recording_freeze *f)
{
	int64_t passed = (int64_t)(f->first_paused_ns - c->what.ns);

	return passed < c->post_ns ? passed : c->post_ns;
}

void daemon_freeze(struct daemon *d)
{
	struct session *s = d->s;
	const struct engine_cause *c;
	struct dumper_job job = {.nr = (uint32_t)s->nr_dumps + 1};

	recording_freeze(s->recording, &job.freeze);
	c = engine_cause(s->engine);
	job.what = sighting_share(&c->what);
	job.hit_ns = c->what.ns;
	job.post_ns = time_after(c, &job.freeze);
	snprintf(job.rule_name, sizeof(job.rule_name), "%s", c->rule->name);
	snprintf(job.rule_text, sizeof(job.rule_text), "%s", c->rule->text);
	snprintf(d->rule_name, sizeof(d->rule_name), "%s", c->rule->name);
	snprintf(d->reason, sizeof(d->reason), "%s", c->what.reason);
	d->traces_ms = 0;
	daemon_drain(d, true);
	if (!job.what.comm[0] && job.what.tid) /* the thread has exited in the meantime */
		ledger_comm(s->ledger, job.what.tid, job.hit_ns, job.what.comm);
	job.scan = s->scan;
	dumper_start(s->dumper, &job);
	set_timer(d, clock_ns() + DUMPER_PATIENCE_NS);
}

static void do_next(struct daemon *d, enum hit_do next)
{
	if (next == DO_FREEZE)
		daemon_freeze(d);
	else if (next == DO_WAIT)
		set_timer(d, engine_due_ns(d->s->engine));
	else if (next == DO_DEFER)
		dumper_hasten(d->s->dumper);
}

enum hit_do daemon_hit(struct daemon *d, const struct rule *rule, const struct sighting *what)
{
	struct session *s = d->s;
	unsigned fill = rule->min_fill_percent > 0 ? recording_fill_percent(s->recording) : 100;
	enum hit_do next = engine_hit(s->engine, rule, what, fill);

	do_next(d, next);
	record_log_hit(s, rule, what, next, fill);
	return next;
}

static void take_deferred(struct daemon *d)
{
	const struct rule *rule;
	struct sighting what;
	enum hit_do next;

	while ((next = engine_take(d->s->engine, &rule, &what)) != DO_NOTHING) {
		do_next(d, next);
		record_log_hit(d->s, rule, &what, next, 100);
		sighting_fini(&what);
	}
}

void daemon_on_timer(struct daemon *d)
{
	uint64_t n;

	if (read(d->timer_fd, &n, sizeof(n)) != sizeof(n))
		return;
	if (d->hits->state == HIT_POST) {
		hit_machine_due(d->hits);
		daemon_freeze(d);
	} else if (is_writing(d) && dumper_watch(d->s->dumper)) {
		set_timer(d, clock_ns() + DUMPER_PATIENCE_NS);
	}
}

void daemon_on_engine(struct daemon *d)
{
	const struct rule *rule;
	struct sighting what;
	struct err err = ERR_INIT;
	int got = 1;

	d->more_hits = false;
	for (int i = 0; i < MAX_HITS && got; i++) {
		got = engine_poll(d->s->engine, &rule, &what, &err);
		if (got > 0) {
			daemon_hit(d, rule, &what);
			engine_answered(d->s->engine, rule);
			sighting_fini(&what);
		} else if (got < 0) {
			log_warn_err(&err);
			log_warn("rule %s is disarmed", rule->name);
		}
	}
	d->more_hits = got != 0;
	record_log_unheld(d->s);
}

void daemon_let_traces_run(struct daemon *d, uint64_t woken_ns)
{
	d->traces_stand = !d->more_hits && !d->hits->nr_deferred &&
			  traces_let_run(d->s->recording, d->s->brakes,
					 woken_ns - DAEMON_STAND_MS * 1000000ull);
}

static void seal(struct daemon *d)
{
	struct session *s = d->s;
	struct engine_merged merged[MAX_MERGED];
	struct dumper_totals totals = {.nr_dumps = s->nr_dumps, .nr_refused = s->nr_refused};
	struct engine_totals t;
	struct ledger_stats l;
	const struct repeat *repeat = engine_cause_repeat(s->engine);
	size_t nr = engine_seal(s->engine, merged, MAX_MERGED);

	engine_totals(s->engine, &t);
	totals.nr_hits = t.nr_hits;
	totals.nr_held = t.nr_held;
	if (repeat)
		totals.repeats = (struct fmt_repeats){repeat->id, repeat->nr_seen,
						      repeat->nr_kept + 1, repeat->first_ns};
	sideband_stats(s->sideband, &totals.sideband);
	ledger_stats(s->ledger, &l);
	totals.sideband.nr_scans = s->nr_scans;
	totals.sideband.nr_wakeups = s->nr_sideband_wakeups;
	totals.sideband.ledger_bytes = l.bytes;
	totals.sideband.nr_tasks = l.nr_tasks;
	totals.sideband.nr_tombstones = l.nr_tombstones;
	totals.sideband.nr_evicted = l.nr_evicted;
	dumper_seal(s->dumper, merged, nr, &totals);
}

/* ---- the end of a dump ---- */

static void answer_askers(struct daemon *d, const struct dumper_result *r)
{
	char path[sizeof(r->path) * 4], cut[sizeof(r->cut.what) * 4];
	struct hit_asker asker;

	str_safe(path, sizeof(path), r->path, strlen(r->path));
	str_safe(cut, sizeof(cut), r->cut.what, strlen(r->cut.what));
	while (hit_machine_answer(d->hits, &asker)) {
		if (r->rc)
			ctl_reply_err(d->s->ctl, asker.who, &r->err);
		else
			ctl_reply(d->s->ctl, asker.who,
				  json_pack("{s:b, s:s, s:b, s:s*}", "ok", 1, "path", path,
					    "merged", (int)asker.merged, "incomplete",
					    *cut ? cut : NULL));
	}
}

static void note_dump(struct session *s, const struct dumper_result *r)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	s->last_dump_real_ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	snprintf(s->last_dump, sizeof(s->last_dump), "%s", r->path);
	memcpy(s->last_reach, r->reach, sizeof(s->last_reach));
	s->nr_last_reach = r->nr_reach;
}

static void finish_dump(struct daemon *d)
{
	struct session *s = d->s;
	struct dumper_result r;

	dumper_take(s->dumper, &r);
	recording_settle(s->recording, !r.rc);
	set_timer(d, 0);
	if (r.rc) {
		s->nr_refused++;
		log_err(&r.err);
		if (d->hits->run != HIT_RUNNING && !s->child)
			d->exit_status = EXIT_FAILED;
		log_event(LOG_NO_DUMP,
			  (const char *[]){"RINGBACK_NAME", s->config.name, "RINGBACK_RULE",
					   engine_cause(s->engine)->rule->name, "RINGBACK_ERROR",
					   r.err.what, NULL},
			  "no dump was made; recording continues");
	} else {
		s->nr_dumps++;
		note_dump(s, &r);
		if (*r.spilled.what) {
			s->nr_spilled++;
			s->spilled = r.spilled;
		}
		record_log_committed(s, &r);
		horizon_note(s, &r);
		log_result(r.path);
		if (s->on_dump)
			on_dump_add(s->on_dump, r.path, d->rule_name, d->reason);
	}
	manager_status(s);
	engine_done(s->engine, clock_ns(), !r.rc);
	answer_askers(d, &r);
	daemon_drain(d, true);
	daemon_hotplug(d);
	daemon_resize(d);
	take_deferred(d);
}

void daemon_on_dumper(struct daemon *d)
{
	switch (dumper_poll(d->s->dumper)) {
	case DUMPER_SEAL:
		seal(d);
		break;
	case DUMPER_DONE:
		finish_dump(d);
		break;
	default:
		break;
	}
}
