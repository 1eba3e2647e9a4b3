// SPDX-License-Identifier: MIT
/*
 * Prints with several threads. The caller reads the timeline, as with one thread, and copies
 * records into batches; a thread pool prints them into text; the caller writes the text in the
 * order of the batches. So the output does not depend on the number of threads. Other threads load
 * the blocks (prefetch.h).
 *
 *	timeline ─▶ caller ─▶ │ free │ filled │ being printed │ printed │ being printed │ ─▶ file
 *	                             ▲ nr_filled                     nr_written ▲
 *
 * Memory is bounded: the number of batches is just enough to keep all threads busy. A batch stops
 * printing at MAX_TEXT; the caller prints and writes the rest when the batch is the oldest.
 */
#include "dump/view/script/script_impl.h"

#include "dump/base/err.h"
#include "dump/base/thread_pool.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* of records: takes about half a millisecond to print */
#define BATCH_BYTES   (128u << 10)
#define BATCH_RECORDS 2048
#define MAX_TEXT      (2u << 20)

struct held_record {
	uint64_t time_ns;
	const struct fmt_window *window;
	const struct meta_channel *channel;
	const struct meta_event *event;
	uint32_t off, bytes; /* in its batch */
};

struct batch {
	struct pool_job job;
	struct held_record *held; /* BATCH_RECORDS */
	size_t nr, nr_done;
	struct buf bytes;
	struct text text;
	uint64_t nr_printed;
};

/* Batch number i is batches[i % nr_batches]. */
struct script_threads {
	FILE *out;
	struct printer printer; /* of the caller's thread */
	struct thread_pool *pool;
	struct batch *batches;
	unsigned nr_batches;
	uint64_t nr_filled, nr_written, nr_printed;
};

/* ---- printing ---- */

/* Prints records of the batch until the text reaches MAX_TEXT. */
static void print_batch(void *printer, struct pool_job *job)
{
	struct batch *b = (struct batch *)job;
	struct printer *p = printer;
	struct line l;

	p->text = b->text;
	while (b->nr_done < b->nr && !p->text.rc && p->text.b.len <= MAX_TEXT) {
		const struct held_record *h = &b->held[b->nr_done++];

		l.rec.rec = (struct bytes){b->bytes.p + h->off, h->bytes};
		l.rec.time_ns = h->time_ns;
		l.rec.window = h->window;
		l.rec.channel = h->channel;
		l.rec.event = h->event;
		timeline_describe(p->s->a.m, &l.rec);
		b->nr_printed += script_print_line(p, &l);
	}
	b->text = p->text;
	p->text = (struct text){0};
}

/* Writes the text of the oldest batch, then prints and writes its remaining records. */
static int write_oldest(struct script_threads *s)
{
	struct batch *b = &s->batches[s->nr_written++ % s->nr_batches];
	bool done = thread_pool_take(s->pool, &b->job);
	int rc;

	do {
		if (!done)
			print_batch(&s->printer, &b->job);
		done = false;
		b->text.out = s->out;
		rc = text_flush(&b->text);
	} while (!rc && b->nr_done < b->nr);
	s->nr_printed += b->nr_printed;
	return rc;
}

/* ---- filling ---- */

static bool hold(struct batch *b, const struct timeline_record *rec)
{
	assert(rec->rec.len <= b->bytes.cap - b->bytes.len);
	b->held[b->nr++] = (struct held_record){
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

/* Returns as timeline_next(): 1 when there are more records. */
static int fill(struct batch *b, struct timeline *t, struct err *err)
{
	struct timeline_record rec;
	int rc;

	b->nr = b->nr_done = 0;
	b->nr_printed = 0;
	b->bytes.len = 0;
	while ((rc = timeline_next_bare(t, &rec, err)) > 0)
		if (!hold(b, &rec))
			break;
	return rc;
}

/* Records before an error of the timeline are still printed. */
static int print_all(struct script_threads *s, struct timeline *t, struct err *err)
{
	int rc = 1, write_rc = 0;

	while (rc > 0 && !write_rc) {
		struct batch *b = &s->batches[s->nr_filled % s->nr_batches];

		if (s->nr_filled - s->nr_written == s->nr_batches)
			write_rc = write_oldest(s);
		if (write_rc)
			break;
		rc = fill(b, t, err);
		s->nr_filled++;
		thread_pool_put(s->pool, &b->job);
	}
	while (s->nr_written < s->nr_filled && !write_rc)
		write_rc = write_oldest(s);
	if (write_rc)
		return err_sys(err, write_rc, "the output can't be written");
	return rc;
}

/* ---- threads ---- */

static int batches_new(struct script_threads *s)
{
	s->batches = calloc(s->nr_batches, sizeof(*s->batches));
	if (!s->batches)
		return -ENOMEM;
	for (unsigned i = 0; i < s->nr_batches; i++) {
		struct batch *b = &s->batches[i];

		b->held = calloc(BATCH_RECORDS, sizeof(*b->held));
		/* Room for one record of maximum size past the limit. */
		if (!b->held || buf_reserve(&b->bytes, BATCH_BYTES + UINT16_MAX))
			return -ENOMEM;
	}
	return 0;
}

static void batches_free(struct script_threads *s)
{
	for (unsigned i = 0; i < s->nr_batches && s->batches; i++) {
		free(s->batches[i].held);
		buf_free(&s->batches[i].bytes);
		text_free(&s->batches[i].text);
	}
	free(s->batches);
}

static void printer_end(void *printer)
{
	script_printer_free(printer);
	free(printer);
}

static int printer_begin(const void *script, void **out)
{
	struct printer *p = calloc(1, sizeof(*p));
	int rc = p ? script_printer_init(p, script) : -ENOMEM;

	if (!rc)
		*out = p;
	else if (p)
		printer_end(p);
	return rc;
}

int script_print_threads(const struct script *script, struct timeline *t, unsigned nr_threads,
			 FILE *out, uint64_t *nr_printed, struct err *err)
{
	struct script_threads s = {.out = out, .nr_batches = 2 * nr_threads + 2};
	struct thread_pool_options opt = {
		.nr_threads = nr_threads,
		.run = print_batch,
		.begin = printer_begin,
		.end = printer_end,
		.ctx = script,
	};
	int rc = -EAGAIN;

	if (!script_printer_init(&s.printer, script) && !batches_new(&s) &&
	    !thread_pool_new(&opt, &s.pool))
		rc = print_all(&s, t, err);
	*nr_printed = s.nr_printed;
	thread_pool_free(s.pool);
	batches_free(&s);
	script_printer_free(&s.printer);
	return rc;
}
