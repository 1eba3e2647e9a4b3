// SPDX-License-Identifier: MIT
/*
 * The thread that turns frozen rings into a file; see dumper.h. Everything it needs is allocated in
 * dumper_new(); between the freeze and the release it allocates nothing.
 */
#include "recorder/writer/dumper_parts.h"

#include "trigger/kernel/clock.h"
#include "recorder/writer/event_formats.h"
#include "recorder/writer/thread_snapshot.h"
#include "recorder/base/priority.h"

#include <assert.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

static void set_phase(struct dumper *d, enum dumper_phase phase)
{
	pthread_mutex_lock(&d->lock);
	d->phase = phase;
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

static void notify(struct dumper *d, enum dumper_phase phase)
{
	uint64_t one = 1;

	set_phase(d, phase);
	while (write(d->efd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

/* Waits for a phase. False: the dumper must end. */
static bool wait_phase(struct dumper *d, enum dumper_phase phase)
{
	bool go;

	pthread_mutex_lock(&d->lock);
	while (d->phase != phase && !d->quit)
		pthread_cond_wait(&d->cond, &d->lock);
	go = d->phase == phase;
	pthread_mutex_unlock(&d->lock);
	return go;
}

/*
 * A writer that passed the check for a paused ring may still be writing to it. Writers run with
 * preemption disabled. This waits until every CPU has passed a point where preemption is enabled.
 */
static void wait_for_writers(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(20000); /* without membarrier: far longer than such a section */
}

void dumper_ask_to_seal(struct dumper *d)
{
	notify(d, DUMPER_SEAL);
	wait_phase(d, DUMPER_SEALED);
}

static void make_dump(struct dumper *d)
{
	const struct recording_freeze *f = &d->job.freeze;
	uint64_t started = clock_ns(), from_ns;
	bool released = false;

	memset(&d->result, 0, sizeof(d->result));
	d->stats = (struct fmt_dump_stats){
		.enable_ns = f->enable_ns,
		.pause_ns = f->pause_ns,
		.disable_ns = f->disable_ns,
		.signal_ns = f->last_paused_ns - d->job.hit_ns - (uint64_t)d->job.post_ns,
	};
	wait_for_writers();
	d->stats.barrier_ns = clock_ns() - started;
	recording_wait_copied(d->opt.recording);
	dumper_walk(d, &from_ns);
	d->result.rc = dumper_make_file(d, from_ns, started, &released, &d->result.err);
	if (!released)
		recording_release(d->opt.recording);
	thread_snapshot_end(d->states);
	d->result.freeze_ns = d->stats.signal_ns;
	d->result.skew_ns = f->last_paused_ns - f->first_paused_ns;
	d->result.names_ns = d->symbols.ns;
	d->result.write_ns = clock_ns() - started;
	notify(d, DUMPER_DONE);
}

/* The lock is held. */
static void apply_priority(struct dumper *d)
{
	if (d->opt.low_priority && d->tid)
		priority_set(d->tid, d->in_hurry ? PRIORITY_ORDINARY : PRIORITY_LOW);
}

static void set_hurry(struct dumper *d, bool in_hurry)
{
	pthread_mutex_lock(&d->lock);
	d->in_hurry = in_hurry;
	apply_priority(d);
	pthread_mutex_unlock(&d->lock);
	dump_workers_hurry(d->work, in_hurry);
}

static void *run(void *arg)
{
	struct dumper *d = arg;
	sigset_t all;

	/* The main loop handles all signals, including those of rules added by a reload. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_setname_np(pthread_self(), "ringback-dump");
	pthread_mutex_lock(&d->lock);
	d->tid = gettid();
	apply_priority(d);
	pthread_mutex_unlock(&d->lock);
	while (wait_phase(d, DUMPER_WRITING))
		make_dump(d);
	return NULL;
}

static int room(void *dumper, uint64_t file_bytes, uint64_t bytes, struct err *err)
{
	return store_room(((struct dumper *)dumper)->store, file_bytes, bytes, err);
}

/* ---- called by the main loop ---- */

int dumper_new(const struct dumper_options *opt, struct dumper **out, struct err *err)
{
	struct writer_options wo = {
		.max_blocks = FMT_MAX_BLOCKS,
		.level = opt->level,
		.room = room,
	};
	struct dump_workers_options work = {
		.nr_workers = opt->max_cpus,
		.level = opt->level,
		.ledger = opt->ledger,
		.compact = recording_is_compact(opt->recording),
		.low_priority = opt->low_priority,
	};
	struct dumper *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->opt = *opt;
	wo.ctx = d;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	d->efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = d->efd < 0 || d->stop_fd < 0 ? err_sys(err, -errno, "eventfd") : 0;
	if (!rc)
		rc = event_formats_new(opt->recording, &d->formats, err);
	if (!rc)
		rc = writer_new(&wo, &d->writer, err);
	if (!rc)
		rc = tidset_new(&d->tids, err);
	if (!rc)
		rc = dump_workers_new(&work, &d->work, err);
	if (!rc)
		rc = thread_snapshot_new(opt->ledger, &d->states, err);
	if (!rc && (rc = -pthread_create(&d->thread, NULL, run, d)))
		err_sys(err, rc, "can't start the dump thread");
	d->has_thread = !rc;
	if (rc) {
		dumper_free(d);
		return rc;
	}
	*out = d;
	return 0;
}

void dumper_free(struct dumper *d)
{
	if (!d)
		return;
	if (d->has_thread) {
		pthread_mutex_lock(&d->lock);
		d->quit = true;
		pthread_cond_broadcast(&d->cond);
		pthread_mutex_unlock(&d->lock);
		pthread_join(d->thread, NULL);
	}
	sighting_fini(&d->job.what);
	thread_snapshot_free(d->states);
	dump_workers_free(d->work);
	tidset_free(d->tids);
	writer_free(d->writer);
	event_formats_free(d->formats);
	if (d->efd >= 0)
		close(d->efd);
	if (d->stop_fd >= 0)
		close(d->stop_fd);
	pthread_cond_destroy(&d->cond);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int dumper_fd(const struct dumper *d)
{
	return d->efd;
}

/* CPU time used by the dump's threads since their creation. */
static uint64_t cpu_ns(const struct dumper *d)
{
	clockid_t clock;

	if (pthread_getcpuclockid(d->thread, &clock))
		return 0;
	return clock_of(clock) + dump_workers_cpu_ns(d->work);
}

bool dumper_watch(struct dumper *d)
{
	uint64_t now = clock_ns(), cpu = cpu_ns(d);
	bool starved = (cpu - d->watched_cpu_ns) * 4 < now - d->watched_ns;

	d->watched_ns = now;
	d->watched_cpu_ns = cpu;
	if (starved)
		set_hurry(d, true);
	return !starved;
}

void dumper_start(struct dumper *d, const struct dumper_job *job)
{
	uint64_t stops;

	thread_snapshot_start(d->states, job->what.pid, job->what.tid);
	pthread_mutex_lock(&d->lock);
	assert(d->phase == DUMPER_IDLE);
	d->job = *job;
	while (read(d->stop_fd, &stops, sizeof(stops)) < 0 && errno == EINTR)
		;
	d->nr_merged = 0;
	d->phase = DUMPER_WRITING;
	d->watched_ns = clock_ns();
	d->watched_cpu_ns = cpu_ns(d);
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

enum dumper_phase dumper_poll(struct dumper *d)
{
	enum dumper_phase phase;
	uint64_t n;

	while (read(d->efd, &n, sizeof(n)) < 0 && errno == EINTR)
		;
	pthread_mutex_lock(&d->lock);
	phase = d->phase;
	pthread_mutex_unlock(&d->lock);
	return phase;
}

void dumper_seal(struct dumper *d, const struct engine_merged *merged, size_t nr,
		 const struct dumper_totals *totals)
{
	pthread_mutex_lock(&d->lock);
	assert(d->phase == DUMPER_SEAL);
	d->nr_merged = nr < DUMPER_MAX_MERGED ? nr : DUMPER_MAX_MERGED;
	if (d->nr_merged)
		memcpy(d->merged, merged, d->nr_merged * sizeof(*merged));
	d->totals = *totals;
	d->phase = DUMPER_SEALED;
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

void dumper_hasten(struct dumper *d)
{
	uint64_t one = 1;

	while (write(d->stop_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

void dumper_take(struct dumper *d, struct dumper_result *out)
{
	bool in_hurry;

	pthread_mutex_lock(&d->lock);
	assert(d->phase == DUMPER_DONE);
	*out = d->result;
	sighting_fini(&d->job.what);
	d->phase = DUMPER_IDLE;
	in_hurry = d->in_hurry;
	pthread_mutex_unlock(&d->lock);
	if (in_hurry)
		set_hurry(d, false);
}
