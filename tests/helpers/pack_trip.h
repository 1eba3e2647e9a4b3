/* SPDX-License-Identifier: MIT */
/*
 * Packs a run of records, unpacks it in every supported way, and compares each result with the
 * input. For the tests and fuzz targets of pack.h and unpack.h, and for tool_pack.c.
 *
 *	struct trip t;
 *	trip_begin(&t);
 *	what = trip(&t, &layout, run, cut, TRIP_ALL | TRIP_PARTS);	NULL: fine
 *	trip_end(&t);
 */
#pragma once

#include "dump/base/err.h"
#include "dump/packed/pack.h"
#include "dump/format/record.h"
#include "dump/packed/unpack.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How to unpack. */
enum {
	TRIP_ALL = 1,	/* unpack_all() */
	TRIP_PARTS = 2, /* times, threads, offsets and single records in any order, then all */
	TRIP_EXACT = 4, /* allocate each piece at its exact length, for sanitizers */
};

struct trip {
	struct packer *packer;
	struct unpacker *unpacker;
	struct buf payload, out, record, first;
	struct err err;
	uint64_t rng;
	/* Totals of all trips. */
	uint64_t nr_records, bytes, packed_bytes, nr_kept_raw, nr_times;
};

static inline void trip_begin(struct trip *t)
{
	*t = (struct trip){.rng = 1};
	assert(!packer_new(&t->packer, NULL));
	assert(!unpacker_new(&t->unpacker, NULL));
}

static inline void trip_end(struct trip *t)
{
	packer_free(t->packer);
	unpacker_free(t->unpacker);
	buf_free(&t->payload);
	buf_free(&t->out);
	buf_free(&t->record);
	buf_free(&t->first);
}

static inline uint32_t trip_random(struct trip *t, uint32_t below)
{
	t->rng = t->rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((t->rng >> 32) * below >> 32);
}

/* Number of whole records from the front, and the offset where they end. */
static inline uint32_t trip_count(struct bytes run, size_t *end)
{
	struct perf_event_header h;
	uint32_t nr = 0;

	for (*end = 0; record_at(run, *end, &h); *end += h.size)
		nr++;
	return nr;
}

static inline uint32_t trip_word(struct bytes run, size_t off)
{
	uint32_t v;

	memcpy(&v, run.p + off, sizeof(v));
	return v;
}

/* ---- pack ---- */

static inline struct bytes trip_copy(struct bytes b)
{
	uint8_t *p = malloc(b.len + !b.len);

	assert(p);
	if (b.len)
		memcpy(p, b.p, b.len);
	return (struct bytes){p, b.len};
}

/* Packs in two pieces that meet at `cut`, or one if `cut` is not inside. The payload is copied to
 * its exact length: a pointer into the packer or a read past the end then shows. */
static inline int trip_pack(struct trip *t, const struct record_layout *l, struct bytes run,
			    size_t cut, bool exact)
{
	bool one = cut >= run.len;
	struct bytes pieces[2] = {{run.p, one ? run.len : cut},
				  {one ? NULL : run.p + cut, one ? 0 : run.len - cut}};
	struct bytes payload = {0};
	int rc, nr = one ? 1 : 2;

	for (int i = 0; i < nr && exact; i++)
		pieces[i] = trip_copy(pieces[i]);
	rc = pack(t->packer, l, pieces, nr, &payload);
	for (int i = 0; i < nr && exact; i++)
		free((void *)pieces[i].p);
	if (exact)
		buf_free(&t->payload);
	t->payload.len = 0;
	if (!rc)
		assert(!buf_put(&t->payload, payload.p, payload.len));
	return rc;
}

/* ---- unpack ---- */

static inline const char *trip_open(struct trip *t, struct bytes run, uint32_t nr)
{
	struct bytes payload = {t->payload.p, t->payload.len};

	return unpack_open(t->unpacker, payload, nr, (uint32_t)run.len, &t->err) ? t->err.what
										 : NULL;
}

static inline const char *trip_all(struct trip *t, struct bytes run)
{
	if (unpack_all(t->unpacker, &t->out, &t->err))
		return t->err.what;
	if (t->out.len != run.len || memcmp(t->out.p, run.p, run.len))
		return "unpack_all() gives other bytes";
	return NULL;
}

/* A record's time is right, or reported as unknown. */
static inline const char *trip_times(struct trip *t, const struct record_layout *l,
				     struct bytes run, uint32_t nr)
{
	const uint64_t *times;
	struct perf_event_header h;
	size_t off = 0;

	if (unpack_times(t->unpacker, &times, &t->err))
		return t->err.what;
	for (uint32_t i = 0; i < nr; i++, off += h.size) {
		uint64_t ns = 0;

		assert(record_at(run, off, &h));
		if (times[i] == UINT64_MAX)
			continue;
		if (!record_time((struct bytes){run.p + off, h.size}, l, &ns) || ns != times[i])
			return "unpack_times() gives another time";
		t->nr_times++;
	}
	return NULL;
}

static inline const char *trip_offsets(struct trip *t, struct bytes run, uint32_t nr)
{
	const uint32_t *offsets;
	struct perf_event_header h;
	size_t off = 0;

	if (unpack_offsets(t->unpacker, &offsets, &t->err))
		return t->err.what;
	for (uint32_t i = 0; i < nr; i++, off += h.size)
		if (offsets[i] != off || !record_at(run, off, &h))
			return "unpack_offsets() gives another offset";
	return offsets[nr] == off ? NULL : "unpack_offsets() gives another end";
}

/* Unpacks some of the records, in any order. */
static inline const char *trip_records(struct trip *t, struct bytes run, uint32_t nr)
{
	const uint32_t *offsets;

	if (unpack_offsets(t->unpacker, &offsets, &t->err))
		return t->err.what;
	for (uint32_t k = 0; k < 16 && nr; k++) {
		uint32_t i = trip_random(t, nr), n = offsets[i + 1] - offsets[i];

		buf_free(&t->record);
		assert(!buf_reserve(&t->record, n));
		if (unpack_record(t->unpacker, i, t->record.p, &t->err))
			return t->err.what;
		if (memcmp(t->record.p, run.p + offsets[i], n))
			return "unpack_record() gives another record";
	}
	return NULL;
}

/* Offset of the chain in a sample, if it has one. */
static inline uint32_t trip_chain_at(const struct record_layout *l)
{
	uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			  PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
			  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;

	return 16 + 8 * (unsigned)__builtin_popcountll(l->sample_type & before);
}

/* Statements about a whole template hold for each of its records. */
static inline const char *trip_templates(struct trip *t, const struct record_layout *l,
					 struct bytes run, uint32_t nr)
{
	uint32_t nr_tpl = unpack_nr_templates(t->unpacker), *first;
	const uint32_t *offsets, *tids;

	if (unpack_offsets(t->unpacker, &offsets, &t->err) ||
	    unpack_threads(t->unpacker, &tids, &t->err))
		return t->err.what;
	t->first.len = 0;
	assert(!buf_reserve(&t->first, nr_tpl * sizeof(*first)));
	first = (uint32_t *)t->first.p;
	memset(first, 0xff, nr_tpl * sizeof(*first));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t tpl = unpack_template(t->unpacker, i), end = offsets[i + 1], f;

		if (tpl >= nr_tpl)
			return "unpack_template() gives one that is not there";
		if (first[tpl] == UINT32_MAX)
			first[tpl] = i;
		f = first[tpl];
		for (uint32_t off = offsets[i]; off < end && off < offsets[i] + 256; off += 4) {
			uint32_t at = off - offsets[i], other = offsets[f] + at;

			/* Chains vary in length, so offsets behind one count from the record's
			 * end. */
			if (at >= trip_chain_at(l))
				other = offsets[f + 1] - (end - off);
			if (unpack_is_thread(t->unpacker, i, at) && trip_word(run, off) != tids[i])
				return "unpack_is_thread() says so of another word";
			if (unpack_is_fixed(t->unpacker, i, at) &&
			    trip_word(run, off) != trip_word(run, other))
				return "unpack_is_fixed() says so of a word that differs";
		}
	}
	return NULL;
}

/* Unpacking only the needed and the fixed words gives right values for them. */
static inline const char *trip_needed(struct trip *t, struct bytes run, uint32_t nr)
{
	const uint32_t *offsets;

	if (unpack_offsets(t->unpacker, &offsets, &t->err))
		return t->err.what;
	for (uint32_t k = 0; k < 32 && nr; k++) {
		uint32_t i = trip_random(t, nr), n = offsets[i + 1] - offsets[i];
		uint32_t need = trip_random(t, n / 4) * 4;
		bool told = unpack_need(t->unpacker, i, need);
		enum unpack_part part = trip_random(t, UNPACK_ALL + 1);

		buf_free(&t->record);
		assert(!buf_reserve(&t->record, n));
		if (unpack_part(t->unpacker, i, part, t->record.p, &t->err))
			return t->err.what;
		for (uint32_t off = 0; off < n; off += 4)
			if ((part == UNPACK_ALL || unpack_is_fixed(t->unpacker, i, off) ||
			     (part != UNPACK_FIXED && told && off == need)) &&
			    memcmp(t->record.p + off, run.p + offsets[i] + off, 4) != 0)
				return "unpack_part() gives another word";
	}
	return NULL;
}

static inline const char *trip_parts(struct trip *t, const struct record_layout *l,
				     struct bytes run, uint32_t nr)
{
	const char *what = NULL;

	for (int k = 0; k < 4 && !what; k++) {
		switch (trip_random(t, 6)) {
		case 0:
			what = trip_open(t, run, nr);
			break;
		case 1:
			what = trip_times(t, l, run, nr);
			break;
		case 2:
			what = trip_offsets(t, run, nr);
			break;
		case 3:
			what = trip_all(t, run);
			break;
		case 4:
			what = trip_templates(t, l, run, nr);
			break;
		default:
			what = trip_records(t, run, nr);
			what = what ? what : trip_needed(t, run, nr);
		}
	}
	return what;
}

/*
 * Packs and unpacks `run`, cut into two pieces at `cut` (beyond its end: one piece). NULL when
 * every result equals the input, or when the packer prefers to keep the run raw; t->payload.len is
 * then 0.
 */
static inline const char *trip(struct trip *t, const struct record_layout *l, struct bytes run,
			       size_t cut, unsigned how)
{
	size_t end;
	uint32_t nr = trip_count(run, &end);
	int rc = trip_pack(t, l, run, cut, how & TRIP_EXACT);
	const char *what;

	t->nr_records += nr;
	t->bytes += run.len;
	t->packed_bytes += rc ? run.len : t->payload.len;
	t->nr_kept_raw += !!rc;
	if (rc)
		return rc == -E2BIG ? NULL : "pack() fails otherwise than with -E2BIG";
	if (t->payload.len > run.len)
		return "the payload is longer than the run";
	what = trip_open(t, run, nr);
	if (!what && how & TRIP_PARTS)
		what = trip_parts(t, l, run, nr);
	if (!what && how & TRIP_ALL)
		what = trip_all(t, run);
	return what;
}
