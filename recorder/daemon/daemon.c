// SPDX-License-Identifier: MIT
/*
 * The epoll loop of the recorder. Called by cmd_record.c.
 *
 * The state machine in trigger/engine/hit_machine.h decides what a hit leads to. This file does it:
 * freezes rings, passes jobs to the dumper, answers requests. The loop sleeps in epoll_wait()
 * without a timeout. It is woken by a trigger source, the control socket, the sideband's watermark,
 * CPU hotplug, the dump thread, a signal, or the end of the command, never by recorded events. On a
 * terminal a timer refreshes the status line each second; the watchdog of a service manager has one
 * as well (in the shipped unit each five minutes), so that a loop that hangs is noticed.
 *
 * Little work is done between two checks of the triggers, so that endless requests or signals do
 * not delay a freeze.
 *
 * While the dump thread has a job (is_writing()), the data that it reads must not change: no rings
 * are opened or closed, no process is removed from the ledger, no scan of /proc is replaced. All
 * that is done later, in finish_dump().
 */
#include "recorder/daemon/daemon.h"

#include "dump/base/str.h"
#include "trigger/kernel/clock.h"
#include "recorder/base/exit_code.h"
#include "recorder/base/log.h"
#include "recorder/daemon/horizon.h"
#include "recorder/daemon/manager.h"
#include "recorder/daemon/metrics.h"
#include "recorder/daemon/record_log.h"
#include "recorder/daemon/session.h"
#include "recorder/daemon/status.h"
#include "recorder/capture/paused_traces.h"
#include "trigger/engine/repeats.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define MAX_MERGED 66
#define MAX_HITS   16		/* read from the triggers at a time */
#define LOOK_NS	   100000000ull /* minimum time between extra drains of the sideband */

#define STAND_MS 2 /* time within which the hit that stopped a trace can be read */

struct daemon {
	struct session *s;
	struct hit_machine *hits; /* the engine's */
	int argc;
	char **argv;
	int timer_fd, status_fd; /* timer_fd: the end of POST, then the dumper's patience */
	int watchdog_fd;	 /* -1: no service manager expects signs of life */
	bool more_hits;		 /* more hits may be pending: the loop must not sleep */
	bool traces_stand;	 /* stopped by hits that may not have been read yet */
	uint64_t looked_ns;	 /* time of the last sideband drain */
	bool told_evicted;	 /* the user knows that the ledger is full */
	int exit_status;
	char rule_name[64], reason[256]; /* of the dump being made; a reload may free the rule */
};

/* The kinds of descriptors; the value in epoll_data. */
enum wake {
	WAKE_SIGNAL,
	WAKE_CTL,
	WAKE_DUMPER,
	WAKE_TIMER,
	WAKE_STATUS,
	WAKE_WATCHDOG,
	WAKE_HOTPLUG,
	WAKE_CHILD,
	WAKE_ON_DUMP,
	WAKE_SIDEBAND,
	WAKE_KEEPER
};

static int watch(struct daemon *d, int fd, enum wake what, uint32_t events, struct err *err)
{
	struct epoll_event e = {.events = events, .data.u64 = what};

	if (fd < 0 || !epoll_ctl(engine_fd(d->s->engine), EPOLL_CTL_ADD, fd, &e) || errno == EEXIST)
		return 0;
	return err_sys(err, -errno, "epoll_ctl");
}

static void unwatch(struct daemon *d, int fd)
{
	epoll_ctl(engine_fd(d->s->engine), EPOLL_CTL_DEL, fd, NULL);
}

/* The dump thread has a job. */
static bool is_writing(const struct daemon *d)
{
	return d->hits->state == HIT_WRITING || d->hits->state == HIT_NAMING;
}

/* ---- sideband ---- */

static int watch_sideband(struct daemon *d, struct err *err)
{
	size_t nr;
	struct ring *const *rings = recording_sideband(d->s->recording, &nr);
	int rc = 0;

	/* Edge-triggered: an event whose tasks have all exited reports EPOLLHUP all the time. */
	for (size_t i = 0; i < nr && !rc; i++)
		rc = watch(d, rings[i]->fd, WAKE_SIDEBAND, EPOLLIN | EPOLLET, err);
	return rc;
}

/* `may_scan`: no dump refers to the last scan of /proc. */
static void drain_sideband(struct daemon *d, bool may_scan)
{
	struct session *s = d->s;
	struct err err = ERR_INIT;
	uint64_t lost = 0;
	size_t nr;
	struct ring *const *rings = recording_sideband(s->recording, &nr);

	if (sideband_drain(s->sideband, rings, nr, &lost, &err))
		log_warn_err(&err);
	if (lost && !s->scan_due)
		log_event(LOG_LOST, (const char *[]){"RINGBACK_NAME", s->config.name, NULL},
			  "the kernel dropped %lu record%s about processes; reading /proc again",
			  lost, str_plural(lost));
	s->scan_due |= lost > 0;
	if (s->scan_due && may_scan && session_scan(s, &err))
		log_warn_err(&err);
	if (!d->told_evicted)
		d->told_evicted = record_log_evicted(s);
}

/* Warns once, since otherwise the user may wait for hits that can't come. Not needed with a
 * command: the recorder ends with it. */
static void check_target(struct daemon *d)
{
	struct session *s = d->s;

	if (s->target_ended || s->child || !recording_target_ended(s->recording))
		return;
	s->target_ended = true;
	log_warn("the recorded processes have ended (%s); the rings keep their events for the "
		 "next dump",
		 s->target.text);
}

static void watch_keeper(struct daemon *d)
{
	struct err err = ERR_INIT;

	if (watch(d, keeping_fd(d->s->keeping), WAKE_KEEPER, EPOLLIN, &err))
		log_warn_err(&err);
}

static void look_around(struct daemon *d)
{
	if (!is_writing(d) && keeping_look(d->s))
		watch_keeper(d);
	drain_sideband(d, !is_writing(d));
	d->looked_ns = clock_ns();
	/* A dump in progress refers to times older than the rings. */
	if (!is_writing(d))
		ledger_expire(d->s->ledger, recording_oldest(d->s->recording, d->looked_ns));
}

static void on_sideband(struct daemon *d)
{
	d->s->nr_sideband_wakeups++;
	check_target(d); /* before the drain, since it uses up wake-ups */
	look_around(d);
}

/* ---- dumps ---- */

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

static void freeze(struct daemon *d)
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
	drain_sideband(d, true);
	if (!job.what.comm[0] && job.what.tid) /* the thread has exited in the meantime */
		ledger_comm(s->ledger, job.what.tid, job.hit_ns, job.what.comm);
	job.scan = s->scan;
	dumper_start(s->dumper, &job);
	set_timer(d, clock_ns() + DUMPER_PATIENCE_NS);
}

static void do_next(struct daemon *d, enum hit_do next)
{
	if (next == DO_FREEZE)
		freeze(d);
	else if (next == DO_WAIT)
		set_timer(d, engine_due_ns(d->s->engine));
	else if (next == DO_DEFER)
		dumper_hasten(d->s->dumper);
}

/* Passes a hit to the engine and carries out its decision. */
static enum hit_do hit(struct daemon *d, const struct rule *rule, const struct sighting *what)
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

static void on_timer(struct daemon *d)
{
	uint64_t n;

	if (read(d->timer_fd, &n, sizeof(n)) != sizeof(n))
		return;
	if (d->hits->state == HIT_POST) {
		hit_machine_due(d->hits);
		freeze(d);
	} else if (is_writing(d) && dumper_watch(d->s->dumper)) {
		set_timer(d, clock_ns() + DUMPER_PATIENCE_NS);
	}
}

static void on_engine(struct daemon *d)
{
	const struct rule *rule;
	struct sighting what;
	struct err err = ERR_INIT;
	int got = 1;

	d->more_hits = false;
	for (int i = 0; i < MAX_HITS && got; i++) {
		got = engine_poll(d->s->engine, &rule, &what, &err);
		if (got > 0) {
			hit(d, rule, &what);
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

/*
 * Resumes traces that a hit stopped without a dump. The triggers were read at `woken_ns`: a trace
 * that had been stopped for less than STAND_MS then may have a hit that is not read yet, and stays
 * stopped. Traces also stay stopped when a deferred hit gets the next dump.
 */
static void let_traces_run(struct daemon *d, uint64_t woken_ns)
{
	d->traces_stand =
		!d->more_hits && !d->hits->nr_deferred &&
		traces_let_run(d->s->recording, d->s->brakes, woken_ns - STAND_MS * 1000000ull);
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

/* ---- CPUs ---- */

static void cpu_offline(struct daemon *d, int cpu)
{
	recording_cpu_offline(d->s->recording, cpu);
	if (recording_wants_cpu(d->s->recording, cpu))
		log_info("CPU %d went offline; its events are kept for the next dump", cpu);
}

static void cpu_online(struct daemon *d, int cpu)
{
	bool wanted = recording_wants_cpu(d->s->recording, cpu);
	struct err err = ERR_INIT;
	int rc = recording_cpu_online(d->s->recording, cpu, &err);

	if (!rc)
		rc = watch_sideband(d, &err);
	if (rc) {
		err_prefix(&err, "CPU %d came online%s", cpu, wanted ? " but is not recorded" : "");
		log_warn_err(&err);
	} else if (wanted) {
		log_info("CPU %d came online and is recorded", cpu);
	}
}

static void recount_cpus(struct daemon *d)
{
	struct err err = ERR_INIT;
	int rc = recording_recount_cpus(d->s->recording, &err);

	if (!rc)
		rc = watch_sideband(d, &err);
	log_warn("messages about CPUs were lost; the state of all CPUs was read again");
	if (rc)
		log_warn_err(&err);
}

static void on_hotplug(struct daemon *d)
{
	struct session *s = d->s;
	struct err err = ERR_INIT;
	bool online, lost = false, changed = false;
	int cpu;

	/* Events that are not read now cause no other wake-up, so finish_dump() calls this too. */
	if (is_writing(d) || !s->hotplug)
		return;
	while (hotplug_next(s->hotplug, &cpu, &online, &lost)) {
		changed = true;
		/* Rules watch all CPUs, even if only some are recorded. */
		if (engine_cpu(s->engine, cpu, online, &err))
			log_warn_err(&err);
		if (!online) {
			cpu_offline(d, cpu);
			continue;
		}
		drain_sideband(d, true);
		cpu_online(d, cpu);
	}
	if (lost) {
		drain_sideband(d, true);
		recount_cpus(d);
	}
	if (changed || lost)
		keeping_give(s);
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
	drain_sideband(d, true);
	on_hotplug(d);
	take_deferred(d);
}

static void on_dumper(struct daemon *d)
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

/* ---- control socket ---- */

static void on_trigger_request(struct daemon *d, struct ctl_client *client, const json_t *request)
{
	const char *reason = json_string_value(json_object_get(request, "reason"));
	struct sighting what = {.ns = clock_ns(), .nr_hits = 1};
	struct err err = ERR_INIT;
	const struct rule *rule = engine_builtin(d->s->engine, "manual");

	if (d->hits->nr_askers == HIT_MAX_ASKERS || d->hits->run != HIT_RUNNING) {
		err_set(&err, -EBUSY,
			d->hits->run != HIT_RUNNING ? "the recorder is stopping"
						    : "too many others wait for a dump");
		ctl_reply_err(d->s->ctl, client, &err);
		return;
	}
	ctl_client_cred(client, &what.pid, &what.uid);
	what.tid = what.pid;
	snprintf(what.reason, sizeof(what.reason), "%s", reason ? reason : "");
	sighting_add(&what, "asked_by_pid=%u", what.pid);
	hit_machine_ask(d->hits, client, hit(d, rule, &what));
}

static void on_scraper(struct daemon *d, struct ctl_client *client)
{
	json_t *status;
	char *text = NULL;
	size_t n;
	FILE *out;

	look_around(d);
	status = status_json(d->s);
	out = status ? open_memstream(&text, &n) : NULL;
	if (out) {
		metrics_print(&status, 1, out);
		fclose(out);
	}
	ctl_reply_metrics(d->s->ctl, client, text);
	json_decref(status);
	free(text);
}

/* One request per wake-up: the descriptor stays readable while there are more. */
static void on_ctl(struct daemon *d)
{
	struct err err = ERR_INIT;
	struct ctl_client *client;
	json_t *request, *reply = NULL;
	const char *cmd;

	if (ctl_next(d->s->ctl, &client, &request) <= 0)
		return;
	if (!request) {
		on_scraper(d, client);
		return;
	}
	cmd = json_string_value(json_object_get(request, "cmd"));
	if (cmd && !strcmp(cmd, "trigger")) {
		on_trigger_request(d, client, request);
	} else if (cmd && !strcmp(cmd, "status")) {
		look_around(d);
		reply = status_json(d->s);
		err_set(&err, -ENOMEM, "out of memory for the status");
	} else {
		err_set(&err, -EINVAL, "unknown request");
	}
	if (reply)
		ctl_reply(d->s->ctl, client, reply);
	else if (err.what[0])
		ctl_reply_err(d->s->ctl, client, &err);
	json_decref(request);
}

/* ---- the loop ---- */

/* Makes any pending or requested dump before the recorder ends. */
static void stop(struct daemon *d)
{
	struct sighting what = {.ns = clock_ns(), .nr_hits = 1};
	struct session *s = d->s;
	uint64_t nr;

	switch (hit_machine_stop(d->hits, s->config.dump_on_exit)) {
	case DO_FREEZE:
		freeze(d);
		break;
	case DO_EXIT_HIT:
		hit(d, engine_builtin(s->engine, "exit"), &what);
		break;
	case DO_LEAVE:
		nr = engine_nr_open(s->engine);
		if (nr)
			log_info("%lu hit%s %s not included in any dump", nr, str_plural(nr),
				 nr == 1 ? "was" : "were");
		break;
	default:
		break;
	}
}

static void reload(struct daemon *d)
{
	struct err err = ERR_INIT;

	if (session_reload(d->s, d->argc, d->argv, &err)) {
		log_err(&err);
		log_warn("the old configuration stays in use");
		return;
	}
	d->more_hits = true; /* new rules may have been met before the loop sleeps again */
	record_log_rules(d->s->engine);
	log_event(LOG_RELOADED, (const char *[]){"RINGBACK_NAME", d->s->config.name, NULL},
		  "rules and limits were read again; the rings are kept");
}

static void on_reload(struct daemon *d)
{
	manager_reloading();
	reload(d);
	manager_ready(d->s);
}

static void on_signal(struct daemon *d)
{
	struct signalfd_siginfo si;

	while (read(d->s->signal_fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGHUP) {
			on_reload(d);
			continue;
		}
		if (d->hits->run != HIT_RUNNING) {
			log_info("stopping as soon as the current dump is written");
			dumper_hasten(d->s->dumper);
		}
		stop(d);
		manager_stopping(d->hits->state != HIT_ARMED);
	}
}

static void on_child(struct daemon *d)
{
	d->exit_status = child_status(d->s->child);
	unwatch(d, child_fd(d->s->child));
	engine_command_ended(d->s->engine, d->exit_status);
	on_engine(d);
	stop(d);
}

static void on_status(struct daemon *d)
{
	uint64_t n;

	if (read(d->status_fd, &n, sizeof(n)) == sizeof(n))
		status_line(d->s);
}

static void on_keeper(struct daemon *d)
{
	keeping_hear(d->s);
}

static void on_watchdog(struct daemon *d)
{
	manager_alive(d->watchdog_fd);
}

static void on_command(struct daemon *d)
{
	on_dump_woken(d->s->on_dump);
}

static void (*const handlers[])(struct daemon *) = {
	[WAKE_SIGNAL] = on_signal,     [WAKE_CTL] = on_ctl,	      [WAKE_DUMPER] = on_dumper,
	[WAKE_TIMER] = on_timer,       [WAKE_STATUS] = on_status,     [WAKE_HOTPLUG] = on_hotplug,
	[WAKE_CHILD] = on_child,       [WAKE_SIDEBAND] = on_sideband, [WAKE_KEEPER] = on_keeper,
	[WAKE_WATCHDOG] = on_watchdog, [WAKE_ON_DUMP] = on_command,
};

static int open_loop(struct daemon *d, struct err *err)
{
	struct session *s = d->s;
	struct itimerspec each_second = {{1, 0}, {1, 0}};
	int rc;

	d->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (d->timer_fd < 0)
		return err_sys(err, -errno, "can't set up the main loop");
	if (log_is_terminal() && !s->config.quiet) {
		d->status_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		timerfd_settime(d->status_fd, 0, &each_second, NULL);
	}
	rc = manager_watchdog(&d->watchdog_fd, err);
	if (!rc)
		rc = watch(d, d->watchdog_fd, WAKE_WATCHDOG, EPOLLIN, err);
	if (!rc)
		rc = watch(d, s->signal_fd, WAKE_SIGNAL, EPOLLIN, err);
	if (!rc)
		rc = watch(d, ctl_fd(s->ctl), WAKE_CTL, EPOLLIN, err);
	if (!rc)
		rc = watch(d, dumper_fd(s->dumper), WAKE_DUMPER, EPOLLIN, err);
	if (!rc)
		rc = watch(d, d->timer_fd, WAKE_TIMER, EPOLLIN, err);
	if (!rc)
		rc = watch(d, d->status_fd, WAKE_STATUS, EPOLLIN, err);
	if (!rc && s->hotplug)
		rc = watch(d, hotplug_fd(s->hotplug), WAKE_HOTPLUG, EPOLLIN | EPOLLET, err);
	if (!rc && s->child)
		rc = watch(d, child_fd(s->child), WAKE_CHILD, EPOLLIN, err);
	if (!rc && s->on_dump)
		rc = watch(d, on_dump_fd(s->on_dump), WAKE_ON_DUMP, EPOLLIN, err);
	if (!rc)
		watch_keeper(d);
	return rc ? rc : watch_sideband(d, err);
}

/* Makes the dump that the recorder before did not finish, of the rings that it had frozen. */
static void finish_former(struct daemon *d)
{
	struct sighting what = {.ns = recording_unfinished(d->s->recording), .nr_hits = 1};

	if (!what.ns)
		return;
	snprintf(what.reason, sizeof(what.reason), "the recorder ended while it wrote this dump");
	log_info("writing the dump that the recorder before did not finish");
	hit(d, engine_builtin(d->s->engine, "exit"), &what);
}

static void close_loop(struct daemon *d)
{
	if (d->timer_fd >= 0)
		close(d->timer_fd);
	if (d->status_fd >= 0)
		close(d->status_fd);
	if (d->watchdog_fd >= 0)
		close(d->watchdog_fd);
	log_status(NULL);
}

static int loop(struct daemon *d, struct err *err)
{
	struct epoll_event e[16];

	while (d->hits->run != HIT_LEFT) {
		int n = epoll_wait(engine_fd(d->s->engine), e, 16,
				   d->more_hits	     ? 0
				   : d->traces_stand ? STAND_MS
						     : -1);
		uint64_t woken_ns = clock_ns();

		if (n < 0 && errno != EINTR)
			return err_sys(err, -errno, "epoll_wait");
		/* Triggers first: everything else can wait until the rings are frozen. */
		for (int i = 0; i < n; i++) {
			if (e[i].data.u64 >= ENGINE_DATA) {
				engine_woken(d->s->engine, &e[i]);
				d->more_hits = true;
			}
		}
		/* A stopped trace means a hit, whatever woke the loop. */
		d->more_hits |= traces_stand(d->s->recording);
		if (d->more_hits)
			on_engine(d);
		for (int i = 0; i < n; i++)
			if (e[i].data.u64 < ENGINE_DATA)
				handlers[e[i].data.u64](d);
		/* Drain early: a program's file can be held only after its record was drained. */
		if (clock_ns() - d->looked_ns >= LOOK_NS)
			look_around(d);
		let_traces_run(d, woken_ns);
		if (d->hits->run != HIT_RUNNING && d->hits->state == HIT_ARMED)
			stop(d);
	}
	return 0;
}

int daemon_run(struct session *s, int argc, char **argv, int *status, struct err *err)
{
	struct daemon d = {.s = s,
			   .hits = engine_hits(s->engine),
			   .argc = argc,
			   .argv = argv,
			   .timer_fd = -1,
			   .status_fd = -1,
			   .watchdog_fd = -1};
	int rc = open_loop(&d, err);

	d.more_hits = true; /* edge-triggered events may have been consumed before */
	if (!rc) {
		record_log_begin(s);
		manager_ready(s);
		finish_former(&d);
		rc = loop(&d, err);
	}
	manager_stopping(false);
	close_loop(&d);
	*status = d.exit_status;
	return rc;
}
