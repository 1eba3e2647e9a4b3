/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * Packs all records of dumps and unpacks them again, block by block: a test on records of a real
 * kernel.
 *
 *	tool_pack [-o DIR] DUMP...
 *
 * Prints "records=N bytes=N packed=N raw=N types=N": the number of records, their bytes, their
 * bytes as payloads, the runs that the packer kept raw, and the number of PERF_RECORD_* types. -o
 * writes the first run of each ring to DIR as N.packed and N.records. Exits with 0 when every byte
 * came back.
 */
#include "tests/helpers/pack_trip.h"

#include "dump/file/meta.h"
#include "dump/file/reader.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>

struct work {
	struct trip t;
	const char *dir;
	uint32_t nr_saved, last_ring;
	uint64_t types; /* one bit per type; types above 62 share one */
};

static void save(const char *dir, uint32_t nr, const char *what, struct bytes b)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%u.%s", dir, nr, what);
	f = fopen(path, "w");
	if (!f || fwrite(b.p, 1, b.len, f) != b.len || fclose(f))
		err(1, "%s", path);
}

/* Takes the whole records of one block from the front of `rest`. */
static struct bytes take_run(struct work *w, struct bytes *rest)
{
	struct bytes run = {rest->p, 0};
	struct perf_event_header h;
	uint32_t nr = 0;

	while (nr < PACK_RUN_RECORDS && record_at(*rest, run.len, &h) &&
	       run.len + h.size <= PACK_RUN_BYTES) {
		w->types |= 1ull << (h.type < 63 ? h.type : 63);
		run.len += h.size;
		nr++;
	}
	rest->p += run.len;
	rest->len -= run.len;
	return run;
}

static void try_block(struct work *w, const char *path, const struct fmt_block *b,
		      const struct record_layout *l, struct bytes content)
{
	while (content.len) {
		struct bytes run = take_run(w, &content);
		size_t cut = trip_random(&w->t, (uint32_t)run.len + 1);
		const char *what = trip(&w->t, l, run, cut, TRIP_ALL | TRIP_PARTS);

		if (!run.len)
			errx(1, "%s: block %u has bytes that are no record", path, b->seq);
		if (what)
			errx(1, "%s: block %u: %s", path, b->seq, what);
		if (!w->dir || b->ring == w->last_ring || !w->t.payload.len)
			continue;
		w->last_ring = b->ring;
		save(w->dir, w->nr_saved, "packed",
		     (struct bytes){w->t.payload.p, w->t.payload.len});
		save(w->dir, w->nr_saved++, "records", run);
	}
}

static void try_dump(struct work *w, const char *path)
{
	struct err err = ERR_INIT;
	struct buf content = {0};
	struct reader *r;
	struct meta *m;

	if (reader_open(path, &r, &err) || meta_load(r, &m, &err))
		errx(1, "%s: %s", path, err.what);
	w->last_ring = FMT_NO_RING;
	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		const struct fmt_block *b = &reader_block(r, i)->h;

		if (b->section != FMT_RECORDS || b->ring >= m->nr_windows)
			continue;
		if (reader_content(r, i, &content, &err))
			errx(1, "%s: block %zu: %s", path, i, err.what);
		try_block(w, path, b, &m->channels[m->windows[b->ring].channel].layout,
			  (struct bytes){content.p, content.len});
	}
	buf_free(&content);
	meta_free(m);
	reader_close(r);
}

int main(int argc, char **argv)
{
	struct work w = {.dir = NULL};
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "-o")) {
		w.dir = argv[2];
		i = 3;
	}
	if (i >= argc) {
		fputs("usage: tool_pack [-o DIR] DUMP...\n", stderr);
		return 2;
	}
	trip_begin(&w.t);
	for (; i < argc; i++)
		try_dump(&w, argv[i]);
	printf("records=%" PRIu64 " bytes=%" PRIu64 " packed=%" PRIu64 " raw=%" PRIu64
	       " types=%d\n",
	       w.t.nr_records, w.t.bytes, w.t.packed_bytes, w.t.nr_kept_raw,
	       __builtin_popcountll(w.types));
	trip_end(&w.t);
	return 0;
}
