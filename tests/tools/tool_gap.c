/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Looks for numbers of load_count or load_relay that are missing from all dumps. Arguments: TID (0:
 * any), then dumps in the order in which they were made. For the range from the first number to the
 * last, prints
 *
 *	numbers=N missing=N duplicates=N uncovered=N overlap_min_ns=N overwritten=N
 *
 * "uncovered" counts missing numbers outside every reported gap. A gap lasts from the earliest
 * pause of a dump's rings to the latest time a ring was armed for the next dump; numbers may be
 * missing only inside it. "uncovered" also counts records written to a ring after its pause.
 * "overwritten" is the number of bytes that the rings of all dumps but the first overwrote. Exits
 * with 0 when it could read the dumps.
 */
#include "dump/base/err.h"
#include "dump/file/reader.h"
#include "dump/view/model/timeline.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define SLACK_NS 1000000

struct seen {
	uint64_t n, ns;
	uint64_t paused_ns; /* of the ring it is from */
	int dump;
};

struct all {
	struct seen *v;
	size_t nr, max;
	uint64_t *armed_ns, *paused_ns; /* per dump: latest armed, earliest paused of its rings */
	int nr_dumps;
	int64_t overlap_min;
	uint64_t overwritten; /* bytes, in all dumps but the first */
};

static int fail(const char *path, const struct err *err)
{
	fprintf(stderr, "%s: %s\n", path, err->what);
	return 1;
}

static void add(struct all *a, uint64_t n, const struct timeline_record *rec, int dump)
{
	if (a->nr == a->max) {
		a->max = a->max ? a->max * 2 : 1 << 16;
		a->v = realloc(a->v, a->max * sizeof(*a->v));
		if (!a->v)
			abort();
	}
	a->v[a->nr++] = (struct seen){n, rec->time_ns, rec->window->paused_ns, dump};
}

static void windows(struct all *a, const struct meta *m, int dump)
{
	a->armed_ns[dump] = 0;
	a->paused_ns[dump] = UINT64_MAX;
	for (size_t i = 0; i < m->nr_windows; i++) {
		const struct fmt_window *w = &m->windows[i];

		if (w->armed_ns > a->armed_ns[dump])
			a->armed_ns[dump] = w->armed_ns;
		if (w->paused_ns < a->paused_ns[dump])
			a->paused_ns[dump] = w->paused_ns;
		if (dump)
			a->overwritten += w->overwritten_bytes;
		if (!(w->flags & FMT_WINDOW_FIRST) && -w->gap_ns < a->overlap_min)
			a->overlap_min = -w->gap_ns;
	}
}

/* raw_syscalls:sys_enter: 8 bytes common, id (long), args[6]. */
static int collect(struct all *a, const char *path, int dump, uint32_t tid)
{
	struct timeline_options all_of_it = {.to_ns = UINT64_MAX, .cpu = -1};
	struct timeline_record rec;
	struct timeline *t = NULL;
	struct reader *r = NULL;
	struct meta *m = NULL;
	struct err err = ERR_INIT;
	int rc;

	if (reader_open(path, &r, &err) || meta_load(r, &m, &err) ||
	    timeline_open(r, m, &all_of_it, &t, &err))
		return fail(path, &err);
	windows(a, m, dump);
	while ((rc = timeline_next(t, &rec, &err)) > 0) {
		uint64_t id, arg;

		if (!rec.event || (tid && rec.tid != tid) || rec.s.raw.len < 24)
			continue;
		memcpy(&id, rec.s.raw.p + 8, 8);
		if (id != SYS_getpgid)
			continue; /* of another event */
		memcpy(&arg, rec.s.raw.p + 16, 8);
		add(a, arg, &rec, dump);
	}
	timeline_close(t);
	meta_free(m);
	reader_close(r);
	return rc ? fail(path, &err) : 0;
}

static int by_number(const void *x, const void *y)
{
	const struct seen *a = x, *b = y;

	return a->n < b->n ? -1 : a->n > b->n ? 1 : a->dump - b->dump;
}

/* True when a ring was paused at some time between the two numbers. */
static bool in_a_gap(const struct all *a, const struct seen *p, const struct seen *q)
{
	/* Gap i follows dump i; the one after the last dump has no end. */
	for (int i = p->dump ? p->dump - 1 : 0; i <= q->dump; i++)
		if (a->paused_ns[i] <= q->ns + SLACK_NS &&
		    (i + 1 == a->nr_dumps || p->ns <= a->armed_ns[i + 1] + SLACK_NS))
			return true;
	return false;
}

static void report(struct all *a)
{
	uint64_t missing = 0, duplicates = 0, uncovered = 0;

	qsort(a->v, a->nr, sizeof(*a->v), by_number);
	for (size_t i = 1; i < a->nr; i++) {
		const struct seen *p = &a->v[i - 1], *q = &a->v[i];

		if (q->n == p->n) {
			duplicates++;
			continue;
		}
		if (q->n == p->n + 1)
			continue;
		missing += q->n - p->n - 1;
		if (!in_a_gap(a, p, q) || p->ns > p->paused_ns + SLACK_NS)
			uncovered += q->n - p->n - 1;
	}
	printf("numbers=%zu missing=%" PRIu64 " duplicates=%" PRIu64 " uncovered=%" PRIu64
	       " overlap_min_ns=%" PRId64 " overwritten=%" PRIu64 "\n",
	       a->nr, missing, duplicates, uncovered, a->overlap_min, a->overwritten);
}

int main(int argc, char **argv)
{
	struct all a = {.overlap_min = INT64_MAX, .nr_dumps = argc - 2};
	int bad = argc < 3;

	a.armed_ns = calloc((size_t)argc, sizeof(uint64_t));
	a.paused_ns = calloc((size_t)argc, sizeof(uint64_t));
	for (int i = 2; i < argc && !bad; i++)
		bad = collect(&a, argv[i], i - 2, (uint32_t)atoi(argv[1]));
	if (!bad)
		report(&a);
	free(a.v);
	free(a.armed_ns);
	free(a.paused_ns);
	return bad;
}
