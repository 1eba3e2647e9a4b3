// SPDX-License-Identifier: MIT
/* Prints the verdict as text and JSON: one sentence, the evidence, its certainty, and what was not
 * recorded. */
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/info/info.h"
#include "dump/view/info/trace_stop.h"
#include "dump/view/base/json.h"
#include "dump/view/model/cgroup.h"
#include "dump/view/unwind/runtimes.h"
#include "dump/view/why/why_impl.h"

#include <string.h>

#define MS 1000000ull

#define MAX_LINES   15
#define LABEL_WIDTH 12
/* Another finding gets a line when its score is at least this share of the first one's. */
#define ALSO_SHARE 0.25

/* By enum sure. */
static const struct {
	const char *word, *because;
} confidence[] = {
	[SURE_GUESS] = {"low", "inferred; nothing else explains more"},
	[SURE_FAIRLY] = {"medium", "mostly measured, the rest inferred"},
	[SURE_CERTAIN] = {"high", "measured directly"},
};

static const struct finding *finding_nth(const struct why *w, size_t i)
{
	return (const struct finding *)w->findings.p + i;
}

static size_t nr_findings(const struct why *w)
{
	return w->findings.len / sizeof(struct finding);
}

#define MAX_ALSO 2

/* Whether two findings are about the same problem. */
static bool is_same(const struct finding *a, const struct finding *b)
{
	return a->victim_tid == b->victim_tid || a->kind == b->kind ||
	       a->culprit_tid == b->culprit_tid;
}

/* The best other findings, at most MAX_ALSO. */
static size_t also(const struct why *w, const struct finding **out)
{
	size_t nr = 0, k;

	for (size_t i = 1; i < nr_findings(w) && nr < MAX_ALSO; i++) {
		const struct finding *f = finding_nth(w, i);

		if (f->score < finding_nth(w, 0)->score * ALSO_SHARE ||
		    is_same(f, finding_nth(w, 0)))
			continue;
		for (k = 0; k < nr && !is_same(f, out[k]); k++)
			;
		if (k == nr)
			out[nr++] = f;
	}
	return nr;
}

/* ---- what was not recorded ---- */

/* A shorter window has no "usual" time to compare with, and may miss the problem. */
#define SHORT_WINDOW (300 * MS)
/* What ended this shortly before the trigger ended with it. */
#define SOON_NS MS

static void put_missing(struct text *t, const char *what)
{
	text_str(t, t->b.len ? "; " : "");
	text_str(t, what);
}

static uint64_t nr_lost(const struct why *w)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < w->a.m->nr_windows; i++)
		if (meta_is_ring(&w->a.m->windows[i]))
			lost += w->a.m->windows[i].lost;
	return lost;
}

/* True when many sleeps have no recorded wake-up: events of idle CPUs are missing. */
static bool many_guessed(const struct why *w)
{
	size_t guessed = 0, all = 0;

	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		const struct schedule_thread *t = schedule_thread(w->a.sched, i);

		for (size_t k = 0; k < t->nr; k++) {
			const struct span *s = schedule_span(w->a.sched, t->first + k);

			all += s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED;
			guessed += (s->state == SPAN_SLEEP || s->state == SPAN_BLOCKED) &&
				   s->flags & SPAN_GUESSED;
		}
	}
	return 5 * guessed > all;
}

static bool has_wrapped(const struct why *w)
{
	for (size_t i = 0; i < w->a.m->nr_windows; i++)
		if (w->a.m->windows[i].overwritten_bytes)
			return true;
	return false;
}

/* Among the threads of the verdict, reports the first whose runtime does not export names of its
 * code. */
static void missing_names(const struct why *w, const struct finding *best, struct text *t)
{
	const uint32_t whom[] = {w->asked, best ? best->victim : NO_THREAD,
				 best ? best->culprit : NO_THREAD};
	struct text said = TEXT_INIT(NULL);

	for (size_t i = 0; i < sizeof(whom) / sizeof(whom[0]); i++) {
		if (whom[i] == NO_THREAD ||
		    !runtimes_say(w->runtimes, schedule_thread(w->a.sched, whom[i])->pid, &said))
			continue;
		put_missing(t, "");
		text_put(t, said.b.p, said.b.len);
		break;
	}
	text_free(&said);
}

/* The hardware trace that stood last. */
static void missing_trace(const struct meta *m, struct text *t)
{
	const struct fmt_trace_stop *last = m->stops;
	char when[100];

	for (size_t i = 1; i < m->nr_stops; i++)
		if (m->stops[i].to_ns > last->to_ns)
			last = &m->stops[i];
	if (!last)
		return;
	put_missing(t, "the hardware trace of ");
	text_str(t, trace_stop_when(m, last, when, sizeof(when)));
	if (m->nr_stops > 1)
		text_fmt(t, " and at %zu other time%s", m->nr_stops - 1,
			 str_plural(m->nr_stops - 1));
}

static void missing(const struct why *w, const struct finding *best, struct text *t)
{
	if (nr_lost(w))
		text_fmt(t, "%llu record%s %s lost", (unsigned long long)nr_lost(w),
			 str_plural(nr_lost(w)), str_were(nr_lost(w)));
	if (w->nr_bad_blocks)
		put_missing(t, "unreadable parts of the dump");
	missing_trace(w->a.m, t);
	if (schedule_has_switches(w->a.sched) && w->end_ns - w->from_ns < SHORT_WINDOW)
		put_missing(t, has_wrapped(w) ? "earlier events: the rings were too small for so "
						"many events (-m 16M)"
			       : w->a.m->trigger.nr > 1
				       ? "earlier events: they are in the previous dump"
				       : "earlier events: recording had just started");
	if (!schedule_has_switches(w->a.sched))
		put_missing(t, "scheduler events (--preset default)");
	else if (!schedule_has_wakings(w->a.sched))
		put_missing(t, "wake-ups (sched:sched_waking)");
	else if (many_guessed(w))
		put_missing(t, "many wake-ups by interrupts on idle CPUs");
	if (!w->has_samples)
		put_missing(t, "samples of running threads (cpu-clock)");
	else if (!w->has_names)
		put_missing(t, "function names");
	missing_names(w, best, t);
	if (best && best->more)
		put_missing(t, best->more);
	else if (schedule_has_switches(w->a.sched) && !schedule_has_stacks(w->a.sched))
		put_missing(t, "stacks of sleeping threads (--preset waits)");
	if (!t->b.len)
		text_str(t, "none");
}

/* ---- words ---- */

static void put_label(struct text *t, const char *label, size_t n)
{
	text_put(t, label, n);
	text_fill(t, ' ', n < LABEL_WIDTH ? LABEL_WIDTH - (int)n : 1);
}

static void label(struct text *t, const char *s)
{
	put_label(t, s, strlen(s));
}

/* "label\ttext\n" lines of a finding, at most `room`. */
static void put_lines(const struct finding *f, unsigned room, struct text *t)
{
	const char *p = (const char *)f->lines.b.p;
	const char *end = p ? p + f->lines.b.len : NULL;

	for (; p < end && room; room--) {
		const char *tab = memchr(p, '\t', (size_t)(end - p));
		const char *line = memchr(p, '\n', (size_t)(end - p));

		if (!tab || !line || tab > line)
			return;
		put_label(t, p, (size_t)(tab - p));
		text_put(t, tab + 1, (size_t)(line - tab));
		p = line + 1;
	}
}

/* True when the focus is the duration that the rule is about. */
static bool is_interval(const struct why *w)
{
	return why_interval(w) && w->focus_ns == w->a.m->trigger_began_ns;
}

#define RULE_WIDTH 100
/* The recorder's own running time gets a line from this share of a CPU on: 1 of as many. */
#define OWN_SHARE 50

/* The line written to a watched file gets its own line, since it is long and important. */
static bool is_line(const char *saw)
{
	return !strncmp(saw, "line=", 5);
}

/* The rule and its values, at most one line; nothing for manual dumps. */
static void put_rule(const struct why *w, struct text *t)
{
	const struct meta *m = w->a.m;
	size_t len = strlen(m->trigger_rule), shown = 0;

	if (!m->nr_saw || !strcmp(m->trigger_rule, "manual"))
		return;
	label(t, "rule");
	text_safe(t, m->trigger_rule, len < RULE_WIDTH ? len : RULE_WIDTH);
	for (size_t i = 0; i < m->nr_saw; i++) {
		/* The rule already contains the file. */
		if (!strncmp(m->saw[i], "file=", 5) || is_line(m->saw[i]))
			continue;
		len += strlen(m->saw[i]) + 2;
		if (len > RULE_WIDTH)
			break;
		text_str(t, shown++ ? ", " : ": ");
		text_safe(t, m->saw[i], strlen(m->saw[i]));
	}
	text_char(t, '\n');
	for (size_t i = 0; i < m->nr_saw; i++) {
		if (!is_line(m->saw[i]))
			continue;
		label(t, "line");
		text_safe(t, m->saw[i] + 5, strlen(m->saw[i]) - 5);
		text_char(t, '\n');
	}
}

/* What the rule saw, unless the verdict is this crash and already includes it. */
static void put_cause(const struct why *w, const struct finding *best, struct text *t)
{
	const struct cause *c = &w->cause;

	if (w->of_other || (c->is_crash && best && best->by == &detect_crash))
		return;
	put_rule(w, t);
	if (c->took.b.len) {
		label(t, "took");
		text_put(t, c->took.b.p, c->took.b.len);
		text_char(t, '\n');
	}
	if (!c->stack.b.len)
		return;
	label(t, c->is_crash ? "crashed" : "in");
	text_put(t, c->stack.b.p, c->stack.b.len);
	text_char(t, '\n');
}

static void put_what(const struct why *w, const struct finding *best, struct text *t)
{
	uint64_t hit = w->a.m->trigger.hit_ns,
		 ago_ns = best && hit > best->to_ns ? hit - best->to_ns : 0;

	label(t, "analyzed");
	if (best && best->to_ns && !is_interval(w) && !why_is_cut(w) && ago_ns < SOON_NS)
		why_phrase(w, t, "the last {time} before the trigger, of ",
			   SAY_TIME(best->to_ns - best->from_ns));
	else if (best && best->to_ns && !is_interval(w) && !why_is_cut(w))
		why_phrase(w, t, "the {time} that ended {time} before the trigger, of ",
			   SAY_TIME(best->to_ns - best->from_ns), SAY_TIME(ago_ns));
	else if (is_interval(w))
		why_phrase(w, t, "the {time} that it took, of ", SAY_TIME(w->end_ns - w->focus_ns));
	else if (why_is_cut(w))
		why_phrase(w, t, "the last {time} of the {time} that it took, of ",
			   SAY_TIME(w->end_ns - w->focus_ns), SAY_TIME(why_interval(w)));
	else
		why_phrase(w, t, "the {text} {time} before the trigger, of ",
			   SAY_TEXT(w->whole ? "whole" : "last"),
			   SAY_TIME(w->end_ns - w->focus_ns));
	why_time(t, w->end_ns - w->from_ns);
	text_str(t, " recorded");
	info_joined(w->a.m, t);
	if (w->asked != NO_THREAD)
		why_phrase(w, t, "; {text} {thread}",
			   SAY_TEXT(w->by_option ? "for the selected thread"
				    : w->met	 ? "the rule was met by"
						 : "the dump was requested by"),
			   SAY_THREAD(w->asked));
	text_char(t, '\n');
}

/* NULL: unknown. */
static const char *group_of(const struct why *w, uint32_t tid)
{
	const struct fmt_task *task = tid ? history_task(w->a.history, tid, w->end_ns) : NULL;

	return task ? history_cgroup(w->a.history, task, w->end_ns) : NULL;
}

/* The pods and containers of the threads in the verdict, one line. Returns the number of lines. */
static unsigned put_containers(const struct why *w, const struct finding *best, struct text *t)
{
	uint32_t asked = w->asked == NO_THREAD ? 0 : schedule_thread(w->a.sched, w->asked)->tid;
	const uint32_t tids[] = {best && best->victim_tid ? best->victim_tid : asked,
				 best ? best->culprit_tid : 0};
	unsigned nr = 0;

	for (size_t i = 0; i < 2; i++) {
		const char *path = group_of(w, tids[i]);
		char name[256];

		if (!cgroup_is_named(w->a.m, path) || (i && tids[1] == tids[0]))
			continue;
		if (nr)
			text_str(t, "; ");
		else
			label(t, "container");
		nr = 1;
		why_phrase(w, t, "{task} in {text}", SAY_TASK(tids[i], w->end_ns),
			   SAY_TEXT(cgroup_name(name, sizeof(name), w->a.m, path)));
	}
	if (nr)
		text_char(t, '\n');
	return nr;
}

/* A summary of the machine's activity when nothing was found. */
static void put_usual(const struct why *w, struct text *t)
{
	struct {
		uint32_t thread;
		uint64_t ns;
	} top[3] = {{0, 0}};
	uint64_t total = 0, worst = 0, focus = w->end_ns - w->focus_ns;
	uint32_t who = NO_THREAD;

	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		struct sums s;
		size_t k;

		sums_of(w, i, w->focus_ns, w->end_ns, &s);
		total += s.ns[SPAN_RUN];
		if (s.longest_ns[SPAN_READY] > worst) {
			worst = s.longest_ns[SPAN_READY];
			who = i;
		}
		for (k = 0; k < 3 && s.ns[SPAN_RUN] <= top[k].ns; k++)
			;
		if (k == 3)
			continue;
		memmove(&top[k + 1], &top[k], (2 - k) * sizeof(top[0]));
		top[k].thread = i;
		top[k].ns = s.ns[SPAN_RUN];
	}
	if (!focus || !schedule_nr_cpus(w->a.sched) || !schedule_has_switches(w->a.sched))
		return;
	label(t, "cpu");
	if (schedule_lacks_cpus(w->a.sched))
		text_str(t, "of the recorded CPUs");
	else if (schedule_is_partial(w->a.sched))
		text_str(t, "of the recorded threads");
	else
		text_fmt(t, "%.0f %% of %zu CPU%s busy",
			 100.0 * (double)total / (double)focus /
				 (double)schedule_nr_cpus(w->a.sched),
			 schedule_nr_cpus(w->a.sched), str_plural(schedule_nr_cpus(w->a.sched)));
	for (size_t k = 0; k < 3 && top[k].ns; k++) {
		text_str(t, k ? ", " : ": ");
		why_phrase(w, t, "{thread} {time}", SAY_THREAD(top[k].thread), SAY_TIME(top[k].ns));
	}
	text_char(t, '\n');
	if (who == NO_THREAD)
		return;
	label(t, "waits");
	why_phrase(w, t, "longest for a CPU: {thread} {time}\n", SAY_THREAD(who), SAY_TIME(worst));
}

static void put_verdict(const struct why *w, const struct finding *best, struct text *t)
{
	if (best) {
		text_put(t, best->verdict.b.p, best->verdict.b.len);
	} else if (!schedule_has_switches(w->a.sched)) {
		text_str(t, "no verdict: scheduler events were not recorded");
	} else {
		text_str(t, "nothing unusual in the ");
		text_str(t, is_interval(w) ? "" : w->whole ? "whole " : "last ");
		why_time(t, w->end_ns - w->focus_ns);
		text_str(t, is_interval(w) ? " that it took" : " before the trigger");
	}
}

/* The certainty, limited by gaps in the records. */
static void put_confidence(const struct why *w, const struct finding *best, struct text *t)
{
	label(t, "confidence");
	if (why_is_cut(w))
		why_phrase(w, t, "partial ({time} of {time} recorded)\n",
			   SAY_TIME(w->end_ns - w->focus_ns), SAY_TIME(why_interval(w)));
	else
		text_fmt(t, "%s (%s)\n", confidence[best->sure].word,
			 best->because ? best->because : confidence[best->sure].because);
}

static void put_without(const struct why *w, struct text *t)
{
	const struct without *o = &w->without;

	if (!w->opt->without || !o->wait_ns)
		return;
	label(t, "without");
	why_phrase(w, t, "{text} ({nr} thread{s}): {time} of {time} would remain, {percent} less\n",
		   SAY_TEXT(w->opt->without), SAY_NR(o->nr_threads), SAY_TIME(o->remaining_ns),
		   SAY_TIME(o->wait_ns),
		   SAY_PERCENT(1 - why_ms(o->remaining_ns) / why_ms(o->wait_ns)));
}

/* Running time of the recorder's own threads, which are in no finding. */
static uint64_t own_cost(const struct why *w, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t ns = 0;

	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		struct sums s;

		if (!why_is_ours(w, i))
			continue;
		sums_of(w, i, from_ns, to_ns, &s);
		ns += s.ns[SPAN_RUN];
	}
	return ns;
}

static void put_own_cost(const struct why *w, const struct finding *best, struct text *t)
{
	bool part = best && best->to_ns;
	uint64_t from = part ? best->from_ns : w->focus_ns, to = part ? best->to_ns : w->end_ns;
	uint64_t ns = own_cost(w, from, to);

	if (!ns || ns * OWN_SHARE < to - from)
		return;
	label(t, "recorder");
	why_phrase(w, t, "ringback itself ran {time} of that time\n", SAY_TIME(ns));
}

int why_say(const struct why *w, FILE *out)
{
	const struct finding *best = nr_findings(w) ? finding_nth(w, 0) : NULL, *more[MAX_ALSO];
	struct text t = TEXT_INIT(out), gone = TEXT_INIT(NULL);
	size_t nr_more;
	unsigned named;
	int rc;

	missing(w, best, &gone);
	text_str(&t, w->opt->color ? "\x1b[1m" : "");
	put_verdict(w, best, &t);
	text_str(&t, w->opt->color ? "\x1b[0m\n" : "\n");
	put_cause(w, best, &t);
	named = put_containers(w, best, &t);
	if (best) {
		/* The verdict and other lines take up to 10. */
		put_lines(best, MAX_LINES - 10 + (w->opt->without == NULL) - named, &t);
		put_without(w, &t);
		put_confidence(w, best, &t);
	} else {
		put_usual(w, &t);
	}
	nr_more = also(w, more);
	for (size_t i = 0; i < nr_more; i++) {
		label(&t, "also");
		text_put(&t, more[i]->verdict.b.p, more[i]->verdict.b.len);
		text_char(&t, '\n');
	}
	put_own_cost(w, best, &t);
	put_what(w, best, &t);
	label(&t, "missing");
	text_put(&t, gone.b.p, gone.b.len);
	text_char(&t, '\n');
	text_free(&gone);
	rc = text_flush(&t);
	text_free(&t);
	return rc;
}

/* ---- JSON ---- */

static void json_thread(const struct why *w, struct json *j, const char *key, uint32_t tid)
{
	const char *comm = history_comm(w->a.history, tid, w->end_ns);
	const struct fmt_task *task = history_task(w->a.history, tid, w->end_ns);

	if (!tid) {
		json_cstr(j, key, NULL);
		return;
	}
	json_open(j, key, '{');
	json_u64(j, "tid", tid);
	if (task)
		json_u64(j, "pid", task->pid);
	else
		json_cstr(j, "pid", NULL);
	json_cstr(j, "comm", comm);
	cgroup_json(j, w->a.m, group_of(w, tid));
	json_close(j, '}');
}

/* The text is already safe for a terminal, but JSON still needs escaping. */
static void json_text(struct json *j, const char *key, const struct text *t)
{
	if (t->b.len)
		json_str(j, key, (const char *)t->b.p, t->b.len);
	else
		json_cstr(j, key, NULL);
}

static void json_lines(struct json *j, const struct finding *f)
{
	const char *p = (const char *)f->lines.b.p;
	const char *end = p ? p + f->lines.b.len : NULL;

	json_open(j, "evidence", '[');
	while (p < end) {
		const char *tab = memchr(p, '\t', (size_t)(end - p));
		const char *line = memchr(p, '\n', (size_t)(end - p));

		if (!tab || !line || tab > line)
			break;
		json_open(j, NULL, '{');
		json_str(j, "label", p, (size_t)(tab - p));
		json_str(j, "text", tab + 1, (size_t)(line - tab - 1));
		json_close(j, '}');
		p = line + 1;
	}
	json_close(j, ']');
}

static void json_brief(const struct why *w, struct json *j, const struct finding *f)
{
	json_cstr(j, "kind", f->kind);
	json_text(j, "verdict", &f->verdict);
	json_u64(j, "weight", (uint64_t)f->score);
	json_thread(w, j, "thread", f->victim_tid);
}

static void json_finding(const struct why *w, struct json *j, const struct finding *f)
{

	json_brief(w, j, f);
	json_cstr(j, "confidence", why_is_cut(w) ? "partial" : confidence[f->sure].word);
	json_thread(w, j, "culprit", f->culprit_tid);
	json_text(j, "function", &f->function);
	json_lines(j, f);
}

static int64_t relative(const struct why *w, uint64_t ns)
{
	return (int64_t)(ns - w->a.m->trigger.hit_ns);
}

int why_say_json(const struct why *w, FILE *out)
{
	const struct finding *best = nr_findings(w) ? finding_nth(w, 0) : NULL;
	struct text t = TEXT_INIT(out), gone = TEXT_INIT(NULL), verdict = TEXT_INIT(NULL);
	struct json j = {.t = &t};
	int rc, blamed;

	missing(w, best, &gone);
	put_verdict(w, best, &verdict);
	json_open(&j, NULL, '{');
	json_u64(&j, "schema_version", 1);
	if (best) {
		json_finding(w, &j, best);
	} else {
		json_cstr(&j, "kind", "none");
		json_text(&j, "verdict", &verdict);
	}
	json_i64(&j, "from", relative(w, best && best->to_ns ? best->from_ns : w->focus_ns));
	json_i64(&j, "to", relative(w, best && best->to_ns ? best->to_ns : w->end_ns));
	json_i64(&j, "recorded_from", relative(w, w->from_ns));
	json_thread(w, &j, "asked_by",
		    w->asked == NO_THREAD ? 0 : schedule_thread(w->a.sched, w->asked)->tid);
	json_u64(&j, "recorder_ran_ns",
		 own_cost(w, best && best->to_ns ? best->from_ns : w->focus_ns,
			  best && best->to_ns ? best->to_ns : w->end_ns));
	json_text(&j, "missing", &gone);
	if (w->opt->without) {
		json_open(&j, "without", '{');
		json_u64(&j, "threads", w->without.nr_threads);
		json_u64(&j, "wait_ns", w->without.wait_ns);
		json_u64(&j, "remaining_ns", w->without.remaining_ns);
		json_close(&j, '}');
	}
	json_open(&j, "also", '[');
	for (size_t i = 1; i < nr_findings(w) && i < 10; i++) {
		json_open(&j, NULL, '{');
		json_brief(w, &j, finding_nth(w, i));
		json_close(&j, '}');
	}
	json_close(&j, ']');
	blamed = why_blame_json(w, &j);
	json_close(&j, '}');
	text_char(&t, '\n');
	rc = text_flush(&t);
	rc = rc ? rc : blamed ? blamed : verdict.rc ? verdict.rc : gone.rc;
	text_free(&t);
	text_free(&gone);
	text_free(&verdict);
	return rc;
}
