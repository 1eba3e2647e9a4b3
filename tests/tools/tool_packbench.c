/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * For tests/bench/pack.sh: packs the records of a dump again, as the recorder does, and measures
 * it. Writes the records to RECORDS in the order of a perf.data file: oldest first, ring after
 * ring.
 *
 *	tool_packbench DUMP RECORDS
 *
 * Prints "records=N bytes=N stored=N high=N fast_us=N high_us=N lz4_us=N fast_mb_s=N lz4_mb_s=N":
 * records and bytes, their size in the dump (fast) and with --compress high, and CPU microseconds
 * per MiB: medians of all runs, each measured in all ways by turns.
 */
#include "dump/file/block.h"
#include "dump/file/meta.h"
#include "dump/packed/pack.h"
#include "dump/file/reader.h"
#include "dump/base/err.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS	 5
#define MAX_RUNS 4096

enum way { FAST, HIGH, LZ4, NR_WAYS };

struct bench {
	struct packer *packer;
	struct block_packer *level[2];
	uint64_t records, bytes, stored[NR_WAYS];
	double us[NR_WAYS][MAX_RUNS]; /* per MiB */
	size_t nr_runs;
};

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *v, size_t nr)
{
	qsort(v, nr, sizeof(*v), compare);
	return nr ? v[nr / 2] : 0;
}

/* Returns the block's length in a file. */
static uint64_t make(struct bench *b, enum way way, const struct record_layout *l, struct bytes run)
{
	struct fmt_block h = {.section = FMT_RECORDS, .content_bytes = (uint32_t)run.len};
	struct bytes payload = run, block;

	if (way != LZ4 && pack(b->packer, l, &run, 1, &payload))
		payload = run;
	if (block_pack(b->level[way == HIGH], 1, &h, &payload, 1, &block))
		errx(1, "LZ4 failed");
	return block.len;
}

static void measure(struct bench *b, const struct record_layout *l, struct bytes run)
{
	double us[NR_WAYS][ROUNDS];

	if (b->nr_runs == MAX_RUNS)
		return;
	for (int r = 0; r < ROUNDS; r++) {
		for (int way = 0; way < NR_WAYS; way++) {
			double t = cpu_us();
			uint64_t n = make(b, (enum way)way, l, run);

			us[way][r] = (cpu_us() - t) * (1 << 20) / (double)run.len;
			b->stored[way] += r ? 0 : n;
		}
	}
	for (int way = 0; way < NR_WAYS; way++)
		b->us[way][b->nr_runs] = median(us[way], ROUNDS);
	b->nr_runs++;
}

/* Writes the run's records in reverse order. */
static void write_turned(FILE *f, struct bytes run, const uint32_t *offs, uint32_t nr)
{
	for (uint32_t i = nr; i-- > 0;) {
		uint32_t end = i + 1 < nr ? offs[i + 1] : (uint32_t)run.len;

		if (fwrite(run.p + offs[i], 1, end - offs[i], f) != end - offs[i])
			err(1, "can't write the records");
	}
}

static uint32_t find_records(struct bytes run, uint32_t *offs)
{
	struct perf_event_header h;
	uint32_t nr = 0;

	for (size_t off = 0; nr < PACK_RUN_RECORDS && record_at(run, off, &h); off += h.size)
		offs[nr++] = (uint32_t)off;
	return nr;
}

/* Handles a ring's blocks, the oldest first. */
static void do_ring(struct bench *b, struct reader *r, const struct record_layout *l, uint32_t ring,
		    FILE *f)
{
	static uint32_t offs[PACK_RUN_RECORDS];
	struct buf content = {0};
	struct err e;

	for (size_t i = reader_nr_blocks(r); i-- > 0;) {
		const struct fmt_block *h = &reader_block(r, i)->h;
		struct bytes run;
		uint32_t nr;

		if (h->section != FMT_RECORDS || h->ring != ring)
			continue;
		if (reader_content(r, i, &content, &e))
			errx(1, "%s", e.what);
		run = (struct bytes){content.p, content.len};
		nr = find_records(run, offs);
		b->records += nr;
		b->bytes += run.len;
		write_turned(f, run, offs, nr);
		measure(b, l, run);
	}
	buf_free(&content);
}

int main(int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));
	double us[NR_WAYS];
	struct reader *r;
	struct meta *m;
	struct err e;
	FILE *f;

	if (argc != 3 || !b)
		errx(2, "usage: tool_packbench DUMP RECORDS");
	if (reader_open(argv[1], &r, &e) || meta_load(r, &m, &e) || packer_new(&b->packer, &e) ||
	    block_packer_new(FMT_MAX_BLOCK_BYTES, BLOCK_FAST, &b->level[0], &e) ||
	    block_packer_new(FMT_MAX_BLOCK_BYTES, BLOCK_HIGH, &b->level[1], &e))
		errx(1, "%s", e.what);
	f = fopen(argv[2], "w");
	if (!f)
		err(1, "%s", argv[2]);
	for (uint32_t w = 0; w < m->nr_windows; w++)
		do_ring(b, r, &m->channels[m->windows[w].channel].layout, w, f);
	if (fclose(f))
		err(1, "%s", argv[2]);
	for (int way = 0; way < NR_WAYS; way++)
		us[way] = median(b->us[way], b->nr_runs);
	printf("records=%" PRIu64 " bytes=%" PRIu64 " stored=%" PRIu64 " high=%" PRIu64
	       " fast_us=%.0f high_us=%.0f lz4_us=%.0f fast_mb_s=%.0f lz4_mb_s=%.0f\n",
	       b->records, b->bytes, b->stored[FAST], b->stored[HIGH], us[FAST], us[HIGH], us[LZ4],
	       (1 << 20) / us[FAST], (1 << 20) / us[LZ4]);
	block_packer_free(b->level[0]);
	block_packer_free(b->level[1]);
	packer_free(b->packer);
	meta_free(m);
	reader_close(r);
	free(b);
	return 0;
}
