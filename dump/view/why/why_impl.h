/* SPDX-License-Identifier: MIT */
/*
 * Shared by why_*.c. why_load.c collects facts; why_path.c follows a thread's time to where it was
 * lost; the detectors (why_system.c, why_cpu.c, why_irq.c, why_limits.c, why_wait.c, why_convoy.c,
 * why_overload.c) look for one kind of problem each and return findings; why.c ranks
 * them; why_say.c prints.
 */
#pragma once

#include "dump/view/analysis/analysis.h"
#include "dump/view/info/trigger_cause.h"
#include "dump/view/base/text.h"
#include "dump/view/why/why.h"
#include "dump/view/why/why_class.h"
#include "dump/view/why/why_phrase.h"

/* ---- facts ---- */

enum life_kind {
	LIFE_FORK,    /* thread: parent, other: child */
	LIFE_EXEC,    /* thread */
	LIFE_EXIT,    /* thread */
	LIFE_SEND,    /* signal generated: `thread` receives it, `other` sent it */
	LIFE_DELIVER, /* signal delivered: thread */
	LIFE_OOM,     /* chosen by the OOM killer: thread */
	NR_LIFE_KINDS
};

struct life {
	uint64_t ns;
	uint32_t tid, other; /* as in the record: threads without spans have no index */
	uint32_t chain;
	int32_t sig, code;
	uint8_t kind;
	bool handled;	 /* DELIVER: the program has a handler */
	bool of_trigger; /* from the trigger's own records */
	bool is_thread;	 /* FORK: the child is a thread of the same process */
};

/* Events that confirm what samples suggest; whether they were recorded. */
enum counter { COUNT_RECLAIM, COUNT_FAULTS, NR_COUNTERS };

/* A wait of the victim, and what would remain of it without the threads that --without names. */
struct without {
	size_t nr_threads;
	uint64_t wait_ns, remaining_ns;
};

struct irqs;
struct runtimes;
struct thread_states;

/* Threads of a process that one thread woke at once. */
struct herd {
	uint32_t by;
	size_t nr;
	uint64_t from_ns, to_ns; /* the first and the last wake-up */
};

struct time_path {
	struct buf pieces; /* struct piece, newest first */
	struct buf routes; /* uint32_t: threads */
};

struct why {
	struct analysis a;
	const struct why_options *opt;
	const struct why *base; /* the baseline, loaded; NULL: none */
	struct irqs *irqs;
	struct wait_classes *classes;
	struct thread_states *states; /* at the freeze */
	struct runtimes *runtimes;    /* has the stacks of all samples */
	struct buf life;	      /* struct life */
	bool recorded[NR_LIFE_KINDS], counted[NR_COUNTERS];
	bool has_samples, has_names;
	uint64_t nr_bad_blocks;

	uint64_t life_ns;	   /* events of processes' lives are complete from here on */
	uint64_t from_ns, to_ns;   /* the recorded window */
	uint64_t focus_ns, end_ns; /* the focus: what is explained; the time before it is "usual" */
	uint64_t scan_ns;	   /* waits that end after it may be the reason for the dump */
	uint32_t asked;		   /* thread that requested the dump or was selected; NO_THREAD */
	bool by_option;		   /* --tid, --comm */
	bool met;		   /* `asked` met the rule */
	bool of_other;		   /* --tid, --comm: another thread met the rule */
	struct cause cause;	   /* from the trigger's own records */
	uint8_t *by_thread;	   /* by span: path_woken_by_thread() */
	uint8_t *is_kernel;	   /* by thread */
	uint8_t *is_hinted;	   /* by thread: its name is in the reason */
	uint64_t hint_ns;	   /* the reason says that something took so long; 0: it does not */
	uint64_t sample_period_ns; /* of one CPU; 0: none */
	struct buf findings;	   /* struct finding */
	struct without without;	   /* of the first one */
	struct time_path path;	   /* of path_thread in the focus; kept by path_of() */
	uint32_t path_thread;
	struct herd herd; /* of herd_pid in the focus; kept by why_herd.c */
	uint32_t herd_pid;
	bool whole; /* the focus is the whole window: nothing was found at its end */
	/* Also called for each record, of which only the header is always valid; NULL: none.
	 * also_all: includes records that why does not need. 0 or a negative errno. */
	int (*also)(void *ctx, const struct timeline_record *rec);
	void *also_ctx;
	bool also_all;
};

int why_load(struct why *w, struct err *err);
void why_unload(struct why *w);
/* Fills findings, most important first. 0, -ENOMEM. */
int why_find(struct why *w, struct err *err);

/* The duration that the rule is about, if `asked` met it; 0: the rule has none. */
static inline uint64_t why_interval(const struct why *w)
{
	return w->of_other || !w->a.m->trigger_began_ns ||
			       w->a.m->trigger_began_ns >= w->a.m->trigger.hit_ns
		       ? 0
		       : w->a.m->trigger.hit_ns - w->a.m->trigger_began_ns;
}

/* True when the dump has only the end of that duration, from focus_ns on. */
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

/* ---- why_irq.c: interrupts ---- */

/* Sets w->irqs; w's fields are open. 0, -ENOMEM. */
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

/* For detector.can: switches were recorded; below: wake-ups, too. */
static inline bool why_can_switch(const struct why *w)
{
	return schedule_has_switches(w->a.sched);
}

static inline bool why_can_wake(const struct why *w)
{
	return schedule_has_wakings(w->a.sched) && schedule_has_switches(w->a.sched);
}

/* True for a thread that the dump is about: it asked for it, was selected, or is in the reason. */
static inline bool why_is_subject(const struct why *w, uint32_t thread)
{
	return thread == w->asked || w->is_hinted[thread];
}

/* True for a thread of the recorder: it waits on purpose. */
bool why_is_ours(const struct why *w, uint32_t thread);
/* True for a kernel thread. */
bool why_is_kernel(const struct why *w, uint32_t thread);
/* The thread's name, or its tid; safe for a terminal. */
void why_name(const struct why *w, uint32_t thread, struct text *t);

/* ---- where time went ---- */

enum lost_kind {
	LOST_RUN,     /* running */
	LOST_READY,   /* runnable, waiting for a CPU */
	LOST_BLOCKED, /* uninterruptible (D) */
	LOST_STOPPED,
	LOST_IDLE, /* asleep until a timer, a device or the kernel woke it */
	LOST_OPEN, /* asleep until the end of the window */
	LOST_UNKNOWN,
	NR_LOST_KINDS
};

/* Limit of wake-ups to follow; time beyond it is attributed to the last thread. */
#define PATH_MAX_DEPTH 12

/* How it is known that a thread waited for another; larger: less certain. */
enum path_link {
	LINK_WOKE,
	LINK_SOFTIRQ, /* the waker was interrupted by a softirq, and usually is the sender */
	LINK_AGAIN,   /* a timer ended the sleep; it ended the next one in the same place */
	LINK_PEER,    /* at the freeze it had the other end of the pipe or socket, or the lock */
	LINK_USUAL,   /* it usually wakes the thread, but did not */
	NR_LINKS
};

/* A piece of a thread's time, and the thread that it is attributed to; the path runs backwards. */
struct piece {
	uint64_t from_ns, to_ns;
	uint32_t thread; /* that the time is attributed to */
	uint32_t chain;	 /* stack where it left the CPU */
	uint32_t route;	 /* in `routes`: depth + 1 threads, from the waiting one to `thread` */
	uint8_t kind;	 /* enum lost_kind */
	uint8_t depth;	 /* 0: the thread itself; 1: the thread it waited for; ... */
	uint8_t link;	 /* enum path_link: the least certain one */
};

/* The path of `thread` from `to_ns` back to `from_ns`. Pieces do not overlap. 0, -ENOMEM. */
int path_walk(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	      struct time_path *out);
void path_free(struct time_path *p);
/* The path in the focus, kept in w->path until called for another thread. 0, -ENOMEM. */
int path_of(struct why *w, uint32_t thread);

static inline size_t path_nr(const struct time_path *p)
{
	return p->pieces.len / sizeof(struct piece);
}

static inline const struct piece *path_piece(const struct time_path *p, size_t i)
{
	return (const struct piece *)p->pieces.p + i;
}

static inline const uint32_t *path_route(const struct time_path *p, const struct piece *q)
{
	return (const uint32_t *)p->routes.p + q->route;
}

/*
 * Determines which sleeps were ended by a thread; must precede path_woken_by_thread(). 0, -ENOMEM.
 */
int path_mark(struct why *w);
/* For waits that still went on at the freeze: the thread that held the lock; that, or the first one
 * at the other end of the pipe or socket. NO_THREAD: unknown. */
uint32_t path_holder(const struct why *w, const struct span *s);
uint32_t path_peer(const struct why *w, const struct span *s);
/* True when a user thread ended this sleep, not an interrupt or a kernel thread. */
bool path_woken_by_thread(const struct why *w, const struct span *s);

/* ---- measures ---- */

/* A thread's time by state. */
struct sums {
	uint64_t ns[NR_SPAN_STATES], longest_ns[NR_SPAN_STATES];
	const struct span *longest[NR_SPAN_STATES]; /* NULL: none */
	size_t nr[NR_SPAN_STATES];
};

void sums_of(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	     struct sums *out);

#define MAX_RIVALS 64

/* Threads of one name or pool that ran on a CPU while another thread waited for it. */
struct rival {
	uint32_t thread; /* the one that ran longest */
	unsigned nr;	 /* threads */
	bool mixed;	 /* they have different names */
	uint64_t ns, most_ns;
	int16_t prio; /* the highest of theirs */
};

struct rivals {
	struct rival top[MAX_RIVALS]; /* longest running first */
	size_t nr;
	uint64_t ns;	       /* time that the thread waited */
	uint64_t idle_ns;      /* of this, its CPU was idle, or what it ran is a guess */
	uint64_t elsewhere_ns; /* of this, another CPU was idle */
	int32_t cpu;	       /* that it waited for most */
	int32_t elsewhere_cpu; /* one that was idle meanwhile; -1: none */
};

void rivals_of(const struct why *w, uint32_t thread, uint64_t from_ns, uint64_t to_ns,
	       struct rivals *out);

/* The same for a CPU, as if a thread waited for it all that time. */
void rivals_on(const struct why *w, int32_t cpu, uint64_t from_ns, uint64_t to_ns,
	       struct rivals *out);
/* "compress (3 of them)", "fieldbus (1414), real-time priority 50," */
void why_name_rival(const struct why *w, const struct rival *r, int16_t victim_prio,
		    struct text *t);
/* When the CPU went offline; 0: it did not. */
uint64_t why_offline_ns(const struct why *w, size_t cpu);
/* The thread's timer slack if it is long enough to matter, else 0. */
uint64_t why_slack_ns(const struct why *w, uint32_t thread);
/* Adds ", while CPU 1 was idle" or what else limits the thread to its CPU; returns the kind of this
 * limit, or NULL. */
const char *why_say_limits(const struct why *w, uint32_t thread, const struct rivals *r,
			   struct text *t);

/* Kernel activity that is recognised by functions in a stack. */
enum in_kernel {
	IN_FAULT,
	IN_COPY,
	IN_RECLAIM,
	IN_READ_BACK,
	IN_TIMER,
	IN_SEND,
	IN_IRQ,
	NR_IN_KERNEL
};

/* What samples show of a thread or process. */
struct busy {
	unsigned nr; /* samples */
	unsigned in[NR_IN_KERNEL];
	struct chain_frame function; /* the program's own function with most samples */
	unsigned hits;		     /* samples in it */
	const char *syscall;	     /* the system call with most samples; NULL: none */
	unsigned syscall_hits;
};

/* `pid` 0: of `thread` only. */
void busy_of(const struct why *w, uint32_t thread, uint32_t pid, uint64_t from_ns, uint64_t to_ns,
	     struct busy *out);
/* True when the stack contains a kernel function of this kind. */
bool chain_in(const struct why *w, uint32_t chain, enum in_kernel what);
/* "fsync", or NULL. */
const char *chain_syscall(const struct why *w, uint32_t chain);
/* True for a widely used library, which does not identify the program; also for NULL. */
bool why_is_common(const char *image);
/* The innermost frame of the program's own code, else the innermost with a name; NULL: none. */
const struct chain_frame *chain_own(const struct why *w, uint32_t chain);
/* The same from frame `first` on. */
const struct chain_frame *chain_own_from(const struct why *w, uint32_t chain, size_t first);
/* "render_report()", "libc.so.6+0x1234"; safe for a terminal. */
void why_function(const struct chain_frame *f, struct text *t);
/* "812 ms" */
void why_time(struct text *t, uint64_t ns);
/* "checkout (1425)" */
void why_who(const struct why *w, uint32_t thread, struct text *t);
/* Real-time 1 to 99 as chrt shows it; 0: none. */
int why_real_time(int16_t prio);
/* " (nice 5)", " (real-time priority 50)"; nothing for the default priority. */
void why_say_prio(int16_t prio, struct text *t);
/* "nice 5", "real-time priority 50", in the units of nice and chrt. */
void why_put_prio(struct text *t, int16_t prio);
/* True for nice 10 or more: such a thread is expected to wait. */
bool why_is_patient(const struct why *w, uint32_t thread);
/* The thread's last known priority before `ns`; -1: unknown. */
int16_t why_prio(const struct why *w, uint32_t thread, uint64_t ns);
/* Sorts the list, which must not be empty: the value that `tenths` of 10 do not exceed. */
uint64_t why_quantile(uint64_t *list, size_t nr, unsigned tenths);

/* ---- why_stretch.c: the time to explain ---- */

struct stretch {
	uint32_t thread;
	uint64_t from_ns, to_ns;
	uint64_t excess_ns; /* beyond what is usual */
	uint64_t usual_ns;  /* 9 of 10 others are not longer; `many`: the usual sum */
	size_t nr_usual;    /* number of others */
	double score;	    /* milliseconds, weighted */
	bool many;	    /* all waits in it, each of which is short */
	bool whole;	    /* all of it: a rule is about this time */
	bool hinted;	    /* it took as long as the reason says */
};

#define MAX_STRETCHES 4

/* The most unusual waits of the thread, highest score first. 0: it does not wait more than usual. */
size_t stretches_of(const struct why *w, uint32_t thread, struct stretch out[MAX_STRETCHES]);

/* ---- why_baseline.c: what is usual in the baseline, if there is one ---- */

/* Adds the lengths of waits that are like `s`, of threads with its thread's name, to `list`,
 * uint64_t[]. 0, -ENOMEM. */
int baseline_waits(const struct why *w, const struct span *s, struct buf *list);
/* The share of the time that a thread with this name lost; 0 without one. */
double baseline_share(const struct why *w, const char *comm,
		      uint64_t (*lost)(const struct why *w, uint32_t thread, uint64_t from_ns,
				       uint64_t to_ns));

/* ---- findings ---- */

struct detector;

enum sure { SURE_GUESS, SURE_FAIRLY, SURE_CERTAIN };

/* In ascending order. */
enum finding_rank {
	RANK_OTHERS,
	RANK_HINTED, /* a thread that the reason names */
	RANK_ASKED,  /* the thread that requested the dump or was selected */
	RANK_CRASH,  /* of a thread that the dump is about */
};

struct finding {
	const struct detector *by;
	const char *kind; /* by->name unless the detector knows better */
	enum finding_rank rank;
	double score;			  /* milliseconds lost, weighted */
	uint64_t from_ns, to_ns;	  /* the time that it explains; 0: the focus */
	uint32_t victim, culprit;	  /* threads; NO_THREAD */
	uint32_t victim_tid, culprit_tid; /* the same for threads without spans; 0: none */
	bool hinted;			  /* it took as long as the reason says */
	enum sure sure;
	const char *because;  /* why no more certain; NULL: as usual for `sure` */
	struct text verdict;  /* one sentence */
	struct text lines;    /* "label\ttext\n": the evidence */
	struct text function; /* empty: none */
	const char *more;     /* what should be recorded for more detail; NULL: nothing */
};

/* Looks for one kind of problem. */
struct detector {
	const char *name; /* for --json */
	bool per_thread;
	/* Called with a thread, or with NO_THREAD; score 0: nothing found. */
	int (*find)(struct why *w, uint32_t thread, struct finding *f);
	/* True when the events that it needs were recorded. */
	bool (*can)(const struct why *w);
};

extern const struct detector detect_crash, detect_forks, detect_reclaim, detect_copies,
	detect_faults;
extern const struct detector detect_irqs, detect_quota, detect_late, detect_rivals,
	detect_inversion;
extern const struct detector detect_overload, detect_convoy, detect_herd, detect_wait, detect_busy;

/* ---- why_without.c ---- */

/* The finding must have a victim with spans. 0, -ENOMEM. */
int why_without(const struct why *w, const struct finding *f, struct without *out);

/* Lowers the certainty to `sure`, for this reason; nothing if it is as low already. */
static inline void finding_doubt(struct finding *f, enum sure sure, const char *because)
{
	if (sure >= f->sure)
		return;
	f->sure = sure;
	f->because = because;
}

/* Begins a line of evidence. */
struct text *finding_line(struct finding *f, const char *label);
/* Adds a line about the function with most samples, and makes it the finding's function. */
void finding_busy(struct finding *f, const struct busy *b, const char *label);
/*
 * why_cpu.c: adds a line about the threads that ran instead; a line about the function that a
 * thread was in, which becomes the finding's; the share of time that the thread waited for a CPU
 * before the focus.
 */
void why_say_function(const struct why *w, struct finding *f, uint32_t thread, uint64_t from_ns,
		      uint64_t to_ns);
void why_say_before(const struct why *w, struct finding *f, uint32_t thread);
/* why_limits.c: the memory limit that a victim of the OOM killer met, ": control group /x ...";
 * nothing if unknown. */
void why_say_memory(const struct why *w, uint32_t tid, uint64_t ns, struct text *t);
/* Adds "; its control group /x met its memory limit of 96 MiB 7429 times" if it did. */
void why_say_full_memory(const struct why *w, uint32_t thread, struct text *t);
void finding_rivals(const struct why *w, struct finding *f, const struct rivals *r);
/*
 * why_sleep.c: adds a line on where a thread went to sleep: the system call, and the program's
 * functions without wrappers. The first becomes the finding's function if it has none. False: not
 * recorded.
 */
bool finding_asleep(const struct why *w, struct finding *f, uint32_t chain, const char *label);
/* why_wait.c: adds " in fsync(), called by f()" of a sleeping thread; nothing if it is not known. */
void why_put_where(const struct why *w, uint32_t chain, struct text *t);
/* why_disk.c: adds "; meanwhile ..." if another thread was at a disk or in memory reclaim for much of
 * this time; `p` is a wait for a disk. */
void why_say_disk(const struct why *w, const struct piece *p, uint64_t from_ns, uint64_t to_ns,
		  struct text *t);
/* Adds " in fsync(), called by f() < g() < h()"; returns the frame of f(), or NULL. */
const struct chain_frame *why_put_asleep(const struct why *w, uint32_t chain, struct text *t);
/* Adds a line for each long sleep of the thread in the focus, with what ended it. Returns the last
 * one, or NULL. */
const struct span *finding_sleeps(const struct why *w, struct finding *f, uint32_t thread);
/* The signal that ended a sleep; NULL: none. */
const struct life *why_signal_at(const struct why *w, const struct span *s);
/* What a span waits for; that is the lock of an interpreter where a thread of the same process
 * ended the wait. */
enum wait_class why_class_of(const struct why *w, const struct span *s, uint32_t ended_by);
/* True for a frame of the program that is no wrapper of a wait. */
bool why_is_caller(const struct chain_frame *f);
/* True for functions that wait on behalf of their callers: epoll_wait(), WaitLatch(). */
bool why_is_wrapper(const char *function);
void finding_free(struct finding *f);

struct json;

/* why_blame.c: adds the key "blame". 0, -ENOMEM. */
int why_blame_json(const struct why *w, struct json *j);
int why_say(const struct why *w, FILE *out);
int why_say_json(const struct why *w, FILE *out);
