// SPDX-License-Identifier: MIT
/*
 * Writes the trigger's evidence (trigger/engine/evidence.h) into the dump: a channel named "trigger"
 * for each kind of record, each with one window flagged as not being a ring. Called by dumper_file.c
 * after the rings are released, so it may allocate and wait for late evidence. Writes nothing
 * without evidence.
 */
#include "recorder/writer/dumper_parts.h"

#include "dump/format/record.h"
#include "recorder/writer/event_formats.h"
#include "trigger/engine/evidence.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* How long a dump waits for evidence that is still expected. */
#define WAIT_NS 300000000ull
#define CHANNEL "trigger"
/* The reader's limit: dump/format/FORMAT.md, fmt_channel. */
#define MAX_CHANNELS 64

/* A record and its sort key. */
struct sorted_record {
	uint64_t ns;
	size_t nr;
};

/* Records of one kind, with their channel, event and window in the dump. */
struct evidence_part {
	const struct evidence *e;
	const struct evidence_kind *kind;
	struct record_layout layout;
	uint32_t channel, event, ring;
	struct sorted_record *list; /* newest first */
	size_t nr;
	struct fmt_window window;
};

static bool is_sample(struct bytes rec)
{
	struct perf_event_header h;

	return record_at(rec, 0, &h) && h.type == PERF_RECORD_SAMPLE;
}

void dumper_note_evidence(struct dumper *d)
{
	if (!d->job.what.evidence)
		return;
	tidset_add(d->tids, d->job.what.pid);
	tidset_add(d->tids, d->job.what.tid);
}

/* ---- writing ---- */

/* Clears pointers into this process: config1 of uprobes and kprobes, whose PMUs have dynamic
 * types. */
static struct perf_event_attr public_attr(const struct evidence_kind *k)
{
	struct perf_event_attr a = k->attr;

	if (k->target && a.type >= PERF_TYPE_MAX)
		a.config1 = 0;
	return a;
}

static void put_channel(const struct evidence_part *p, struct writer *w)
{
	struct perf_event_attr attr = public_attr(p->kind);
	struct fmt_channel c = {
		.id = p->channel,
		.nr_banks = 1,
		.ring_bytes = p->window.ring_bytes,
		.sample_type = attr.sample_type,
		.regs_user = attr.sample_regs_user,
		.stack_user = attr.sample_stack_user,
	};
	struct fmt_event e = {
		.id = p->event,
		.channel = p->channel,
		.tracepoint = attr.type == PERF_TYPE_TRACEPOINT ? (uint32_t)attr.config : 0,
		.attr_bytes = sizeof(attr),
	};

	writer_section(w, FMT_CHANNELS);
	writer_item(w, FMT_CHANNEL, &c, sizeof(c), CHANNEL, strlen(CHANNEL), NULL);
	event_formats_put_event(w, &e, &attr, p->kind->name, p->kind->filter, p->kind->target);
}

static void stretch(uint64_t *first, uint64_t *last, uint64_t ns)
{
	if (ns && (!*last || ns < *first))
		*first = ns;
	if (ns > *last)
		*last = ns;
}

/* Blocks of about FMT_BLOCK_BYTES, the newest record first. */
static int put_records(const struct evidence_part *p, struct writer *w, struct err *err)
{
	struct buf run = {0};
	uint64_t off = 0;
	int rc = 0;

	for (size_t i = 0; i < p->nr && !rc;) {
		struct writer_run r = {.ring = p->ring, .encoding = FMT_ENC_RAW, .ring_off = off};

		run.len = 0;
		while (i < p->nr && !rc && run.len < FMT_BLOCK_BYTES) {
			struct bytes rec = evidence_at(p->e, p->list[i].nr).rec;

			rc = buf_put(&run, rec.p, rec.len);
			stretch(&r.first_ns, &r.last_ns, p->list[i++].ns);
			r.nr_records++;
		}
		r.content_bytes = (uint32_t)run.len;
		off += run.len;
		if (rc)
			err_set(err, rc, "out of memory for the evidence");
		else
			writer_records(w, &r, &(struct bytes){run.p, run.len}, 1);
	}
	buf_free(&run);
	return rc;
}

static int write_part(struct dumper *d, const struct evidence_part *p, struct err *err)
{
	put_channel(p, d->writer);
	if (p->kind->attr.type == PERF_TYPE_TRACEPOINT)
		event_formats_write_one(d->formats, p->kind->name, (uint32_t)p->kind->attr.config,
					d->writer);
	writer_section(d->writer, FMT_WINDOWS);
	writer_item(d->writer, FMT_WINDOW, &p->window, sizeof(p->window), NULL, 0, NULL);
	return put_records(p, d->writer, err);
}

/* ---- collecting ---- */

static int newest_first(const void *a, const void *b)
{
	const struct sorted_record *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->nr > y->nr ? -1 : x->nr < y->nr;
}

static void add(struct evidence_part *p, size_t nr, struct bytes rec)
{
	struct fmt_window *w = &p->window;
	uint64_t ns = 0;

	if (record_time(rec, &p->layout, &ns))
		stretch(&w->first_ns, &w->last_ns, ns);
	w->bytes += rec.len;
	w->nr_records++;
	w->samples += is_sample(rec);
	p->list[p->nr++] = (struct sorted_record){ns, nr};
}

static int collect(struct evidence_part *p, size_t kind, struct err *err)
{
	size_t all = evidence_nr(p->e);

	p->list = calloc(all + 1, sizeof(*p->list));
	if (!p->list)
		return err_set(err, -ENOMEM, "out of memory for the evidence");
	for (size_t i = 0; i < all; i++) {
		struct evidence_record r = evidence_at(p->e, i);

		if (r.kind == kind)
			add(p, i, r.rec);
	}
	qsort(p->list, p->nr, sizeof(*p->list), newest_first);
	p->window.ring_bytes = p->window.bytes;
	return 0;
}

/* The ids follow those of the recording. */
static struct evidence_part part_of(struct dumper *d, size_t kind)
{
	const struct evidence *e = d->job.what.evidence;
	const struct evidence_kind *k = evidence_kind_at(e, kind);
	struct recording *r = d->opt.recording;
	uint32_t nr_channels = (uint32_t)recording_nr_channels(r), nr_events = 0;
	struct evidence_part p = {
		.e = e,
		.kind = k,
		.layout = {k->attr.sample_type, k->attr.sample_regs_user, k->attr.sample_id_all},
		.channel = nr_channels + (uint32_t)kind,
		.ring = (uint32_t)(recording_nr_banks(r) + kind),
	};

	for (uint32_t i = 0; i < nr_channels; i++)
		nr_events += (uint32_t)recording_channel(r, i)->events.nr;
	p.event = nr_events + (uint32_t)kind;
	p.window = (struct fmt_window){
		.ring = p.ring,
		.channel = p.channel,
		.cpu = -1,
		.tid = -1,
		.paused_ns = d->job.freeze.last_paused_ns,
		.flags = FMT_WINDOW_TRIGGER,
		.lost = kind ? 0 : evidence_nr_dropped(e),
	};
	return p;
}

/* Writes the lines added after the hit was reported. */
static void put_lines(const struct evidence *e, struct writer *w)
{
	const char *line;

	for (size_t i = 0; (line = evidence_line(e, i)); i++) {
		writer_section(w, FMT_TRIGGER);
		writer_item(w, FMT_TRIGGER_SAW, NULL, 0, line, strlen(line), NULL);
	}
}

int dumper_write_evidence(struct dumper *d, struct err *err)
{
	struct evidence *e = d->job.what.evidence;
	int rc = 0;

	if (!e)
		return 0;
	evidence_wait(e, WAIT_NS);
	put_lines(e, d->writer);
	for (size_t i = 0; i < evidence_nr_kinds(e) && !rc; i++) {
		struct evidence_part p = part_of(d, i);

		if (p.channel >= MAX_CHANNELS)
			break;
		rc = collect(&p, i, err);
		if (!rc && p.nr)
			rc = write_part(d, &p, err);
		if (!rc && p.nr && p.kind->attr.sample_type & DUMPER_ADDRESSES)
			d->has_addresses = true;
		d->result.nr_samples += p.window.samples;
		free(p.list);
	}
	return rc;
}
