/* SPDX-License-Identifier: MIT */
/*
 * A reader of perf.data files for tests, written from the format's description alone. It checks
 * every offset against the file, and the times of records against each other.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/record.h"

#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

struct section {
	uint64_t off, size;
};

struct file {
	struct bytes b;
	struct section attrs, data;
	uint64_t attr_stride, features[4];
	size_t nr_attrs;
};

static inline const void *at(struct bytes b, uint64_t off, uint64_t size)
{
	assert_true(span_fits(off, size, b.len));
	return b.p + off;
}

static inline struct file open_file(struct bytes b)
{
	struct file f = {.b = b};
	uint64_t v[13];

	memcpy(v, at(b, 0, 104), 104);
	assert_memory_equal(v, "PERFILE2", 8);
	assert_int_equal(v[1], 104);
	f.attr_stride = v[2];
	f.attrs = (struct section){v[3], v[4]};
	f.data = (struct section){v[5], v[6]};
	assert_true(!v[7] && !v[8]);
	memcpy(f.features, &v[9], 32);
	assert_int_equal(f.attrs.size % f.attr_stride, 0);
	f.nr_attrs = f.attrs.size / f.attr_stride;
	at(b, f.attrs.off, f.attrs.size);
	at(b, f.data.off, f.data.size);
	return f;
}

static inline struct perf_event_attr attr_of(const struct file *f, size_t i)
{
	struct perf_event_attr attr = {0};

	memcpy(&attr, at(f->b, f->attrs.off + i * f->attr_stride, f->attr_stride),
	       f->attr_stride - 16);
	return attr;
}

/* The index of the event with this id. */
static inline size_t event_by_id(const struct file *f, uint64_t id)
{
	for (size_t i = 0; i < f->nr_attrs; i++) {
		struct section ids;

		memcpy(&ids, at(f->b, f->attrs.off + (i + 1) * f->attr_stride - 16, 16), 16);
		for (uint64_t k = 0; k < ids.size / 8; k++)
			if (!memcmp(&id, at(f->b, ids.off + k * 8, 8), 8))
				return i;
	}
	fail_msg("no event has the id %lu", id);
	return 0;
}

/* The section of a feature; size 0: the file lacks it. */
static inline struct section feature(const struct file *f, unsigned bit)
{
	uint64_t off = f->data.off + f->data.size;
	struct section s = {0};

	if (!(f->features[0] & 1ull << bit))
		return s;
	for (unsigned i = 0; i < bit; i++)
		if (f->features[0] & 1ull << i)
			off += 16;
	memcpy(&s, at(f->b, off, 16), 16);
	at(f->b, s.off, s.size);
	return s;
}

struct walk {
	struct file f;
	uint64_t off;
	struct perf_event_header h;
	const uint8_t *p; /* the record */
	struct bytes body;
	uint64_t last_ns;
};

static inline struct walk walk_of(struct bytes b)
{
	struct walk w = {.f = open_file(b)};

	w.off = w.f.data.off;
	return w;
}

static inline uint64_t word(const struct walk *w, size_t i)
{
	uint64_t v;

	assert_true(w->body.len >= (i + 1) * 8);
	memcpy(&v, w->body.p + i * 8, 8);
	return v;
}

/* The `i`-th word from the end. */
static inline uint64_t word_back(const struct walk *w, size_t i)
{
	return word(w, w->body.len / 8 - i);
}

static inline bool next(struct walk *w)
{
	uint64_t end = w->f.data.off + w->f.data.size, time;

	if (w->off == end)
		return false;
	assert_true(record_at((struct bytes){w->f.b.p, end}, w->off, &w->h));
	w->p = w->f.b.p + w->off;
	w->body = (struct bytes){w->p + sizeof(w->h), w->h.size - sizeof(w->h)};
	w->off += w->h.size;
	if (w->h.type == 68)
		return next(w);
	/* AUXTRACE_INFO, AUXTRACE with bytes behind it, and TIME_CONV have no time. */
	if (w->h.type == 71) {
		at(w->f.b, w->off, word(w, 0));
		w->off += word(w, 0);
	}
	if (w->h.type >= 70)
		return true;
	/* Samples start with IDENTIFIER IP TID TIME; other records end with TID TIME CPU
	 * IDENTIFIER. */
	time = w->h.type == PERF_RECORD_SAMPLE ? word(w, 3) : word_back(w, 3);
	assert_true(time >= w->last_ns);
	w->last_ns = time;
	return true;
}

static inline void next_of(struct walk *w, uint32_t type)
{
	do
		assert_true(next(w));
	while (w->h.type != type);
}
