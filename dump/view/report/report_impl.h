/* SPDX-License-Identifier: MIT */
/*
 * Shared by report*.c. report.c loads a dump and prints the sections in order; each section is one
 * row of its table and one file report_NAME.c: it hooks the events it needs, takes their records as
 * they come, and prints. Its hooks may run beside the schedule's feed, on another thread: what the
 * schedule, chains and stacks know is only asked when printing.
 */
#pragma once

#include "dump/view/analysis/analysis.h"
#include "dump/view/info/trigger_cause.h"
#include "dump/view/base/intern.h"
#include "dump/view/print/text_page.h"
#include "dump/view/report/report.h"

struct report;

/* How a thread spent the window. */
struct report_totals {
	uint64_t run_ns, ready_ns, sleep_ns, blocked_ns, stopped_ns;
	uint64_t unknown_ns; /* SPAN_UNKNOWN: it may have run or waited */
	uint32_t nr_runs, nr_ready, nr_preempted;
	const struct span *worst_ready; /* NULL: it never waited */
	uint64_t worst_ready_ns;	/* cut to the window */
};

typedef int (*report_feed)(void *state, struct report *rp, const struct timeline_record *rec);

struct report_hook {
	report_feed feed;
	void *state;
	struct timeline_need need; /* of its records; nobody asks for stacks */
};

#define REPORT_NR_KNOWN 1024

struct report_known {
	const char *comm; /* NULL: free */
	uint32_t tid;
	struct history_span span;
};

struct report_window {
	uint64_t from_ns, to_ns; /* equal: nothing was recorded in it */
};

struct report {
	struct analysis a;
	const struct report_options *opt;
	struct intern names;
	struct report_hook *hooks;     /* by index of meta's events */
	struct report_totals *totals;  /* by thread; of `window` */
	struct report_known *known;    /* REPORT_NR_KNOWN names by tid that were asked for lately */
	const char **comms;	       /* by thread: report_comm(); NULL: not asked for yet */
	bool *asked;		       /* by thread: matches --tid and --comm */
	bool filtered;		       /* there are such */
	struct report_hook all;	       /* gets all records that are wanted, too; feed NULL: none */
	struct report_window common;   /* that all rings have */
	struct report_window window;   /* of the scheduler's events */
	struct report_window sampled;  /* of what ticks: cpu-clock, cycles */
	uint64_t sample_ns;	       /* that one of these stands for; 0: unknown */
	const struct meta_event *tick; /* NULL: none */
	void **states;		       /* of the sections; NULL: not recorded */
	struct cause cause;	       /* what the trigger's own records tell */
	struct text text;
	struct page page;
	uint64_t nr_bad;
};

struct report_section {
	const char *what; /* "system calls": for the line that says what was not recorded */
	const char *how;  /* what to type to have it recorded */
	/* Sets *state when its events were recorded, and hooks them. 0, -ENOMEM. */
	int (*open)(struct report *rp, void **state);
	void (*print)(struct report *rp, void *state);
	/* What has to be said before all else; NULL: nothing. */
	void (*print_first)(struct report *rp, void *state);
	void (*close)(void *state); /* NULL: nothing is to be freed */
};

extern const struct report_section report_pt, report_cpu, report_wait, report_block, report_stacks,
	report_syscalls, report_life, report_memory, report_io, report_irq, report_other;

/* Loads a dump whose a.r, a.m and opt are set. report_unload() in any case. */
int report_load(struct report *rp, struct err *err);
void report_unload(struct report *rp);

/* Hands all records to the schedule and to the sections' hooks; ends the schedule. */
int report_pass(struct report *rp, struct err *err);

/* Of report.c, for report_load(). */
int report_open_sections(struct report *rp, struct err *err);
void report_close_sections(struct report *rp);

/* Trigger, losses, window. */
int report_head(struct report *rp, struct err *err);

/* ---- events ---- */

/* Records of the event with this name go to `feed`; false when there is none. */
bool report_hook(struct report *rp, const char *name, report_feed feed, void *state);
/* ... which asks for no other field of them than this one; NULL: none. */
void report_hook_only(struct report *rp, const char *name, const char *field);
/* The text of a field, safe and cut; "" when there is none. */
const char *report_string(const struct report *rp, const struct timeline_record *rec,
			  const char *field, char *out, size_t n);
/* What all rings with events hooked by `state` cover, within the asked time. */
struct report_window report_window_of(const struct report *rp, const void *state);
/* The record is within the asked time, and about a thread that was asked for. */
bool report_wanted(const struct report *rp, const struct timeline_record *rec);

/* ---- names ---- */

/* A thread's name, kept once: compare by pointer. */
const char *report_comm(struct report *rp, uint32_t thread);
/* The same of a tid at a time. */
const char *report_comm_of(struct report *rp, uint32_t tid, uint64_t ns);
bool report_is_kernel(const struct report *rp, uint32_t thread);
/* "last 1.03 s", "from -1.2 s to -300 ms": of the trigger. */
char *report_fmt_window(const struct report *rp, char *out, size_t n,
			const struct report_window *w);

/* When a span began, or the window. */
uint64_t report_from(const struct report *rp, const struct span *s);

/* Name and tid of a thread in two cells, 16 and 8 columns. */
void report_who(struct report *rp, uint32_t thread);
void report_tid(struct report *rp, const char *comm, uint32_t tid);

/*
 * A call stack on at most `lines` lines, outermost function first, without what is the same in all
 * of them; what is too long is left out in the middle.
 */
void report_path(struct report *rp, uint32_t chain, unsigned indent, unsigned lines);
/* The same of its `depth` outermost frames. */
void report_path_to(struct report *rp, uint32_t chain, unsigned depth, unsigned indent,
		    unsigned lines);
/* The function that a stack ends in, "" for none; borrowed from the dump's symbols or `buf`. */
const char *report_leaf(const struct report *rp, uint32_t chain, char *buf, size_t n);
#define REPORT_MAX_PATH 128 /* frames */
#define REPORT_FRAME	96  /* bytes of a name */

/*
 * Names of frames, outermost first, as "main > fib (×27) > .. > read" in at most `room` columns.
 * Changes the names.
 */
void report_join(char names[][REPORT_FRAME], size_t nr, size_t room, char *out, size_t n);
/* Appends to a name how often it is there, " (×27)"; `how` has one PRIu64. */
void report_times(char name[REPORT_FRAME], const char *how, uint64_t nr)
	__attribute__((format(printf, 2, 0)));
/* The name of a frame. */
const char *report_frame(const struct chain_frame *f, char *buf, size_t n);
/* Functions that say nothing about a stack: entries of the kernel, starts of threads, the
 * scheduler itself; and addresses where nothing is. */
bool report_is_plumbing(const struct chain_frame *f);

static inline uint64_t report_overlap(const struct span *s, const struct report_window *w)
{
	uint64_t from = s->from_ns > w->from_ns ? s->from_ns : w->from_ns;
	uint64_t to = s->to_ns < w->to_ns ? s->to_ns : w->to_ns;

	return to > from ? to - from : 0;
}
