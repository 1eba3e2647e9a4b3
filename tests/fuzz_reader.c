// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for all that reads a dump: both ways of opening, every block, what the dump says
 *of itself, its records, check and salvage. Inputs: fuzz_seed.h.
 *
 *	build/tests/tool_seed seeds CORPUS && build/fuzz/fuzz_reader CORPUS
 */
#include "tests/fuzz_seed.h"
#include "tests/small_dump.h"

#include "dump/block.h"
#include "dump/meta.h"
#include "dump/reader.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- making files ---- */

static void repair_header(struct fmt_header *h)
{
	memcpy(h->magic, FMT_MAGIC, sizeof(h->magic));
	h->version = FMT_VERSION;
	h->header_bytes = sizeof(*h);
	h->hash = block_hash(h, offsetof(struct fmt_header, hash), 0);
}

/* Goes from block to block as long as they look like one; collects their hashes, the FOOTER's last.
 */
static void repair_blocks(struct buf *file, uint64_t seed, struct buf *hashes)
{
	size_t off = sizeof(struct fmt_header);

	while (span_fits(off, sizeof(struct fmt_block), file->len)) {
		struct fmt_block h;
		size_t n;

		memcpy(&h, file->p + off, sizeof(h));
		n = align_up(h.stored_bytes, 8);
		if (h.magic != FMT_BLOCK_MAGIC || !span_fits(off + sizeof(h), n, file->len))
			break;
		h.stored_hash = block_hash(file->p + off + sizeof(h), n, seed);
		block_seal(&h, seed);
		memcpy(file->p + off, &h, sizeof(h));
		SMALL_OK(buf_put(hashes, &h.hash, sizeof(h.hash)));
		off += sizeof(h) + n;
	}
}

static void repair(struct buf *file)
{
	struct fmt_header h;
	struct fmt_trailer t;
	struct buf hashes = {0};
	uint8_t *end;
	uint64_t seed;

	if (file->len < sizeof(h) + sizeof(t))
		return;
	memcpy(&h, file->p, sizeof(h));
	repair_header(&h);
	memcpy(file->p, &h, sizeof(h));
	seed = block_seed(h.id);
	repair_blocks(file, seed, &hashes);
	end = file->p + file->len - sizeof(t);
	memcpy(&t, end, sizeof(t));
	if (!memcmp(t.magic, FMT_TRAILER_MAGIC, sizeof(t.magic))) {
		memcpy(t.id, h.id, sizeof(t.id));
		t.file_bytes = file->len;
		t.chain = block_hash(hashes.p, hashes.len, seed);
		t.hash = block_hash(&t, offsetof(struct fmt_trailer, hash), 0);
		memcpy(end, &t, sizeof(t));
	}
	buf_free(&hashes);
}

/* Blocks that are right around payloads that may not be; a file without footer. */
static void pack_payloads(struct bytes in, struct buf *file)
{
	struct fmt_header h = {.id = {1, 2, 3}};
	uint64_t seed = block_seed(h.id);
	static struct block_packer *packer; /* kept: it is large */
	struct fuzz_payload p;
	struct bytes payload, block;

	repair_header(&h);
	SMALL_OK(buf_put(file, &h, sizeof(h)));
	if (!packer)
		SMALL_OK(block_packer_new(&packer, NULL));
	for (uint32_t seq = 0; bytes_get(&in, &p, sizeof(p)); seq++) {
		size_t want = p.bytes[0] | (size_t)p.bytes[1] << 8;
		struct fmt_block b = {
			.section = p.section,
			.encoding = p.encoding,
			.seq = seq,
			.ring = p.ring,
		};

		bytes_take(&in, want < in.len ? want : in.len, &payload);
		b.content_bytes = (uint32_t)payload.len;
		SMALL_OK(block_pack(packer, seed, &b, &payload, 1, &block));
		SMALL_OK(buf_put(file, block.p, block.len));
	}
}

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
	sum += (uint8_t)meta_tid_of(m, &s);
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

static void use(struct bytes file, bool damaged)
{
	struct buf payload = {0};
	struct reader *r;
	struct meta *m;

	if (reader_open_bytes(file, damaged, &r, NULL))
		return;
	SMALL_OK(meta_load(r, &m, NULL));
	use_meta(m);
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
	struct buf file = {0};
	struct bytes b;

	if (!size)
		return 0;
	if ((data[0] & FUZZ_KIND) == FUZZ_PAYLOADS)
		pack_payloads((struct bytes){data + 1, size - 1}, &file);
	else
		SMALL_OK(buf_put(&file, data + 1, size - 1));
	if ((data[0] & FUZZ_KIND) == FUZZ_REPAIRED)
		repair(&file);
	/* In memory of exactly this length: one byte too far is seen. */
	b = (struct bytes){memcpy(malloc(file.len + !file.len), file.p ? file.p : data, file.len),
			   file.len};
	buf_free(&file);
	use(b, false);
	use(b, true);
	reader_check_bytes(b, &v, NULL, NULL, NULL);
	if (data[0] & FUZZ_SALVAGE)
		salvage(b);
	free((void *)b.p);
	return 0;
}
