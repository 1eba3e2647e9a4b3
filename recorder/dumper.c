// SPDX-License-Identifier: MIT
/*
 * The thread that turns frozen rings into a file; see dumper.h. Everything it needs is allocated in
 * dumper_new(); between the freeze and the release it allocates nothing.
 */
#include "recorder/dumper.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/writer.h"
#include "recorder/clock.h"
#include "recorder/formats.h"
#include "recorder/host.h"
#include "recorder/window.h"

#include <assert.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_BLOCKS   (1u << 16)
#define MAX_MERGED   66
#define SCAN_WAIT_NS 3000000000ull
#define LOW_NICE     19

struct dumper {
	struct dumper_options opt;
	struct formats *formats;
	struct writer *writer;
	struct tidset *tids;
	pthread_t thread;
	bool has_thread;
	pid_t tid; /* of the thread; under `lock` */
	int efd;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	/* Under `lock`. */
	enum dumper_phase phase;
	bool quit;
	struct dumper_job job;
	struct engine_merged merged[MAX_MERGED];
	size_t nr_merged;
	struct dumper_totals totals;
	struct dumper_result result;
	/* The thread's own. */
	struct fmt_dump_stats stats;
};

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

/* Waits for a phase; false when the dumper is to end. */
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
 * A writer that passed the check for a paused ring may still be in it. All of them run with
 * preemption disabled, and this waits until every CPU has been through a point where it is not.
 */
static void wait_for_writers(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		usleep(20000); /* kernels or sandboxes without it: far longer than any such section
				*/
}

/* ---- sections ---- */

static int write_trigger(struct dumper *d, struct err *err)
{
	const struct dumper_job *j = &d->job;
	struct fmt_trigger f = {
		.hit_ns = j->hit_ns,
		.real_ns = clock_of(CLOCK_REALTIME) - (clock_ns() - j->hit_ns),
		.freeze_ns = j->freeze.first_paused_ns,
		.post_ns = (uint64_t)j->post_ns,
		.pid = j->what.pid,
		.tid = j->what.tid,
		.uid = j->what.uid,
		.nr = j->nr,
	};
	int rc = writer_section(d->writer, FMT_TRIGGER, err);

	if (!rc)
		rc = writer_item(d->writer, FMT_TRIGGER_FACTS, &f, sizeof(f), NULL, 0, NULL, err);
	if (!rc)
		rc = writer_item(d->writer, FMT_TRIGGER_NAME, NULL, 0, j->rule_name,
				 strlen(j->rule_name), NULL, err);
	if (!rc)
		rc = writer_item(d->writer, FMT_TRIGGER_RULE, NULL, 0, j->rule_text,
				 strlen(j->rule_text), NULL, err);
	if (!rc && j->what.reason[0])
		rc = writer_item(d->writer, FMT_TRIGGER_REASON, NULL, 0, j->what.reason,
				 strlen(j->what.reason), NULL, err);
	for (uint32_t i = 0; i < j->what.nr_saw && !rc; i++)
		rc = writer_item(d->writer, FMT_TRIGGER_SAW, NULL, 0, j->what.saw[i],
				 strlen(j->what.saw[i]), NULL, err);
	return rc;
}

static int write_merged(struct dumper *d, struct err *err)
{
	int rc = d->nr_merged ? writer_section(d->writer, FMT_TRIGGER, err) : 0;

	for (size_t i = 0; i < d->nr_merged && !rc; i++) {
		const struct engine_merged *m = &d->merged[i];
		struct fmt_merged f = {m->first_ns, m->last_ns, m->nr_hits};

		rc = writer_item(d->writer, FMT_TRIGGER_MERGED, &f, sizeof(f), m->name,
				 strlen(m->name), NULL, err);
	}
	return rc;
}

static int write_windows(struct dumper *d, struct err *err)
{
	struct recording *r = d->opt.recording;
	int rc = writer_section(d->writer, FMT_WINDOWS, err);

	for (size_t i = 0; i < recording_nr_banks(r) && !rc; i++) {
		struct fmt_window *w = &recording_banks(r, i)->window;

		rc = writer_item(d->writer, FMT_WINDOW, w, sizeof(*w), NULL, 0, NULL, err);
	}
	return rc;
}

static int write_run(struct dumper *d, const struct banks *b, const struct banks_run *run,
		     struct err *err)
{
	const struct ring *ring = &b->frozen->ring;
	struct bytes piece[2];
	int nr = ring_pieces(ring, ring_head(ring), run->off, run->bytes, piece);
	struct writer_run wr = {
		.ring = b->window.ring,
		.encoding = FMT_ENC_RAW,
		.content_bytes = run->bytes,
		.nr_records = run->nr_records,
		.first_ns = run->first_ns,
		.last_ns = run->last_ns,
		.ring_off = run->off,
	};

	return writer_records(d->writer, &wr, piece, nr, err);
}

/* The newest block of every ring first, then the next: a file that ends early has the last moments
 * of all. */
static int write_records(struct dumper *d, struct err *err)
{
	struct recording *r = d->opt.recording;
	bool more = true;
	int rc = 0;

	for (size_t k = 0; more && !rc; k++) {
		more = false;
		for (size_t i = 0; i < recording_nr_banks(r) && !rc; i++) {
			const struct banks *b = recording_banks(r, i);

			if (k >= b->nr_runs)
				continue;
			more = true;
			rc = write_run(d, b, &b->runs[k], err);
		}
	}
	return rc;
}

static int write_ledger(struct dumper *d, uint64_t from_ns, struct err *err)
{
	if (d->job.scan)
		procscan_wait(d->job.scan, true, SCAN_WAIT_NS);
	return ledger_write(d->opt.ledger, d->writer, d->tids, from_ns,
			    d->job.freeze.last_paused_ns, err);
}

static int write_stats(struct dumper *d, uint64_t started_ns, struct err *err)
{
	struct rusage u;
	int rc = writer_section(d->writer, FMT_STATS, err);

	getrusage(RUSAGE_SELF, &u);
	d->stats.cpu_ns =
		((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000u +
		((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000u;
	d->stats.rss_bytes = (uint64_t)u.ru_maxrss * 1024;
	d->stats.write_ns = clock_ns() - started_ns;
	d->stats.nr_dumps = d->totals.nr_dumps;
	d->stats.nr_refused = d->totals.nr_refused;
	d->stats.nr_hits = d->totals.nr_hits;
	d->stats.nr_held = d->totals.nr_held;
	if (!rc)
		rc = writer_item(d->writer, FMT_STATS_DUMP, &d->stats, sizeof(d->stats), NULL, 0,
				 NULL, err);
	if (!rc)
		rc = writer_item(d->writer, FMT_STATS_SIDEBAND, &d->totals.sideband,
				 sizeof(d->totals.sideband), NULL, 0, NULL, err);
	return rc;
}

/* ---- a dump ---- */

/* Finds all windows; *from_ns: the oldest time in any of them. */
static void walk(struct dumper *d, uint64_t *from_ns)
{
	struct recording *r = d->opt.recording;
	uint64_t t = clock_ns(), full = UINT64_MAX, longest = 0;

	*from_ns = d->job.freeze.last_paused_ns;
	tidset_clear(d->tids);
	for (size_t i = 0; i < recording_nr_banks(r); i++) {
		struct banks *b = recording_banks(r, i);
		const struct fmt_window *w = &b->window;
		uint64_t span;

		window_walk(b, d->tids);
		b->window.ring = (uint32_t)i;
		d->stats.ring_bytes += w->bytes;
		d->result.nr_samples += w->samples;
		d->result.lost += w->lost;
		if (!w->nr_records)
			continue;
		span = w->last_ns - w->first_ns;
		if (w->overwritten_bytes && span < full)
			full = span;
		if (span > longest)
			longest = span;
		if (w->first_ns < *from_ns)
			*from_ns = w->first_ns;
	}
	d->stats.nr_rings = recording_nr_banks(r);
	d->stats.walk_ns = clock_ns() - t;
	d->result.window_ns = full == UINT64_MAX ? longest : full;
	d->result.ring_bytes = d->stats.ring_bytes;
}

/* With one bank nothing is recorded until the rings are let go: then the records go first. */
static bool one_bank(const struct recording *r)
{
	return recording_nr_banks((struct recording *)r) &&
	       recording_banks((struct recording *)r, 0)->nr_banks == 1;
}

static int write_body(struct dumper *d, uint64_t from_ns, bool *released, struct err *err)
{
	bool late_ledger = one_bank(d->opt.recording);
	int rc = host_write(d->opt.host, d->writer, err);

	if (!rc)
		rc = write_trigger(d, err);
	if (!rc)
		rc = formats_write(d->formats, d->opt.recording, d->writer, err);
	if (!rc)
		rc = write_windows(d, err);
	if (!rc && !late_ledger)
		rc = write_ledger(d, from_ns, err);
	if (!rc)
		rc = write_records(d, err);
	recording_release(d->opt.recording);
	*released = true;
	if (!rc && late_ledger)
		rc = write_ledger(d, from_ns, err);
	return rc;
}

/* Asks the main loop for the hits that came meanwhile. */
static void seal(struct dumper *d)
{
	notify(d, DUMPER_SEAL);
	wait_phase(d, DUMPER_SEALED);
}

static int make_file(struct dumper *d, uint64_t from_ns, uint64_t started_ns, bool *released,
		     struct err *err)
{
	int fd, rc;

	rc = store_begin(d->opt.store, clock_of(CLOCK_REALTIME) - (clock_ns() - d->job.hit_ns),
			 d->job.rule_name, &fd, err);
	if (rc)
		return rc;
	rc = writer_begin(d->writer, fd, clock_of(CLOCK_REALTIME), err);
	if (!rc)
		rc = write_body(d, from_ns, released, err);
	if (!rc) {
		seal(d);
		rc = write_merged(d, err);
	}
	if (!rc)
		rc = write_stats(d, started_ns, err);
	if (!rc)
		rc = writer_finish(d->writer, &d->result.file_bytes, err);
	if (!rc)
		rc = store_commit(d->opt.store, d->result.path, sizeof(d->result.path), err);
	if (rc)
		store_abort(d->opt.store);
	return rc;
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
	walk(d, &from_ns);
	d->result.rc = make_file(d, from_ns, started, &released, &d->result.err);
	if (!released)
		recording_release(d->opt.recording);
	d->result.write_ns = clock_ns() - started;
	notify(d, DUMPER_DONE);
}

static void set_nice(struct dumper *d, int nice)
{
	pthread_mutex_lock(&d->lock);
	if (d->opt.low_priority && d->tid)
		setpriority(PRIO_PROCESS, (id_t)d->tid, nice);
	pthread_mutex_unlock(&d->lock);
}

static void *run(void *arg)
{
	struct dumper *d = arg;
	sigset_t all;

	/* Signals are the main loop's, also those of rules that a reload adds. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_setname_np(pthread_self(), "ringback-dump");
	pthread_mutex_lock(&d->lock);
	d->tid = gettid();
	pthread_mutex_unlock(&d->lock);
	set_nice(d, LOW_NICE);
	while (wait_phase(d, DUMPER_WRITING))
		make_dump(d);
	return NULL;
}

void dumper_hurry(struct dumper *d)
{
	set_nice(d, 0);
}

/* ---- the main loop's side ---- */

int dumper_new(const struct dumper_options *opt, struct dumper **out, struct err *err)
{
	struct writer_options wo = {
		.max_blocks = MAX_BLOCKS, .room = store_room, .ctx = opt->store};
	struct dumper *d = calloc(1, sizeof(*d));
	int rc;

	if (!d)
		return err_set(err, -ENOMEM, "out of memory");
	d->opt = *opt;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->cond, NULL);
	d->efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = d->efd < 0 ? err_sys(err, -errno, "eventfd") : 0;
	if (!rc)
		rc = formats_new(opt->recording, &d->formats, err);
	if (!rc)
		rc = writer_new(&wo, &d->writer, err);
	if (!rc)
		rc = tidset_new(&d->tids, err);
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
	tidset_free(d->tids);
	writer_free(d->writer);
	formats_free(d->formats);
	if (d->efd >= 0)
		close(d->efd);
	pthread_cond_destroy(&d->cond);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

int dumper_fd(const struct dumper *d)
{
	return d->efd;
}

void dumper_start(struct dumper *d, const struct dumper_job *job)
{
	pthread_mutex_lock(&d->lock);
	assert(d->phase == DUMPER_IDLE);
	d->job = *job;
	d->nr_merged = 0;
	d->phase = DUMPER_WRITING;
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
	set_nice(d, LOW_NICE);
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
	d->nr_merged = nr < MAX_MERGED ? nr : MAX_MERGED;
	if (d->nr_merged)
		memcpy(d->merged, merged, d->nr_merged * sizeof(*merged));
	d->totals = *totals;
	d->phase = DUMPER_SEALED;
	pthread_cond_broadcast(&d->cond);
	pthread_mutex_unlock(&d->lock);
}

void dumper_take(struct dumper *d, struct dumper_result *out)
{
	pthread_mutex_lock(&d->lock);
	assert(d->phase == DUMPER_DONE);
	*out = d->result;
	d->phase = DUMPER_IDLE;
	pthread_mutex_unlock(&d->lock);
}
