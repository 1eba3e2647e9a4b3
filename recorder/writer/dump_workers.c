// SPDX-License-Identifier: MIT
/*
 * The workers of a dump; see dump_workers.h. Called by dumper.c and dumper_file.c.
 *
 * Block i is made in slots[i % nr_slots], which is free once block i - nr_slots was written. There
 * is one more slot than workers, so that all of them work while a block is being written.
 *
 *	written │ lent │ finished │ being made │ queued │ no job yet
 *	               ▲ nr_written                     ▲ nr_put
 */
#include "recorder/writer/dump_workers.h"

#include "dump/base/err.h"
#include "dump/base/thread_pool.h"
#include "dump/file/writer.h"
#include "dump/packed/pack.h"
#include "recorder/base/priority.h"
#include "recorder/writer/compact_run.h"
#include "recorder/writer/window.h"
#include "trigger/kernel/settings.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

_Static_assert(FMT_AUX_BLOCK_BYTES <= PACK_RUN_BYTES, "what a worker's packer takes");

/* Packing needs about 600 KiB; sanitizers need more. */
#define STACK_BYTES (2u << 20)

struct block_slot {
	struct pool_job job;
	const struct dump_workers *w;
	struct block_packer *packer; /* LZ4, and the memory of the block */
	struct compact_run *samples; /* of compact channels; NULL: there are none */
	/* input */
	struct banks *banks;
	const struct banks_run *run; /* NULL: a block of the AUX area, */
	size_t aux_block;	     /* this one */
	/* output */
	int rc;
	struct fmt_block header;
	struct bytes block;
};

struct dump_workers {
	bool low_priority;
	struct thread_pool *pool;
	struct banks *const *banks;
	size_t nr_banks;
	struct tidset *tids;
	uint32_t run_bytes;
	uint64_t seed;
	size_t next_ring, next_run; /* the next run for take_run() */
	uint64_t nr_blocks, nr_put, nr_written;
	unsigned nr_slots;
	struct block_slot slots[];
};

/* ---- a worker ---- */

/* The bytes of a run: in the ring, or as samples made of it. */
static int run_pieces(const struct block_slot *j, struct bytes payload[2])
{
	const struct ring *ring = j->run->ring;

	if (!j->banks->channel->compact)
		return ring_pieces(ring, ring_head(ring), j->run->at, j->run->bytes, payload);
	payload[0] = compact_run_expand(j->samples, j->banks, j->run);
	return 1;
}

/*
 * Packs a run into columns, directly from the ring. If that does not make it smaller, the payload is
 * the raw bytes.
 */
static int to_columns(struct packer *packer, const struct block_slot *j, struct writer_run *run,
		      struct bytes payload[2])
{
	int nr = run_pieces(j, payload);
	struct bytes packed;

	*run = (struct writer_run){
		.ring = j->banks->window.ring,
		.encoding = FMT_ENC_RAW,
		.content_bytes = j->run->bytes,
		.nr_records = j->run->nr_records,
		.first_ns = j->run->first_ns,
		.last_ns = j->run->last_ns,
		.ring_off = j->run->off,
	};
	if (pack(packer, &j->banks->channel->layout, payload, nr, &packed))
		return nr;
	run->encoding = FMT_ENC_PACKED;
	payload[0] = packed;
	return 1;
}

static struct fmt_block area_header(const struct block_slot *j, const struct bytes *payload, int nr)
{
	struct writer_area area = {
		.ring = j->banks->window.ring,
		.content_bytes = (uint32_t)(payload[0].len + (nr == 2 ? payload[1].len : 0)),
		.newer_bytes = (uint64_t)j->aux_block * FMT_AUX_BLOCK_BYTES,
	};

	return writer_area_header(&area);
}

static void make_block(void *packer, struct pool_job *job)
{
	struct block_slot *b = (struct block_slot *)job;
	struct bytes payload[2];
	struct writer_run run;
	int nr = b->run ? to_columns(packer, b, &run, payload)
			: aux_block(b->banks->aux, b->aux_block, payload);

	b->header = b->run ? writer_run_header(&run) : area_header(b, payload, nr);
	b->rc = block_pack(b->packer, b->w->seed, &b->header, payload, nr, &b->block);
}

static void walk_ring(void *ctx, size_t i)
{
	struct dump_workers *w = ctx;
	struct banks *b = w->banks[i];

	window_walk(b, w->run_bytes, w->tids);
	b->window.ring = (uint32_t)i;
	if (b->aux)
		b->aux->window.ring = (uint32_t)i;
}

/* ---- the dump's thread ---- */

/* Blocks of a ring: its runs, then those of its AUX area. */
static size_t nr_blocks(const struct banks *b)
{
	return b->nr_runs + (b->aux ? aux_nr_blocks(b->aux) : 0);
}

/* Takes the next run in file order: the newest run of each ring, then the next older one of each.
 * At least one run must be left. */
static void take_run(struct dump_workers *w, struct block_slot *j)
{
	for (;;) {
		if (w->next_ring == w->nr_banks) {
			w->next_ring = 0;
			w->next_run++;
		}
		j->banks = w->banks[w->next_ring++];
		if (w->next_run < nr_blocks(j->banks))
			break;
	}
	j->run = NULL;
	if (w->next_run < j->banks->nr_runs)
		j->run = &j->banks->runs[w->next_run];
	else
		j->aux_block = w->next_run - j->banks->nr_runs;
}

static void put_block(struct dump_workers *w)
{
	struct block_slot *b = &w->slots[w->nr_put % w->nr_slots];

	if (w->nr_put == w->nr_blocks)
		return;
	take_run(w, b);
	w->nr_put++;
	thread_pool_put(w->pool, &b->job);
}

void dump_workers_walk(struct dump_workers *w, struct banks *const *banks, size_t nr,
		       struct tidset *tids)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < nr; i++)
		for (const struct bank *k = banks[i]->frozen; k; k = k->older)
			bytes += banks_max_bytes(banks[i]->channel, k->ring.size);
	w->banks = banks;
	w->nr_banks = nr;
	w->run_bytes = window_run_bytes(nr, bytes);
	w->tids = tids;
	if (!nr)
		return;
	thread_pool_start(w->pool, walk_ring, w, nr);
	thread_pool_finish(w->pool);
}

void dump_workers_begin(struct dump_workers *w, uint64_t seed)
{
	w->seed = seed;
	w->next_ring = w->next_run = 0;
	w->nr_blocks = w->nr_put = w->nr_written = 0;
	for (size_t i = 0; i < w->nr_banks; i++)
		w->nr_blocks += nr_blocks(w->banks[i]);
	for (unsigned i = 0; i < w->nr_slots; i++)
		compact_run_begin(w->slots[i].samples);
	for (unsigned i = 0; i < w->nr_slots; i++)
		put_block(w);
}

int dump_workers_next(struct dump_workers *w, struct fmt_block *h, struct bytes *stored,
		      struct err *err)
{
	struct block_slot *b = &w->slots[w->nr_written % w->nr_slots];

	/* The previous block is written: reuse its slot. */
	if (w->nr_written)
		put_block(w);
	if (w->nr_written == w->nr_blocks)
		return 0;
	thread_pool_wait(w->pool, &b->job);
	w->nr_written++;
	if (b->rc)
		return err_set(err, b->rc, "a block of the dump could not be compressed");
	*h = b->header;
	*stored = (struct bytes){b->block.p + sizeof(*h), b->block.len - sizeof(*h)};
	return 1;
}

void dump_workers_end(struct dump_workers *w)
{
	for (unsigned i = 0; i < w->nr_slots; i++)
		thread_pool_take(w->pool, &w->slots[i].job);
}

/* ---- creation ---- */

static void set_priority(void *hurry, pid_t tid)
{
	priority_set(tid, *(bool *)hurry ? PRIORITY_ORDINARY : PRIORITY_IDLE);
}

void dump_workers_hurry(struct dump_workers *w, bool hurry)
{
	if (w->low_priority)
		thread_pool_each_tid(w->pool, set_priority, &hurry);
}

uint64_t dump_workers_cpu_ns(const struct dump_workers *w)
{
	return thread_pool_cpu_ns(w->pool);
}

static int worker_begin(const void *ctx, void **packer)
{
	return packer_new((struct packer **)packer, NULL);
}

static void worker_end(void *packer)
{
	packer_free(packer);
}

static unsigned default_workers(void)
{
	unsigned nr = setting_cpus_online() / 2;

	if (nr > DUMPWORK_MAX_DEFAULT)
		nr = DUMPWORK_MAX_DEFAULT;
	return nr ? nr : 1;
}

int dump_workers_new(const struct dump_workers_options *opt, struct dump_workers **out,
		     struct err *err)
{
	struct thread_pool_options pool = {
		.nr_threads = opt->nr_workers ? opt->nr_workers : default_workers(),
		.name = "ringback-pack",
		.stack_bytes = STACK_BYTES,
		.run = make_block,
		.begin = worker_begin,
		.end = worker_end,
	};
	unsigned nr = pool.nr_threads + 1;
	struct dump_workers *w = calloc(1, sizeof(*w) + nr * sizeof(w->slots[0]));
	int rc = 0;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->low_priority = opt->low_priority;
	for (; w->nr_slots < nr && !rc; w->nr_slots++) {
		w->slots[w->nr_slots].w = w;
		rc = block_packer_new(PACK_RUN_BYTES, opt->level, &w->slots[w->nr_slots].packer,
				      err);
		if (!rc && opt->compact &&
		    !(w->slots[w->nr_slots].samples = compact_run_new(opt->ledger)))
			rc = err_set(err, -ENOMEM, "out of memory");
	}
	if (!rc) {
		rc = thread_pool_new(&pool, &w->pool);
		if (rc)
			err_sys(err, rc, "can't start a thread that packs dumps");
	}
	if (rc) {
		dump_workers_free(w);
		return rc;
	}
	dump_workers_hurry(w, false);
	*out = w;
	return 0;
}

void dump_workers_free(struct dump_workers *w)
{
	if (!w)
		return;
	thread_pool_free(w->pool);
	for (unsigned i = 0; i < w->nr_slots; i++) {
		compact_run_free(w->slots[i].samples);
		block_packer_free(w->slots[i].packer);
	}
	free(w);
}
