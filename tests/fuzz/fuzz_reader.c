// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for all that reads a dump: both ways of opening, every block, what the dump says
 * of itself, its records, check and salvage. Inputs: fuzz_seed.h.
 *
 *	build/tests/tool_seed seeds CORPUS && build/fuzz/fuzz_reader CORPUS
 */
#include "tests/fuzz/fuzz_file.h"

#include "dump/file/aux_areas.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- using them ---- */

static void use_record(const struct meta *m, const struct meta_channel *c, struct bytes rec)
{
	struct record_sample s;
	const struct meta_event *e;
	volatile uint8_t sum = 0;
	uint64_t time;

	record_time(rec, &c->layout, &time);
	record_sample_id(rec, &c->layout, &s);
	if (record_sample(rec, &c->layout, &s))
		return;
	/* Touch both ends of whatever was handed out. */
	if (s.nr_callchain)
		sum += s.callchain[0] + s.callchain[s.nr_callchain * 8 - 1];
	if (s.raw.len)
		sum += s.raw.p[0] + s.raw.p[s.raw.len - 1];
	if (s.stack.len)
		sum += s.stack.p[0] + s.stack.p[s.stack.len - 1];
	if (s.regs && c->layout.regs_user)
		sum += s.regs[(size_t)__builtin_popcountll(c->layout.regs_user) * 8 - 1];
	e = meta_event_of(m, c, &s);
	if (e)
		sum += (uint8_t)strlen(e->name);
	sum += (uint8_t)meta_tid_of(m, e, &s);
	(void)sum;
}

static void use_records(const struct meta *m, const struct reader_block *b, struct bytes payload)
{
	struct perf_event_header h;
	const struct fmt_window *w;

	if (b->h.section != FMT_RECORDS || b->h.ring >= m->nr_windows)
		return;
	w = &m->windows[b->h.ring];
	for (size_t off = 0; record_at(payload, off, &h); off += h.size)
		use_record(m, &m->channels[w->channel], (struct bytes){payload.p + off, h.size});
}

static void use_meta(const struct meta *m)
{
	for (size_t i = 0; i < m->nr_events; i++)
		assert(m->events[i].f.channel < m->nr_channels && m->events[i].name);
	for (size_t i = 0; i < m->nr_windows; i++)
		assert(m->windows[i].channel < m->nr_channels);
	for (size_t i = 0; i < m->nr_caps; i++)
		assert(strlen(m->caps[i]) < FMT_MAX_BLOCK_BYTES);
}

static int count(void *ctx, struct bytes b)
{
	volatile uint8_t sum = 0;

	/* Both ends are there. */
	if (b.len)
		sum = b.p[0] + b.p[b.len - 1];
	(void)sum;
	*(uint64_t *)ctx += b.len;
	return 0;
}

/* Loading and walking give as much, and both say the same. */
static void use_areas(struct reader *r, const struct meta *m)
{
	struct buf bytes = {0};
	struct aux_list l;

	SMALL_OK(aux_list_load(r, m, &l, NULL));
	for (size_t i = 0; i < l.nr; i++) {
		const struct dump_area *a = &l.v[i];
		uint64_t max = i % 3 ? UINT64_MAX : a->f.bytes / 2, walked = 0, done, ns;
		int rc = aux_load(r, a, max, &bytes, NULL);

		assert(aux_walk(r, a, max, count, &walked, &done, NULL) == rc);
		assert(done == walked && (rc || done == bytes.len) && done <= a->f.bytes);
		aux_time(&a->f, a->f.head, &ns);
		if (a->event)
			meta_pmu_file(a->event, "format/tsc");
	}
	aux_list_free(&l);
	buf_free(&bytes);
}

static void use(struct bytes file, bool damaged)
{
	struct buf payload = {0};
	struct reader *r;
	struct meta *m;

	if (reader_open_bytes(file, damaged, &r, NULL))
		return;
	SMALL_OK(meta_load(r, &m, NULL));
	use_meta(m);
	use_areas(r, m);
	for (size_t i = 0; i < reader_nr_blocks(r); i++)
		if (!reader_load(r, i, &payload, NULL))
			use_records(m, reader_block(r, i), (struct bytes){payload.p, payload.len});
	meta_free(m);
	buf_free(&payload);
	reader_close(r);
}

/* What salvage makes passes check, whatever it was made of. */
static void salvage(struct bytes file)
{
	struct reader_verdict v;
	struct reader *r;
	struct bytes out;
	int fd;

	if (reader_open_bytes(file, true, &r, NULL))
		return;
	fd = small_fd();
	if (!reader_salvage_fd(r, fd, &v, NULL)) {
		out = small_slurp(fd);
		SMALL_OK(reader_check_bytes(out, &v, NULL, NULL, NULL));
		free((void *)out.p);
	}
	close(fd);
	reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader_verdict v;
	struct bytes b;

	if (!size)
		return 0;
	b = fuzz_file(data, size);
	use(b, false);
	use(b, true);
	reader_check_bytes(b, &v, NULL, NULL, NULL);
	if (data[0] & FUZZ_SALVAGE)
		salvage(b);
	free((void *)b.p);
	return 0;
}
