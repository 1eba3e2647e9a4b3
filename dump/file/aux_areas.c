// SPDX-License-Identifier: MIT
/* AUX areas of a dump; see aux_areas.h. */
#include "dump/file/aux_areas.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the list ---- */

struct aux_block {
	uint32_t ring, block;
	uint64_t newer_bytes;
};

static int compare_listed(const void *a, const void *b)
{
	const struct aux_block *x = a, *y = b;

	if (x->ring != y->ring)
		return x->ring < y->ring ? -1 : 1;
	if (x->newer_bytes != y->newer_bytes)
		return x->newer_bytes < y->newer_bytes ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

static uint32_t channel_of(const struct dump_area *a)
{
	return a->channel ? a->channel->f.id : UINT32_MAX;
}

static int compare_areas(const void *a, const void *b)
{
	const struct dump_area *x = a, *y = b;

	if (channel_of(x) != channel_of(y))
		return channel_of(x) < channel_of(y) ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->f.ring < y->f.ring ? -1 : x->f.ring > y->f.ring;
}

static int compare_rings(const void *a, const void *b)
{
	const struct fmt_window_aux *x = a, *y = b;

	return x->ring < y->ring ? -1 : x->ring > y->ring;
}

/* All AUX blocks by ring, newest bytes first. */
static struct aux_block *list_blocks(const struct reader *r, size_t *nr)
{
	size_t nr_blocks = reader_nr_blocks(r);
	struct aux_block *l = calloc(nr_blocks + 1, sizeof(*l));

	*nr = 0;
	for (size_t i = 0; l && i < nr_blocks; i++) {
		const struct fmt_block *h = &reader_block(r, i)->h;

		if (h->section == FMT_AUX)
			l[(*nr)++] = (struct aux_block){h->ring, (uint32_t)i, h->ring_off};
	}
	if (l)
		qsort(l, *nr, sizeof(*l), compare_listed);
	return l;
}

/* Fills in CPU, thread, channel and event, as far as known. */
static void describe(const struct meta *m, struct dump_area *a)
{
	const struct fmt_window *w = a->f.ring < m->nr_windows ? &m->windows[a->f.ring] : NULL;
	const struct meta_event *e = NULL;

	a->cpu = a->tid = -1;
	if (w && w->ring != FMT_NO_RING) {
		a->cpu = w->cpu;
		a->tid = w->tid;
		a->channel = &m->channels[w->channel];
	}
	if (a->known && a->f.event < m->nr_events)
		e = &m->events[a->f.event];
	if (!e || e->f.id == UINT32_MAX)
		return;
	a->event = e;
	if (!a->channel)
		a->channel = &m->channels[e->f.channel];
}

/* Bytes up to the oldest block's oldest byte. */
static uint64_t claimed_bytes(const struct reader *r, const struct dump_area *a)
{
	uint64_t most = 0;

	for (size_t i = 0; i < a->nr_blocks; i++) {
		const struct fmt_block *h = &reader_block(r, a->blocks[i])->h;

		if (h->ring_off <= UINT64_MAX - h->content_bytes &&
		    h->ring_off + h->content_bytes > most)
			most = h->ring_off + h->content_bytes;
	}
	return most;
}

/* Merges two lists sorted by ring: areas (with and without blocks) and blocks without an area. */
static void merge(const struct reader *r, const struct meta *m, const struct fmt_window_aux *f,
		  size_t nr_f, const struct aux_block *l, size_t nr_l, struct aux_list *out)
{
	size_t i = 0, k = 0;

	while (i < nr_f || k < nr_l) {
		struct dump_area *a = &out->v[out->nr++];
		uint32_t ring = i < nr_f ? f[i].ring : l[k].ring;

		if (k < nr_l && l[k].ring < ring)
			ring = l[k].ring;
		a->known = i < nr_f && f[i].ring == ring;
		if (a->known)
			a->f = f[i];
		a->f.ring = ring;
		/* If a ring occurs twice, the first item counts. */
		while (i < nr_f && f[i].ring == ring)
			i++;
		a->blocks = out->blocks + k;
		for (; k < nr_l && l[k].ring == ring; k++)
			out->blocks[k] = l[k].block;
		a->nr_blocks = (size_t)(out->blocks + k - a->blocks);
		if (!a->known)
			a->f.bytes = claimed_bytes(r, a);
		describe(m, a);
	}
}

int aux_list_load(struct reader *r, const struct meta *m, struct aux_list *out, struct err *err)
{
	struct aux_list got = {0};
	struct fmt_window_aux *f = calloc(m->nr_areas + 1, sizeof(*f));
	size_t nr_l;
	struct aux_block *l = list_blocks(r, &nr_l);
	int rc = 0;

	if (l)
		got.blocks = calloc(nr_l + 1, sizeof(*got.blocks));
	if (l)
		got.v = calloc(m->nr_areas + nr_l + 1, sizeof(*got.v));
	if (!f || !got.blocks || !got.v) {
		aux_list_free(&got);
		rc = err_set(err, -ENOMEM, "out of memory for the list of AUX areas");
		goto out;
	}
	if (m->nr_areas)
		memcpy(f, m->areas, m->nr_areas * sizeof(*f));
	qsort(f, m->nr_areas, sizeof(*f), compare_rings);
	merge(r, m, f, m->nr_areas, l, nr_l, &got);
	qsort(got.v, got.nr, sizeof(*got.v), compare_areas);
	*out = got;
out:
	free(f);
	free(l);
	return rc;
}

void aux_list_free(struct aux_list *l)
{
	free(l->v);
	free(l->blocks);
	*l = (struct aux_list){0};
}

char *aux_place(const struct dump_area *a, char *out, size_t n)
{
	if (a->cpu >= 0)
		snprintf(out, n, "CPU %d", a->cpu);
	else if (a->tid >= 0)
		snprintf(out, n, "thread %d", a->tid);
	else
		snprintf(out, n, "ring %u", a->f.ring);
	return out;
}

/* ---- bytes ---- */

/* Steps from newer to older blocks. */
struct aux_cursor {
	struct reader *r;
	const struct dump_area *a;
	uint64_t want;	/* bytes in total */
	uint64_t at;	/* bytes read so far: the next block's ring_off */
	size_t next;	/* in a->blocks */
	struct buf buf; /* the block */
	uint32_t *had;	/* NULL, or the blocks read so far; a->nr_blocks long */
	size_t nr_had;
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Reports the missing bytes, from c->at to `end`. */
static int hole(const struct aux_cursor *c, int rc, uint64_t end, struct err *err)
{
	char place[32];

	err_prefix(
		err,
		"the AUX area of %s lacks %" PRIu64 " byte%s, up to %" PRIu64 " before its newest",
		aux_place(c->a, place, sizeof(place)), end - c->at, str_plural(end - c->at), c->at);
	return rc;
}

/* The block that continues the previous one; NULL: a gap, up to *end. */
static const struct fmt_block *next_block(struct aux_cursor *c, uint32_t *nr, uint64_t *end)
{
	*end = c->a->f.bytes;
	for (; c->next < c->a->nr_blocks; c->next++) {
		const struct fmt_block *h;

		*nr = c->a->blocks[c->next];
		h = &reader_block(c->r, *nr)->h;
		/* An empty block, or a repeated one. */
		if (h->ring_off < c->at || !h->content_bytes)
			continue;
		if (h->ring_off > c->at) {
			*end = least(*end, h->ring_off);
			return NULL;
		}
		c->next++;
		*end = least(*end, c->at + h->content_bytes);
		return h;
	}
	return NULL;
}

/* 1: `b` is the next part, in c->buf; 0: the end. */
static int cursor_next(struct aux_cursor *c, struct bytes *b, struct err *err)
{
	const struct fmt_block *h;
	uint64_t end, skip;
	uint32_t nr;
	int rc;

	if (c->at == c->want)
		return 0;
	h = next_block(c, &nr, &end);
	if (!h)
		return hole(c, err_set(err, -EBADMSG, "no intact block has them"), end, err);
	if (h->encoding != FMT_ENC_BYTES)
		return hole(c,
			    err_set(err, -ENOTSUP, "they have an encoding of a newer format (%u)",
				    h->encoding),
			    end, err);
	rc = reader_load(c->r, nr, &c->buf, err);
	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return hole(c, rc, end, err);
	/* Only the end of the last block may be needed. */
	skip = c->at + c->buf.len > c->want ? c->at + c->buf.len - c->want : 0;
	*b = (struct bytes){c->buf.p + skip, (size_t)(c->buf.len - skip)};
	c->at += b->len;
	if (c->had)
		c->had[c->nr_had++] = nr;
	return 1;
}

/* Bounded by the blocks' headers, so that the file bounds the allocation. */
static uint64_t bytes_there(struct reader *r, const struct dump_area *a, uint64_t want)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < a->nr_blocks; i++)
		sum += reader_block(r, a->blocks[i])->h.content_bytes;
	return least(sum, want);
}

int aux_load(struct reader *r, const struct dump_area *a, uint64_t max_bytes, struct buf *out,
	     struct err *err)
{
	struct aux_cursor c = {.r = r, .a = a, .want = least(max_bytes, a->f.bytes)};
	size_t room = (size_t)bytes_there(r, a, c.want);
	struct bytes b;
	int rc;

	out->len = 0;
	if (buf_reserve(out, room))
		return err_set(err, -ENOMEM, "out of memory for an AUX area");
	/* Fill the buffer from its end, then move the bytes to its start. */
	while ((rc = cursor_next(&c, &b, err)) > 0)
		memcpy(out->p + room - c.at, b.p, b.len);
	if (!rc || rc == -EBADMSG || rc == -ENOTSUP) {
		out->len = (size_t)c.at;
		if (out->len)
			memmove(out->p, out->p + room - out->len, out->len);
	}
	buf_free(&c.buf);
	return rc;
}

/* Sets c->at to the number of readable bytes. */
static int measure(struct aux_cursor *c, struct err *err)
{
	struct bytes b;
	int rc;

	while ((rc = cursor_next(c, &b, err)) > 0)
		;
	return rc;
}

/* The blocks that `c` read, in reverse order. Where two overlap, the newer block's bytes count. */
static int put_blocks(struct aux_cursor *c, int (*put)(void *ctx, struct bytes b), void *ctx,
		      uint64_t *done, struct err *err)
{
	uint64_t left = c->at;
	int rc = 0;

	for (size_t i = c->nr_had; i-- && !rc;) {
		struct bytes b;

		rc = reader_load(c->r, c->had[i], &c->buf, err);
		if (rc)
			break;
		b.len = (size_t)(left - reader_block(c->r, c->had[i])->h.ring_off);
		b.p = c->buf.p + c->buf.len - b.len;
		rc = put(ctx, b);
		left -= b.len;
		*done += rc ? 0 : b.len;
	}
	return rc;
}

int aux_walk(struct reader *r, const struct dump_area *a, uint64_t max_bytes,
	     int (*put)(void *ctx, struct bytes b), void *ctx, uint64_t *done, struct err *err)
{
	struct aux_cursor c = {.r = r, .a = a, .want = least(max_bytes, a->f.bytes)};
	int rc, put_rc = 0;

	*done = 0;
	c.had = calloc(a->nr_blocks + 1, sizeof(*c.had));
	if (!c.had)
		return err_set(err, -ENOMEM, "out of memory for an AUX area");
	rc = measure(&c, err);
	if (!rc || rc == -EBADMSG || rc == -ENOTSUP)
		put_rc = put_blocks(&c, put, ctx, done, err);
	buf_free(&c.buf);
	free(c.had);
	return put_rc ? put_rc : rc;
}

/* ---- time ---- */

/* a * b / c, at most UINT64_MAX. */
static uint64_t share(uint64_t a, uint64_t b, uint64_t c)
{
	__uint128_t v = (__uint128_t)a * b / c;

	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

bool aux_time(const struct fmt_window_aux *f, uint64_t cycles, uint64_t *ns)
{
	bool before = cycles < f->stop_cycles;
	uint64_t apart = before ? f->stop_cycles - cycles : cycles - f->stop_cycles, span;

	if (!f->stop_cycles)
		return false;
	if (f->time_mult && f->time_shift < 64)
		span = share(apart, f->time_mult, 1ull << f->time_shift);
	else if (f->start_cycles && f->start_cycles < f->stop_cycles &&
		 f->start_cycles_ns < f->stop_cycles_ns)
		span = share(apart, f->stop_cycles_ns - f->start_cycles_ns,
			     f->stop_cycles - f->start_cycles);
	else
		return false;
	if (before)
		*ns = span < f->stop_cycles_ns ? f->stop_cycles_ns - span : 0;
	else
		*ns = span < UINT64_MAX - f->stop_cycles_ns ? f->stop_cycles_ns + span : UINT64_MAX;
	return true;
}
