// SPDX-License-Identifier: MIT
/* Which thread ran at a time; see pt_threads.h. Called by pt_trace.c. */
#include "dump/view/pt/pt_threads.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <stdlib.h>

/* 16 bytes each. */
#define MAX_SWITCHES (16u << 20)
#define NOBODY	     UINT32_MAX

struct turn {
	uint64_t ns;
	uint32_t ring, tid; /* since `ns` */
};

struct pt_threads {
	struct buf turns; /* struct turn[], by ring and time */
	size_t nr;
};

/* Reads the thread that runs after the record; `before`: the one that ran until then. */
static bool read_record(const struct timeline_record *rec, struct turn *now, uint32_t *before)
{
	struct perf_event_header h;
	bool out;

	if (!record_at(rec->rec, 0, &h))
		return false;
	*now = (struct turn){rec->time_ns, rec->window->ring, NOBODY};
	*before = NOBODY;
	out = h.misc & PERF_RECORD_MISC_SWITCH_OUT;
	if (h.type == PERF_RECORD_ITRACE_START && rec->rec.len >= 16) {
		memcpy(&now->tid, rec->rec.p + 12, sizeof(now->tid));
		return true;
	}
	if (h.type != PERF_RECORD_SWITCH && h.type != PERF_RECORD_SWITCH_CPU_WIDE)
		return false;
	if (!out) {
		now->tid = rec->tid;
		return true;
	}
	*before = rec->tid;
	/* u32 pid, tid of the next thread */
	if (h.type == PERF_RECORD_SWITCH_CPU_WIDE && rec->rec.len >= 16)
		memcpy(&now->tid, rec->rec.p + 12, sizeof(now->tid));
	return true;
}

static int take(struct pt_threads *w, const struct timeline_record *rec, bool *seen)
{
	struct turn now, first;
	uint32_t before;
	int rc = 0;

	if (!read_record(rec, &now, &before) || w->nr >= MAX_SWITCHES)
		return 0;
	if (!*seen && before != NOBODY) {
		first = (struct turn){0, now.ring, before};
		rc = buf_put(&w->turns, &first, sizeof(first));
		w->nr += !rc;
	}
	*seen = true;
	rc = rc ? rc : buf_put(&w->turns, &now, sizeof(now));
	w->nr += !rc;
	return rc;
}

static int by_ring(const void *x, const void *y)
{
	const struct turn *a = x, *b = y;

	if (a->ring != b->ring)
		return a->ring < b->ring ? -1 : 1;
	return a->ns < b->ns ? -1 : a->ns > b->ns;
}

/* Merges consecutive turns of one thread, so that the lookup of the turn before or after takes one
 * step. */
static void merge(struct pt_threads *w)
{
	struct turn *v = (struct turn *)w->turns.p;
	size_t nr = 0;

	for (size_t i = 0; i < w->nr; i++)
		if (!nr || v[nr - 1].ring != v[i].ring || v[nr - 1].tid != v[i].tid)
			v[nr++] = v[i];
	w->nr = nr;
}

int pt_threads_load(struct reader *r, const struct meta *m, uint64_t channels,
		    struct pt_threads **out, struct err *err)
{
	struct timeline_options opt = {.to_ns = UINT64_MAX, .channels = channels, .cpu = -1};
	struct pt_threads *w = calloc(1, sizeof(*w));
	bool *seen = calloc(m->nr_windows + 1, sizeof(*seen));
	struct timeline *t = NULL;
	struct timeline_record rec;
	int rc = w && seen ? 0 : err_sys(err, -ENOMEM, "who ran when");

	if (!rc)
		rc = timeline_open(r, m, &opt, &t, err);
	while (!rc && (rc = timeline_next(t, &rec, err)) > 0)
		rc = rec.window->ring < m->nr_windows ? take(w, &rec, &seen[rec.window->ring]) : 0;
	timeline_close(t);
	free(seen);
	if (rc) {
		pt_threads_free(w);
		return rc;
	}
	if (w->nr)
		qsort(w->turns.p, w->nr, sizeof(struct turn), by_ring);
	merge(w);
	*out = w;
	return 0;
}

void pt_threads_free(struct pt_threads *w)
{
	if (w)
		buf_free(&w->turns);
	free(w);
}

uint32_t pt_threads_at(const struct pt_threads *w, uint32_t ring, uint64_t ns, int step,
		       uint64_t *from_ns)
{
	const struct turn *v = (const struct turn *)w->turns.p;
	size_t from =
		array_bisect(i, w->nr, v[i].ring < ring || (v[i].ring == ring && v[i].ns <= ns));
	uint32_t now;

	/* `from`: the first later turn. Before the first turn, the thread is unknown. */
	now = from && v[from - 1].ring == ring ? v[from - 1].tid : NOBODY;
	if (step > 0)
		from += 1 + (from < w->nr && v[from].ring == ring && v[from].tid == now);
	if (step < 0 && from && v[from - 1].ring == ring)
		from--;
	if (!from || from > w->nr || v[from - 1].ring != ring)
		return NOBODY;
	if (from_ns)
		*from_ns = v[from - 1].ns;
	return v[from - 1].tid;
}
