// SPDX-License-Identifier: MIT
/*
 * Joins two consecutive dumps; see join.h. Copies the newer dump's blocks, except the windows of
 * joined rings and the blocks at the cut. The older dump's records get the newer dump's ring ids and
 * offsets after its records. join_names.c adds processes and names of the older dump.
 */
#include "dump/file/join.h"

#include "dump/base/err.h"
#include "dump/file/join_impl.h"
#include "dump/file/reader_impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A ring of the newer dump. */
struct join_ring {
	struct fmt_window w; /* the joined window */
	uint32_t older_ring; /* FMT_NO_RING: not joined */
	uint64_t cut_ns;     /* older records before it, newer ones from it on */
	uint64_t base;	     /* offset of the older records, in bytes from the newest */
};

struct join {
	const struct join_dump *older, *newer;
	struct join_ring *joints; /* by ring of the newer dump */
	size_t nr_joints, nr_joined;
	struct writer *w;
	struct buf payload, kept;
};

/* ---- finding the rings to join ---- */

static int apart(struct err *err, const struct join *j, const char *why)
{
	return err_set(err, -ENODATA, "'%s' and '%s' cannot be joined: %s", j->older->name,
		       j->newer->name, why);
}

static bool same_event(const struct meta_event *a, const struct meta_event *b)
{
	return a->f.id == b->f.id && a->f.channel == b->f.channel &&
	       a->f.tracepoint == b->f.tracepoint && a->attr.type == b->attr.type &&
	       a->attr.config == b->attr.config && a->attr.sample_type == b->attr.sample_type &&
	       !strcmp(a->name, b->name) && !strcmp(a->filter, b->filter) &&
	       !strcmp(a->target, b->target);
}

static size_t nr_in_rings(const struct meta *m)
{
	size_t nr = 0;

	for (size_t i = 0; i < m->nr_events; i++)
		nr += meta_in_rings(m, &m->events[i]);
	return nr;
}

static bool same_events(const struct meta *a, const struct meta *b)
{
	for (size_t i = 0; i < a->nr_events; i++)
		if (meta_in_rings(a, &a->events[i]) &&
		    (i >= b->nr_events || !meta_in_rings(b, &b->events[i]) ||
		     !same_event(&a->events[i], &b->events[i])))
			return false;
	return nr_in_rings(a) == nr_in_rings(b);
}

static int check_pair(const struct join *j, struct err *err)
{
	const struct meta *o = j->older->m, *n = j->newer->m;

	if (!reader_committed(j->older->r) || !reader_committed(j->newer->r))
		return apart(err, j, "one of them is damaged");
	if (!n->session.len || n->session.len != o->session.len ||
	    memcmp(n->session.p, o->session.p, n->session.len))
		return apart(err, j, "they come from different recorders");
	if (o->trigger.nr >= n->trigger.nr)
		return apart(err, j, "the first is not older than the second");
	return same_events(o, n) ? 0 : apart(err, j, "their events differ");
}

static bool has_area(const struct meta *m, uint32_t ring)
{
	for (size_t i = 0; i < m->nr_areas; i++)
		if (m->areas[i].ring == ring)
			return true;
	return false;
}

/* The window of the same ring in the older dump; NULL: none that `w` continues without a gap. */
static const struct fmt_window *before(const struct join *j, const struct fmt_window *w)
{
	const struct meta *m = j->older->m;

	/* overwritten_bytes: the ring lost its oldest records, so there is a gap. */
	if (!meta_is_ring(w) || w->overwritten_bytes || !w->prev_paused_ns || w->gap_ns > 0 ||
	    has_area(j->newer->m, w->ring))
		return NULL;
	for (size_t i = 0; i < m->nr_windows; i++) {
		const struct fmt_window *o = &m->windows[i];

		if (meta_is_ring(o) && o->channel == w->channel && o->cpu == w->cpu &&
		    o->tid == w->tid && o->paused_ns == w->prev_paused_ns &&
		    !(o->flags & FMT_WINDOW_BROKEN))
			return o;
	}
	return NULL;
}

/* The joined window; put_cut() corrects the counts where records are cut. */
static struct fmt_window together(const struct fmt_window *o, const struct fmt_window *n)
{
	struct fmt_window w = *n;

	w.bytes += o->bytes;
	w.nr_records += o->nr_records;
	w.samples += o->samples;
	if (o->nr_records)
		w.first_ns = o->first_ns;
	if (!n->nr_records)
		w.last_ns = o->last_ns;
	w.armed_ns = o->armed_ns;
	w.overwritten_bytes = o->overwritten_bytes;
	w.tail_bytes = o->tail_bytes;
	w.lost += o->lost;
	w.lost_spare = o->lost_spare;
	w.throttled += o->throttled;
	w.gap_ns = o->gap_ns;
	w.prev_paused_ns = o->prev_paused_ns;
	w.flags = (n->flags & ~FMT_WINDOW_FIRST) | (o->flags & FMT_WINDOW_FIRST);
	return w;
}

static int find_joints(struct join *j, struct err *err)
{
	const struct meta *m = j->newer->m;

	j->joints = calloc(m->nr_windows + 1, sizeof(*j->joints));
	if (!j->joints)
		return err_set(err, -ENOMEM, "out of memory");
	j->nr_joints = m->nr_windows;
	for (size_t i = 0; i < m->nr_windows; i++) {
		const struct fmt_window *n = &m->windows[i], *o = before(j, n);
		struct join_ring *at = &j->joints[i];

		*at = (struct join_ring){.w = *n, .older_ring = FMT_NO_RING};
		if (!o)
			continue;
		at->w = together(o, n);
		at->older_ring = o->ring;
		at->cut_ns = n->armed_ns + (o->paused_ns - n->armed_ns) / 2;
		at->base = n->bytes;
		j->nr_joined++;
	}
	return j->nr_joined ? 0
			    : apart(err, j,
				    "no ring continues from the first to the second without a gap");
}

/* The ring of the newer dump that continues `ring` of the older one. */
static struct join_ring *joint_of(const struct join *j, uint32_t ring)
{
	for (size_t i = 0; i < j->nr_joints; i++)
		if (j->joints[i].older_ring == ring && ring != FMT_NO_RING)
			return &j->joints[i];
	return NULL;
}

/* ---- records ---- */

/* Writes the records of the block in [from, to). */
static int put_cut(struct join *j, const struct join_dump *d, size_t i, struct join_ring *at,
		   uint64_t ring_off, uint64_t from_ns, uint64_t to_ns, struct err *err)
{
	const struct meta_channel *c = &j->newer->m->channels[at->w.channel];
	struct writer_run run = {.ring = at->w.ring,
				 .encoding = FMT_ENC_RAW,
				 .ring_off = ring_off,
				 .first_ns = UINT64_MAX};
	int rc = reader_content(d->r, i, &j->payload, err);
	struct bytes all = {j->payload.p, j->payload.len}, piece;
	struct perf_event_header h;

	j->kept.len = 0;
	for (size_t off = 0; !rc && record_at(all, off, &h); off += h.size) {
		struct bytes rec = {all.p + off, h.size};
		uint64_t ns;

		if (record_time(rec, &c->layout, &ns)) {
			if (ns < from_ns || ns >= to_ns) {
				at->w.bytes -= h.size;
				at->w.nr_records--;
				at->w.samples -= h.type == PERF_RECORD_SAMPLE;
				continue;
			}
			run.first_ns = ns < run.first_ns ? ns : run.first_ns;
			run.last_ns = ns > run.last_ns ? ns : run.last_ns;
		}
		rc = buf_put(&j->kept, rec.p, rec.len);
		run.nr_records++;
	}
	if (rc || !run.nr_records)
		return rc;
	if (run.first_ns == UINT64_MAX)
		run.first_ns = 0;
	run.content_bytes = (uint32_t)j->kept.len;
	piece = (struct bytes){j->kept.p, j->kept.len};
	return writer_records(j->w, &run, &piece, 1);
}

static int put_older(struct join *j, size_t i, struct err *err)
{
	struct reader *r = j->older->r;
	const struct fmt_block h = reader_block(r, i)->h;
	struct join_ring *at = joint_of(j, h.ring);
	struct writer_run run;
	struct bytes piece;
	int rc;

	if (!at)
		return 0;
	if (h.last_ns >= at->cut_ns)
		return put_cut(j, j->older, i, at, at->base + h.ring_off, 0, at->cut_ns, err);
	rc = reader_load(r, i, &j->payload, err);
	if (rc)
		return rc;
	run = (struct writer_run){
		.ring = at->w.ring,
		.encoding = h.encoding,
		.content_bytes = h.content_bytes,
		.nr_records = h.nr_records,
		.first_ns = h.first_ns,
		.last_ns = h.last_ns,
		.ring_off = at->base + h.ring_off,
	};
	piece = (struct bytes){j->payload.p, j->payload.len};
	return writer_records(j->w, &run, &piece, 1);
}

static int put_newer(struct join *j, size_t i, struct err *err)
{
	struct reader *r = j->newer->r;
	struct reader_block b = *reader_block(r, i);
	struct join_ring *at =
		b.h.section == FMT_RECORDS && b.h.ring < j->nr_joints ? &j->joints[b.h.ring] : NULL;
	int rc;

	if (b.h.section == FMT_WINDOWS)
		return 0;
	if (at && at->older_ring != FMT_NO_RING && b.h.first_ns < at->cut_ns)
		return put_cut(j, j->newer, i, at, b.h.ring_off, at->cut_ns, UINT64_MAX, err);
	rc = reader_load_at(r, &b, &j->payload, err);
	return rc ? rc : writer_copy(j->w, &b.h, (struct bytes){r->stored.p, r->stored.len});
}

/* ---- the rest ---- */

static void put_windows(struct join *j)
{
	const struct meta *m = j->newer->m;

	writer_section(j->w, FMT_WINDOWS);
	for (size_t i = 0; i < j->nr_joints; i++)
		if (j->joints[i].w.ring != FMT_NO_RING)
			writer_item(j->w, FMT_WINDOW, &j->joints[i].w, sizeof(struct fmt_window),
				    NULL, 0, NULL);
	for (size_t i = 0; i < m->nr_areas; i++)
		writer_item(j->w, FMT_WINDOW_AUX, &m->areas[i], sizeof(m->areas[i]), NULL, 0, NULL);
	for (size_t i = 0; i < m->nr_stops; i++)
		writer_item(j->w, FMT_WINDOW_STOP, &m->stops[i], sizeof(m->stops[i]), NULL, 0,
			    NULL);
}

/* Each bank's events have their own ids: adds those of the older dump with the new ring id. */
static int put_id(void *ctx, uint16_t kind, struct bytes item, struct err *err)
{
	struct join *j = ctx;
	struct fmt_event_id f;
	const struct join_ring *at;

	if (kind != FMT_EVENT_ID || !bytes_get(&item, &f, sizeof(f)))
		return 0;
	at = joint_of(j, f.ring);
	if (!at)
		return 0;
	f.ring = at->w.ring;
	return writer_item(j->w, kind, &f, sizeof(f), NULL, 0, NULL);
}

static int put_all(struct join *j, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < reader_nr_blocks(j->newer->r) && !rc; i++)
		rc = put_newer(j, i, err);
	for (size_t i = 0; i < reader_nr_blocks(j->older->r) && !rc; i++)
		if (reader_block(j->older->r, i)->h.section == FMT_RECORDS)
			rc = put_older(j, i, err);
	if (rc)
		return rc;
	put_windows(j);
	writer_section(j->w, FMT_CHANNELS);
	rc = join_items(j->older->r, FMT_CHANNELS, NULL, put_id, j, err);
	writer_section(j->w, FMT_HOST);
	writer_item(j->w, FMT_HOST_JOINED, NULL, 0, j->older->name, strlen(j->older->name), NULL);
	return rc ? rc : join_add_names(j->older->r, j->newer->r, j->w, err);
}

int join_dumps(const struct join_dump *older, const struct join_dump *newer, int fd,
	       size_t *nr_joined, struct err *err)
{
	struct writer_options opt = {.max_blocks = FMT_MAX_BLOCKS, .level = BLOCK_FAST};
	struct join j = {.older = older, .newer = newer};
	const struct fmt_header *h = reader_header(newer->r);
	uint64_t file_bytes;
	int rc = check_pair(&j, err);

	if (!rc)
		rc = find_joints(&j, err);
	if (!rc)
		rc = writer_new(&opt, &j.w, err);
	if (!rc)
		rc = writer_begin_as(j.w, fd, h->id, h->created_real_ns, err);
	if (!rc)
		rc = put_all(&j, err);
	if (rc && j.w)
		writer_error(j.w, err);
	if (!rc)
		rc = writer_finish(j.w, &file_bytes, err);
	if (!rc)
		*nr_joined = j.nr_joined;
	writer_free(j.w);
	buf_free(&j.payload);
	buf_free(&j.kept);
	free(j.joints);
	return rc;
}
