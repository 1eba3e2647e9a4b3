// SPDX-License-Identifier: MIT
/* The parts of a running recorder; see session.h. Called by cmd_record.c and daemon.c. */
#include "recorder/daemon/session.h"

#include "dump/base/sleepstack.h"
#include "trigger/kernel/clock.h"
#include "recorder/config/config_changes.h"
#include "recorder/coredump/core_state.h"
#include "recorder/base/log.h"
#include "recorder/base/priority.h"
#include "recorder/daemon/privileges.h"
#include "trigger/bpf/sleeps.h"
#include "trigger/events/aux_pause.h"
#include "trigger/crash/held_cores.h"

#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Readiness waits at most this long for names; the scan continues during recording. */
#define NAMES_WAIT_NS 700000000ull
#define NAMES_STEP_NS 20000000ull

/*
 * Blocks the recorder's own signals before any thread exists; *before is the mask for the command.
 * The engine uses SIGUSR2: until it listens, the signal must stay pending instead of killing the
 * recorder.
 */
static int block_signals(struct session *s, sigset_t *before, struct err *err)
{
	sigset_t own, usr2;

	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigemptyset(&own);
	sigaddset(&own, SIGINT);
	sigaddset(&own, SIGTERM);
	sigaddset(&own, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, &own, before);
	sigprocmask(SIG_BLOCK, &usr2, NULL);
	s->signal_fd = signalfd(-1, &own, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->signal_fd < 0 ? err_sys(err, -errno, "signalfd") : 0;
}

/* Reports of programs are accepted by default; a rule given by the user replaces this one. */
static int default_rules(struct config *c, struct err *err)
{
	for (size_t i = 0; i < c->nr_rules; i++)
		if (!strncmp(c->rules[i], "program", 7) && !isalnum((unsigned char)c->rules[i][7]))
			return 0;
	return config_add_rule(c, "program", err);
}

/* One file may serve many machines: rules of the file that this kernel does not support are
 * skipped. */
static int add_rule(struct session *s, const char *text, struct err *err)
{
	int rc = engine_add(s->engine, text, err);

	if (rc != -EOPNOTSUPP || s->config.rules_typed)
		return rc;
	err_prefix(err, "%s: the rule '%s' is not used", s->config.config_path, text);
	log_warn_err(err);
	return 0;
}

/* *usage: a rule has a syntax error. A target of a rule may also not exist, as with -e and -p. */
static int open_engine(struct session *s, bool *usage, struct err *err)
{
	struct engine_options eo = {
		.post_ns = s->config.post_ns, .cooldown_ns = s->config.cooldown_ns, .env = &s->env};
	int rc;

	s->env = (struct source_env){
		.caps = &s->caps,
		/* A dry run only needs to know that a command would run. */
		.command_pid = s->child		   ? child_pid(s->child)
			       : s->config.command ? getpid()
						   : 0,
	};
	if (aux_pauses_new(&s->brakes))
		return err_set(err, -ENOMEM, "out of memory");
	s->env.brakes = s->brakes;
	s->env.post_ns = s->config.post_ns;
	rc = app_socket_new(&s->tell, err);
	s->env.tell = s->tell;
	s->env.parked = s->parked;
	if (!rc)
		rc = engine_new(&eo, &s->engine, err);
	if (!rc)
		rc = default_rules(&s->config, err);
	for (size_t i = 0; i < s->config.nr_rules && !rc; i++)
		rc = add_rule(s, s->config.rules[i], err);
	*usage = rc == -EINVAL || rc == -EEXIST;
	return rc;
}

static bool has_crash_rule(const struct config *c)
{
	for (size_t i = 0; i < c->nr_rules; i++)
		if (!strncmp(c->rules[i], "crash", 5) && !isalnum((unsigned char)c->rules[i][5]))
			return true;
	return false;
}

/* A recorder killed together with its guard leaves its core_pattern in the kernel. */
static void recover_pattern(void)
{
	char former[CORE_PATTERN_BYTES];
	struct err err = ERR_INIT;
	enum core_left left;

	if (geteuid())
		return;
	if (core_state_left(true, &left, former, &err))
		log_warn_err(&err);
	else if (left == CORE_LEFT_RESTORED)
		log_warn("kernel.core_pattern is '%s' again: a killed recorder had left its own "
			 "there",
			 former);
}

/* Called early, so that the guard process inherits no descriptors. */
static int start_guard(struct session *s, bool *usage, struct err *err)
{
	int fd, rc;

	recover_pattern();
	if (!s->config.crash_hold)
		return 0;
	if (!has_crash_rule(&s->config)) {
		*usage = true;
		err_set(err, -EINVAL, "--crash-hold needs a crash rule");
		err_hint(err, "add -T crash, or -T crash:NAME");
		return -EINVAL;
	}
	if (s->config.dry_run)
		return 0;
	rc = core_guard_start(&s->guard, &fd, err);
	if (rc && rc != -EBUSY && rc != -ENOMEM && !geteuid()) {
		/* Only a warning: an optional feature must not stop a long-running recorder. */
		log_warn_err(err);
		log_warn("recording without crash-hold: a dump has only the crashing thread of a "
			 "crash");
		return 0;
	}
	if (rc)
		return rc;
	log_info("kernel.core_pattern is '%s' until this recorder ends",
		 core_guard_pattern(s->guard));
	rc = held_cores_new(fd, &s->parked);
	if (rc)
		close(fd);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

static int open_store(const struct session *s, const char *dir, struct store **out, struct err *err)
{
	struct store_options so = {
		.dir = dir,
		.max_dumps = s->config.max_dumps,
		.max_disk_bytes = s->config.max_disk_bytes,
		.min_free_percent = 5,
	};
	char names[4][256];
	int rc = store_open(&so, out, err);
	size_t nr = rc ? 0 : store_leftovers(*out, names, 4);

	for (size_t i = 0; i < nr && i < 4; i++)
		log_warn("%s/%s was left unfinished by an earlier recorder; ringback check %s/%s "
			 "--salvage OUT recovers its intact parts",
			 dir, names[i], dir, names[i]);
	return rc;
}

static const struct config_channel *with_sleeps(const struct config_channel *channels, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (strstr(channels[i].events, SLEEP_STACKS))
			return &channels[i];
	return NULL;
}

/* Uses the preset's other channels when BPF programs can't select the stacks. */
static int open_sleeps(struct session *s, struct config_channel **channels, size_t *nr,
		       struct err *err)
{
	const struct config_channel *c = with_sleeps(*channels, *nr);
	int rc;

	if (!c)
		return 0;
	if (s->target.system)
		rc = sleeps_open(&s->sleeps, err);
	else
		rc = err_set(err, -EOPNOTSUPP, "%s needs the whole system (-a) or CPUs (-C)",
			     SLEEP_STACKS);
	if (!rc || !c->optional)
		return rc;
	log_verbose("%s: each switch and wake-up has a stack", err->what);
	s->config.plain_preset = true;
	config_channels_free(*channels, *nr);
	*channels = NULL;
	*nr = 0;
	return config_channels(&s->config, channels, nr, err);
}

static int open_recording(struct session *s, struct err *err)
{
	struct config_channel *channels = NULL;
	size_t nr = 0;
	int rc = config_channels(&s->config, &channels, &nr, err);

	rc = rc ? rc : open_sleeps(s, &channels, &nr, err);
	for (size_t i = 0; i < nr && !rc; i++)
		s->wants_compact |= channels[i].compact && s->target.system;
	/* No thread is there yet, and what the rings take must be enough for later ones. */
	if (!rc && !s->config.dry_run)
		privileges_drop(s);
	rc = rc ? rc
		: recording_open(channels, nr, s->config.nr_banks, &s->config.memory, &s->caps,
				 &s->target, keeping_taken(s->keeping), &s->recording, err);
	config_channels_free(channels, nr);
	rc = rc ? rc : recording_join_brakes(s->recording, s->brakes, err);
	if (rc || !s->sleeps)
		return rc;
	keeping_silence(s->keeping);
	return recording_join_sleeps(s->recording, s->sleeps, err);
}

static int open_parts(struct session *s, struct err *err)
{
	int rc = ledger_new(s->config.ledger_bytes, &s->ledger, err);

	if (!rc)
		rc = open_recording(s, err);
	/* After the recording, which raises the limit of descriptors that this depends on. */
	if (!rc && s->config.hold_files && s->config.symbols_ns) {
		rc = pinned_new(&s->files, err);
		ledger_keep_files(s->ledger, s->files);
	}
	if (!rc)
		rc = sideband_new(s->ledger, recording_sideband_layout(s->recording), &s->sideband,
				  err);
	if (!rc)
		rc = resize_new(s->recording, &s->config.memory, &s->target, &s->caps, &s->resize,
				err);
	if (!rc && s->config.horizon_ns && !s->resize)
		log_warn("--horizon has no effect: AUX areas, rings of processes and rings of a "
			 "given size are not resized");
	if (!rc && keeping_log(s->keeping) &&
	    (rc = sideband_log(s->sideband, keeping_log(s->keeping))))
		err_set(err, rc, "out of memory");
	if (!rc)
		rc = host_info_new(&s->caps, &s->target, s->config.name, &s->host, err);
	if (!rc && (rc = cgroup_limits_new(NULL, &s->limits)))
		err_set(err, rc, "out of memory");
	if (!rc) {
		struct dumper_options d = {
			.recording = s->recording,
			.ledger = s->ledger,
			.host = s->host,
			.limits = s->limits,
			.store = s->store,
			.spill = s->spill,
			.max_cpus = s->config.max_dump_cpus,
			.level = s->config.compress,
			.low_priority = priority_can_return(),
			.symbols_ns = (uint64_t)s->config.symbols_ns,
		};

		rc = dumper_new(&d, &s->dumper, err);
	}
	return rc;
}

int session_scan(struct session *s, struct err *err)
{
	bool tasks = target_is_tasks(&s->target);

	/* A running scan is not ended early, since it may hang in a file of /proc. */
	if (s->scan && !proc_scan_wait(s->scan, true, 0))
		return 0;
	proc_scan_free(s->scan);
	s->scan = NULL;
	s->scan_due = false;
	s->nr_scans++;
	return proc_scan_start(s->ledger, s->target.pids, tasks ? s->target.nr_pids : 0, &s->scan,
			       err);
}

/*
 * The thread that answers triggers needs little CPU time but must get it on a busy machine:
 * real-time priority if permitted, else the best nice value. Later threads have ordinary priority.
 */
static void raise_priority(void)
{
	struct sched_param p = {.sched_priority = 1};

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p))
		setpriority(PRIO_PROCESS, (id_t)gettid(), -20);
}

/* Drains the sideband while it waits: on a busy machine its rings would overflow. */
static int wait_for_names(struct session *s, struct err *err)
{
	size_t nr;
	struct ring *const *rings = recording_sideband(s->recording, &nr);
	uint64_t lost = 0, waited_ns = 0;
	bool done = false;
	int rc = 0;

	for (; !rc && !done && waited_ns < NAMES_WAIT_NS; waited_ns += NAMES_STEP_NS) {
		uint64_t some = 0;

		done = proc_scan_wait(s->scan, false, NAMES_STEP_NS);
		rc = sideband_drain(s->sideband, rings, nr, &some, err);
		lost += some;
	}
	s->scan_due |= lost > 0;
	return rc || !s->scan_due ? rc : session_scan(s, err);
}

static int open_tell(struct session *s, struct err *err)
{
	int64_t gid;
	int fd[2], rc = app_listen_open(s->config.name, s->config.tell_group, &s->tellsock, fd,
					&gid, err);

	if (rc)
		return rc;
	rc = app_socket_listen(s->tell, fd[0], gid, err);
	if (rc) {
		close(fd[1]);
		return rc;
	}
	return app_socket_listen(s->tell, fd[1], gid, err);
}

/* --dry-run: checks the rules, and the rings if the target is known before a command starts. */
static int try_all(struct session *s, bool *usage, struct err *err)
{
	int rc = open_engine(s, usage, err);

	if (rc || s->config.command)
		return rc;
	rc = target_open(&s->config, &s->caps, 0, &s->target, err);
	return rc ? rc : open_recording(s, err);
}

int session_open(struct session *s, int argc, char **argv, bool *usage, struct err *err)
{
	sigset_t before;
	int rc;

	*s = (struct session){.signal_fd = -1, .target.cgroup_fd = -1};
	*usage = true;
	rc = config_load(&s->config, argc, argv, err);
	if (rc)
		return rc;
	log_set_level(s->config.quiet ? LOG_QUIET : s->config.verbose ? LOG_VERBOSE : LOG_NORMAL);
	*usage = false;
	rc = block_signals(s, &before, err);
	if (rc)
		return rc;
	caps_probe(&s->caps);
	rc = start_guard(s, usage, err);
	if (rc)
		return rc;
	if (s->config.on_dump)
		rc = on_dump_new(s->config.on_dump, s->config.on_dump_user, &s->on_dump, err);
	*usage = rc == -EINVAL;
	if (rc)
		return rc;
	if (s->config.dry_run)
		return try_all(s, usage, err);
	if (s->config.command)
		rc = child_fork(s->config.command, &before, &s->child, err);
	if (!rc) /* rules first: checking them is cheap */
		rc = open_engine(s, usage, err);
	if (!rc)
		rc = target_open(&s->config, &s->caps, s->child ? child_pid(s->child) : 0,
				 &s->target, err);
	if (!rc)
		rc = open_store(s, s->config.dir, &s->store, err);
	if (!rc && s->config.spill)
		rc = open_store(s, s->config.spill, &s->spill, err);
	if (!rc)
		rc = ctl_listen(s->config.name, &s->ctl, err);
	if (!rc)
		rc = open_tell(s, err);
	if (!rc && s->target.system)
		rc = keeping_open(s, &s->keeping, err);
	/* Before the CPUs are counted, so that no CPU is missed. */
	if (!rc && hotplug_open(&s->hotplug, err))
		log_warn_err(err);
	if (!rc)
		rc = open_parts(s, err);
	if (rc)
		return rc;
	/* The sideband records since its rings were opened. Names are read before anything else is
	 * recorded: a process that exited before the scan reached it then has no samples. */
	rc = session_scan(s, err);
	if (rc)
		return rc;
	rc = wait_for_names(s, err);
	if (rc)
		return rc;
	rc = recording_start(s->recording, err);
	if (rc)
		return rc;
	s->started_ns = clock_ns();
	keeping_give(s);
	raise_priority();
	privileges_filter(s);
	return s->child ? child_go(s->child, err) : 0;
}

void session_close(struct session *s)
{
	on_dump_free(s->on_dump); /* recording goes on while the last command runs */
	dumper_free(s->dumper);
	proc_scan_free(s->scan);
	hotplug_close(s->hotplug);
	host_info_free(s->host);
	cgroup_limits_free(s->limits);
	sideband_free(s->sideband);
	resize_free(s->resize);
	recording_close(s->recording);
	sleeps_close(s->sleeps);
	ledger_free(s->ledger);
	pinned_free(s->files);
	keeping_close(s->keeping);
	app_listen_close(s->tellsock);
	ctl_close(s->ctl);
	store_close(s->store);
	store_close(s->spill);
	engine_free(s->engine);
	aux_pauses_free(s->brakes);
	app_socket_free(s->tell);
	core_guard_stop(s->guard);
	held_cores_free(s->parked);
	target_close(&s->target);
	child_free(s->child);
	if (s->signal_fd >= 0)
		close(s->signal_fd);
	config_free(&s->config);
}

static void tell_change(const char *what, const char *how)
{
	log_warn("%s %s: that takes effect at the next restart", what, how);
}

int session_reload(struct session *s, int argc, char **argv, struct err *err)
{
	struct engine_options eo;
	struct config fresh;
	int rc = config_load(&fresh, argc, argv, err);

	if (rc)
		return rc < 0 ? rc : -EINVAL;
	eo = (struct engine_options){
		.post_ns = fresh.post_ns, .cooldown_ns = fresh.cooldown_ns, .env = &s->env};
	s->env.post_ns = fresh.post_ns;
	rc = default_rules(&fresh, err);
	if (!rc)
		rc = engine_reload(s->engine, &eo, (const char *const *)fresh.rules, fresh.nr_rules,
				   err);
	if (rc) {
		s->env.post_ns = s->config.post_ns;
		config_free(&fresh);
		return rc;
	}
	/* The rings stay as they are, so they lose nothing. */
	if (config_changes(&s->config, &fresh, tell_change, err))
		log_warn_err(err);
	store_set_limits(s->store, fresh.max_dumps, fresh.max_disk_bytes);
	if (s->spill)
		store_set_limits(s->spill, fresh.max_dumps, fresh.max_disk_bytes);
	s->config.post_ns = fresh.post_ns;
	s->config.cooldown_ns = fresh.cooldown_ns;
	s->config.max_dumps = fresh.max_dumps;
	s->config.max_disk_bytes = fresh.max_disk_bytes;
	s->config.dump_on_exit = fresh.dump_on_exit;
	config_free(&fresh);
	return 0;
}
