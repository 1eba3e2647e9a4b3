/* SPDX-License-Identifier: MIT */
/*
 * Shared by report*.c. report.c loads a dump and prints the sections in order. Each section is one
 * row of its table and one file report_NAME.c: it hooks the events it needs, receives their
 * records, and prints. Hooks may run on another thread while the schedule is fed, so they must not
 * use the schedule, chains or stacks, which are for printing.
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
	uint64_t unknown_ns; /* SPAN_UNKNOWN: running or waiting */
	uint32_t nr_runs, nr_ready, nr_preempted;
	const struct span *worst_ready; /* NULL: it never waited */
	uint64_t worst_ready_ns;	/* cut to the window */
};

typedef int (*report_feed)(void *state, struct report *rp, const struct timeline_record *rec);

struct report_hook {
	report_feed feed;
	void *state;
	struct timeline_need need; /* of the records; never stacks */
};

#define REPORT_NR_KNOWN 1024

struct report_known {
	const char *comm; /* NULL: unused entry */
	uint32_t tid;
	struct history_span span;
};

struct report_window {
	uint64_t from_ns, to_ns; /* equal: nothing recorded */
};

struct report {
	struct analysis a;
	const struct report_options *opt;
	struct intern names;
	struct report_hook *hooks;     /* by index of meta's events */
	struct report_totals *totals;  /* by thread, within `window` */
	struct report_known *known;    /* cache of REPORT_NR_KNOWN names by tid */
	const char **comms;	       /* by thread: cache of report_comm(); NULL: not there yet */
	bool *asked;		       /* by thread: matches --tid and --comm */
	bool filtered;		       /* true with --tid or --comm */
	struct report_hook all;	       /* also receives all wanted records; feed NULL: none */
	struct report_window common;   /* covered by all rings */
	struct report_window window;   /* covered by the scheduler's events */
	struct report_window sampled;  /* covered by the sampling event: cpu-clock, cycles */
	uint64_t sample_ns;	       /* time that one sample stands for; 0: unknown */
	const struct meta_event *tick; /* the sampling event; NULL: none */
	void **states;		       /* by section; NULL: not recorded */
	struct cause cause;	       /* from the trigger's own records */
	struct text text;
	struct page page;
	uint64_t nr_bad;
};

struct report_section {
	const char *what; /* "system calls": for the line about what was not recorded */
	const char *how;  /* options that record it */
	/* If its events were recorded, hooks them and sets *state. 0, -ENOMEM. */
	int (*open)(struct report *rp, void **state);
	void (*print)(struct report *rp, void *state);
	/* Prints the part before all sections; NULL: none. */
	void (*print_first)(struct report *rp, void *state);
	void (*close)(void *state); /* NULL: nothing to free */
};

extern const struct report_section report_pt, report_cpu, report_wait, report_blame, report_block,
	report_stacks, report_syscalls, report_life, report_memory, report_io, report_irq,
	report_other;

/* Loads a dump; a.r, a.m and opt must be set. Call report_unload() in any case. */
int report_load(struct report *rp, struct err *err);
void report_unload(struct report *rp);

/* Passes all records to the schedule and to the sections' hooks; ends the schedule. */
int report_pass(struct report *rp, struct err *err);

/* Called by report_load(). */
int report_open_sections(struct report *rp, struct err *err);
void report_close_sections(struct report *rp);

/* Prints trigger, losses, window. */
int report_head(struct report *rp, struct err *err);

/* ---- events ---- */

/* Sends the records of the event with this name to `feed`; false: no such event. */
bool report_hook(struct report *rp, const char *name, report_feed feed, void *state);
/* Limits the records of a hooked event to this field (NULL: none). */
void report_hook_only(struct report *rp, const char *name, const char *field);
/* The text of a field, made safe and cut; "": none. */
const char *report_string(const struct report *rp, const struct timeline_record *rec,
			  const char *field, char *out, size_t n);
/* The time within the requested one that all rings with events hooked by `state` cover. */
struct report_window report_window_of(const struct report *rp, const void *state);
/* True when the record is within the requested time and of a requested thread. */
bool report_wanted(const struct report *rp, const struct timeline_record *rec);

/* ---- names ---- */

/* A thread's name, interned: compare pointers. */
const char *report_comm(struct report *rp, uint32_t thread);
/* The same, of a tid at a time. */
const char *report_comm_of(struct report *rp, uint32_t tid, uint64_t ns);
bool report_is_kernel(const struct report *rp, uint32_t thread);
/* Relative to the trigger: "last 1.03 s", "from -1.2 s to -300 ms". */
char *report_fmt_window(const struct report *rp, char *out, size_t n,
			const struct report_window *w);

/* The later of the starts of the span and the window. */
uint64_t report_from(const struct report *rp, const struct span *s);

/* Prints name and tid of a thread in two cells of 16 and 8 columns. */
void report_who(struct report *rp, uint32_t thread);
void report_tid(struct report *rp, const char *comm, uint32_t tid);

/* Prints a call stack on at most `lines` lines, outermost function first, without plumbing. Leaves
 * out frames in the middle if it is too long. */
void report_path(struct report *rp, uint32_t chain, unsigned indent, unsigned lines);
/* The same for the `depth` outermost frames. */
void report_path_to(struct report *rp, uint32_t chain, unsigned depth, unsigned indent,
		    unsigned lines);
/* The innermost function of a stack, "": none; borrowed from the dump's symbols or `buf`. */
const char *report_leaf(const struct report *rp, uint32_t chain, char *buf, size_t n);
#define REPORT_MAX_PATH 128 /* frames */
#define REPORT_FRAME	96  /* bytes of a name */

/* Joins names of frames, outermost first, to "main > fib (×27) > .. > read" in at most `room`
 * columns. Changes `names`. */
void report_join(char names[][REPORT_FRAME], size_t nr, size_t room, char *out, size_t n);
/* Appends a count to a name, " (×27)"; `how` has one PRIu64. */
void report_times(char name[REPORT_FRAME], const char *how, uint64_t nr)
	__attribute__((format(printf, 2, 0)));
/* The name of a frame. */
const char *report_frame(const struct chain_frame *f, char *buf, size_t n);
/* True for frames that carry no information: kernel entries, thread starts, the scheduler itself,
 * and addresses without code. */
bool report_is_plumbing(const struct chain_frame *f);

static inline uint64_t report_overlap(const struct span *s, const struct report_window *w)
{
	uint64_t from = s->from_ns > w->from_ns ? s->from_ns : w->from_ns;
	uint64_t to = s->to_ns < w->to_ns ? s->to_ns : w->to_ns;

	return to > from ? to - from : 0;
}
