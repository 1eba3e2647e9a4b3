// SPDX-License-Identifier: MIT
/*
 * Reads the trigger's own records; see trigger_cause.h. Called by info, report and why. Searches
 * the rings just before the hit for facts that these records lack: the address of a fault, and the
 * sender of a signal.
 */
#include "dump/view/info/trigger_cause.h"

#include "dump/base/err.h"
#include "dump/base/signame.h"
#include "dump/base/str.h"
#include "dump/view/analysis/analysis.h"
#include "dump/view/model/cgroup.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/*
 * The kernel makes a signal before its thread handles it, which may be when the thread next runs.
 */
#define BEFORE_NS 10000000ull
/* Functions that are printed; of deeper stacks the innermost. */
#define MAX_SHOWN     12
#define MAX_OF_OTHERS 5

/* A place of threads, and their number. */
struct thread_place {
	struct text stack;
	uint32_t tid, nr;
};

struct cause_search {
	struct thread_place places[CAUSE_MAX_THREADS];
	size_t nr_places;
	struct analysis *a;
	struct cause *c;
	uint64_t ns;	  /* of the crash */
	size_t nr_frames; /* of the printed stack */
	/* From the rings. */
	uint64_t address;
	uint32_t sender;
	bool has_address;
};

static bool is_event(const struct meta_event *e, const char *name)
{
	return e->f.id != UINT32_MAX && e->attr.type == PERF_TYPE_TRACEPOINT &&
	       !strcmp(e->name, name);
}

/* ---- the stack ---- */

static void put_who(const struct cause_search *s, uint32_t tid, struct text *t)
{
	const char *comm = history_comm(s->a->history, tid, s->a->m->trigger.hit_ns);

	if (comm)
		text_safe(t, comm, strlen(comm));
	else
		text_str(t, "thread");
	text_fmt(t, " (%u)", tid);
}

static void put_frame(const struct stack_frame *f, struct text *t)
{
	const char *slash = f->at.file ? strrchr(f->at.file, '/') : NULL;
	const char *file = slash ? slash + 1 : f->at.file;

	stack_name(f, t);
	if (!file || !f->at.line)
		return;
	text_str(t, " (");
	text_safe(t, file, strlen(file));
	text_fmt(t, ":%u)", f->at.line);
}

/* The start functions of programs and threads are left out. */
static bool is_start(const struct stack_frame *f)
{
	static const char *const names[] = {
		"_start",   "__libc_start_main",      "start_thread", "__libc_start_call_main",
		"__clone3", "__libc_start_main_impl", "clone3",	      NULL};

	for (size_t i = 0; f->at.function && names[i]; i++)
		if (!strcmp(f->at.function, names[i]))
			return true;
	return false;
}

static bool same_function(const struct stack_frame *a, const struct stack_frame *b)
{
	return a->at.function && a->at.function == b->at.function;
}

/* Appends the innermost `max` functions of a stack; a recursive function counts once. Returns the
 * number of frames. */
static size_t put_stack(struct cause_search *s, const struct timeline_record *rec, size_t max,
			struct text *t)
{
	struct stack k;
	size_t nr, shown = 0;

	stack_get(s->a->stacks, rec, &k);
	for (nr = k.nr; nr > 1 && is_start(&k.frames[nr - 1]);)
		nr--;
	for (size_t i = 0, next; i < nr && shown < max; i = next) {
		for (next = i + 1; next < nr && same_function(&k.frames[i], &k.frames[next]);)
			next++;
		if (k.frames[i].kernel)
			continue;
		text_str(t, shown++ ? " <- " : "");
		put_frame(&k.frames[i], t);
		if (next - i > 1)
			text_fmt(t, " (×%zu)", next - i);
	}
	if (shown == max)
		text_str(t, " <- ..");
	else if (shown && k.end != STACK_COMPLETE && k.end != STACK_EMPTY) {
		text_str(t, " <- (");
		stack_end_name(&k, t);
		text_char(t, ')');
	}
	return k.nr;
}

static void name_function(struct cause_search *s, const struct timeline_record *rec)
{
	struct stack k;
	size_t i;

	stack_get(s->a->stacks, rec, &k);
	for (i = 0; i < k.nr && (k.frames[i].kernel || !k.frames[i].at.function); i++)
		;
	s->c->function.b.len = 0;
	if (i < k.nr)
		stack_name(&k.frames[i], &s->c->function);
}

/* Keeps the record with the longest stack of a thread. */
static void take_stack(struct cause_search *s, const struct timeline_record *rec)
{
	struct text t = TEXT_INIT(NULL);
	size_t nr = put_stack(s, rec, MAX_SHOWN, &t);

	if (nr <= s->nr_frames) {
		text_free(&t);
		return;
	}
	s->nr_frames = nr;
	text_free(&s->c->stack);
	s->c->stack = t;
	name_function(s, rec);
}

/* ---- the trigger's records ---- */

static uint64_t channels_of_trigger(const struct meta *m)
{
	uint64_t set = 0;

	for (size_t i = 0; i < m->nr_channels && i < 64; i++)
		if (m->channels[i].of_trigger)
			set |= 1ull << i;
	return set;
}

/* The event for other threads, in crash reports of programs and in core files: crash_sample.h of
 * the recorder. */
static bool is_thread(const struct meta_event *e)
{
	return e->f.id != UINT32_MAX && !strcmp(e->name, "crash:thread");
}

static void take_thread(struct cause_search *s, const struct timeline_record *rec)
{
	struct text stack = TEXT_INIT(NULL);
	size_t i;

	s->c->nr_threads++;
	put_stack(s, rec, MAX_OF_OTHERS, &stack);
	for (i = 0; i < s->nr_places; i++)
		if (s->places[i].stack.b.len == stack.b.len &&
		    (!stack.b.len || !memcmp(s->places[i].stack.b.p, stack.b.p, stack.b.len)))
			break;
	if (i == s->nr_places && i < CAUSE_MAX_THREADS) {
		s->places[s->nr_places++] = (struct thread_place){stack, rec->tid, 1};
		return;
	}
	if (i < s->nr_places)
		s->places[i].nr++;
	text_free(&stack);
}

static int by_nr(const void *a, const void *b)
{
	const struct thread_place *x = a, *y = b;

	return x->nr != y->nr ? (x->nr > y->nr ? -1 : 1) : x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Threads at the same place share a line. */
static void put_threads(struct cause_search *s)
{
	struct text *t = &s->c->threads;

	qsort(s->places, s->nr_places, sizeof(s->places[0]), by_nr);
	for (size_t i = 0; i < s->nr_places; i++) {
		struct thread_place *p = &s->places[i];

		s->c->nr_shown += p->nr;
		if (p->nr > 1)
			text_fmt(t, "%u threads, as ", p->nr);
		put_who(s, p->tid, t);
		text_str(t, ": ");
		text_char(&p->stack, '\0');
		text_str(t, (const char *)p->stack.b.p);
		text_char(t, '\0');
		text_free(&p->stack);
	}
}

static void take(struct cause_search *s, const struct timeline_record *rec)
{
	struct cause *c = s->c;

	if (!rec->event)
		return;
	if (s->a->m->trigger.tid && rec->tid != s->a->m->trigger.tid) {
		if (is_thread(rec->event))
			take_thread(s, rec);
		return;
	}
	if (!c->sig && is_event(rec->event, "signal:signal_deliver") &&
	    !analysis_number(s->a, rec, "sa_handler")) {
		c->sig = (int32_t)analysis_number(s->a, rec, "sig");
		c->code = (int32_t)analysis_number(s->a, rec, "code");
		s->ns = rec->time_ns;
	}
	c->is_crash |= signame_is_fault(c->sig) || is_thread(rec->event);
	take_stack(s, rec);
}

static int each(struct cause_search *s, const struct timeline_options *o,
		void (*what)(struct cause_search *s, const struct timeline_record *rec),
		struct err *err)
{
	struct timeline_record rec;
	struct timeline *t;
	int rc = timeline_open(s->a->r, s->a->m, o, &t, err);

	if (rc)
		return rc;
	while ((rc = timeline_next(t, &rec, err)) > 0)
		what(s, &rec);
	timeline_close(t);
	return rc;
}

/* ---- a crash in the rings ---- */

static void look_back(struct cause_search *s, const struct timeline_record *rec)
{
	const struct fmt_trigger *t = &s->a->m->trigger;
	uint32_t to;

	if (!rec->event || rec->channel->of_trigger)
		return;
	if (is_event(rec->event, "exceptions:page_fault_user") && rec->tid == t->tid) {
		s->address = analysis_number(s->a, rec, "address");
		s->has_address = true;
		return;
	}
	if (!is_event(rec->event, "signal:signal_generate") ||
	    (int32_t)analysis_number(s->a, rec, "sig") != s->c->sig)
		return;
	to = (uint32_t)analysis_number(s->a, rec, "pid");
	if (to == t->tid || to == t->pid)
		s->sender = rec->tid;
}

/* Only memory faults that the kernel reports have an address. */
static bool may_have_address(const struct cause *c)
{
	return (c->sig == SIGSEGV || c->sig == SIGBUS) && c->code > 0 && c->code < 0x80;
}

static int look_in_rings(struct cause_search *s, struct err *err)
{
	struct timeline_options o = {
		.from_ns = s->ns > BEFORE_NS ? s->ns - BEFORE_NS : 0, .to_ns = s->ns, .cpu = -1};
	bool *wanted = calloc(s->a->m->nr_events + 1, sizeof(*wanted));
	int rc = 0;

	if (!wanted)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < s->a->m->nr_events; i++) {
		const struct meta_event *e = &s->a->m->events[i];

		wanted[i] =
			meta_in_rings(s->a->m, e) && (is_event(e, "exceptions:page_fault_user") ||
						      is_event(e, "signal:signal_generate"));
		if (wanted[i] && e->f.channel < 64)
			o.channels |= 1ull << e->f.channel;
	}
	o.events = wanted;
	if (o.channels)
		rc = each(s, &o, look_back, err);
	free(wanted);
	return rc;
}

/* ---- words ---- */

static void put_signal(struct cause_search *s)
{
	struct cause *c = s->c;
	char name[32], code[32];

	text_str(&c->signal, signame(c->sig, name, sizeof(name)));
	text_fmt(&c->signal, " (%s)", signame_code(c->sig, c->code, code, sizeof(code)));
	if (s->has_address && may_have_address(c))
		text_fmt(&c->signal, ", fault address 0x%llx", (unsigned long long)s->address);
	if (c->code > 0 || !s->sender)
		return;
	text_str(&c->signal, s->sender == s->a->m->trigger.tid ? ", sent by itself" : ", sent by ");
	if (s->sender != s->a->m->trigger.tid)
		put_who(s, s->sender, &c->signal);
}

static void put_took(const struct meta *m, struct text *t)
{
	uint64_t from = m->trigger_began_ns, to = m->trigger.hit_ns;
	char time[32], at[32];

	if (!from || from >= to)
		return;
	text_fmt(t, "%s, from %s to the trigger",
		 str_fmt_time(time, sizeof(time), (int64_t)(to - from)),
		 str_fmt_time(at, sizeof(at), (int64_t)(from - to)));
}

/* ---- all ---- */

static void end(struct text *t)
{
	if (t->b.len)
		text_char(t, '\0');
	if (t->b.len)
		t->b.len--;
}

static void put_container(const struct analysis *a, struct cause *c)
{
	const struct fmt_trigger *f = &a->m->trigger;
	uint32_t tid = f->tid ? f->tid : f->pid;
	const struct fmt_task *task =
		tid && a->history ? history_task(a->history, tid, f->hit_ns) : NULL;
	char name[256];

	c->group = task ? history_cgroup(a->history, task, f->hit_ns) : NULL;
	if (!cgroup_is_named(a->m, c->group))
		return;
	cgroup_name(name, sizeof(name), a->m, c->group);
	text_safe(&c->container, name, strlen(name));
}

int cause_find(struct analysis *a, struct cause *out, struct err *err)
{
	struct cause_search s = {.a = a, .c = out};
	struct timeline_options o = {.to_ns = UINT64_MAX, .cpu = -1};
	int rc = 0;

	*out = (struct cause){0};
	put_took(a->m, &out->took);
	put_container(a, out);
	o.channels = channels_of_trigger(a->m);
	if (o.channels)
		rc = analysis_open(a, ANALYSIS_STACKS | ANALYSIS_FIELDS, err);
	if (o.channels && !rc)
		rc = each(&s, &o, take, err);
	put_threads(&s);
	if (!rc && out->sig) {
		rc = look_in_rings(&s, err);
		put_signal(&s);
	}
	end(&out->container);
	end(&out->took);
	end(&out->signal);
	end(&out->stack);
	end(&out->function);
	return rc;
}

void cause_free(struct cause *c)
{
	text_free(&c->container);
	text_free(&c->took);
	text_free(&c->signal);
	text_free(&c->stack);
	text_free(&c->function);
	text_free(&c->threads);
}
