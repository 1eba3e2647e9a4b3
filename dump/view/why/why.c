// SPDX-License-Identifier: MIT
/*
 * The verdict; see why.h. Runs each detector for the thread that requested the dump and for the
 * threads that waited most; the finding with the highest score is the verdict. A new detector is
 * one function and one row of the table.
 */
#include "dump/view/why/why.h"

#include "dump/base/err.h"
#include "dump/view/why/why_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ull

static const struct detector *const detectors[] = {
	&detect_crash,	&detect_forks,	&detect_inversion, &detect_convoy, &detect_quota,
	&detect_late,	&detect_rivals, &detect_peer,	   &detect_task,   &detect_reclaim,
	&detect_copies, &detect_faults, &detect_blocked,   &detect_busy,   &detect_irqs,
};

#define NR_DETECTORS (sizeof(detectors) / sizeof(detectors[0]))

/* Threads to examine besides the one that requested the dump: those that waited most. */
#define MAX_CANDIDATES 48
/* Weight of losses of the thread that requested the dump: its request shows that they matter. */
#define ASKED_WEIGHT 20.0
/* Added for findings about the thread that met the rule: they precede all others. */
#define MET_SCORE 1e5
/* Longest window to examine if nothing is found at its end. */
#define WHOLE_NS (30000 * MS)

struct text *finding_line(struct finding *f, const char *label)
{
	text_str(&f->lines, label);
	text_char(&f->lines, '\t');
	return &f->lines;
}

void finding_free(struct finding *f)
{
	text_free(&f->verdict);
	text_free(&f->lines);
	text_free(&f->function);
}

static size_t nr_findings(const struct why *w)
{
	return w->findings.len / sizeof(struct finding);
}

/* ---- threads to examine ---- */

struct candidate {
	uint32_t thread;
	uint64_t ns;
};

static int by_waiting(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* The recorder's own threads are excluded: they wait on purpose. */
static bool is_ours(const struct why *w, uint32_t thread)
{
	const char *comm = schedule_thread(w->a.sched, thread)->comm;

	if (w->a.m->host.recorder_pid &&
	    schedule_thread(w->a.sched, thread)->pid == w->a.m->host.recorder_pid)
		return true;
	return comm && !strncmp(comm, "ringback", 8);
}

static size_t candidates(const struct why *w, struct candidate *list, size_t max)
{
	size_t nr = 0, all = schedule_nr_threads(w->a.sched);
	struct candidate *every = calloc(all + 1, sizeof(*every));

	for (uint32_t i = 1; every && i < all; i++) {
		struct sums s;

		if (why_is_kernel(w, i) || is_ours(w, i) || i == w->asked)
			continue;
		sums_of(w, i, w->focus_ns, w->end_ns, &s);
		every[nr].thread = i;
		/* Sleep has a low weight since it is usually idle time; running time may hide page
		 * faults. */
		every[nr].ns = s.ns[SPAN_READY] + s.ns[SPAN_BLOCKED] + s.ns[SPAN_RUN] / 2 +
			       s.ns[SPAN_SLEEP] / 16;
		nr += every[nr].ns > 0;
	}
	if (every)
		qsort(every, nr, sizeof(*every), by_waiting);
	nr = nr < max ? nr : max;
	if (every)
		memcpy(list, every, nr * sizeof(*list));
	free(every);
	return nr;
}

/* ---- running the detectors ---- */

static int look(struct why *w, const struct detector *d, uint32_t thread)
{
	struct finding f = {.by = d, .victim = thread, .culprit = NO_THREAD};
	int rc;

	if (!d->can(w))
		return 0;
	rc = d->find(w, thread, &f);
	if (rc || f.score <= 0) {
		finding_free(&f);
		return rc;
	}
	if (w->asked != NO_THREAD && f.score < 1e6 &&
	    (f.victim == w->asked || (thread == NO_THREAD && f.culprit == w->asked)))
		f.score *= ASKED_WEIGHT;
	if (!f.victim_tid && f.victim != NO_THREAD)
		f.victim_tid = schedule_thread(w->a.sched, f.victim)->tid;
	if (!f.culprit_tid && f.culprit != NO_THREAD)
		f.culprit_tid = schedule_thread(w->a.sched, f.culprit)->tid;
	rc = f.verdict.rc ? f.verdict.rc : f.lines.rc;
	rc = rc ? rc : buf_put(&w->findings, &f, sizeof(f));
	if (rc)
		finding_free(&f);
	return rc;
}

static int by_score(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	return x->score < y->score ? 1 : x->score > y->score ? -1 : 0;
}

static int look_at_all(struct why *w)
{
	struct candidate list[MAX_CANDIDATES + 1];
	size_t nr = 0;
	int rc = 0;

	w->path_thread = NO_THREAD;
	if (w->asked != NO_THREAD)
		list[nr++].thread = w->asked;
	if (!w->by_option)
		nr += candidates(w, list + nr, MAX_CANDIDATES);
	for (size_t d = 0; !rc && d < NR_DETECTORS; d++)
		if (!detectors[d]->per_thread)
			rc = look(w, detectors[d], NO_THREAD);
	for (size_t i = 0; !rc && i < nr; i++)
		for (size_t d = 0; !rc && d < NR_DETECTORS; d++)
			if (detectors[d]->per_thread)
				rc = look(w, detectors[d], list[i].thread);
	if (w->findings.len)
		qsort(w->findings.p, nr_findings(w), sizeof(struct finding), by_score);
	return rc;
}

/* Findings about the thread that met the rule come first; adds detect_took if there are none. */
static int look_at_met(struct why *w)
{
	size_t nr = 0;
	int rc = 0;

	if (w->asked == NO_THREAD || !detect_took.can(w))
		return 0;
	for (size_t i = 0; i < nr_findings(w); i++) {
		struct finding *f = (struct finding *)w->findings.p + i;

		if (f->victim != w->asked && f->culprit != w->asked)
			continue;
		f->score += MET_SCORE;
		nr++;
	}
	if (!nr)
		rc = look(w, &detect_took, w->asked);
	if (w->findings.len)
		qsort(w->findings.p, nr_findings(w), sizeof(struct finding), by_score);
	return rc;
}

/* Examines the time from `from_ns` on, unless something was found already. */
static int look_from(struct why *w, uint64_t from_ns, bool whole, int (*how)(struct why *w))
{
	if (nr_findings(w))
		return 0;
	w->focus_ns = from_ns;
	w->whole = whole;
	return how(w);
}

static int look_at_load(struct why *w)
{
	return w->by_option ? 0 : look(w, &detect_overload, NO_THREAD);
}

static int find(struct why *w)
{
	uint64_t from = w->end_ns - w->from_ns > WHOLE_NS ? w->end_ns - WHOLE_NS : w->from_ns;
	uint64_t focus = w->focus_ns;
	bool wider = focus != from && !w->opt->from_ns && !w->opt->to_ns && !why_interval(w);
	int rc = look_at_all(w);

	rc = rc ? rc : look_at_met(w);
	/* A user who requests a dump by hand may take some seconds to type. */
	if (!rc && wider)
		rc = look_from(w, from, true, look_at_all);
	if (!rc)
		rc = look_from(w, focus, false, look_at_load);
	if (!rc && wider)
		rc = look_from(w, from, true, look_at_load);
	return rc;
}

int why_find(struct why *w, struct err *err)
{
	int rc = find(w);

	return rc ? err_set(err, rc, "out of memory") : 0;
}

int why_print(struct reader *r, const struct meta *m, const struct why_options *opt, FILE *out,
	      struct why_result *res, struct err *err)
{
	struct why w = {
		.a = {.r = r, .m = m}, .opt = opt, .asked = NO_THREAD, .path_thread = NO_THREAD};
	int rc = why_load(&w, err);

	rc = rc ? rc : why_find(&w, err);
	if (!rc) {
		rc = opt->json ? why_say_json(&w, out) : why_say(&w, out);
		if (rc)
			err_sys(err, rc, "the verdict cannot be written");
	}
	res->nr_bad_blocks = w.nr_bad_blocks;
	why_unload(&w);
	return rc;
}
