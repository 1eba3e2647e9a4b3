// SPDX-License-Identifier: MIT
/* The CHANNELS and FORMATS sections; see event_formats.h. Called by dumper.c. */
#include "recorder/writer/event_formats.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/file/writer.h"
#include "recorder/capture/recording.h"
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* One tracepoint's item: system, NUL, text of its format file. */
struct format {
	struct fmt_tracepoint f;
	struct buf text;
};

/* Description of the PMU of a channel's AUX event, as in FMT_EVENT_PMU. */
struct format_pmu {
	uint32_t event;
	struct buf text;
};

struct event_formats {
	struct format *v;
	size_t nr;
	struct format_pmu *pmus;
	size_t nr_pmus;
	struct buf header_page;
};

static bool has_format(const struct event_formats *f, uint32_t id)
{
	for (size_t i = 0; i < f->nr; i++)
		if (f->v[i].f.id == id)
			return true;
	return false;
}

/* `name` is system:event. The caller frees out->text. */
static int read_format(const char *name, uint32_t id, struct format *out, struct err *err)
{
	const char *colon = strchr(name, ':');
	struct format n = {.f = {.id = id, .system_bytes = (uint32_t)(colon - name) + 1}};
	struct buf text = {0};
	char path[256];
	int rc;

	snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(colon - name), name, colon + 1);
	rc = tracefs_read(path, &text, err);
	if (!rc && (buf_put(&n.text, name, n.f.system_bytes - 1) || buf_put(&n.text, "", 1) ||
		    buf_put(&n.text, text.p, text.len)))
		rc = err_set(err, -ENOMEM, "out of memory");
	buf_free(&text);
	if (rc)
		buf_free(&n.text);
	else
		*out = n;
	return rc;
}

static int add_format(struct event_formats *f, const struct event *e, struct err *err)
{
	int rc;

	if (!array_room(f->v, f->nr))
		return err_set(err, -ENOMEM, "out of memory");
	rc = read_format(e->name, (uint32_t)e->attr.config, &f->v[f->nr], err);
	if (!rc)
		f->nr++;
	return rc;
}

static int add_pmu(struct event_formats *f, const struct channel *c, struct err *err)
{
	struct format_pmu *p;
	int rc;

	if (!array_room(f->pmus, f->nr_pmus))
		return err_set(err, -ENOMEM, "out of memory");
	p = &f->pmus[f->nr_pmus++];
	*p = (struct format_pmu){.event = c->first_event};
	rc = buf_put(&p->text, c->pmu, strlen(c->pmu) + 1);
	if (!rc)
		rc = pmu_files(c->pmu, &p->text);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

int event_formats_new(const struct recording *r, struct event_formats **out, struct err *err)
{
	struct event_formats *f = calloc(1, sizeof(*f));
	int rc = 0;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < recording_nr_channels(r) && !rc; i++) {
		const struct channel *c = recording_channel(r, i);

		for (size_t k = 0; k < c->events.nr && !rc; k++) {
			const struct event *e = c->events.v[k];

			if (e->kind == EVENT_TRACEPOINT && !has_format(f, (uint32_t)e->attr.config))
				rc = add_format(f, e, err);
		}
		if (!rc && c->aux_bytes)
			rc = add_pmu(f, c, err);
	}
	if (!rc && f->nr)
		tracefs_read("events/header_page", &f->header_page, NULL);
	if (rc) {
		event_formats_free(f);
		return rc;
	}
	*out = f;
	return 0;
}

void event_formats_free(struct event_formats *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nr; i++)
		buf_free(&f->v[i].text);
	free(f->v);
	for (size_t i = 0; i < f->nr_pmus; i++)
		buf_free(&f->pmus[i].text);
	free(f->pmus);
	buf_free(&f->header_page);
	free(f);
}

static void put_channel(const struct channel *c, struct writer *w)
{
	struct fmt_channel fc = {
		.id = c->id,
		.nr_banks = c->nr_banks,
		.ring_bytes = c->ring_bytes,
		.sample_type = c->layout.sample_type,
		.regs_user = c->layout.regs_user,
		.stack_user = c->stack == STACK_DWARF ? c->stack_bytes : 0,
		.flags = c->compact ? FMT_CHANNEL_COMPACT : 0,
	};

	struct fmt_channel_horizon fh = {.channel = c->id, .horizon_ns = (uint64_t)c->horizon_ns};

	writer_item(w, FMT_CHANNEL, &fc, sizeof(fc), c->name, strlen(c->name), NULL);
	if (c->horizon_ns)
		writer_item(w, FMT_CHANNEL_HORIZON, &fh, sizeof(fh), NULL, 0, NULL);
}

static void put_text(struct writer *w, uint16_t kind, uint32_t event, const char *text)
{
	if (text)
		writer_item(w, kind, &event, sizeof(event), text, strlen(text), NULL);
}

void event_formats_put_event(struct writer *w, const struct fmt_event *e,
			     const struct perf_event_attr *attr, const char *name,
			     const char *filter, const char *target)
{
	writer_item(w, FMT_EVENT, e, sizeof(*e), attr, sizeof(*attr), NULL);
	put_text(w, FMT_EVENT_NAME, e->id, name);
	put_text(w, FMT_EVENT_FILTER, e->id, filter);
	put_text(w, FMT_EVENT_TARGET, e->id, target);
}

static void put_event(const struct recording *r, const struct channel *c, size_t i,
		      struct writer *w)
{
	const struct event *e = c->events.v[i];
	/* Pointers into this process are useless to a reader. */
	struct perf_event_attr attr = e->attr;
	struct fmt_event fe = {
		.id = c->first_event + (uint32_t)i,
		.channel = c->id,
		.tracepoint = e->kind == EVENT_TRACEPOINT ? (uint32_t)e->attr.config : 0,
		.attr_bytes = sizeof(attr),
	};

	recording_attr(r, c, i, &attr);
	if (e->uprobe_path)
		attr.uprobe_path = 0;
	event_formats_put_event(w, &fe, &attr, e->name, e->filter, e->target);
}

static void put_bank_ids(const struct banks *b, const struct bank *bank, uint32_t ring,
			 struct writer *w)
{
	for (size_t i = 0; i < bank->nr_fds; i++) {
		struct fmt_event_id id = {.event = b->channel->first_event + bank->event[i],
					  .ring = ring};

		if (!ioctl(bank->fds[i], PERF_EVENT_IOC_ID, &id.id))
			writer_item(w, FMT_EVENT_ID, &id, sizeof(id), NULL, 0, NULL);
	}
}

/*
 * Writes the ids of a ring's events if samples carry them: those of both banks, since a sample may
 * carry the other bank's id. When a software event (page-faults) is open twice, the kernel prepares
 * one sample for both, and since Linux 6.2 keeps the first id (do_perf_sw_event(),
 * perf_prepare_sample()).
 */
static void put_ids(const struct banks *b, uint32_t ring, struct writer *w)
{
	if (b->channel->layout.sample_type & PERF_SAMPLE_IDENTIFIER)
		for (unsigned i = 0; i < b->nr_banks; i++)
			for (const struct bank *k = &b->bank[i]; k; k = k->older)
				put_bank_ids(b, k, ring, w);
}

static void put_format(const struct format *f, struct writer *w)
{
	writer_item(w, FMT_FORMAT_TRACEPOINT, &f->f, sizeof(f->f), f->text.p, f->text.len, NULL);
}

void event_formats_write(const struct event_formats *f, struct recording *r, struct writer *w)
{
	writer_section(w, FMT_CHANNELS);
	for (size_t i = 0; i < recording_nr_channels(r); i++) {
		const struct channel *c = recording_channel(r, i);

		put_channel(c, w);
		for (size_t k = 0; k < c->events.nr; k++)
			put_event(r, c, k, w);
	}
	for (size_t i = 0; i < f->nr_pmus; i++)
		writer_item(w, FMT_EVENT_PMU, &f->pmus[i].event, sizeof(f->pmus[i].event),
			    f->pmus[i].text.p, f->pmus[i].text.len, NULL);
	for (size_t i = 0; i < recording_nr_banks(r); i++)
		put_ids(recording_banks(r, i), (uint32_t)i, w);
	if (f->nr)
		writer_section(w, FMT_FORMATS);
	for (size_t i = 0; i < f->nr; i++)
		put_format(&f->v[i], w);
	if (f->header_page.len)
		writer_item(w, FMT_FORMAT_HEADER_PAGE, NULL, 0, f->header_page.p,
			    f->header_page.len, NULL);
}

void event_formats_write_one(const struct event_formats *f, const char *name, uint32_t id,
			     struct writer *w)
{
	struct format n;

	/* A tracepoint that was removed has no format. Its records are still written. */
	if (has_format(f, id) || !strchr(name, ':') || read_format(name, id, &n, NULL))
		return;
	writer_section(w, FMT_FORMATS);
	put_format(&n, w);
	buf_free(&n.text);
}
