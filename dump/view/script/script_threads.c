// SPDX-License-Identifier: MIT
/*
 * script with several threads. Whoever calls goes through the timeline, as with one thread, and
 * copies the records into batches; printers make text of them; the text is written in the order of
 * the batches. So the output is the same whatever the number of threads. What is not divided, the
 * order of the records, is the least of the work: blocks are loaded by threads of their own, too
 * (prefetch.h).
 *
 *	timeline ─▶ caller ─▶ │ free │ filled │ filled │ taken │ done │ taken │ ─▶ file
 *	                             ▲        ▲                       ▲       ▲
 *	                       nr_filled  nr_taken                    │   nr_written
 *	                                                              └ waits for the older one
 *
 * Whichever printer is done with the oldest batch writes it and all that follow and are done. What
 * is in memory is bounded: batches are as few as keep all busy, and a printer whose batch becomes
 * much text waits until it is the oldest, and then writes as it goes.
 */
#include "dump/view/script/script_impl.h"

#include "dump/base/err.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Of records: about half a millisecond of printing. */
#define BATCH_BYTES   (128u << 10)
#define BATCH_RECORDS 2048
#define MAX_TEXT      (2u << 20)

struct held {
	uint64_t time_ns;
	const struct fmt_window *window;
	const struct meta_channel *channel;
	const struct meta_event *event;
	uint32_t off, bytes; /* in its batch */
};

struct batch {
	struct held *held; /* BATCH_RECORDS */
	size_t nr;
	struct buf bytes;
	struct text text;
	bool done;
};

/* Batch number i is batches[i % nr_batches]: nr_written <= nr_taken <= nr_filled. */
struct crew {
	const struct script *s;
	FILE *out;
	struct batch *batches;
	unsigned nr_batches;

	pthread_mutex_t lock; /* holds what follows */
	pthread_cond_t filled, written;
	uint64_t nr_filled, nr_taken, nr_written;
	bool ended;   /* no batch will be filled any more */
	bool writing; /* somebody writes */
	int rc;	      /* the first error: all stop */
	uint64_t nr_printed;
};

struct member {
	struct crew *crew;
	struct printer printer;
	pthread_t thread;
};

/* ---- writing ---- */

/* Holding the lock, which is given up meanwhile: nobody else writes. */
static void write_text(struct crew *c, struct text *t)
{
	int rc;

	assert(!c->writing);
	c->writing = true;
	pthread_mutex_unlock(&c->lock);
	t->out = c->out;
	rc = text_flush(t);
	pthread_mutex_lock(&c->lock);
	c->writing = false;
	if (!rc)
		return;
	c->rc = rc;
	pthread_cond_broadcast(&c->filled);
	pthread_cond_broadcast(&c->written);
}

/* Writes what is done, oldest first, unless somebody is at it. */
static void write_done(struct crew *c)
{
	while (!c->rc && !c->writing && c->nr_written < c->nr_taken) {
		struct batch *b = &c->batches[c->nr_written % c->nr_batches];

		if (!b->done)
			break;
		write_text(c, &b->text);
		b->done = false;
		c->nr_written++;
		pthread_cond_broadcast(&c->written);
	}
}

/* A printer's text of batch `i` has become too long to be kept. */
static void write_early(struct crew *c, uint64_t i, struct text *t)
{
	pthread_mutex_lock(&c->lock);
	while (!c->rc && (c->writing || c->nr_written < i))
		pthread_cond_wait(&c->written, &c->lock);
	if (!c->rc)
		write_text(c, t);
	t->b.len = 0;
	pthread_mutex_unlock(&c->lock);
}

/* ---- printing ---- */

/* Prints batch `i`. How many records are in the text. */
static uint64_t print_batch(struct member *m, uint64_t i)
{
	struct batch *b = &m->crew->batches[i % m->crew->nr_batches];
	struct printer *p = &m->printer;
	uint64_t nr_printed = 0;
	struct line l;

	p->text = b->text;
	for (size_t k = 0; k < b->nr && !p->text.rc; k++) {
		const struct held *h = &b->held[k];

		l.rec.rec = (struct bytes){b->bytes.p + h->off, h->bytes};
		l.rec.time_ns = h->time_ns;
		l.rec.window = h->window;
		l.rec.channel = h->channel;
		l.rec.event = h->event;
		timeline_describe(p->s->m, &l.rec);
		nr_printed += script_print_line(p, &l);
		if (p->text.b.len > MAX_TEXT)
			write_early(m->crew, i, &p->text);
	}
	b->text = p->text;
	p->text = (struct text){0};
	return nr_printed;
}

static void *work(void *arg)
{
	struct member *m = arg;
	struct crew *c = m->crew;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		uint64_t i, nr;

		while (!c->rc && !c->ended && c->nr_taken == c->nr_filled)
			pthread_cond_wait(&c->filled, &c->lock);
		if (c->rc || c->nr_taken == c->nr_filled)
			break;
		i = c->nr_taken++;
		pthread_mutex_unlock(&c->lock);
		nr = print_batch(m, i);
		pthread_mutex_lock(&c->lock);
		c->nr_printed += nr;
		c->batches[i % c->nr_batches].done = true;
		write_done(c);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* ---- filling ---- */

/* The next batch to be filled, when it is free; NULL: somebody met an error. */
static struct batch *wait_free(struct crew *c)
{
	struct batch *b = NULL;

	pthread_mutex_lock(&c->lock);
	while (!c->rc && c->nr_filled - c->nr_written == c->nr_batches)
		pthread_cond_wait(&c->written, &c->lock);
	if (!c->rc)
		b = &c->batches[c->nr_filled % c->nr_batches];
	pthread_mutex_unlock(&c->lock);
	return b;
}

static bool hold(struct batch *b, const struct timeline_record *rec)
{
	assert(rec->rec.len <= b->bytes.cap - b->bytes.len);
	b->held[b->nr++] = (struct held){
		.time_ns = rec->time_ns,
		.window = rec->window,
		.channel = rec->channel,
		.event = rec->event,
		.off = (uint32_t)b->bytes.len,
		.bytes = (uint32_t)rec->rec.len,
	};
	memcpy(b->bytes.p + b->bytes.len, rec->rec.p, rec->rec.len);
	b->bytes.len += rec->rec.len;
	return b->nr < BATCH_RECORDS && b->bytes.len < BATCH_BYTES;
}

/* As timeline_next(): 1 when there is more. */
static int fill(struct batch *b, struct timeline *t, struct err *err)
{
	struct timeline_record rec;
	int rc;

	b->nr = 0;
	b->bytes.len = 0;
	while ((rc = timeline_next_bare(t, &rec, err)) > 0)
		if (!hold(b, &rec))
			break;
	return rc;
}

static void publish(struct crew *c, bool ended)
{
	pthread_mutex_lock(&c->lock);
	c->nr_filled++;
	c->ended = ended;
	if (ended)
		pthread_cond_broadcast(&c->filled);
	else
		pthread_cond_signal(&c->filled);
	pthread_mutex_unlock(&c->lock);
}

/* What came before an error is printed. */
static int fill_all(struct crew *c, struct timeline *t, struct err *err)
{
	struct batch *b;
	int rc = 1;

	while (rc > 0 && (b = wait_free(c))) {
		rc = fill(b, t, err);
		publish(c, rc <= 0);
	}
	return rc < 0 ? rc : 0;
}

/* ---- the crew ---- */

static int batches_new(struct crew *c)
{
	c->batches = calloc(c->nr_batches, sizeof(*c->batches));
	if (!c->batches)
		return -ENOMEM;
	for (unsigned i = 0; i < c->nr_batches; i++) {
		struct batch *b = &c->batches[i];

		b->held = calloc(BATCH_RECORDS, sizeof(*b->held));
		/* The record that makes it full may be as long as records get. */
		if (!b->held || buf_reserve(&b->bytes, BATCH_BYTES + UINT16_MAX))
			return -ENOMEM;
	}
	return 0;
}

static void batches_free(struct crew *c)
{
	for (unsigned i = 0; i < c->nr_batches && c->batches; i++) {
		free(c->batches[i].held);
		buf_free(&c->batches[i].bytes);
		text_free(&c->batches[i].text);
	}
	free(c->batches);
}

/* How many could be started; fewer than asked for will do. */
static unsigned start(struct crew *c, struct member *members, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++) {
		members[i].crew = c;
		if (script_printer_init(&members[i].printer, c->s) ||
		    pthread_create(&members[i].thread, NULL, work, &members[i])) {
			script_printer_free(&members[i].printer);
			break;
		}
	}
	return i;
}

static void end(struct member *members, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		pthread_join(members[i].thread, NULL);
		script_printer_free(&members[i].printer);
	}
}

static int run(struct crew *c, struct member *members, unsigned nr, struct timeline *t,
	       struct err *err)
{
	unsigned started = start(c, members, nr);
	int rc;

	if (!started)
		return -EAGAIN;
	rc = fill_all(c, t, err);
	end(members, started);
	if (c->rc)
		return err_sys(err, c->rc, "the output can't be written");
	return rc;
}

int script_crew(const struct script *s, struct timeline *t, unsigned nr_threads, FILE *out,
		uint64_t *nr_printed, struct err *err)
{
	struct crew c = {.s = s, .out = out, .nr_batches = 2 * nr_threads + 2};
	struct member *members = calloc(nr_threads, sizeof(*members));
	int rc = -EAGAIN;

	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.filled, NULL);
	pthread_cond_init(&c.written, NULL);
	if (members && !batches_new(&c))
		rc = run(&c, members, nr_threads, t, err);
	*nr_printed = c.nr_printed;
	pthread_cond_destroy(&c.written);
	pthread_cond_destroy(&c.filled);
	pthread_mutex_destroy(&c.lock);
	batches_free(&c);
	free(members);
	return rc;
}
