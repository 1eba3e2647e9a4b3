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
	&detect_crash,	&detect_forks, &detect_inversion, &detect_convoy,  &detect_herd,
	&detect_quota,	&detect_late,  &detect_rivals,	  &detect_reclaim, &detect_copies,
	&detect_faults, &detect_busy,  &detect_irqs,
};

#define NR_DETECTORS (sizeof(detectors) / sizeof(detectors[0]))

/* Threads to examine besides the one that requested the dump: those that waited most. */
#define MAX_CANDIDATES 48
/* Milliseconds lost, weighted: minimum of a subject to precede others; minimum of others. */
#define SUBJECT_SCORE 10
#define OTHERS_SCORE  40
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
	double score;
};

static int by_candidate(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	return x->score < y->score ? 1 : x->score > y->score ? -1 : 0;
}

bool why_is_ours(const struct why *w, uint32_t thread)
{
	const char *comm = schedule_thread(w->a.sched, thread)->comm;

	if (w->a.m->host.recorder_pid &&
	    schedule_thread(w->a.sched, thread)->pid == w->a.m->host.recorder_pid)
		return true;
	return comm && !strncmp(comm, "ringback", 8);
}

/* Sleep has a low weight since it is usually idle time; running time may hide page faults. */
static double time_lost(const struct why *w, uint32_t thread)
{
	struct sums s;

	sums_of(w, thread, w->focus_ns, w->end_ns, &s);
	return why_ms(s.ns[SPAN_READY] + s.ns[SPAN_BLOCKED] + s.ns[SPAN_RUN] / 2 +
		      s.ns[SPAN_SLEEP] / 16);
}

static double unusual_wait(const struct why *w, uint32_t thread)
{
	struct stretch s[MAX_STRETCHES];

	return stretches_of(w, thread, s) ? s[0].score : 0;
}

/* The threads with the highest scores besides `asked`, at most MAX_CANDIDATES. */
static size_t candidates(const struct why *w, double (*score)(const struct why *w, uint32_t thread),
			 struct candidate *list)
{
	size_t nr = 0, all = schedule_nr_threads(w->a.sched);
	struct candidate *every = calloc(all + 1, sizeof(*every));

	for (uint32_t i = 1; every && i < all; i++) {
		if (why_is_kernel(w, i) || why_is_ours(w, i) || i == w->asked ||
		    (w->by_option && !w->is_hinted[i]))
			continue;
		every[nr].thread = i;
		every[nr].score = score(w, i) * (w->is_hinted[i] ? 100 : 1);
		nr += every[nr].score > 0;
	}
	if (every)
		qsort(every, nr, sizeof(*every), by_candidate);
	nr = nr < MAX_CANDIDATES ? nr : MAX_CANDIDATES;
	if (every)
		memcpy(list, every, nr * sizeof(*list));
	free(every);
	return nr;
}

/* ---- running the detectors ---- */

/* Findings about a subject of the dump precede others, unless they are about little time. */
static enum finding_rank rank_of(const struct why *w, const struct finding *f)
{
	if (f->rank == RANK_CRASH || f->score < SUBJECT_SCORE)
		return f->rank;
	if (w->asked != NO_THREAD &&
	    (f->victim == w->asked || (f->victim == NO_THREAD && f->culprit == w->asked)))
		return RANK_ASKED;
	if (f->hinted || (f->victim != NO_THREAD && w->is_hinted[f->victim]) ||
	    (f->culprit != NO_THREAD && w->is_hinted[f->culprit]))
		return RANK_HINTED;
	return RANK_OTHERS;
}

static int look(struct why *w, const struct detector *d, uint32_t thread)
{
	struct finding f = {.by = d, .kind = d->name, .victim = thread, .culprit = NO_THREAD};
	int rc;

	if (!d->can(w))
		return 0;
	rc = d->find(w, thread, &f);
	if (!rc)
		f.rank = rank_of(w, &f);
	if (!rc && !d->per_thread && f.rank == RANK_OTHERS)
		finding_doubt(&f, SURE_FAIRLY, "nothing links it to the request");
	if (rc || f.score <= 0 ||
	    (f.rank == RANK_OTHERS && f.score < OTHERS_SCORE && thread != w->asked)) {
		finding_free(&f);
		return rc;
	}
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

static int by_importance(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? 1 : -1;
	return x->score < y->score ? 1 : x->score > y->score ? -1 : 0;
}

/* Sorts the findings. Of a thread that the dump is not about, the first is no more than likely if
 * something else cost nearly as much. */
static void sort(struct why *w)
{
	struct finding *all = (struct finding *)w->findings.p, *first = all;

	if (!w->findings.len)
		return;
	qsort(all, nr_findings(w), sizeof(*all), by_importance);
	if (first->rank != RANK_OTHERS)
		return;
	for (size_t i = 1; i < nr_findings(w); i++)
		if (all[i].culprit_tid != first->culprit_tid &&
		    all[i].victim_tid != first->victim_tid && 3 * all[i].score > first->score)
			finding_doubt(first, SURE_FAIRLY,
				      "the dump does not tell which thread it is about");
	if (w->asked != NO_THREAD)
		finding_doubt(first, SURE_FAIRLY,
			      "the thread that requested the dump did not wait unusually");
}

/* All detectors but detect_wait, on the focus. */
static int look_at_all(struct why *w)
{
	struct candidate list[MAX_CANDIDATES + 1];
	size_t nr = 0;
	int rc = 0;

	w->path_thread = NO_THREAD;
	w->herd_pid = 0;
	if (w->asked != NO_THREAD)
		list[nr++].thread = w->asked;
	nr += candidates(w, time_lost, list + nr);
	for (size_t d = 0; !rc && d < NR_DETECTORS; d++)
		if (!detectors[d]->per_thread)
			rc = look(w, detectors[d], NO_THREAD);
	for (size_t i = 0; !rc && i < nr; i++)
		for (size_t d = 0; !rc && d < NR_DETECTORS; d++)
			if (detectors[d]->per_thread)
				rc = look(w, detectors[d], list[i].thread);
	sort(w);
	return rc;
}

/* Waits of all threads that are more than usual, of the thread that requested the dump in the focus
 * and of others since `from_ns`. */
static int look_at_waits(struct why *w, uint64_t from_ns)
{
	struct candidate list[MAX_CANDIDATES];
	size_t nr = 0;
	int rc = 0;

	w->scan_ns = w->focus_ns;
	if (w->asked != NO_THREAD)
		rc = look(w, &detect_wait, w->asked);
	w->scan_ns = from_ns;
	nr = candidates(w, unusual_wait, list);
	for (size_t i = 0; !rc && i < nr; i++)
		rc = look(w, &detect_wait, list[i].thread);
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
	int rc = look_at_waits(w, wider ? from : focus);

	rc = rc ? rc : look_at_all(w);
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

/* --without, for the first finding. */
static int look_without(struct why *w, struct err *err)
{
	const struct finding *f = (struct finding *)w->findings.p;
	int rc;

	if (!nr_findings(w) || f->victim == NO_THREAD) {
		err_set(err, -ENOENT, "--without: no thread of this dump waited more than usual");
		err_hint(err, "--tid or --comm selects a thread");
		return -ENOENT;
	}
	rc = why_without(w, f, &w->without);
	if (rc)
		return err_set(err, rc, "out of memory");
	if (!w->without.nr_threads)
		return err_set(err, -ENOENT, "--without: no other thread in the dump is '%s'",
			       w->opt->without);
	return 0;
}

int why_print(struct reader *r, const struct meta *m, const struct why_options *opt, FILE *out,
	      struct why_result *res, struct err *err)
{
	static const struct why_options none;
	struct why base = {.a = {.r = opt->baseline, .m = opt->baseline_meta},
			   .opt = &none,
			   .asked = NO_THREAD,
			   .path_thread = NO_THREAD};
	struct why w = {.a = {.r = r, .m = m},
			.opt = opt,
			.base = opt->baseline ? &base : NULL,
			.asked = NO_THREAD,
			.path_thread = NO_THREAD};
	int rc = w.base ? why_load(&base, err) : 0;

	rc = rc ? rc : why_load(&w, err);
	rc = rc ? rc : why_find(&w, err);
	if (!rc && opt->without)
		rc = look_without(&w, err);
	if (!rc) {
		rc = opt->json ? why_say_json(&w, out) : why_say(&w, out);
		if (rc)
			err_sys(err, rc, "the verdict cannot be written");
	}
	res->nr_bad_blocks = w.nr_bad_blocks + base.nr_bad_blocks;
	why_unload(&w);
	if (w.base)
		why_unload(&base);
	return rc;
}
