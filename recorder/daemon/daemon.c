// SPDX-License-Identifier: MIT
/*
 * The epoll loop of the recorder. Called by cmd_record.c.
 *
 * The state machine in trigger/engine/hit_machine.h decides what a hit leads to. daemon_dump.c
 * freezes rings and passes jobs to the dumper; this file waits and answers requests. The loop sleeps in epoll_wait()
 * without a timeout. It is woken by a trigger source, the control socket, the sideband's watermark,
 * CPU hotplug, the dump thread, a signal, a trace that its driver ended, or the end of the command,
 * never by recorded events (but for rings that are sized for a time: when a quarter of one was
 * written, resize.h). On a
 * terminal a timer refreshes the status line each second; the watchdog of a service manager has one
 * as well (in the shipped unit each five minutes), so that a loop that hangs is noticed.
 *
 * Little work is done between two checks of the triggers, so that endless requests or signals do
 * not delay a freeze.
 *
 * While the dump thread has a job (is_writing()), the data that it reads must not change: no rings
 * are opened or closed, no process is removed from the ledger, no scan of /proc is replaced. All
 * that is done later, when daemon_dump.c finishes the dump.
 */
#include "recorder/daemon/daemon.h"

#include "dump/base/str.h"
#include "recorder/base/log.h"
#include "recorder/capture/ended_traces.h"
#include "recorder/capture/paused_traces.h"
#include "recorder/daemon/daemon_parts.h"
#include "recorder/daemon/manager.h"
#include "recorder/daemon/metrics.h"
#include "recorder/daemon/record_log.h"
#include "recorder/daemon/status.h"
#include "trigger/kernel/clock.h"

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

#define LOOK_NS 100000000ull /* minimum time between extra drains of the sideband */

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
	WAKE_KEEPER,
	WAKE_RINGS,
	WAKE_TRACE
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

/* ---- sideband ---- */

/* And traces, which wake when their driver has ended them. */
static int watch_rings(struct daemon *d, struct err *err)
{
	size_t nr, nr_banks;
	struct ring *const *rings = recording_sideband(d->s->recording, &nr);
	struct banks *const *banks = recording_all_banks(d->s->recording, &nr_banks);
	int rc = 0;

	/* Edge-triggered: an event whose tasks have all exited reports EPOLLHUP all the time. */
	for (size_t i = 0; i < nr && !rc; i++)
		rc = watch(d, rings[i]->fd, WAKE_SIDEBAND, EPOLLIN | EPOLLET, err);
	for (size_t i = 0; i < nr_banks && !rc; i++)
		rc = watch(d, banks_watch_fd(banks[i]), WAKE_TRACE, EPOLLIN | EPOLLET, err);
	d->traces_ms = 0;
	return rc;
}

void daemon_drain(struct daemon *d, bool may_scan)
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

void daemon_resize(struct daemon *d)
{
	if (resize_look(d->s->resize, !is_writing(d)))
		keeping_give(d->s);
}

static void look_around(struct daemon *d)
{
	if (!is_writing(d) && keeping_look(d->s))
		watch_keeper(d);
	daemon_drain(d, !is_writing(d));
	d->looked_ns = clock_ns();
	/* A dump in progress refers to times older than the rings. */
	if (!is_writing(d)) {
		ledger_expire(d->s->ledger, recording_oldest(d->s->recording, d->looked_ns));
		daemon_resize(d);
	}
}

static void on_sideband(struct daemon *d)
{
	d->s->nr_sideband_wakeups++;
	check_target(d); /* before the drain, since it uses up wake-ups */
	look_around(d);
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
		rc = watch_rings(d, &err);
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
		rc = watch_rings(d, &err);
	log_warn("messages about CPUs were lost; the state of all CPUs was read again");
	if (rc)
		log_warn_err(&err);
}

void daemon_hotplug(struct daemon *d)
{
	struct session *s = d->s;
	struct err err = ERR_INIT;
	bool online, lost = false, changed = false;
	int cpu;

	/* Events that are not read now cause no other wake-up, so the end of a dump calls this too. */
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
		daemon_drain(d, true);
		cpu_online(d, cpu);
	}
	if (lost) {
		daemon_drain(d, true);
		recount_cpus(d);
	}
	if (changed || lost) {
		daemon_resize(d);
		keeping_give(s);
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
	hit_machine_ask(d->hits, client, daemon_hit(d, rule, &what));
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
		daemon_freeze(d);
		break;
	case DO_EXIT_HIT:
		daemon_hit(d, engine_builtin(s->engine, "exit"), &what);
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
	daemon_on_engine(d);
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
	if (!is_writing(d) && keeping_look(d->s))
		watch_keeper(d);
}

static void on_watchdog(struct daemon *d)
{
	manager_alive(d->watchdog_fd);
}

static void on_command(struct daemon *d)
{
	on_dump_woken(d->s->on_dump);
}

static void on_trace(struct daemon *d)
{
	d->traces_ms = 0;
}

static void (*const handlers[])(struct daemon *) = {
	[WAKE_SIGNAL] = on_signal,	  [WAKE_CTL] = on_ctl,
	[WAKE_DUMPER] = daemon_on_dumper, [WAKE_TIMER] = daemon_on_timer,
	[WAKE_STATUS] = on_status,	  [WAKE_HOTPLUG] = daemon_hotplug,
	[WAKE_CHILD] = on_child,	  [WAKE_SIDEBAND] = on_sideband,
	[WAKE_KEEPER] = on_keeper,	  [WAKE_WATCHDOG] = on_watchdog,
	[WAKE_ON_DUMP] = on_command,	  [WAKE_RINGS] = daemon_resize,
	[WAKE_TRACE] = on_trace,
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
	if (!rc)
		rc = watch(d, resize_fd(s->resize), WAKE_RINGS, EPOLLIN, err);
	if (!rc && s->on_dump)
		rc = watch(d, on_dump_fd(s->on_dump), WAKE_ON_DUMP, EPOLLIN, err);
	if (!rc)
		watch_keeper(d);
	return rc ? rc : watch_rings(d, err);
}

/* Makes the dump that the recorder before did not finish, of the rings that it had frozen. */
static void finish_former(struct daemon *d)
{
	struct sighting what = {.ns = recording_unfinished(d->s->recording), .nr_hits = 1};

	if (!what.ns)
		return;
	snprintf(what.reason, sizeof(what.reason), "the recorder ended while it wrote this dump");
	log_info("writing the dump that the recorder before did not finish");
	daemon_hit(d, engine_builtin(d->s->engine, "exit"), &what);
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
				   : d->traces_stand ? DAEMON_STAND_MS
						     : d->traces_ms);
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
			daemon_on_engine(d);
		for (int i = 0; i < n; i++)
			if (e[i].data.u64 < ENGINE_DATA)
				handlers[e[i].data.u64](d);
		/* Drain early: a program's file can be held only after its record was drained. */
		if (clock_ns() - d->looked_ns >= LOOK_NS)
			look_around(d);
		daemon_let_traces_run(d, woken_ns);
		if (d->traces_ms >= 0)
			d->traces_ms = traces_start_again(d->s->recording);
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
