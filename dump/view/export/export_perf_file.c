// SPDX-License-Identifier: MIT
/*
 * The parts of a perf.data before and after the records; see export_perf.h.
 *
 * The header of a file has the offsets of all parts and is written last, over zeros. On a pipe,
 * attributes, names and features are records of perf's own types.
 */
#include "dump/view/export/export_perf.h"

#include "dump/base/array.h"
#include "dump/base/err.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC "PERFILE2"

/* Record types of perf, not of the kernel. */
#define RECORD_ATTR	    64u
#define RECORD_TRACING_DATA 66u
#define RECORD_UPDATE	    78u
#define RECORD_FEATURE	    80u
#define UPDATE_NAME	    2u

#define FEATURE_WORDS 4
/* More than any kernel has. */
#define MAX_EVENTS 65536u

/* Known to every perf since 4.1; longer only when the further fields are used. */
#define MIN_ATTR_BYTES PERF_ATTR_SIZE_VER5

struct file_section {
	uint64_t offset, size;
};

struct file_header {
	uint8_t magic[8];
	uint64_t header_bytes;
	uint64_t attr_bytes; /* of an attr and its ids' section */
	struct file_section attrs, data, event_types;
	uint64_t features[FEATURE_WORDS];
};

struct pipe_header {
	uint8_t magic[8];
	uint64_t header_bytes;
};

_Static_assert(sizeof(struct file_header) == 104, "perf_file_header");

/* ---- events ---- */

/* Makes the attr that describes the samples as this file has them. */
static void make_attr(const struct meta *m, const struct meta_event *e,
		      struct perf_event_attr *attr)
{
	const struct meta_channel *c = &m->channels[e->f.channel];

	*attr = e->attr;
	attr->sample_type = c->layout.sample_type | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
			    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
	attr->sample_regs_user = c->layout.regs_user;
	attr->sample_stack_user = c->f.stack_user;
	attr->sample_id_all = 1;
	/* A pointer of the recorder's process. */
	if (e->target[0])
		attr->config1 = 0;
	if (attr->freq && attr->sample_freq && attr->type == PERF_TYPE_SOFTWARE &&
	    (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK)) {
		attr->sample_period = 1000000000 / attr->sample_freq;
		attr->freq = 0;
	}
}

static size_t used_bytes(const struct perf_event_attr *attr)
{
	const uint8_t *p = (const uint8_t *)attr;
	size_t n = sizeof(*attr);

	while (n > MIN_ATTR_BYTES && !p[n - 1])
		n--;
	return align_up(n, 8);
}

/* Some readers take the first event for the profile. */
static bool shows_time(const struct meta *m, const struct meta_event *e)
{
	uint64_t stack = PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER;

	return e->attr.type < PERF_TYPE_TRACEPOINT &&
	       (e->attr.type == PERF_TYPE_HARDWARE || e->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
		e->attr.config == PERF_COUNT_SW_TASK_CLOCK) &&
	       m->channels[e->f.channel].layout.sample_type & stack;
}

static void add_evsel(struct perf_export *p, const struct meta_event *e)
{
	struct perf_evsel *s = &p->evsels[p->nr_evsels];

	s->e = e;
	s->name = e->name[0] ? e->name : "unknown";
	make_attr(p->x->a.m, e, &s->attr);
	if (used_bytes(&s->attr) > p->attr_bytes)
		p->attr_bytes = (uint32_t)used_bytes(&s->attr);
	if (e->f.channel < PERF_MAX_CHANNELS && !p->of_channel[e->f.channel])
		p->of_channel[e->f.channel] = s;
	p->of_event[e->f.id] = (uint32_t)p->nr_evsels++;
}

static int add_evsels(struct perf_export *p)
{
	const struct meta *m = p->x->a.m;

	p->evsels = calloc(m->nr_events + 1, sizeof(*p->evsels));
	p->of_event = malloc((m->nr_events + 1) * sizeof(*p->of_event));
	if (!p->evsels || !p->of_event)
		return -ENOMEM;
	memset(p->of_event, 0xff, (m->nr_events + 1) * sizeof(*p->of_event));
	p->attr_bytes = MIN_ATTR_BYTES;
	for (int first = 1; first >= 0; first--) {
		for (size_t i = 0; i < m->nr_events; i++) {
			const struct meta_event *e = &m->events[i];

			/* An unreadable item has no layout. */
			if (p->nr_evsels < MAX_EVENTS && e->f.id != UINT32_MAX &&
			    m->channels[e->f.channel].layout.sample_type &&
			    shows_time(m, e) == first)
				add_evsel(p, e);
		}
	}
	return 0;
}

static bool is_taken(const struct fmt_event_id *ids, size_t nr, uint64_t id)
{
	size_t at = array_bisect(i, nr, ids[i].id < id);

	return at < nr && ids[at].id == id;
}

/* Each event's own id, then those that the kernel gave it. */
static int add_ids(struct perf_export *p)
{
	size_t nr, at = 0;
	const struct fmt_event_id *ids = meta_event_ids(p->x->a.m, &nr);
	uint64_t id = 1ull << 32;

	p->ids = calloc(nr + p->nr_evsels + 1, sizeof(*p->ids));
	if (!p->ids)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		if (ids[i].event < p->x->a.m->nr_events && p->of_event[ids[i].event] != UINT32_MAX)
			p->evsels[p->of_event[ids[i].event]].nr_ids++;
	for (size_t i = 0; i < p->nr_evsels; i++) {
		struct perf_evsel *s = &p->evsels[i];

		while (is_taken(ids, nr, id))
			id++;
		s->id = id++;
		s->first_id = at;
		at += s->nr_ids + 1;
		s->nr_ids = 1;
		p->ids[s->first_id] = s->id;
	}
	for (size_t i = 0; i < nr; i++) {
		struct perf_evsel *s;

		if (ids[i].event >= p->x->a.m->nr_events || p->of_event[ids[i].event] == UINT32_MAX)
			continue;
		s = &p->evsels[p->of_event[ids[i].event]];
		p->ids[s->first_id + s->nr_ids++] = ids[i].id;
	}
	return 0;
}

static int make_evsels(struct perf_export *p, struct err *err)
{
	int rc = add_evsels(p);

	if (!rc)
		rc = add_ids(p);
	if (rc)
		return err_set(err, rc, "out of memory for the list of events");
	if (!p->nr_evsels)
		return err_set(err, -ENOTSUP,
			       "the dump's list of events can't be read: there is "
			       "nothing that perf could show");
	/* COMM and the like must belong to an event. */
	p->evsels[0].attr.mmap = p->evsels[0].attr.mmap2 = 1;
	p->evsels[0].attr.comm = p->evsels[0].attr.comm_exec = 1;
	p->evsels[0].attr.task = 1;
	for (size_t i = 0; i < p->nr_evsels; i++)
		p->evsels[i].attr.size = p->attr_bytes;
	return 0;
}

/* ---- a file ---- */

static void begin_file(struct perf_export *p)
{
	struct file_header h = {.magic = MAGIC};
	uint64_t attrs = p->nr_evsels * (p->attr_bytes + sizeof(struct file_section));

	perf_put(p, &h, sizeof(h));
	for (size_t i = 0; i < p->nr_evsels; i++) {
		const struct perf_evsel *s = &p->evsels[i];
		struct file_section ids = {sizeof(h) + attrs + s->first_id * 8, s->nr_ids * 8};

		perf_put(p, &s->attr, p->attr_bytes);
		perf_put(p, &ids, sizeof(ids));
	}
	for (size_t i = 0; i < p->nr_evsels; i++)
		perf_put(p, p->ids + p->evsels[i].first_id, p->evsels[i].nr_ids * 8);
	p->data_off = p->off;
}

/* Writes the table of places and the features; sets their bits. */
static int put_features(struct perf_export *p, uint64_t bits[FEATURE_WORDS])
{
	struct file_section places[64] = {0};
	struct text all = TEXT_INIT(NULL);
	size_t nr = 0;
	int rc;

	for (size_t i = 0; i < perf_nr_features; i++) {
		const struct perf_feature *f = &perf_features[i];
		size_t from = all.b.len;

		if (!f->make(p, &all)) {
			all.b.len = from;
			continue;
		}
		places[nr++] = (struct file_section){from, all.b.len - from};
		text_fill(&all, '\0', (int)(align_up(all.b.len, 8) - all.b.len));
		bits[f->bit / 64] |= 1ull << f->bit % 64;
	}
	for (size_t i = 0; i < nr; i++)
		places[i].offset += p->off + nr * sizeof(places[0]);
	rc = all.rc;
	if (!rc) {
		perf_put(p, places, nr * sizeof(places[0]));
		perf_put(p, all.b.p, all.b.len);
	}
	text_free(&all);
	return rc;
}

static int end_file(struct perf_export *p)
{
	struct file_header h = {
		.magic = MAGIC,
		.header_bytes = sizeof(h),
		.attr_bytes = p->attr_bytes + sizeof(struct file_section),
		.attrs = {sizeof(h), p->nr_evsels * (p->attr_bytes + sizeof(struct file_section))},
		.data = {p->data_off, p->off - p->data_off},
	};
	int rc = put_features(p, h.features);

	return rc ? rc : export_patch(p->x, 0, &h, sizeof(h));
}

/* ---- a pipe ---- */

static int put_attr(struct perf_export *p, const struct perf_evsel *s)
{
	perf_rec_begin(p, RECORD_ATTR, 0);
	perf_rec_add(p, &s->attr, p->attr_bytes);
	perf_rec_add(p, p->ids + s->first_id, s->nr_ids * 8);
	return perf_rec_put(p);
}

static int put_name(struct perf_export *p, const struct perf_evsel *s)
{
	uint64_t what[] = {UPDATE_NAME, s->id};

	perf_rec_begin(p, RECORD_UPDATE, 0);
	perf_rec_add(p, what, sizeof(what));
	perf_rec_text(p, s->name);
	return perf_rec_put(p);
}

static int put_feature(struct perf_export *p, const struct perf_feature *f)
{
	struct text t = TEXT_INIT(NULL);
	uint64_t bit = f->bit;
	int rc = 0;

	if (f->on_pipe && f->make(p, &t) && !t.rc) {
		text_fill(&t, '\0', (int)(align_up(t.b.len, 8) - t.b.len));
		perf_rec_begin(p, RECORD_FEATURE, 0);
		perf_rec_add(p, &bit, sizeof(bit));
		perf_rec_add(p, t.b.p, t.b.len);
		rc = perf_rec_put(p);
		if (rc == -E2BIG) /* too long for a record: optional */
			rc = 0;
	}
	text_free(&t);
	return rc;
}

/* The formats of tracepoints follow their record, which has only their length. */
static int put_tracing_data(struct perf_export *p)
{
	struct text t = TEXT_INIT(NULL);
	uint32_t size;
	int rc = 0;

	if (perf_tracing_data(p, &t)) {
		text_fill(&t, '\0', (int)(align_up(t.b.len, 8) - t.b.len));
		rc = t.rc;
		size = (uint32_t)t.b.len;
		perf_rec_begin(p, RECORD_TRACING_DATA, 0);
		perf_rec_add(p, &size, sizeof(size));
		if (!rc)
			rc = perf_rec_put(p);
		if (!rc)
			perf_put(p, t.b.p, t.b.len);
	}
	text_free(&t);
	return rc;
}

static int put_build_ids(struct perf_export *p)
{
	struct text t = TEXT_INIT(NULL);

	/* They are records already. */
	if (perf_build_ids(p, &t) && !t.rc)
		perf_put(p, t.b.p, t.b.len);
	text_free(&t);
	return 0;
}

static int begin_pipe(struct perf_export *p, struct err *err)
{
	struct pipe_header h = {.magic = MAGIC, .header_bytes = sizeof(h)};
	int rc = 0;

	perf_put(p, &h, sizeof(h));
	for (size_t i = 0; i < p->nr_evsels && !rc; i++)
		rc = put_attr(p, &p->evsels[i]);
	if (rc == -E2BIG) {
		err_set(err, rc, "an event has too many ids for perf's format for pipes");
		err_hint(err, "write a file: -o FILE");
		return rc;
	}
	/* In this order: some readers end attributes and features at the first other record. */
	for (size_t i = 0; i < perf_nr_features && !rc; i++)
		rc = put_feature(p, &perf_features[i]);
	for (size_t i = 0; i < p->nr_evsels && !rc; i++)
		rc = put_name(p, &p->evsels[i]);
	if (!rc)
		rc = put_tracing_data(p);
	if (!rc)
		rc = put_build_ids(p);
	return rc ? err_set(err, rc, "out of memory for the header") : 0;
}

/* ---- both ---- */

int perf_file_begin(struct perf_export *p, struct err *err)
{
	int rc = make_evsels(p, err);

	if (!rc)
		rc = perf_aux_new(p, &p->aux, err);
	p->round_off = UINT64_MAX; /* the head is part of no round */
	if (!rc && !p->x->seekable)
		rc = begin_pipe(p, err);
	else if (!rc)
		begin_file(p);
	p->round_off = p->off;
	return rc;
}

int perf_file_end(struct perf_export *p, struct err *err)
{
	int rc = p->x->seekable ? end_file(p) : 0;

	return rc ? err_sys(err, rc, "the output can't be written") : 0;
}
