// SPDX-License-Identifier: MIT
/*
 * Loads the metadata of a dump; see meta.h.
 *
 * Two passes: collect all items of the sections (a name may precede its event), then build the
 * tables. Ids used as indexes are bounded by the number of items, all memory by META_MAX_BYTES, so
 * that a small hostile file cannot request much memory.
 */
#include "dump/file/meta_impl.h"

#include "dump/base/err.h"
#include "dump/file/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define META_MAX_BYTES (64u << 20)

/* ---- memory ---- */

/* -E2BIG over the limit: the item then counts as broken. */
static int account(struct meta_loaded *l, size_t n)
{
	if (n > META_MAX_BYTES - l->bytes)
		return -E2BIG;
	l->bytes += n;
	return 0;
}

/* A NUL-terminated copy. */
static int copy(struct meta_loaded *l, struct bytes b, uint8_t **out)
{
	size_t n = sizeof(struct meta_chunk) + b.len + 1;
	struct meta_chunk *c;
	int rc = account(l, n);

	if (rc)
		return rc;
	c = malloc(n);
	if (!c)
		return -ENOMEM;
	c->next = l->chunks;
	l->chunks = c;
	*out = (uint8_t *)(c + 1);
	if (b.len)
		memcpy(*out, b.p, b.len);
	(*out)[b.len] = '\0';
	return 0;
}

static int copy_text(struct meta_loaded *l, struct bytes b, const char **out)
{
	uint8_t *p;
	int rc = copy(l, b, &p);

	if (!rc)
		*out = (const char *)p;
	return rc;
}

static int copy_bytes(struct meta_loaded *l, struct bytes b, struct bytes *out)
{
	uint8_t *p;
	int rc = copy(l, b, &p);

	if (!rc)
		*out = (struct bytes){p, b.len};
	return rc;
}

static int append(struct meta_loaded *l, struct buf *to, const void *entry, size_t n)
{
	int rc = account(l, n);

	return rc ? rc : buf_put(to, entry, n);
}

static int append_text(struct meta_loaded *l, struct buf *to, struct bytes b)
{
	const char *text;
	int rc = copy_text(l, b, &text);

	return rc ? rc : append(l, to, &text, sizeof(text));
}

/* The fixed part of an item with a variable part must be complete. */
#define TAKE(item, fixed) (bytes_get(&(item), &(fixed), sizeof(fixed)) ? 0 : -EBADMSG)

/* ---- items, one function per section. 0, -ENOMEM, or another error: the item is broken ---- */

static int host_item(struct meta_loaded *l, uint16_t kind, struct bytes b)
{
	struct meta *m = &l->m;

	switch (kind) {
	case FMT_HOST_FACTS:
		bytes_get_grown(b, &m->host, sizeof(m->host));
		return 0;
	case FMT_HOST_HOSTNAME:
		return copy_text(l, b, &m->hostname);
	case FMT_HOST_UNAME:
		return copy_text(l, b, &m->uname);
	case FMT_HOST_CPU_MODEL:
		return copy_text(l, b, &m->cpu_model);
	case FMT_HOST_BOOT_ID:
		return copy_text(l, b, &m->boot_id);
	case FMT_HOST_OS:
		return copy_text(l, b, &m->os);
	case FMT_HOST_RECORDER:
		return copy_text(l, b, &m->recorder);
	case FMT_HOST_INSTANCE:
		return copy_text(l, b, &m->instance);
	case FMT_HOST_CPU_ID:
		return copy_text(l, b, &m->cpu_id);
	case FMT_HOST_CMDLINE:
		return copy_bytes(l, b, &m->cmdline);
	case FMT_HOST_SESSION:
		return copy_bytes(l, b, &m->session);
	case FMT_HOST_BEFORE:
		return copy_text(l, b, &m->before);
	case FMT_HOST_JOINED:
		return append_text(l, &l->joined, b);
	case FMT_HOST_CAPABILITY:
		return append_text(l, &l->caps, b);
	default:
		return 0;
	}
}

static int merged_item(struct meta_loaded *l, struct bytes b)
{
	struct meta_merged g = {0};
	int rc = TAKE(b, g.f);

	if (!rc)
		rc = copy_text(l, b, &g.name);
	return rc ? rc : append(l, &l->merged, &g, sizeof(g));
}

static int trigger_item(struct meta_loaded *l, uint16_t kind, struct bytes b)
{
	struct meta *m = &l->m;

	switch (kind) {
	case FMT_TRIGGER_FACTS:
		bytes_get_grown(b, &m->trigger, sizeof(m->trigger));
		return 0;
	case FMT_TRIGGER_NAME:
		return copy_text(l, b, &m->trigger_name);
	case FMT_TRIGGER_RULE:
		return copy_text(l, b, &m->trigger_rule);
	case FMT_TRIGGER_REASON:
		return copy_text(l, b, &m->trigger_reason);
	case FMT_TRIGGER_SAW:
		return append_text(l, &l->saw, b);
	case FMT_TRIGGER_MERGED:
		return merged_item(l, b);
	case FMT_TRIGGER_BEGAN:
		bytes_get_grown(b, &m->trigger_began_ns, sizeof(m->trigger_began_ns));
		return 0;
	case FMT_TRIGGER_REPEATS:
		bytes_get_grown(b, &m->repeats, sizeof(m->repeats));
		return 0;
	case FMT_TRIGGER_COMM:
		return copy_text(l, b, &m->trigger_comm);
	default:
		return 0;
	}
}

static int channel_item(struct meta_loaded *l, struct bytes b)
{
	struct meta_channel c = {0};
	int rc = TAKE(b, c.f);

	if (!rc && c.f.id >= META_MAX_CHANNELS)
		rc = -EBADMSG;
	if (!rc)
		rc = copy_text(l, b, &c.name);
	return rc ? rc : append(l, &l->channels, &c, sizeof(c));
}

static int event_item(struct meta_loaded *l, struct bytes b)
{
	struct meta_event e = META_NO_EVENT;
	struct bytes attr;
	int rc = TAKE(b, e.f);

	if (!rc && (e.f.id >= META_MAX_ID || e.f.channel >= META_MAX_CHANNELS ||
		    !bytes_take(&b, e.f.attr_bytes, &attr)))
		rc = -EBADMSG;
	if (rc)
		return rc;
	bytes_get_grown(attr, &e.attr, sizeof(e.attr));
	return append(l, &l->events, &e, sizeof(e));
}

static int note_item(struct meta_loaded *l, uint16_t kind, struct bytes b)
{
	struct meta_note n = {.kind = kind};
	int rc = TAKE(b, n.event);

	if (!rc)
		rc = copy_bytes(l, b, &n.text);
	return rc ? rc : append(l, &l->notes, &n, sizeof(n));
}

static int horizon_item(struct meta_loaded *l, struct bytes b)
{
	struct fmt_channel_horizon h;

	bytes_get_grown(b, &h, sizeof(h));
	if (h.channel >= META_MAX_CHANNELS)
		return -EBADMSG;
	l->horizon_ns[h.channel] = h.horizon_ns;
	return 0;
}

static int channels_item(struct meta_loaded *l, uint16_t kind, struct bytes b)
{
	struct fmt_event_id id;

	switch (kind) {
	case FMT_CHANNEL:
		return channel_item(l, b);
	case FMT_EVENT:
		return event_item(l, b);
	case FMT_EVENT_NAME:
	case FMT_EVENT_FILTER:
	case FMT_EVENT_TARGET:
	case FMT_EVENT_PMU:
		return note_item(l, kind, b);
	case FMT_EVENT_ID:
		bytes_get_grown(b, &id, sizeof(id));
		return append(l, &l->id_items, &id, sizeof(id));
	case FMT_CHANNEL_HORIZON:
		return horizon_item(l, b);
	default:
		return 0;
	}
}

static int formats_item(struct meta_loaded *l, uint16_t kind, struct bytes b)
{
	struct meta_tracepoint t = {0};
	struct fmt_tracepoint f;
	struct bytes system;
	int rc;

	if (kind == FMT_FORMAT_HEADER_PAGE)
		return copy_bytes(l, b, &l->m.header_page);
	if (kind != FMT_FORMAT_TRACEPOINT)
		return 0;
	rc = TAKE(b, f);
	if (rc || !bytes_take(&b, f.system_bytes, &system))
		return -EBADMSG;
	t.id = f.id;
	rc = copy_text(l, system, &t.system);
	if (!rc)
		rc = copy_bytes(l, b, &t.format);
	return rc ? rc : append(l, &l->tracepoints, &t, sizeof(t));
}

static int area_item(struct meta_loaded *l, struct bytes b)
{
	struct fmt_window_aux a;

	bytes_get_grown(b, &a, sizeof(a));
	if (a.ring >= META_MAX_ID || a.bytes > a.area_bytes || a.new_bytes > a.bytes)
		return -EBADMSG;
	return append(l, &l->areas, &a, sizeof(a));
}

static int stop_item(struct meta_loaded *l, struct bytes b)
{
	struct fmt_trace_stop s;

	bytes_get_grown(b, &s, sizeof(s));
	if (s.ring >= META_MAX_ID || s.from_ns > s.to_ns)
		return -EBADMSG;
	return append(l, &l->stops, &s, sizeof(s));
}

static int windows_item(struct meta_loaded *l, uint16_t kind, struct bytes b)
{
	struct fmt_window w;

	if (kind == FMT_WINDOW_AUX)
		return area_item(l, b);
	if (kind == FMT_WINDOW_STOP)
		return stop_item(l, b);
	if (kind != FMT_WINDOW)
		return 0;
	bytes_get_grown(b, &w, sizeof(w));
	if (w.ring >= META_MAX_ID || w.channel >= META_MAX_CHANNELS)
		return -EBADMSG;
	return append(l, &l->windows, &w, sizeof(w));
}

/* The next text of an item, up to its NUL. */
static int next_text(struct meta_loaded *l, struct bytes *rest, const char **out)
{
	const uint8_t *end = rest->len ? memchr(rest->p, '\0', rest->len) : NULL;
	struct bytes text = {rest->p, end ? (size_t)(end - rest->p) : 0};

	if (!end)
		return -EBADMSG;
	*rest = (struct bytes){end + 1, rest->len - text.len - 1};
	return copy_text(l, text, out);
}

static int names_item(struct meta_loaded *l, struct bytes b)
{
	struct meta_names n;
	const char **texts[] = {&n.id, &n.runtime, &n.ns, &n.pod, &n.container};
	int rc = 0;

	if (l->names.len / sizeof(n) >= FMT_CGROUP_MAX_NAMES)
		return 0;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !rc; i++)
		rc = next_text(l, &b, texts[i]);
	return rc ? rc : append(l, &l->names, &n, sizeof(n));
}

static int cgroups_item(struct meta_loaded *l, uint16_t kind, struct bytes b)
{
	struct meta_cgroup g = {.path = ""};
	struct bytes pids;
	uint8_t *copied;
	int rc;

	if (kind == FMT_CGROUP_TIME)
		l->m.knows_cgroups = true;
	if (kind == FMT_CGROUP_NAMES)
		return names_item(l, b);
	if (kind != FMT_CGROUP)
		return 0;
	rc = TAKE(b, g.f);
	if (rc || g.f.nr_pids > FMT_CGROUP_MAX_PIDS || g.f.nr_pids * sizeof(uint32_t) > b.len)
		return -EBADMSG;
	pids = (struct bytes){b.p, g.f.nr_pids * sizeof(uint32_t)};
	b = (struct bytes){b.p + pids.len, b.len - pids.len};
	rc = copy(l, pids, &copied);
	if (!rc)
		rc = copy_text(l, b, &g.path);
	if (rc)
		return rc;
	g.pids = copied;
	return append(l, &l->cgroups, &g, sizeof(g));
}

static int stats_item(struct meta_loaded *l, uint16_t kind, struct bytes b)
{
	struct meta *m = &l->m;
	struct fmt_salvage s;

	switch (kind) {
	case FMT_STATS_DUMP:
		bytes_get_grown(b, &m->stats, sizeof(m->stats));
		m->has_stats = true;
		return 0;
	case FMT_STATS_SIDEBAND:
		bytes_get_grown(b, &m->sideband, sizeof(m->sideband));
		return 0;
	case FMT_STATS_SYMBOLS:
		bytes_get_grown(b, &m->symbols, sizeof(m->symbols));
		m->has_symbol_stats = true;
		return 0;
	case FMT_STATS_SALVAGE:
		/* A file may have been damaged and salvaged more than once. */
		bytes_get_grown(b, &s, sizeof(s));
		m->salvaged = true;
		m->salvage.nr_bad_blocks += s.nr_bad_blocks;
		m->salvage.unclaimed_bytes += s.unclaimed_bytes;
		m->salvage.file_bytes = s.file_bytes;
		return 0;
	case FMT_STATS_CUT:
		return copy_text(l, b, &m->cut);
	default:
		return 0;
	}
}

/* ---- first pass ---- */

static const struct meta_section {
	uint16_t id;
	int (*item)(struct meta_loaded *l, uint16_t kind, struct bytes b);
} sections[] = {
	{FMT_HOST, host_item},	     {FMT_TRIGGER, trigger_item}, {FMT_CHANNELS, channels_item},
	{FMT_FORMATS, formats_item}, {FMT_WINDOWS, windows_item}, {FMT_STATS, stats_item},
	{FMT_CGROUPS, cgroups_item},
};

static const struct meta_section *find_section(uint16_t id)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (sections[i].id == id)
			return &sections[i];
	return NULL;
}

static int collect_block(struct meta_loaded *l, const struct meta_section *s, struct bytes payload)
{
	struct bytes item;
	bool broken = false;
	uint16_t kind;

	while (reader_next_item(&payload, &kind, &item, &broken)) {
		int rc = s->item(l, kind, item);

		if (rc == -ENOMEM)
			return rc;
		if (rc)
			l->m.nr_broken++;
	}
	if (broken)
		l->m.nr_broken++;
	return 0;
}

static int collect(struct meta_loaded *l, struct reader *r)
{
	struct buf payload = {0};
	int rc = 0;

	for (size_t i = 0; i < reader_nr_blocks(r) && !rc; i++) {
		const struct reader_block *b = reader_block(r, i);
		const struct meta_section *s = find_section(b->h.section);

		if (!s)
			continue;
		rc = reader_load(r, i, &payload, NULL);
		if (!rc && b->h.encoding != FMT_ENC_ITEMS)
			rc = -EBADMSG;
		if (!rc)
			rc = collect_block(l, s, (struct bytes){payload.p, payload.len});
		if (rc && rc != -ENOMEM) {
			l->m.nr_broken++;
			rc = 0;
		}
	}
	buf_free(&payload);
	return rc;
}

/* ---- result ---- */

/* Turns a collection into a table. */
static void *settle(struct buf *b, size_t entry_bytes, size_t *nr)
{
	void *p = b->p;

	*nr = b->len / entry_bytes;
	*b = (struct buf){0};
	return p;
}

static int compare_ids(const void *a, const void *b)
{
	const struct meta_names *x = a, *y = b;

	return strcmp(x->id, y->id);
}

const struct meta_names *meta_names_of(const struct meta *m, const char *id)
{
	struct meta_names like = {.id = id};

	return m->nr_names ? bsearch(&like, m->names, m->nr_names, sizeof(like), compare_ids)
			   : NULL;
}

static int build(struct meta_loaded *l)
{
	struct meta *m = &l->m;
	int rc = meta_build_tables(l);

	if (rc)
		return rc;
	m->caps = settle(&l->caps, sizeof(*m->caps), &m->nr_caps);
	m->joined = settle(&l->joined, sizeof(*m->joined), &m->nr_joined);
	m->saw = settle(&l->saw, sizeof(*m->saw), &m->nr_saw);
	m->merged = settle(&l->merged, sizeof(*m->merged), &m->nr_merged);
	m->tracepoints = settle(&l->tracepoints, sizeof(*m->tracepoints), &m->nr_tracepoints);
	m->cgroups = settle(&l->cgroups, sizeof(*m->cgroups), &m->nr_cgroups);
	m->names = settle(&l->names, sizeof(*m->names), &m->nr_names);
	if (m->nr_names)
		qsort(m->names, m->nr_names, sizeof(*m->names), compare_ids);
	m->areas = settle(&l->areas, sizeof(*m->areas), &m->nr_areas);
	m->stops = settle(&l->stops, sizeof(*m->stops), &m->nr_stops);
	return 0;
}

static void free_collections(struct meta_loaded *l)
{
	buf_free(&l->channels);
	buf_free(&l->events);
	buf_free(&l->notes);
	buf_free(&l->id_items);
	buf_free(&l->windows);
	buf_free(&l->caps);
	buf_free(&l->joined);
	buf_free(&l->saw);
	buf_free(&l->merged);
	buf_free(&l->tracepoints);
	buf_free(&l->areas);
	buf_free(&l->stops);
	buf_free(&l->cgroups);
	buf_free(&l->names);
}

int meta_load(struct reader *r, struct meta **out, struct err *err)
{
	struct meta_loaded *l = calloc(1, sizeof(*l));
	struct meta *m;
	int rc;

	if (!l)
		return err_set(err, -ENOMEM, "out of memory for what the dump says of itself");
	m = &l->m;
	m->hostname = m->uname = m->cpu_model = m->boot_id = m->os = "";
	m->recorder = m->instance = m->cpu_id = m->before = m->cut = "";
	m->trigger_name = m->trigger_rule = m->trigger_reason = m->trigger_comm = "";
	rc = collect(l, r);
	if (!rc)
		rc = build(l);
	free_collections(l);
	if (rc) {
		meta_free(m);
		return err_set(err, rc, "out of memory for what the dump says of itself");
	}
	*out = m;
	return 0;
}

void meta_free(struct meta *m)
{
	struct meta_loaded *l = (struct meta_loaded *)m;

	if (!m)
		return;
	while (l->chunks) {
		struct meta_chunk *c = l->chunks;

		l->chunks = c->next;
		free(c);
	}
	free(m->caps);
	free(m->joined);
	free(m->saw);
	free(m->merged);
	free(m->tracepoints);
	free(m->areas);
	free(m->stops);
	free(m->cgroups);
	free(m->names);
	free(m->channels);
	free(m->events);
	free(m->windows);
	free(l->ids);
	free(l->types);
	free(l->type_slots);
	free(l);
}
