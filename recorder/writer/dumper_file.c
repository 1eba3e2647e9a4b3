// SPDX-License-Identifier: MIT
/*
 * The content of a dump, in file order: the sections known before the records, the ledger, the
 * records, and the sections known only at the end. Called by the dump's thread (dumper.c); workers
 * (dump_workers.c) make the blocks of records.
 */
#include "recorder/writer/dumper_parts.h"

#include "dump/file/reader.h"
#include "trigger/kernel/clock.h"
#include "recorder/writer/event_formats.h"
#include "recorder/writer/host_info.h"
#include "recorder/writer/thread_snapshot.h"
#include "recorder/ledger/cgroup_limits.h"
#include "recorder/ledger/pinned_list.h"
#include "recorder/base/log.h"
#include "recorder/symbolize/symbols_child.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SCAN_WAIT_NS 3000000000ull
/* Space reserved for what follows the symbols: stats and footer; and for what follows the records. */
#define END_BYTES  (256u << 10)
#define REST_BYTES (1u << 20)

/* ---- sections ---- */

/* The name of the thread that met the rule, from the hit or else from the ledger: a crashed thread
 * may have left /proc. */
static bool thread_name(struct dumper *d, char comm[16])
{
	const struct sighting *what = &d->job.what;

	memcpy(comm, what->comm, sizeof(what->comm));
	return *comm || (what->evidence && what->tid &&
			 ledger_comm(d->opt.ledger, what->tid, d->job.hit_ns, comm) && *comm);
}

static void put_text(struct dumper *d, uint16_t kind, const char *text, size_t n)
{
	writer_item(d->writer, kind, NULL, 0, text, n, NULL);
}

static void write_trigger(struct dumper *d)
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
	char comm[16];

	writer_section(d->writer, FMT_TRIGGER);
	writer_item(d->writer, FMT_TRIGGER_FACTS, &f, sizeof(f), NULL, 0, NULL);
	put_text(d, FMT_TRIGGER_NAME, j->rule_name, strlen(j->rule_name));
	put_text(d, FMT_TRIGGER_RULE, j->rule_text, strlen(j->rule_text));
	if (j->what.reason[0])
		put_text(d, FMT_TRIGGER_REASON, j->what.reason, strlen(j->what.reason));
	if (j->what.began_ns)
		writer_item(d->writer, FMT_TRIGGER_BEGAN, &j->what.began_ns,
			    sizeof(j->what.began_ns), NULL, 0, NULL);
	if (thread_name(d, comm))
		put_text(d, FMT_TRIGGER_COMM, comm, strnlen(comm, sizeof(comm)));
	for (uint32_t i = 0; i < j->what.nr_saw; i++)
		put_text(d, FMT_TRIGGER_SAW, j->what.saw[i], strlen(j->what.saw[i]));
}

static void write_merged(struct dumper *d)
{
	writer_section(d->writer, FMT_TRIGGER);
	if (d->totals.repeats.nr_seen)
		writer_item(d->writer, FMT_TRIGGER_REPEATS, &d->totals.repeats,
			    sizeof(d->totals.repeats), NULL, 0, NULL);
	for (size_t i = 0; i < d->nr_merged; i++) {
		const struct engine_merged *m = &d->merged[i];
		struct fmt_merged f = {m->first_ns, m->last_ns, m->nr_hits};

		writer_item(d->writer, FMT_TRIGGER_MERGED, &f, sizeof(f), m->name, strlen(m->name),
			    NULL);
	}
}

static void write_windows(struct dumper *d)
{
	struct recording *r = d->opt.recording;

	writer_section(d->writer, FMT_WINDOWS);
	for (size_t i = 0; i < recording_nr_banks(r); i++)
		writer_item(d->writer, FMT_WINDOW, &recording_banks(r, i)->window,
			    sizeof(struct fmt_window), NULL, 0, NULL);
	for (size_t i = 0; i < recording_nr_banks(r); i++) {
		const struct banks *b = recording_banks(r, i);

		if (b->aux)
			writer_item(d->writer, FMT_WINDOW_AUX, &b->aux->window,
				    sizeof(b->aux->window), NULL, 0, NULL);
		for (size_t k = 0; b->aux && k < b->watch->dumped.nr; k++) {
			struct fmt_trace_stop s = b->watch->dumped.v[k];

			s.ring = b->window.ring;
			writer_item(d->writer, FMT_WINDOW_STOP, &s, sizeof(s), NULL, 0, NULL);
		}
	}
}

/* In the order of the workers: the newest block of every ring first, then the next. */
static int write_records(struct dumper *d, struct err *err)
{
	struct fmt_block h;
	struct bytes stored;
	int rc;

	while ((rc = dump_workers_next(d->work, &h, &stored, err)) > 0)
		if (writer_copy(d->writer, &h, stored))
			return 0;
	return rc;
}

static void write_ledger(struct dumper *d, uint64_t from_ns)
{
	if (writer_error(d->writer, NULL))
		return;
	dumper_note_evidence(d);
	if (d->job.scan)
		proc_scan_wait(d->job.scan, true, SCAN_WAIT_NS);
	proc_scan_cgroups(d->opt.ledger);
	ledger_write(d->opt.ledger, d->writer, d->tids, from_ns, d->job.freeze.last_paused_ns);
}

static void write_stats(struct dumper *d, uint64_t started_ns)
{
	struct rusage u;

	writer_section(d->writer, FMT_STATS);
	getrusage(RUSAGE_SELF, &u);
	d->stats.cpu_ns =
		((uint64_t)u.ru_utime.tv_sec + (uint64_t)u.ru_stime.tv_sec) * 1000000000u +
		((uint64_t)u.ru_utime.tv_usec + (uint64_t)u.ru_stime.tv_usec) * 1000u;
	d->stats.rss_bytes = (uint64_t)u.ru_maxrss * 1024;
	d->stats.write_ns = clock_ns() - started_ns - d->symbols.ns;
	d->stats.nr_dumps = d->totals.nr_dumps;
	d->stats.nr_refused = d->totals.nr_refused;
	d->stats.nr_hits = d->totals.nr_hits;
	d->stats.nr_held = d->totals.nr_held;
	writer_item(d->writer, FMT_STATS_DUMP, &d->stats, sizeof(d->stats), NULL, 0, NULL);
	writer_item(d->writer, FMT_STATS_SIDEBAND, &d->totals.sideband, sizeof(d->totals.sideband),
		    NULL, 0, NULL);
	writer_item(d->writer, FMT_STATS_SYMBOLS, &d->symbols, sizeof(d->symbols), NULL, 0, NULL);
	if (*d->cut.what)
		put_text(d, FMT_STATS_CUT, d->result.cut.what, strlen(d->result.cut.what));
}

/* ---- symbols ---- */

/* Checks for space before the writer does, so that a full disk does not fail the dump because of
 * its symbols. */
static int has_room(const struct dumper *d, size_t bytes)
{
	off_t at = lseek(d->fd, 0, SEEK_CUR);

	if (at < 0 || store_room(d->store, (uint64_t)at, bytes + END_BYTES, NULL))
		return -ENOSPC;
	return 0;
}

/* Each payload is self-contained and becomes a block. Of control groups only names are taken. */
static int take_names(void *ctx, uint16_t section, struct bytes payload)
{
	struct dumper *d = ctx;
	struct bytes item;
	uint16_t kind;
	bool broken = false;
	int rc = has_room(d, payload.len);

	rc = rc ? rc : writer_section(d->writer, section);
	if (rc)
		return rc;
	if (section == FMT_SYMBOLS) {
		d->symbols.nr_blocks++;
		d->symbols.payload_bytes += payload.len;
	}
	while (reader_next_item(&payload, &kind, &item, &broken))
		if (section == FMT_SYMBOLS || kind == FMT_CGROUP_NAMES)
			writer_item(d->writer, kind, item.p, item.len, NULL, 0, NULL);
	rc = writer_flush(d->writer);
	return rc ? rc : broken ? -EBADMSG : 0;
}

/* Called after the rings are released. Syncs their content to disk before the search for
 * symbols. */
static int write_symbols(struct dumper *d, struct err *err)
{
	struct pinned_share files;
	struct symbols_child_options o = {
		.dump_fd = d->fd,
		.budget_ns = d->opt.symbols_ns,
		.low_priority = d->opt.low_priority,
		.stop_fd = d->stop_fd,
		.files = &files,
		.take = take_names,
		.ctx = d,
		.hung = &d->hung_names,
	};
	uint64_t t = clock_ns();
	pid_t hung = d->hung_names;

	d->symbols = (struct fmt_symbol_stats){.end = FMT_SYMBOLS_OFF};
	if (!d->opt.symbols_ns)
		return 0;
	d->symbols.end = FMT_SYMBOLS_DONE;
	if (!d->has_addresses)
		return 0;
	if (writer_section(d->writer, FMT_SYMBOLS))
		return 0;
	if (fdatasync(d->fd))
		return err_sys(err, -errno, "cannot write the dump to disk");
	ledger_share_files(d->opt.ledger, &files);
	d->symbols.end = symbols_child_run(&o);
	d->result.hung_names = d->hung_names == hung ? 0 : d->hung_names;
	pinned_share_close(&files);
	d->symbols.ns = clock_ns() - t;
	return 0;
}

/* ---- a dump ---- */

static void note_reach(struct dumper_result *r, const struct banks *b)
{
	const struct fmt_window *w = &b->window;
	uint64_t from = w->overwritten_bytes ? w->first_ns : w->armed_ns;
	uint64_t ns = w->paused_ns > from ? w->paused_ns - from : 0;
	size_t i;

	if (w->flags & FMT_WINDOW_OFFLINE || b->aux)
		return;
	for (i = 0; i < r->nr_reach && r->reach[i].channel != b->channel->name; i++)
		;
	if (i == DUMPER_MAX_REACH)
		return;
	if (i == r->nr_reach)
		r->reach[r->nr_reach++] = (struct dumper_reach){b->channel->name, ns, 0, 0};
	else if (ns < r->reach[i].ns)
		r->reach[i].ns = ns;
	/* Of the ring. */
	r->reach[i].bytes += b->channel->compact ? w->samples * 8 : w->bytes;
	r->reach[i].nr_samples += w->samples;
}

static void note_stops(struct dumper_result *r, const struct trace_stops *s)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < s->nr; i++)
		ns += s->v[i].stood_ns;
	r->nr_stood += s->nr > 0;
	r->stood_ns = ns > r->stood_ns ? ns : r->stood_ns;
}

void dumper_walk(struct dumper *d, uint64_t *from_ns)
{
	uint64_t t = clock_ns(), full = UINT64_MAX;
	size_t nr;
	struct banks *const *banks = recording_all_banks(d->opt.recording, &nr);

	*from_ns = d->job.freeze.last_paused_ns;
	d->has_addresses = false;
	tidset_clear(d->tids);
	dump_workers_walk(d->work, banks, nr, d->tids);
	for (size_t i = 0; i < nr; i++) {
		const struct fmt_window *w = &banks[i]->window;
		uint64_t span;

		d->stats.ring_bytes += w->bytes;
		d->result.nr_samples += w->samples;
		d->result.lost += w->lost;
		note_reach(&d->result, banks[i]);
		if (banks[i]->aux)
			note_stops(&d->result, &banks[i]->watch->dumped);
		if (banks[i]->aux && banks[i]->aux->window.bytes) {
			d->result.aux_bytes += banks[i]->aux->window.bytes;
			d->has_addresses = true;
		}
		if (!w->nr_records)
			continue;
		if (banks[i]->channel->layout.sample_type & DUMPER_ADDRESSES)
			d->has_addresses = true;
		span = w->last_ns - w->first_ns;
		if (w->overwritten_bytes && span < full) {
			full = span;
			d->result.reach_channel = banks[i]->channel->name;
		}
		if (w->first_ns < *from_ns)
			*from_ns = w->first_ns;
	}
	d->stats.nr_rings = nr;
	d->stats.walk_ns = clock_ns() - t;
	d->result.reach_ns = full == UINT64_MAX ? 0 : full;
	d->result.ring_bytes = d->stats.ring_bytes;
	d->walked_bytes = d->result.ring_bytes + d->result.aux_bytes;
}

/* With one bank nothing is recorded until the release, so the records are written first. */
static bool one_bank(const struct recording *r)
{
	size_t nr;
	struct banks *const *banks = recording_all_banks(r, &nr);

	for (size_t i = 0; i < nr; i++)
		if (banks[i]->nr_banks == 1 && !banks[i]->aux)
			return true;
	return false;
}

static int begin_file(struct dumper *d, struct store *store, struct err *err)
{
	uint64_t hit_real_ns = clock_of(CLOCK_REALTIME) - (clock_ns() - d->job.hit_ns);
	int fd, rc = store_begin(store, hit_real_ns, d->job.rule_name, &fd, err);

	if (rc)
		return rc;
	d->store = store;
	d->fd = fd;
	return 0;
}

/* What needs the frozen rings, and what is known before the records. */
static int write_rings(struct dumper *d, uint64_t from_ns, struct err *err)
{
	int rc = writer_begin(d->writer, d->fd, clock_of(CLOCK_REALTIME), err);

	if (rc)
		return rc;
	/* The workers run while the first sections are written. */
	dump_workers_begin(d->work, block_seed(writer_id(d->writer)));
	host_info_write(d->opt.host, d->writer);
	write_trigger(d);
	event_formats_write(d->formats, d->opt.recording, d->writer);
	write_windows(d);
	if (!one_bank(d->opt.recording))
		write_ledger(d, from_ns);
	rc = write_records(d, err);
	dump_workers_end(d->work);
	return rc ? rc : writer_error(d->writer, err);
}

/* What follows the records. */
static int write_rest(struct dumper *d, uint64_t from_ns, struct err *err)
{
	int rc = 0;

	if (one_bank(d->opt.recording))
		write_ledger(d, from_ns);
	if (!writer_error(d->writer, NULL))
		thread_snapshot_write(d->states, d->writer);
	if (d->opt.limits && !writer_error(d->writer, NULL))
		rc = cgroup_limits_write(d->opt.limits, d->writer, err);
	if (!rc && !writer_error(d->writer, NULL))
		rc = dumper_write_evidence(d, err);
	return rc ? rc : writer_error(d->writer, err);
}

static int write_end(struct dumper *d, uint64_t started_ns, struct err *err)
{
	if (*d->cut.what)
		dumper_write_cut_windows(d);
	write_merged(d);
	write_stats(d, started_ns);
	return writer_finish(d->writer, &d->result.file_bytes, err);
}

/*
 * Begins the dump again in the spill directory after the other one failed with `rc`: the rings are
 * still frozen. What was written is given up only for a place that takes as much.
 */
static bool spill(struct dumper *d, int rc, const struct err *why)
{
	int part = d->fd;
	off_t bytes = part < 0 ? 1 : lseek(part, 0, SEEK_CUR);
	struct err err = ERR_INIT, told = *why;
	char dir[PATH_MAX];

	if (!d->opt.spill || rc == -E2BIG)
		return false;
	rc = begin_file(d, d->opt.spill, &err);
	if (!rc)
		rc = store_room(d->opt.spill, 0, (uint64_t)bytes, &err);
	if (rc) {
		err_prefix(&err, "--spill");
		log_warn_err(&err);
		store_abort(d->opt.spill);
		d->store = d->opt.store;
		d->fd = part;
		return false;
	}
	store_abort(d->opt.store);
	store_dir(d->opt.spill, dir);
	err_prefix(&told, "the dump goes to %s", dir);
	log_warn_err(&told);
	d->result.spilled = *why;
	return true;
}

/* Steps that fail are given up, and what they left behind is cut off: see dumper_go_on(). */
static int write_file(struct dumper *d, uint64_t from_ns, uint64_t started_ns, bool *released,
		      struct err *err)
{
	int rc = begin_file(d, d->opt.store, err);

	if (!rc)
		rc = write_rings(d, from_ns, err);
	if (rc && spill(d, rc, err))
		rc = write_rings(d, from_ns, err);
	rc = dumper_go_on(d, rc, REST_BYTES, err);
	if (rc)
		return rc;
	recording_release(d->opt.recording);
	*released = true;
	rc = dumper_go_on(d, write_rest(d, from_ns, err), END_BYTES, err);
	if (rc)
		return rc;
	dumper_ask_to_seal(d);
	rc = dumper_go_on(d, write_symbols(d, err), END_BYTES, err);
	if (rc)
		return rc;
	rc = write_end(d, started_ns, err);
	return rc && !dumper_go_on(d, rc, END_BYTES, err) ? write_end(d, started_ns, err) : rc;
}

int dumper_make_file(struct dumper *d, uint64_t from_ns, uint64_t started_ns, bool *released,
		     struct err *err)
{
	int rc;

	d->store = d->opt.store;
	d->fd = -1;
	d->cut = (struct err)ERR_INIT;
	rc = write_file(d, from_ns, started_ns, released, err);
	if (rc && dumper_leave_unfinished(d, err))
		rc = 0;
	if (!rc && fsync(d->fd) && !*d->result.cut.what)
		err_sys(&d->result.cut, -errno, "parts of it may not be on the disk");
	if (!rc)
		rc = store_commit(d->store, d->result.path, sizeof(d->result.path), err);
	if (rc)
		store_abort(d->store);
	else
		host_info_dumped(d->opt.host, d->result.path);
	return rc;
}
