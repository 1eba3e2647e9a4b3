// SPDX-License-Identifier: MIT
/* Reads a dump in one pass: the schedule, and events of processes' lives. */
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/model/prefetch.h"
#include "dump/view/model/thread_states.h"
#include "dump/view/unwind/runtimes.h"
#include "dump/view/why/why_impl.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Default length of the focus before the trigger. */
#define FOCUS_NS 1000000000ull
/* Less than this does not hold enough samples. */
#define SHORT_FOCUS_NS 250000000ull
/* Shorter durations in a reason are limits or usual times. */
#define MIN_HINT_NS 20000000ull
/* Two channels may record the same event, one right after the other. */
#define SAME_NS 20000
/* The same for delivered signals: the first copy of a cold stack takes longer, and a thread cannot
 * get the same signal again so soon. */
#define SAME_DELIVERY_NS 500000

static const struct {
	const char *name;
	enum life_kind kind;
} lives[] = {
	{"sched:sched_process_fork", LIFE_FORK}, {"sched:sched_process_exec", LIFE_EXEC},
	{"sched:sched_process_exit", LIFE_EXIT}, {"signal:signal_generate", LIFE_SEND},
	{"signal:signal_deliver", LIFE_DELIVER}, {"oom:mark_victim", LIFE_OOM},
};

static const struct {
	const char *name;
	enum counter counter;
} counters[] = {
	{"vmscan:mm_vmscan_direct_reclaim_begin", COUNT_RECLAIM},
	{"vmscan:mm_vmscan_memcg_reclaim_begin", COUNT_RECLAIM},
};

/* By event of meta: kind of life + 1; 0: none. */
static uint8_t *life_kinds(struct why *w)
{
	uint8_t *kinds = calloc(w->a.m->nr_events + 1, 1);

	for (size_t i = 0; kinds && i < w->a.m->nr_events; i++) {
		const struct meta_event *e = &w->a.m->events[i];
		const char *name = analysis_event(&w->a, e);
		bool in_rings;

		if (e->f.id == UINT32_MAX)
			continue;
		in_rings = meta_in_rings(w->a.m, e);
		w->counted[COUNT_FAULTS] |= in_rings && e->attr.type == PERF_TYPE_SOFTWARE &&
					    e->attr.config >= PERF_COUNT_SW_PAGE_FAULTS &&
					    e->attr.config <= PERF_COUNT_SW_PAGE_FAULTS_MAJ;
		if (e->attr.type != PERF_TYPE_TRACEPOINT || !name)
			continue;
		for (size_t k = 0; k < sizeof(lives) / sizeof(lives[0]); k++)
			if (!strcmp(name, lives[k].name)) {
				kinds[i] = (uint8_t)lives[k].kind + 1;
				w->recorded[lives[k].kind] |= in_rings;
			}
		for (size_t k = 0; k < sizeof(counters) / sizeof(counters[0]); k++)
			w->counted[counters[k].counter] |=
				in_rings && !strcmp(name, counters[k].name);
	}
	return kinds;
}

static int add_life(struct why *w, enum life_kind kind, const struct timeline_record *rec)
{
	const struct fmt_task *task;
	struct life l = {.ns = rec->time_ns,
			 .tid = rec->tid,
			 .kind = (uint8_t)kind,
			 .of_trigger = rec->channel->of_trigger};
	struct life *all = (struct life *)w->life.p;
	uint64_t same_ns;

	if (rec->s.have & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER))
		l.chain = call_chains_add(w->a.chains, rec);
	switch (kind) {
	case LIFE_FORK:
		l.tid = (uint32_t)analysis_number(&w->a, rec, "parent_pid");
		l.other = (uint32_t)analysis_number(&w->a, rec, "child_pid");
		task = history_task(w->a.history, l.other, l.ns);
		l.is_thread = task && task->pid != l.other;
		break;
	case LIFE_SEND:
		l.other = rec->tid;
		l.tid = (uint32_t)analysis_number(&w->a, rec, "pid");
		break;
	case LIFE_DELIVER:
		l.handled = analysis_number(&w->a, rec, "sa_handler") != 0;
		break;
	case LIFE_OOM:
		l.tid = (uint32_t)analysis_number(&w->a, rec, "pid");
		break;
	default:
		break;
	}
	l.sig = (int32_t)analysis_number(&w->a, rec, "sig");
	l.code = (int32_t)analysis_number(&w->a, rec, "code");
	/* The same event from another channel: keep one, with its stack. */
	same_ns = kind == LIFE_DELIVER ? SAME_DELIVERY_NS : SAME_NS;
	for (size_t i = why_nr_life(w); i-- > 0 && l.ns - all[i].ns < same_ns;)
		if (all[i].kind == l.kind && all[i].tid == l.tid && all[i].sig == l.sig &&
		    all[i].other == l.other && all[i].handled == l.handled &&
		    all[i].code == l.code) {
			if (!all[i].chain)
				all[i].chain = l.chain;
			all[i].of_trigger |= l.of_trigger;
			return 0;
		}
	return buf_put(&w->life, &l, sizeof(l));
}

/* By event. */
struct wanted_events {
	uint8_t *kinds;
	bool *events;
	struct timeline_need *needs;
};

static void wish_free(struct wanted_events *v)
{
	free(v->kinds);
	free(v->events);
	free(v->needs);
}

static int wish_make(struct why *w, struct wanted_events *v)
{
	size_t nr = w->a.m->nr_events + 1;

	v->kinds = life_kinds(w);
	v->events = calloc(nr, sizeof(*v->events));
	v->needs = calloc(nr, sizeof(*v->needs));
	if (!v->kinds || !v->events || !v->needs)
		return -ENOMEM;
	for (size_t i = 0; i < w->a.m->nr_events; i++) {
		if (v->kinds[i])
			v->needs[i] = TIMELINE_NEED_ALL;
		v->events[i] = v->kinds[i] || w->also_all;
		v->events[i] |= schedule_needs(w->a.sched, i, &v->needs[i]);
		v->events[i] |= why_irqs_need(w, i, &v->needs[i]);
	}
	return 0;
}

static int feed(struct why *w, const struct wanted_events *v, const struct timeline_record *rec)
{
	uint8_t kind = rec->event ? v->kinds[rec->event - w->a.m->events] : 0;
	int rc = schedule_feed(w->a.sched, rec);

	if (!rc && kind)
		rc = add_life(w, kind - 1, rec);
	if (!rc)
		rc = why_irqs_feed(w, rec);
	if (!rc && w->also)
		rc = w->also(w->also_ctx, rec);
	return rc;
}

static int pass(struct why *w, struct err *err)
{
	struct timeline_options opt = {
		.to_ns = UINT64_MAX, .cpu = -1, .nr_helpers = prefetch_helpers()};
	struct timeline_record rec;
	struct timeline *t = NULL;
	struct wanted_events v = {0};
	int rc = wish_make(w, &v);

	opt.events = v.events;
	opt.needs = v.needs;
	rc = rc ? rc : timeline_open(w->a.r, w->a.m, &opt, &t, err);
	while (!rc) {
		rc = timeline_next(t, &rec, err);
		if (rc <= 0)
			break;
		rc = feed(w, &v, &rec);
	}
	w->nr_bad_blocks += t ? timeline_nr_bad_blocks(t) : 0;
	timeline_close(t);
	wish_free(&v);
	return rc ? rc : schedule_end(w->a.sched);
}

/* ---- results ---- */

static int mark_kernel(struct why *w)
{
	size_t nr = schedule_nr_threads(w->a.sched);

	w->is_kernel = calloc(nr + 1, 1);
	w->is_hinted = calloc(nr + 1, 1);
	if (!w->is_kernel || !w->is_hinted)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t tid = schedule_thread(w->a.sched, i)->tid;
		const struct fmt_task *t = history_task(w->a.history, tid, w->end_ns);

		/* Kernel threads are children of kthreadd, tid 2. */
		w->is_kernel[i] = !tid || tid == 2 || (t && t->ppid == 2);
	}
	return 0;
}

bool why_is_kernel(const struct why *w, uint32_t thread)
{
	return w->is_kernel[thread];
}

void why_name(const struct why *w, uint32_t thread, struct text *t)
{
	const struct schedule_thread *s;

	if (thread == NO_THREAD) {
		text_str(t, "somebody");
		return;
	}
	s = schedule_thread(w->a.sched, thread);
	if (s->comm)
		text_safe(t, s->comm, strlen(s->comm));
	else
		text_fmt(t, "thread %u", s->tid);
}

static bool is_one_of(const char *comm, const char *const *names)
{
	for (; comm && *names; names++)
		if (!strcmp(comm, *names))
			return true;
	return false;
}

/* The thread that requested the dump: that which started `ringback trigger` or sent the signal. A
 * shell acts for a user, so it does not count. */
static uint32_t who_asked(const struct why *w)
{
	static const char *const tools[] = {"kill", "pkill", "killall", NULL};
	static const char *const shells[] = {"bash", "sh",   "dash", "zsh",  "fish", "ksh",
					     "tmux", "sshd", "sudo", "make", NULL};
	uint32_t tid = w->a.m->trigger.tid ? w->a.m->trigger.tid : w->a.m->trigger.pid, thread;
	const char *comm;

	for (int i = 0; tid && i < 4; i++) {
		/* The peer of the control socket is a tool, whatever its name. */
		bool is_tool = !i && !strcmp(w->a.m->trigger_name, "manual");

		comm = history_comm(w->a.history, tid, w->a.m->trigger.hit_ns);
		if (is_one_of(comm, shells) || (comm && str_glob("*.sh", comm)))
			return NO_THREAD;
		thread = schedule_find(w->a.sched, tid);
		if (thread != NO_THREAD && !is_tool && !is_one_of(comm, tools) &&
		    !(comm && !strncmp(comm, "ringback", 8)))
			return thread;
		for (size_t k = why_nr_life(w); k-- > 0;)
			if (why_life(w, k)->kind == LIFE_FORK && why_life(w, k)->other == tid) {
				tid = why_life(w, k)->tid;
				goto next;
			}
		return NO_THREAD;
	next:;
	}
	return NO_THREAD;
}

/* --comm: the matching thread with the most spans. */
static uint32_t by_comm(const struct why *w)
{
	uint32_t best = NO_THREAD;
	size_t most = 0;

	for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
		const struct schedule_thread *t = schedule_thread(w->a.sched, i);

		if (t->comm && str_glob(w->opt->comm, t->comm) && t->nr > most) {
			best = i;
			most = t->nr;
		}
	}
	return best;
}

/* True when the name is the word, or begins with it up to a separator: "redis" is redis-server. */
static bool is_named(const char *comm, const char *word, size_t n)
{
	return n >= 3 && !strncasecmp(comm, word, n) &&
	       (!comm[n] || (!isalnum((unsigned char)comm[n]) && comm[n] != '.'));
}

/* The duration that begins at `word`, "640 ms" or "0.6s"; 0: none. */
static uint64_t duration_at(const char *word)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"sec", 1e9}, {"seconds", 1e9}};
	char *end;
	double nr = strtod(word, &end);
	size_t n;

	end += *end == ' ';
	n = strspn(end, "abcdefghijklmnopqrstuvwxyz");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (nr > 0 && nr < 1e6 && n == strlen(units[i].unit) &&
		    !strncmp(end, units[i].unit, n))
			return (uint64_t)(nr * units[i].ns);
	return 0;
}

/* A program that asks says that something took so long, and asks soon after its end. */
static void focus_on_hint(struct why *w)
{
	uint64_t ns = w->hint_ns + w->hint_ns / 8;

	ns = ns > SHORT_FOCUS_NS ? ns : SHORT_FOCUS_NS;
	if (w->hint_ns >= MIN_HINT_NS && !w->opt->from_ns && !w->opt->to_ns &&
	    w->end_ns - w->from_ns > ns)
		w->focus_ns = w->end_ns - ns;
}

/* Threads that the reason names, by name or as "pid 123", are what the dump is about. Of several
 * durations the longest is what something took, the others are limits. */
static void take_hints(struct why *w)
{
	static const char *const blanks = " \t,;:()[]'\"=";
	const char *word = w->a.m->trigger_reason;
	unsigned long pid;
	bool after_pid = false;

	for (word += strspn(word, blanks); *word; word += strspn(word, blanks)) {
		size_t n = strcspn(word, blanks);
		uint64_t ns = isdigit((unsigned char)*word) ? duration_at(word) : 0;

		w->hint_ns = ns > w->hint_ns ? ns : w->hint_ns;
		pid = after_pid ? strtoul(word, NULL, 10) : 0;
		for (uint32_t i = 1; i < schedule_nr_threads(w->a.sched); i++) {
			const struct schedule_thread *t = schedule_thread(w->a.sched, i);

			w->is_hinted[i] |= (pid && (t->pid == pid || t->tid == pid)) ||
					   (t->comm && is_named(t->comm, word, n));
		}
		after_pid = n == 3 && !strncasecmp(word, "pid", 3);
		word += n;
	}
}

/* True when the trigger's thread met the rule: such rules leave records or an interval. For other
 * triggers it may be a tool. */
static bool rule_knows(const struct why *w)
{
	bool knows = w->a.m->trigger_began_ns != 0;

	for (size_t i = 0; i < w->a.m->nr_channels; i++)
		knows |= w->a.m->channels[i].of_trigger;
	return knows && w->a.m->trigger.tid;
}

static void set_focus(struct why *w)
{
	uint64_t hit = w->a.m->trigger.hit_ns;

	schedule_window(w->a.sched, &w->from_ns, &w->to_ns);
	if (!w->to_ns) {
		w->to_ns = hit;
		w->from_ns = hit > FOCUS_NS ? hit - FOCUS_NS : 0;
	}
	w->end_ns = hit > w->from_ns && hit < w->to_ns ? hit : w->to_ns;
	w->focus_ns = w->end_ns - w->from_ns > FOCUS_NS ? w->end_ns - FOCUS_NS : w->from_ns;
	if (why_interval(w) && w->a.m->trigger_began_ns < w->end_ns)
		w->focus_ns = w->a.m->trigger_began_ns > w->from_ns ? w->a.m->trigger_began_ns
								    : w->from_ns;
	if (w->opt->from_ns || w->opt->to_ns) {
		w->focus_ns = w->opt->from_ns > w->from_ns ? w->opt->from_ns : w->from_ns;
		if (w->opt->to_ns && w->opt->to_ns < w->to_ns)
			w->end_ns = w->opt->to_ns;
		if (w->focus_ns > w->end_ns)
			w->focus_ns = w->end_ns;
	}
}

/* Facts about the thread that met the rule do not apply to another thread. */
static void forget_rule(struct why *w)
{
	if (schedule_thread(w->a.sched, w->asked)->tid == w->a.m->trigger.tid)
		return;
	w->of_other = true;
	w->met = false;
	cause_free(&w->cause);
	w->cause = (struct cause){.is_crash = false};
	set_focus(w);
}

/* All threads of the process are what the dump is about: a watchdog notices what another thread
 * suffers from. False: there are none. */
static bool hint_process(struct why *w, uint32_t pid)
{
	bool found = false;

	for (uint32_t i = 1; pid && i < schedule_nr_threads(w->a.sched); i++)
		if (schedule_thread(w->a.sched, i)->pid == pid) {
			w->is_hinted[i] = true;
			found = true;
		}
	return found;
}

static int choose(struct why *w, struct err *err)
{
	const struct why_options *o = w->opt;

	w->met = rule_knows(w);
	w->asked = w->met ? schedule_find(w->a.sched, w->a.m->trigger.tid) : who_asked(w);
	if (!o->tid && !o->comm && !o->pid) {
		if (!w->met)
			take_hints(w);
		if (w->asked == NO_THREAD)
			return 0;
		hint_process(w, schedule_thread(w->a.sched, w->asked)->pid);
		focus_on_hint(w);
		return 0;
	}
	w->by_option = true;
	if (o->pid) {
		w->asked = NO_THREAD;
		if (hint_process(w, o->pid))
			return 0;
	} else {
		w->asked = o->tid ? schedule_find(w->a.sched, o->tid) : by_comm(w);
	}
	if (w->asked != NO_THREAD) {
		forget_rule(w);
		return 0;
	}
	err_set(err, -ENOENT, "the dump has nothing on that %s in its window",
		o->pid ? "process" : "thread");
	err_hint(err, "ringback report says who is in it");
	return -ENOENT;
}

/* Rings of rare events usually reach further back than others. */
static void set_life(struct why *w)
{
	for (size_t i = 0; i < w->a.m->nr_windows; i++) {
		const struct fmt_window *win = &w->a.m->windows[i];
		uint64_t from = win->overwritten_bytes ? win->first_ns : win->armed_ns;
		bool lives_here = false;

		for (size_t k = 0; k < w->a.m->nr_events && meta_is_ring(win); k++) {
			const struct meta_event *e = &w->a.m->events[k];
			const char *name = analysis_event(&w->a, e);

			lives_here |= e->f.channel == win->channel && name &&
				      !strcmp(name, "sched:sched_process_fork");
		}
		if (lives_here && !(win->flags & FMT_WINDOW_OFFLINE) && from > w->life_ns)
			w->life_ns = from;
	}
}

/* How much time one sample stands for. */
static void measure_samples(struct why *w)
{
	for (size_t i = 0; i < w->a.m->nr_events; i++) {
		const struct perf_event_attr *a = &w->a.m->events[i].attr;

		if (!meta_in_rings(w->a.m, &w->a.m->events[i]))
			continue;
		if (a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_CPU_CLOCK)
			w->sample_period_ns =
				a->freq ? 1000000000ull / (a->sample_freq | !a->sample_freq)
					: a->sample_period;
	}
	w->has_samples = schedule_nr_samples(w->a.sched) > 0;
	for (uint32_t id = 1; id <= call_chains_nr(w->a.chains) && !w->has_names; id++) {
		struct chain c = call_chains_get(w->a.chains, id);

		for (size_t i = 0; i < c.nr; i++)
			w->has_names |= c.frames[i].function != NULL;
	}
}

static int read_runtimes(struct why *w, struct err *err)
{
	int rc = runtimes_new(w->a.history, &w->runtimes, err);

	for (size_t i = 0; !rc && i < schedule_nr_samples(w->a.sched); i++) {
		const struct schedule_sample *s = schedule_sample(w->a.sched, i);

		runtimes_add(w->runtimes, schedule_thread(w->a.sched, s->thread)->pid,
			     call_chains_get(w->a.chains, s->chain));
	}
	return rc;
}

int why_load(struct why *w, struct err *err)
{
	struct history_counts counts;
	int rc = analysis_open(&w->a, ANALYSIS_SCHEDULE, err);

	rc = rc ? rc : why_irqs_new(w);
	rc = rc ? rc : pass(w, err);
	rc = rc ? rc : cause_find(&w->a, &w->cause, err);
	rc = rc ? rc : thread_states_load(w->a.r, &w->states, err);
	if (rc)
		return rc;
	w->nr_bad_blocks += thread_states_nr_broken(w->states);
	history_counts(w->a.history, &counts);
	w->nr_bad_blocks += counts.nr_broken;
	set_focus(w);
	set_life(w);
	rc = mark_kernel(w);
	w->classes = wait_classes_new(call_chains_nr(w->a.chains));
	rc = rc ? rc : w->classes ? 0 : -ENOMEM;
	rc = rc ? rc : path_mark(w);
	if (rc)
		return err_set(err, rc, "out of memory");
	measure_samples(w);
	rc = read_runtimes(w, err);
	return rc ? rc : choose(w, err);
}

void why_unload(struct why *w)
{
	for (size_t i = 0; i < w->findings.len / sizeof(struct finding); i++)
		finding_free((struct finding *)w->findings.p + i);
	why_irqs_free(w->irqs);
	wait_classes_free(w->classes);
	runtimes_free(w->runtimes);
	cause_free(&w->cause);
	thread_states_free(w->states);
	buf_free(&w->life);
	buf_free(&w->findings);
	path_free(&w->path);
	free(w->is_kernel);
	free(w->is_hinted);
	free(w->by_thread);
	analysis_close(&w->a);
}
