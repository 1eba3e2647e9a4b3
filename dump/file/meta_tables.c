// SPDX-License-Identifier: MIT
/*
 * The second half of meta.c: builds tables indexed by id from items in any order, with holes where
 * a damaged dump lacks items, and looks up samples in them.
 */
#include "dump/file/meta_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A damaged dump may lack blocks of items: maximum number of missing ids. */
#define MAX_HOLES 4096u

/* Length of a table indexed by id: items with larger ids count as broken. */
static size_t table_length(size_t max_id_plus_1, size_t nr_items)
{
	size_t bound = nr_items + MAX_HOLES;

	return max_id_plus_1 < bound ? max_id_plus_1 : bound;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Windows first, then events; channels last, since both refer to channels. */
static int build_windows(struct meta_loaded *l)
{
	const struct fmt_window *w = (const struct fmt_window *)l->windows.p;
	size_t nr = l->windows.len / sizeof(*w), len;
	uint32_t end = 0;

	for (size_t i = 0; i < nr; i++)
		end = max_u32(end, w[i].ring + 1);
	len = table_length(end, nr);
	l->m.windows = calloc(len + 1, sizeof(*w));
	if (!l->m.windows)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		l->m.windows[i].ring = FMT_NO_RING;
	for (size_t i = 0; i < nr; i++) {
		if (w[i].ring < len)
			l->m.windows[w[i].ring] = w[i];
		else
			l->m.nr_broken++;
	}
	l->m.nr_windows = len;
	return 0;
}

/* Texts other than PMU end at their first NUL. */
static void apply_note(struct meta_event *e, const struct meta_note *n)
{
	const char *text = (const char *)n->text.p;
	size_t len = strlen(text);

	switch (n->kind) {
	case FMT_EVENT_NAME:
		e->name = text;
		return;
	case FMT_EVENT_FILTER:
		e->filter = text;
		return;
	case FMT_EVENT_PMU:
		e->pmu = text;
		e->pmu_files = n->text;
		e->pmu_files.p += len + (len < n->text.len);
		e->pmu_files.len -= len + (len < n->text.len);
		return;
	default:
		e->target = text;
	}
}

static void apply_notes(struct meta_loaded *l)
{
	const struct meta_note *n = (const struct meta_note *)l->notes.p;

	for (size_t i = 0; i < l->notes.len / sizeof(*n); i++) {
		struct meta_event *e;

		if (n[i].event >= l->m.nr_events) {
			l->m.nr_broken++;
			continue;
		}
		e = &l->m.events[n[i].event];
		apply_note(e, &n[i]);
	}
}

static int build_events(struct meta_loaded *l)
{
	const struct meta_event *e = (const struct meta_event *)l->events.p;
	size_t nr = l->events.len / sizeof(*e), len;
	uint32_t end = 0;

	for (size_t i = 0; i < nr; i++)
		end = max_u32(end, e[i].f.id + 1);
	len = table_length(end, nr);
	l->m.events = calloc(len + 1, sizeof(*e));
	if (!l->m.events)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		l->m.events[i] = META_NO_EVENT;
	for (size_t i = 0; i < nr; i++) {
		if (e[i].f.id < len)
			l->m.events[e[i].f.id] = e[i];
		else
			l->m.nr_broken++;
	}
	l->m.nr_events = len;
	apply_notes(l);
	return 0;
}

/* The number of channels referred to; at most META_MAX_CHANNELS, since all ids were checked. */
static size_t channels_needed(const struct meta_loaded *l)
{
	const struct meta_channel *c = (const struct meta_channel *)l->channels.p;
	uint32_t end = l->m.nr_events || l->m.nr_windows;

	for (size_t i = 0; i < l->channels.len / sizeof(*c); i++)
		end = max_u32(end, c[i].f.id + 1);
	for (size_t i = 0; i < l->m.nr_events; i++)
		end = max_u32(end, l->m.events[i].f.channel + 1);
	for (size_t i = 0; i < l->m.nr_windows; i++)
		end = max_u32(end, l->m.windows[i].channel + 1);
	return end;
}

/*
 * Whether the kernel may give samples of this event the id of another one. For each occurrence of a
 * software event it prepares a sample once, for the first event that wants one, and gives the others
 * the same, also those of another program (do_perf_sw_event() in kernel/events/core.c, since Linux
 * 6.2). Tracepoints prepare it anew for each; the clocks have a timer each.
 */
static bool is_shared(const struct meta_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && e->attr.config != PERF_COUNT_SW_CPU_CLOCK &&
	       e->attr.config != PERF_COUNT_SW_TASK_CLOCK;
}

/* Counts events, and fills in a missing channel item from their attr. */
static void add_event_to_channel(struct meta_channel *c, const struct meta_event *e)
{
	if (c->f.id == UINT32_MAX && !c->nr_events) {
		c->f.sample_type = e->attr.sample_type;
		c->f.regs_user = e->attr.sample_regs_user;
		c->f.stack_user = e->attr.sample_stack_user;
	}
	if (!c->nr_events)
		c->layout.sample_id_all = e->attr.sample_id_all;
	if (!c->nr_events || (is_shared(e) && !c->nr_shared))
		c->likely_event = e->f.id;
	c->nr_shared += is_shared(e);
	c->nr_events++;
}

static int build_channels(struct meta_loaded *l)
{
	const struct meta_channel *c = (const struct meta_channel *)l->channels.p;
	size_t nr = l->channels.len / sizeof(*c), len = channels_needed(l);
	struct meta *m = &l->m;

	m->channels = calloc(len + 1, sizeof(*c));
	if (!m->channels)
		return -ENOMEM;
	for (size_t i = 0; i < len; i++)
		m->channels[i] = (struct meta_channel){.f = {.id = UINT32_MAX}, .name = ""};
	for (size_t i = 0; i < nr; i++)
		m->channels[c[i].f.id] = c[i];
	for (size_t i = 0; i < len; i++) {
		m->channels[i].likely_event = UINT32_MAX;
		m->channels[i].horizon_ns = l->horizon_ns[i];
	}
	for (size_t i = 0; i < m->nr_events; i++)
		if (m->events[i].f.id != UINT32_MAX)
			add_event_to_channel(&m->channels[m->events[i].f.channel], &m->events[i]);
	for (size_t i = 0; i < len; i++) {
		if (m->channels[i].nr_events > 1 && m->channels[i].nr_shared != 1)
			m->channels[i].likely_event = UINT32_MAX;
		m->channels[i].layout.sample_type = m->channels[i].f.sample_type;
		m->channels[i].layout.regs_user = m->channels[i].f.regs_user;
	}
	for (size_t i = 0; i < m->nr_windows; i++)
		if (m->windows[i].flags & FMT_WINDOW_TRIGGER)
			m->channels[m->windows[i].channel].of_trigger = true;
	m->nr_channels = len;
	return 0;
}

static int compare_ids(const void *a, const void *b)
{
	const struct fmt_event_id *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

/* By channel, then tracepoint. */
static int compare_types(const void *a, const void *b)
{
	const struct meta_type *x = a, *y = b;

	if (x->channel != y->channel)
		return x->channel < y->channel ? -1 : 1;
	return x->tracepoint < y->tracepoint ? -1 : x->tracepoint > y->tracepoint;
}

static int compare_types_stable(const void *a, const void *b)
{
	const struct meta_type *x = a, *y = b;
	int order = compare_types(a, b);

	return order ? order : x->event < y->event ? -1 : x->event > y->event;
}

/* The slot of the type, or the free slot for it. */
static size_t type_slot(const struct meta_loaded *l, uint32_t channel, uint32_t tracepoint)
{
	size_t mask = l->nr_type_slots - 1;
	size_t at = (tracepoint * 0x9e3779b1u >> 16 ^ channel) & mask;

	for (; l->type_slots[at]; at = (at + 1) & mask) {
		const struct meta_type *t = &l->types[l->type_slots[at] - 1];

		if (t->tracepoint == tracepoint && t->channel == channel)
			break;
	}
	return at;
}

/* A hash table, since each sample looks up its type. */
static int hash_types(struct meta_loaded *l)
{
	l->nr_type_slots = 16;
	while (l->nr_type_slots < 2 * l->nr_types)
		l->nr_type_slots *= 2;
	l->type_slots = calloc(l->nr_type_slots, sizeof(*l->type_slots));
	if (!l->type_slots)
		return -ENOMEM;
	for (size_t i = 0; i < l->nr_types; i++)
		l->type_slots[type_slot(l, l->types[i].channel, l->types[i].tracepoint)] =
			(uint32_t)i + 1;
	return 0;
}

/* The first event of each channel and tracepoint type. */
static int build_types(struct meta_loaded *l)
{
	size_t nr = 0, kept = 0;

	l->types = calloc(l->m.nr_events + 1, sizeof(*l->types));
	if (!l->types)
		return -ENOMEM;
	for (size_t i = 0; i < l->m.nr_events; i++) {
		const struct fmt_event *f = &l->m.events[i].f;

		if (f->id != UINT32_MAX && f->tracepoint)
			l->types[nr++] = (struct meta_type){f->channel, f->tracepoint, f->id};
	}
	qsort(l->types, nr, sizeof(*l->types), compare_types_stable);
	for (size_t i = 0; i < nr; i++)
		if (!kept || compare_types(&l->types[kept - 1], &l->types[i]))
			l->types[kept++] = l->types[i];
	l->nr_types = kept;
	return hash_types(l);
}

static void sort_ids(struct meta_loaded *l)
{
	l->ids = (struct fmt_event_id *)l->id_items.p;
	l->nr_ids = l->id_items.len / sizeof(*l->ids);
	l->id_items = (struct buf){0};
	if (l->nr_ids)
		qsort(l->ids, l->nr_ids, sizeof(*l->ids), compare_ids);
}

int meta_build_tables(struct meta_loaded *l)
{
	int rc = build_windows(l);

	sort_ids(l);
	if (!rc)
		rc = build_events(l);
	if (!rc)
		rc = build_channels(l);
	if (!rc)
		rc = build_types(l);
	return rc;
}

/* ---- looking up samples ---- */

static const struct meta_event *event_by_id(const struct meta_loaded *l, uint64_t id)
{
	struct fmt_event_id key = {.id = id}, *got = NULL;

	if (l->nr_ids)
		got = bsearch(&key, l->ids, l->nr_ids, sizeof(key), compare_ids);
	if (!got || got->event >= l->m.nr_events || l->m.events[got->event].f.id == UINT32_MAX)
		return NULL;
	return &l->m.events[got->event];
}

const struct fmt_event_id *meta_event_ids(const struct meta *m, size_t *nr)
{
	const struct meta_loaded *l = (const struct meta_loaded *)m;

	*nr = l->nr_ids;
	return l->ids;
}

const struct meta_event *meta_event_of(const struct meta *m, const struct meta_channel *c,
				       const struct record_sample *s)
{
	const struct meta_loaded *l = (const struct meta_loaded *)m;
	const struct meta_event *e = NULL, *likely;
	uint32_t channel = (uint32_t)(c - m->channels), slot;
	struct bytes raw = s->raw;
	uint16_t common_type = 0;

	if (s->have & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID))
		e = event_by_id(l, s->id);
	if (e && e->f.channel == channel)
		return e;
	if (bytes_u16(&raw, &common_type) && l->nr_types) {
		slot = l->type_slots[type_slot(l, channel, common_type)];
		if (slot)
			return &m->events[l->types[slot - 1].event];
	}
	if (c->likely_event >= m->nr_events)
		return e;
	/* A sample with a tracepoint's type belongs to another event. */
	likely = &m->events[c->likely_event];
	return common_type && (likely->f.tracepoint || c->nr_events > 1) ? e : likely;
}

/* The next NUL-terminated text; NULL when the NUL is missing. */
static const char *next_text(struct bytes *b)
{
	const char *text = (const char *)b->p;
	size_t len = strnlen(text, b->len);

	if (len == b->len)
		return NULL;
	b->p += len + 1;
	b->len -= len + 1;
	return text;
}

const char *meta_pmu_file(const struct meta_event *e, const char *path)
{
	struct bytes rest = e->pmu_files;
	const char *name, *content;

	while (rest.len && (name = next_text(&rest)) && rest.len && (content = next_text(&rest)))
		if (!strcmp(name, path))
			return content;
	return NULL;
}

uint64_t meta_nr_records(const struct meta *m)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < m->nr_windows; i++)
		nr += m->windows[i].ring == FMT_NO_RING ? 0 : m->windows[i].nr_records;
	return nr;
}

/* common_type (u16), common_flags, common_preempt_count (u8 each), common_pid (s32). */
uint32_t meta_tid_of(const struct meta *m, const struct meta_event *e,
		     const struct record_sample *s)
{
	uint32_t tid;

	if (s->have & PERF_SAMPLE_TID && s->tid != UINT32_MAX)
		return s->tid;
	if ((e && !e->f.tracepoint) || !(m->host.flags & FMT_HOST_INITIAL_PIDNS) || s->raw.len < 8)
		return UINT32_MAX;
	memcpy(&tid, s->raw.p + 4, sizeof(tid));
	return tid;
}
