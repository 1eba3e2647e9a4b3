// SPDX-License-Identifier: MIT
/*
 * The workers of a dump; see dump_workers.h. A worker's turn:
 *
 *	         walk: the next ring                 ┌────────────┐ window_walk()
 *	       ┌────────────────────────────────────▶│  WALKING   ├─────────┐
 *	  ┌────┴───┐                                 └────────────┘         │
 *	  │ ASLEEP │◀───────────────────────────────────────────────────────┤
 *	  └────┬───┘                                 ┌────────────┐         │
 *	       └────────────────────────────────────▶│  PACKING   ├─────────┘ its block is ready
 *	         blocks: the next run                └────────────┘
 *	                                  columns, then wait until the block it made before is
 * written, then LZ4 into the same memory
 *
 * Runs are taken in the order in which their blocks are written. So whoever has the block that is
 * to be written next never waits for anybody, and the others wait for him only.
 */
#include "recorder/writer/dump_workers.h"

#include "dump/base/err.h"
#include "dump/packed/pack.h"
#include "dump/file/writer.h"
#include "trigger/kernel/clock.h"
#include "recorder/base/priority.h"
#include "trigger/kernel/settings.h"
#include "recorder/writer/window.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

_Static_assert(FMT_AUX_BLOCK_BYTES <= PACK_RUN_BYTES, "what a worker's packer takes");

/* Packing takes some 600 KiB of it; sanitizers want more. */
#define STACK_BYTES (2u << 20)

enum task { TASK_NONE, TASK_WALK, TASK_PACK };

/* What a worker has to do next. */
struct job {
	enum task task;
	struct banks *banks;
	const struct banks_run *run; /* NULL: of its AUX area ... */
	size_t aux_block;	     /* ... this block */
	uint64_t nr;		     /* of the run, or block */
};

struct worker {
	struct dump_workers *w;
	pthread_t thread;
	pid_t tid;
	struct packer *packer;
	struct block_packer *blocks;
	pthread_cond_t written; /* the block it holds is, or nobody wants it any more */
	/* Under the lock: the block it holds, finished, waiting to be written. */
	bool holds;
	uint64_t nr;
	int rc;
	struct fmt_block header;
	struct bytes block;
};

struct dump_workers {
	bool low_priority;
	pthread_mutex_t lock;
	pthread_cond_t start; /* there is something to do */
	pthread_cond_t done;  /* some worker has done something */
	/* Set before workers are woken, and left alone until they sleep. */
	struct banks *const *banks;
	size_t nr_banks;
	struct tidset *tids;
	uint32_t run_bytes;
	uint64_t seed;
	/* Under the lock. */
	bool quit;
	enum task task;
	size_t next_ring, next_run; /* where the next job is looked for */
	uint64_t nr_jobs, nr_taken, nr_written;
	unsigned nr_busy;
	struct worker *giving; /* whose block dump_workers_next() has lent */
	unsigned nr_workers, nr_running;
	struct worker workers[];
};

/* ---- a worker ---- */

/*
 * Makes columns of a run where they lie in the ring; when they would not pay, the payload is these
 * bytes themselves.
 */
static int to_columns(struct worker *me, const struct job *j, struct writer_run *run,
		      struct bytes payload[2])
{
	const struct ring *ring = &j->banks->frozen->ring;
	int nr = ring_pieces(ring, ring_head(ring), j->run->off, j->run->bytes, payload);
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
	if (pack(me->packer, &j->banks->channel->layout, payload, nr, &packed))
		return nr;
	run->encoding = FMT_ENC_PACKED;
	payload[0] = packed;
	return 1;
}

/* Waits until the memory for a finished block is free; false when no more are wanted. */
static bool wait_until_written(struct worker *me)
{
	struct dump_workers *w = me->w;
	bool wanted;

	pthread_mutex_lock(&w->lock);
	while (me->holds && w->task == TASK_PACK)
		pthread_cond_wait(&me->written, &w->lock);
	wanted = w->task == TASK_PACK;
	pthread_mutex_unlock(&w->lock);
	return wanted;
}

static struct fmt_block area_header(const struct job *j, const struct bytes *payload, int nr)
{
	struct writer_area area = {
		.ring = j->banks->window.ring,
		.content_bytes = (uint32_t)(payload[0].len + (nr == 2 ? payload[1].len : 0)),
		.newer_bytes = (uint64_t)j->aux_block * FMT_AUX_BLOCK_BYTES,
	};

	return writer_area_header(&area);
}

static void make_block(struct worker *me, const struct job *j)
{
	struct dump_workers *w = me->w;
	struct bytes payload[2], block = {0};
	struct writer_run run;
	struct fmt_block h;
	int nr, rc;

	nr = j->run ? to_columns(me, j, &run, payload)
		    : aux_block(j->banks->aux, j->aux_block, payload);
	if (!wait_until_written(me))
		return;
	h = j->run ? writer_run_header(&run) : area_header(j, payload, nr);
	rc = block_pack(me->blocks, w->seed, &h, payload, nr, &block);
	pthread_mutex_lock(&w->lock);
	me->holds = true;
	me->nr = j->nr;
	me->rc = rc;
	me->header = h;
	me->block = block;
	pthread_mutex_unlock(&w->lock);
}

/* Blocks of a ring: its runs, then those of its AUX area. */
static size_t nr_blocks(const struct banks *b)
{
	return b->nr_runs + (b->aux ? aux_nr_blocks(b->aux) : 0);
}

/* The next run in the file's order: the newest of all rings, then the next of those that have one.
 * Under the lock, and only when there is one. */
static void take_run(struct dump_workers *w, struct job *j)
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

/* Under the lock; false when there is nothing to do. */
static bool take_job(struct dump_workers *w, struct job *j)
{
	if (w->task == TASK_NONE || w->nr_taken == w->nr_jobs)
		return false;
	j->task = w->task;
	j->nr = w->nr_taken++;
	if (j->task == TASK_WALK)
		j->banks = w->banks[j->nr];
	else
		take_run(w, j);
	return true;
}

static void do_job(struct worker *me, const struct job *j)
{
	if (j->task == TASK_WALK) {
		window_walk(j->banks, me->w->run_bytes, me->w->tids);
		j->banks->window.ring = (uint32_t)j->nr;
		if (j->banks->aux)
			j->banks->aux->window.ring = (uint32_t)j->nr;
	} else {
		make_block(me, j);
	}
}

static void *work(void *arg)
{
	struct worker *me = arg;
	struct dump_workers *w = me->w;
	struct job j = {0};
	sigset_t all;

	/* Signals are the main loop's, also those of rules that a reload adds. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_setname_np(pthread_self(), "ringback-pack");
	me->tid = gettid();
	pthread_mutex_lock(&w->lock);
	w->nr_running++;
	pthread_cond_signal(&w->done);
	while (!w->quit) {
		if (!take_job(w, &j)) {
			pthread_cond_wait(&w->start, &w->lock);
			continue;
		}
		w->nr_busy++;
		pthread_mutex_unlock(&w->lock);
		do_job(me, &j);
		pthread_mutex_lock(&w->lock);
		w->nr_busy--;
		pthread_cond_signal(&w->done);
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* ---- the dump's thread ---- */

static void start(struct dump_workers *w, enum task task, uint64_t nr_jobs)
{
	pthread_mutex_lock(&w->lock);
	assert(w->task == TASK_NONE && !w->nr_busy);
	w->next_ring = w->next_run = 0;
	w->nr_jobs = nr_jobs;
	w->nr_taken = w->nr_written = 0;
	w->task = task;
	pthread_cond_broadcast(&w->start);
	pthread_mutex_unlock(&w->lock);
}

void dump_workers_walk(struct dump_workers *w, struct banks *const *banks, size_t nr,
		       struct tidset *tids)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < nr; i++)
		bytes += banks[i]->frozen->ring.size;
	w->banks = banks;
	w->nr_banks = nr;
	w->run_bytes = window_run_bytes(nr, bytes);
	w->tids = tids;
	start(w, TASK_WALK, nr);
	pthread_mutex_lock(&w->lock);
	while (w->nr_taken < w->nr_jobs || w->nr_busy)
		pthread_cond_wait(&w->done, &w->lock);
	w->task = TASK_NONE;
	pthread_mutex_unlock(&w->lock);
}

void dump_workers_begin(struct dump_workers *w, uint64_t seed)
{
	uint64_t nr_jobs = 0;

	for (size_t i = 0; i < w->nr_banks; i++)
		nr_jobs += nr_blocks(w->banks[i]);
	w->seed = seed;
	start(w, TASK_PACK, nr_jobs);
}

/* Under the lock: what was lent is given back. */
static void give_back(struct dump_workers *w)
{
	if (!w->giving)
		return;
	w->giving->holds = false;
	pthread_cond_signal(&w->giving->written);
	w->giving = NULL;
}

/* Who has block `nr`; NULL: it is not ready. */
static struct worker *holder(struct dump_workers *w, uint64_t nr)
{
	for (unsigned i = 0; i < w->nr_workers; i++)
		if (w->workers[i].holds && w->workers[i].nr == nr)
			return &w->workers[i];
	return NULL;
}

int dump_workers_next(struct dump_workers *w, struct fmt_block *h, struct bytes *stored,
		      struct err *err)
{
	struct worker *from = NULL;

	pthread_mutex_lock(&w->lock);
	assert(w->task == TASK_PACK);
	give_back(w);
	while (w->nr_written < w->nr_jobs && !(from = holder(w, w->nr_written)))
		pthread_cond_wait(&w->done, &w->lock);
	if (from)
		w->nr_written++;
	w->giving = from;
	pthread_mutex_unlock(&w->lock);
	if (!from)
		return 0;
	if (from->rc)
		return err_set(err, from->rc, "a block of the dump could not be compressed");
	*h = from->header;
	*stored = (struct bytes){from->block.p + sizeof(*h), from->block.len - sizeof(*h)};
	return 1;
}

void dump_workers_end(struct dump_workers *w)
{
	pthread_mutex_lock(&w->lock);
	w->task = TASK_NONE;
	w->giving = NULL;
	for (unsigned i = 0; i < w->nr_workers; i++)
		pthread_cond_signal(&w->workers[i].written);
	while (w->nr_busy)
		pthread_cond_wait(&w->done, &w->lock);
	for (unsigned i = 0; i < w->nr_workers; i++)
		w->workers[i].holds = false;
	pthread_mutex_unlock(&w->lock);
}

/* ---- life ---- */

void dump_workers_hurry(struct dump_workers *w, bool hurry)
{
	for (unsigned i = 0; i < w->nr_workers && w->low_priority; i++)
		priority_set(w->workers[i].tid, hurry ? PRIORITY_ORDINARY : PRIORITY_IDLE);
}

uint64_t dump_workers_cpu_ns(const struct dump_workers *w)
{
	uint64_t sum = 0;
	clockid_t clock;

	for (unsigned i = 0; i < w->nr_workers; i++)
		if (!pthread_getcpuclockid(w->workers[i].thread, &clock))
			sum += clock_of(clock);
	return sum;
}

static int start_thread(struct worker *me, struct err *err)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	rc = -pthread_create(&me->thread, &attr, work, me);
	pthread_attr_destroy(&attr);
	return rc ? err_sys(err, rc, "can't start a thread that packs dumps") : 0;
}

/* Its number is raised with what it has, so that dump_workers_free() can take it from there. */
static int add_worker(struct dump_workers *w, enum block_level level, struct err *err)
{
	struct worker *me = &w->workers[w->nr_workers];
	int rc = packer_new(&me->packer, err);

	me->w = w;
	if (!rc)
		rc = block_packer_new(PACK_RUN_BYTES, level, &me->blocks, err);
	if (!rc)
		rc = start_thread(me, err);
	if (rc) {
		packer_free(me->packer);
		block_packer_free(me->blocks);
		return rc;
	}
	pthread_cond_init(&me->written, NULL);
	w->nr_workers++;
	return 0;
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
	unsigned nr = opt->nr_workers ? opt->nr_workers : default_workers();
	struct dump_workers *w = calloc(1, sizeof(*w) + nr * sizeof(w->workers[0]));
	int rc = 0;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->low_priority = opt->low_priority;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->start, NULL);
	pthread_cond_init(&w->done, NULL);
	for (unsigned i = 0; i < nr && !rc; i++)
		rc = add_worker(w, opt->level, err);
	if (rc) {
		dump_workers_free(w);
		return rc;
	}
	/* From here on their ids are known. */
	pthread_mutex_lock(&w->lock);
	while (w->nr_running < nr)
		pthread_cond_wait(&w->done, &w->lock);
	pthread_mutex_unlock(&w->lock);
	dump_workers_hurry(w, false);
	*out = w;
	return 0;
}

void dump_workers_free(struct dump_workers *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	assert(w->task == TASK_NONE);
	w->quit = true;
	pthread_cond_broadcast(&w->start);
	pthread_mutex_unlock(&w->lock);
	for (unsigned i = 0; i < w->nr_workers; i++) {
		struct worker *me = &w->workers[i];

		pthread_join(me->thread, NULL);
		packer_free(me->packer);
		block_packer_free(me->blocks);
		pthread_cond_destroy(&me->written);
	}
	pthread_cond_destroy(&w->done);
	pthread_cond_destroy(&w->start);
	pthread_mutex_destroy(&w->lock);
	free(w);
}
