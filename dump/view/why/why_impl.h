/* SPDX-License-Identifier: MIT */
/*
 * Shared by why_*.c. why_load.c collects facts, why_path.c follows a thread's time to where it was
 * lost, the detectors (why_system.c, why_cpu.c, why_irq.c, why_wait.c, why_convoy.c, why_took.c,
 * why_overload.c) each look for one kind of trouble and return findings, why.c ranks them,
 * why_say.c writes.
 */
#pragma once

#include "dump/view/analysis/analysis.h"
#include "dump/view/info/trigger_cause.h"
#include "dump/view/base/text.h"
#include "dump/view/why/why.h"
#include "dump/view/why/why_phrase.h"

/* ---- facts ---- */

enum life_kind {
	LIFE_FORK,    /* thread: parent, other: child */
	LIFE_EXEC,    /* thread */
	LIFE_EXIT,    /* thread */
	LIFE_SEND,    /* a signal is made: thread gets it, other sent it */
	LIFE_DELIVER, /* a signal takes effect: thread */
	LIFE_OOM,     /* the kernel chose a victim: thread */
	NR_LIFE_KINDS
};

struct life {
	uint64_t ns;
	uint32_t tid, other; /* as in the record: threads without spans have no index */
	uint32_t chain;
	int32_t sig, code;
	uint8_t kind;
	bool handled;	 /* DELIVER: the program has a handler */
	bool of_trigger; /* it met the rule */
	bool is_thread;	 /* FORK: a thread of the same process */
};

/* Events that would tell more of what samples show; whether they were recorded. */
enum counter { COUNT_RECLAIM, COUNT_FAULTS, NR_COUNTERS };

struct irqs;
struct runtimes;

struct time_path {
	struct buf pieces; /* newest first */
};

struct why {
	struct analysis a;
	const struct why_options *opt;
	struct irqs *irqs;
	struct runtimes *runtimes; /* with the stacks of all samples */
	struct buf life;	   /* struct life */
	bool recorded[NR_LIFE_KINDS], counted[NR_COUNTERS];
	bool has_samples, has_names;
	uint64_t nr_bad_blocks;

	uint64_t life_ns;	   /* from here on all events of processes' lives are there */
	uint64_t from_ns, to_ns;   /* the window: all that is known */
	uint64_t focus_ns, end_ns; /* what is explained; what lies before it is "usual" */
	uint32_t asked;		   /* thread that asked for the dump, or was asked for; NO_THREAD */
	bool by_option;		   /* --tid, --comm */
	bool met;		   /* `asked` is who met the rule */
	bool of_other;		   /* --tid, --comm: the rule was met by another thread */
	struct cause cause;	   /* what the trigger's own records tell */
	uint8_t *by_thread;	   /* by span: path_woken_by_thread() */
	uint8_t *is_kernel;	   /* by thread */
	uint64_t sample_period_ns; /* of one CPU; 0: none */
	struct buf findings;	   /* struct finding */
	struct time_path path;	   /* of path_thread in the focus: the last that was asked for */
	uint32_t path_thread;
	bool whole; /* the focus is the whole window: nothing was found in its end */
	/*
	 * Is shown every record as well, of which all but the header may be missing; also_all: also
	 * those that nothing is learned from. NULL: nobody. 0 or a negative errno.
	 */
	int (*also)(void *ctx, const struct timeline_record *rec);
	void *also_ctx;
	bool also_all;
};

int why_load(struct why *w, struct err *err);
void why_unload(struct why *w);
/* Fills findings, the verdict first. 0, -ENOMEM. */
int why_find(struct why *w, struct err *err);

/* The rule is about a time, of the thread that is looked at: how long it was; 0: it is not. */
static inline uint64_t why_interval(const struct why *w)
{
	return w->of_other || !w->a.m->trigger_began_ns ||
			       w->a.m->trigger_began_ns >= w->a.m->trigger.hit_ns
		       ? 0
		       : w->a.m->trigger.hit_ns - w->a.m->trigger_began_ns;
}

/* Of that time the dump has only the end, from focus_ns on. */
static inline bool why_is_cut(const struct why *w)
{
	return why_interval(w) && !w->opt->from_ns && !w->opt->to_ns && w->focus_ns == w->from_ns &&
	       w->a.m->trigger_began_ns < w->from_ns;
}

static inline size_t why_nr_life(const struct why *w)
{
	return w->life.len / sizeof(struct life);
}

static inline const struct life *why_life(const struct why *w, size_t i)
{
	return (const struct life *)w->life.p + i;
}

static inline uint64_t overlap(uint64_t a_from, uint64_t a_to, uint64_t b_from, uint64_t b_to)
{
	uint64_t from = a_from > b_from ? a_from : b_from, to = a_to < b_to ? a_to : b_to;

	return to > from ? to - from : 0;
}

/* ---- why_irq.c: interrupts that were served ---- */

/* Sets w->irqs; its fields are there. 0, -ENOMEM. */
int why_irqs_new(struct why *w);
void why_irqs_free(struct irqs *q);
/* As schedule_needs(). */
bool why_irqs_need(const struct why *w, size_t event, struct timeline_need *need);
int why_irqs_feed(struct why *w, const struct timeline_record *rec);

static inline double why_ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static inline uint64_t why_focus_time(const struct why *w)
{
	return w->end_ns - w->focus_ns;
}

/* What detectors need that look at who ran; at who woke whom. */
static inline bool why_can_switch(const struct why *w)
{
	return schedule_has_switches(w->a.sched);
}

static inline bool why_can_wake(const struct why *w)
{
	return schedule_has_wakings(w->a.sched) && schedule_has_switches(w->a.sched);
}

/* A thread of the kernel's own. */
bool why_is_kernel(const struct why *w, uint32_t thread);
/* Its name, or the tid; safe for a terminal. */
void why_name(const struct why *w, uint32_t thread, struct text *t);

/* ---- where time went ---- */

enum lost_kind {
	LOST_RUN,     /* it ran */
	LOST_READY,   /* it could have run */
	LOST_BLOCKED, /* D */
	LOST_STOPPED,
	LOST_IDLE, /* slept until a timer, a device or the kernel woke it */
	LOST_OPEN, /* sleeps until the end, nobody woke it */
	LOST_UNKNOWN,
	NR_LOST_KINDS
};

/* A piece of the path that a thread's time took through others, back from the end. */
struct piece {
	uint64_t from_ns, to_ns;
	uint32_t thread; /* whose doing it is */
	uint32_t chain;	 /* where it went off the CPU */
	uint8_t kind;	 /* enum lost_kind */
	uint8_t depth;	 /* 0: the thread itself; 1: whom it waited for; ... */
};

/* The path of `thread` from `to_ns` back to `from_ns`: no time is in two pieces. 0, -ENOMEM. */
int path_walk(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	      struct time_path *out);
void path_free(struct time_path *p);
/* That in the focus, kept in w->path until another thread is asked for. 0, -ENOMEM. */
int path_of(struct why *w, uint32_t thread);

static inline size_t path_nr(const struct time_path *p)
{
	return p->pieces.len / sizeof(struct piece);
}

static inline const struct piece *path_piece(const struct time_path *p, size_t i)
{
	return (const struct piece *)p->pieces.p + i;
}

/* Finds out which sleeps were ended by a thread; before the following is asked. 0, -ENOMEM. */
int path_mark(struct why *w);
/* True when a thread, not an interrupt or the kernel's own, ended this sleep. */
bool path_woken_by_thread(const struct why *w, const struct span *s);

/* ---- measures ---- */

/* What a thread did in a time, by state. */
struct sums {
	uint64_t ns[NR_SPAN_STATES], longest_ns[NR_SPAN_STATES];
	const struct span *longest[NR_SPAN_STATES]; /* NULL: none */
	size_t nr[NR_SPAN_STATES];
};

void sums_of(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	     struct sums *out);

#define MAX_RIVALS 64

/* Who ran on the CPUs that a thread waited for, while it did; threads of one name together. */
struct rival {
	uint32_t thread; /* that of the name that ran longest */
	unsigned nr;	 /* threads of that name */
	uint64_t ns, most_ns;
	int16_t prio; /* the best of theirs */
};

struct rivals {
	struct rival top[MAX_RIVALS]; /* the worst first */
	size_t nr;
	uint64_t ns;	       /* that it waited */
	uint64_t idle_ns;      /* of that, its CPU idled */
	uint64_t elsewhere_ns; /* another CPU idled */
	int32_t cpu;	       /* where it waited most */
};

void rivals_of(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	       struct rivals *out);

/* What kernel functions in a stack tell. */
enum in_kernel { IN_FAULT, IN_COPY, IN_RECLAIM, IN_READ_BACK, IN_TIMER, NR_IN_KERNEL };

/* What samples say of where a thread, or a process, ran. */
struct busy {
	unsigned nr; /* samples */
	unsigned in[NR_IN_KERNEL];
	struct chain_frame function; /* where most were, of the program's own */
	unsigned hits;		     /* in it */
	const char *syscall;	     /* the system call that most were in; NULL: none */
	unsigned syscall_hits;
};

/* `pid` 0: of `thread` alone. */
void busy_of(const struct why *w, uint32_t thread, uint32_t pid, uint64_t from_ns, uint64_t to_ns,
	     struct busy *out);
/* Whether a stack is in one of the kernel's functions of that kind. */
bool chain_in(const struct why *w, uint32_t chain, enum in_kernel what);
/* "fsync", or NULL. */
const char *chain_syscall(const struct why *w, uint32_t chain);
/* A library that everybody has: it says little about who is at work. NULL is none. */
bool why_is_common(const char *image);
/* The innermost frame that is the program's own, else the innermost with a name; NULL: none. */
const struct chain_frame *chain_own(const struct why *w, uint32_t chain);
/* The same without the first frames. */
const struct chain_frame *chain_own_from(const struct why *w, uint32_t chain, size_t first);
/* "render_report()", "libc.so.6+0x1234": safe for a terminal. */
void why_function(const struct chain_frame *f, struct text *t);
/* "812 ms" */
void why_time(struct text *t, uint64_t ns);
/* "checkout (1425)" */
void why_who(const struct why *w, uint32_t thread, struct text *t);
/* Real-time 1 to 99 as chrt shows it; 0: none. */
int why_real_time(int16_t prio);
/* " (nice 5)", " (real-time priority 50)"; nothing of an ordinary one. */
void why_say_prio(int16_t prio, struct text *t);
/* "nice 5", "real-time priority 50", as chrt and nice show it. */
void why_put_prio(struct text *t, int16_t prio);
/* It was told to wait for others: nice 10 or more. */
bool why_is_patient(const struct why *w, uint32_t thread);
/* The priority it last had before `ns`; -1 unknown. */
int16_t why_prio(const struct why *w, uint32_t thread, uint64_t ns);
/* Of a list that is not empty; sorts it. */
uint64_t why_median(uint64_t *list, size_t nr);

/* ---- findings ---- */

struct detector;

enum sure { SURE_GUESS, SURE_FAIRLY, SURE_CERTAIN };

struct finding {
	const struct detector *by;
	double score;			  /* milliseconds lost, weighed */
	uint32_t victim, culprit;	  /* threads; NO_THREAD */
	uint32_t victim_tid, culprit_tid; /* the same where it has no spans; 0: none */
	enum sure sure;
	struct text verdict;  /* one sentence */
	struct text lines;    /* "label\ttext\n": the evidence */
	struct text function; /* empty: none */
	const char *more;     /* what would have told more; NULL: nothing */
};

/* Looks for one kind of trouble. */
struct detector {
	const char *name; /* for --json */
	bool per_thread;
	/* Is asked with a thread, or with NO_THREAD; a score of 0 is no finding. */
	int (*find)(struct why *w, uint32_t thread, struct finding *f);
	/* What it needs was recorded. */
	bool (*can)(const struct why *w);
};

extern const struct detector detect_crash, detect_forks, detect_reclaim, detect_copies,
	detect_faults;
extern const struct detector detect_irqs, detect_quota, detect_late, detect_rivals,
	detect_inversion;
extern const struct detector detect_took, detect_overload;
extern const struct detector detect_convoy, detect_peer, detect_task, detect_blocked, detect_busy;

/* Begins a line of evidence. */
struct text *finding_line(struct finding *f, const char *label);
/* A line on the function that most samples were in; it becomes the finding's. */
void finding_busy(struct finding *f, const struct busy *b, const char *label);
/* why_cpu.c: who ran instead, as a line; where the thread was meanwhile, as a line, and as the finding's function; what share
 * of time it waited for a CPU before the focus. */
void why_say_function(const struct why *w, struct finding *f, uint32_t thread, uint64_t from_ns,
		      uint64_t to_ns);
void why_say_before(const struct why *w, struct finding *f, uint32_t thread);
/* why_limits.c: of a victim of the OOM killer, whose memory it was: ": control group /x ...", or
 * nothing where the dump does not tell. */
void why_say_memory(const struct why *w, uint32_t tid, uint64_t ns, struct text *t);
void finding_rivals(const struct why *w, struct finding *f, const struct rivals *r);
/* why_sleep.c: a line on where a thread went to sleep: the system call, and the program's functions
 * past those that only wait; the first becomes the finding's if it has none. False when that was
 * not recorded. */
bool finding_asleep(const struct why *w, struct finding *f, uint32_t chain, const char *label);
/* A line on the thread's sleeps in the focus, each with what ended it; the last one, or NULL. */
const struct span *finding_sleeps(const struct why *w, struct finding *f, uint32_t thread);
/* A function that waits for whatever its caller wants: epoll_wait(), WaitLatch(). */
bool why_is_wrapper(const char *function);
void finding_free(struct finding *f);

int why_say(const struct why *w, FILE *out);
int why_say_json(const struct why *w, FILE *out);
