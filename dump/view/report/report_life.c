// SPDX-License-Identifier: MIT
/*
 * Processes that started and ended, and those that were killed: by fatal signals or the OOM killer.
 */
#include "dump/base/str.h"
#include "dump/view/base/row_map.h"
#include "dump/view/report/report_impl.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEATHS 4096
#define MAX_SHOWN  8

struct name {
	uint64_t key; /* interned name */
	uint64_t nr;
};

/* A signal or OOM kill that ended a process. */
struct death {
	uint64_t ns;
	uint32_t tid, by; /* by: UINT32_MAX: unknown */
	int32_t sig;	  /* 0: chosen by the OOM killer */
	const char *comm, *by_comm;
	uint64_t bytes; /* OOM: its memory */
	bool died;	/* its exit was recorded */
};

/* The last sender of a signal to a process. */
struct sender {
	uint64_t key; /* tid << 8 | signal */
	uint32_t by;
	const char *comm;
};

struct life_section {
	struct map ended, senders, executed;
	struct buf deaths; /* struct death */
	uint64_t nr_forks, nr_threads, nr_execs, nr_ends;
	bool has_life; /* forks, execs and exits are recorded */
};

static void count(struct map *m, const char *comm)
{
	struct name *n = map_row(m, (uintptr_t)comm);

	if (n)
		n->nr++;
}

static int on_fork(void *state, struct report *rp, const struct timeline_record *rec)
{
	uint32_t tid = (uint32_t)analysis_number(&rp->a, rec, "child_pid");
	const struct fmt_task *t = history_task(rp->a.history, tid, rec->time_ns);
	struct life_section *l = state;

	if (t && t->pid != t->tid)
		l->nr_threads++;
	else
		l->nr_forks++;
	return 0;
}

static int on_exec(void *state, struct report *rp, const struct timeline_record *rec)
{
	char path[256];
	const char *base;
	struct life_section *l = state;

	report_string(rp, rec, "filename", path, sizeof(path));
	base = strrchr(path, '/');
	base = base && base[1] ? base + 1 : path;
	base = intern(&rp->names, (struct bytes){(const uint8_t *)base, strlen(base)});
	l->nr_execs++;
	if (base)
		count(&l->executed, base);
	return 0;
}

static struct death *deaths(const struct life_section *l)
{
	return (struct death *)l->deaths.p;
}

static size_t nr_deaths(const struct life_section *l)
{
	return l->deaths.len / sizeof(struct death);
}

static int on_end(void *state, struct report *rp, const struct timeline_record *rec)
{
	uint32_t tid = (uint32_t)analysis_number(&rp->a, rec, "pid");
	const struct fmt_task *t = history_task(rp->a.history, tid, rec->time_ns);
	struct life_section *l = state;
	uint32_t pid = t ? t->pid : tid;

	for (size_t i = nr_deaths(l); i-- > 0;) {
		const struct fmt_task *of =
			history_task(rp->a.history, deaths(l)[i].tid, deaths(l)[i].ns);

		if (deaths(l)[i].tid == tid || (of && of->pid == pid)) {
			deaths(l)[i].died = true;
			break;
		}
	}
	if (pid != tid)
		return 0;
	l->nr_ends++;
	count(&l->ended, report_comm_of(rp, tid, rec->time_ns));
	return 0;
}

static int on_send(void *state, struct report *rp, const struct timeline_record *rec)
{
	uint64_t key = analysis_number(&rp->a, rec, "pid") << 8 |
		       (analysis_number(&rp->a, rec, "sig") & 0xff);
	struct life_section *l = state;
	struct sender *s = map_row(&l->senders, key);

	if (s) {
		s->by = rec->tid;
		s->comm = report_comm_of(rp, rec->tid, rec->time_ns);
	}
	return 0;
}

/* Signals that end a process without a handler. */
static bool is_deadly(int sig)
{
	switch (sig) {
	case SIGCHLD:
	case SIGCONT:
	case SIGURG:
	case SIGWINCH:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return false;
	default:
		return sig > 0 && sig <= 64;
	}
}

/* The recorder kills its own children, such as the symbolizer when the next dump is due. */
static bool is_recorders(const struct report *rp, const struct sender *s, uint64_t ns)
{
	const struct fmt_task *t = history_task(rp->a.history, s->by, ns);

	return t && rp->a.m->host.recorder_pid && t->pid == rp->a.m->host.recorder_pid;
}

/* True when a death of this process is listed already, from another thread. */
static bool is_known(const struct life_section *l, const struct report *rp,
		     const struct fmt_task *t)
{
	size_t nr = nr_deaths(l);

	for (size_t i = nr; t && i-- > 0 && nr - i < 256;) {
		const struct fmt_task *of =
			history_task(rp->a.history, deaths(l)[i].tid, deaths(l)[i].ns);

		if (of && of->pid == t->pid)
			return true;
	}
	return false;
}

static int on_deliver(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct life_section *l = state;
	int sig = (int)analysis_number(&rp->a, rec, "sig");
	struct death d = {.ns = rec->time_ns, .tid = rec->tid, .by = UINT32_MAX, .sig = sig};
	const struct sender *s;
	const struct fmt_task *t;

	if (analysis_number(&rp->a, rec, "sa_handler") || !is_deadly(sig) ||
	    nr_deaths(l) >= MAX_DEATHS)
		return 0;
	t = history_task(rp->a.history, rec->tid, rec->time_ns);
	s = map_find(&l->senders, (uint64_t)rec->tid << 8 | (unsigned)sig);
	if (!s && t)
		s = map_find(&l->senders, (uint64_t)t->pid << 8 | (unsigned)sig);
	/* When a process ends for any reason, its threads get a SIGKILL without a sender. */
	if ((sig == SIGKILL && (!s || is_recorders(rp, s, rec->time_ns))) || is_known(l, rp, t))
		return 0;
	if (s) {
		d.by = s->by;
		d.by_comm = s->comm;
	}
	d.comm = report_comm_of(rp, rec->tid, rec->time_ns);
	return buf_put(&l->deaths, &d, sizeof(d));
}

static int on_victim(void *state, struct report *rp, const struct timeline_record *rec)
{
	struct life_section *l = state;
	struct death d = {.ns = rec->time_ns,
			  .tid = (uint32_t)analysis_number(&rp->a, rec, "pid"),
			  .by = rec->tid,
			  .bytes = analysis_number(&rp->a, rec, "anon_rss") * 1024};

	if (nr_deaths(l) >= MAX_DEATHS)
		return 0;
	d.comm = report_comm_of(rp, d.tid, rec->time_ns);
	d.by_comm = report_comm_of(rp, d.by, rec->time_ns);
	return buf_put(&l->deaths, &d, sizeof(d));
}

static int open_life(struct report *rp, void **state)
{
	struct life_section *l = calloc(1, sizeof(*l));
	bool any;

	if (!l)
		return -ENOMEM;
	l->ended = MAP_INIT(struct name);
	l->executed = MAP_INIT(struct name);
	l->senders = MAP_INIT(struct sender);
	any = report_hook(rp, "sched:sched_process_fork", on_fork, l);
	any |= report_hook(rp, "sched:sched_process_exec", on_exec, l);
	any |= report_hook(rp, "sched:sched_process_exit", on_end, l);
	l->has_life = any;
	report_hook(rp, "signal:signal_generate", on_send, l);
	any |= report_hook(rp, "signal:signal_deliver", on_deliver, l);
	any |= report_hook(rp, "oom:mark_victim", on_victim, l);
	if (any)
		*state = l;
	else
		free(l);
	return 0;
}

static void close_life(void *state)
{
	struct life_section *l = state;

	map_free(&l->ended);
	map_free(&l->executed);
	map_free(&l->senders);
	buf_free(&l->deaths);
	free(l);
}

static int most_first(const void *a, const void *b)
{
	const struct name *x = a, *y = b;

	if (x->nr != y->nr)
		return x->nr > y->nr ? -1 : 1;
	return strcmp((const char *)(uintptr_t)x->key, (const char *)(uintptr_t)y->key);
}

/* "cc1 40, as 40, sh 12 and 3 other names". */
static void put_names(struct report *rp, const char *what, uint64_t nr, struct map *m)
{
	struct text t = TEXT_INIT(NULL);
	char name[256];
	size_t i;

	if (!nr)
		return;
	map_sort(m, most_first);
	text_fmt(&t, "%s %" PRIu64 ": ", what, nr);
	for (i = 0; i < map_nr(m) && i < MAX_SHOWN; i++) {
		const struct name *n = map_nth(m, i);
		const char *s = (const char *)(uintptr_t)n->key;

		text_fmt(&t, "%s%s %" PRIu64, i ? ", " : "",
			 str_safe(name, sizeof(name), s, strlen(s)), n->nr);
	}
	if (i < map_nr(m))
		text_fmt(&t, " and %zu other%s", map_nr(m) - i, map_nr(m) - i == 1 ? "" : "s");
	text_char(&t, '\0');
	if (!t.rc)
		page_hang(&rp->page, 0, 4, (const char *)t.b.p);
	text_free(&t);
}

static void put_death(struct report *rp, const struct death *d)
{
	const char *abbrev = d->sig > 0 ? sigabbrev_np(d->sig) : NULL;
	char comm[96], by[96], at[32], size[32], sig[24], line[512];
	int n;

	str_safe(comm, sizeof(comm), d->comm, strlen(d->comm));
	if (abbrev)
		snprintf(sig, sizeof(sig), "SIG%s", abbrev);
	else
		snprintf(sig, sizeof(sig), "signal %d", d->sig);
	page_fmt_moment(at, sizeof(at), d->ns, rp->a.m->trigger.hit_ns);
	if (d->sig)
		n = snprintf(line, sizeof(line), "  %s  %s (%" PRIu32 ") got %s and %s", at, comm,
			     d->tid, sig, d->died ? "died of it" : "was about to die of it");
	else
		n = snprintf(line, sizeof(line),
			     "  %s  the kernel was out of memory and chose %s (%" PRIu32
			     ", %s) to be killed",
			     at, comm, d->tid, str_fmt_size(size, sizeof(size), d->bytes));
	if (d->by != UINT32_MAX && d->by != d->tid && d->by_comm)
		snprintf(line + n, sizeof(line) - (size_t)n,
			 d->sig ? ", sent by %s (%" PRIu32 ")" : ", asked by %s (%" PRIu32 ")",
			 str_safe(by, sizeof(by), d->by_comm, strlen(d->by_comm)), d->by);
	page_color(&rp->page, PAGE_BAD);
	page_hang(&rp->page, 0, 4, line);
	page_end_color(&rp->page);
}

static void print_deaths(struct report *rp, void *state)
{
	struct report_window w = report_window_of(rp, state);
	struct life_section *l = state;
	size_t nr = nr_deaths(l), from = nr > MAX_SHOWN ? nr - MAX_SHOWN : 0;
	char window[64];

	if (!nr)
		return;
	page_title(&rp->page, "DIED", report_fmt_window(rp, window, sizeof(window), &w));
	if (from)
		page_line(&rp->page, 2, "%zu before these", from);
	for (size_t i = from; i < nr; i++)
		put_death(rp, &deaths(l)[i]);
}

static void print_life(struct report *rp, void *state)
{
	struct report_window w = report_window_of(rp, state);
	struct life_section *l = state;
	char window[64];

	if (!l->has_life)
		return;
	page_title(&rp->page, "PROCESSES", report_fmt_window(rp, window, sizeof(window), &w));
	page_line(&rp->page, 2,
		  "%" PRIu64 " process%s and %" PRIu64 " thread%s started, %" PRIu64
		  " program%s executed, %" PRIu64 " process%s ended",
		  l->nr_forks, l->nr_forks == 1 ? "" : "es", l->nr_threads,
		  str_plural(l->nr_threads), l->nr_execs, str_plural(l->nr_execs), l->nr_ends,
		  l->nr_ends == 1 ? "" : "es");
	put_names(rp, "  executed", l->nr_execs, &l->executed);
	put_names(rp, "  ended", l->nr_ends, &l->ended);
}

const struct report_section report_life = {
	.what = "process starts, exits and crashes",
	.how = "--preset life",
	.open = open_life,
	.print_first = print_deaths,
	.print = print_life,
	.close = close_life,
};
