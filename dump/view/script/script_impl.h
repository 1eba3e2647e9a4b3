/* SPDX-License-Identifier: MIT */
/*
 * The parts that make the lines of script; private to script*.c.
 *
 *	timeline ─▶ record ─▶ line ─▶ printer ─▶ text
 *	            filters   thread, event   one per thread of the pool; caches
 *	                                      names of threads and addresses
 */
#pragma once

#include "dump/view/analysis/analysis.h"
#include "dump/view/pt/pt_spans.h"
#include "dump/view/script/script.h"
#include "dump/view/unwind/unwind.h"

/* The text of an event before its content, made once: " sched:sched_switch:". */
struct head {
	const char *text; /* up to PUT_SLACK bytes after it may be read */
	size_t len;
	bool wanted;
};

/* Shared by all printers; read-only after open_all(). */
struct script {
	struct analysis a;
	const struct script_options *opt;
	bool has_symbols;   /* at least one */
	struct head *heads; /* by event id */
	struct text head_text;
	bool want_unknown;
	bool *wanted;		       /* by event id; NULL: all */
	const struct stack_regs *regs; /* of the machine; NULL: unknown */
};

/* A thread during a span of time, and its printed form. */
struct printed_task {
	struct history_span span; /* the time for which all this is valid */
	uint32_t tid;
	uint32_t len;
	uint64_t pid;		     /* as in the record; WHO_NO_PID: absent */
	bool asked;		     /* passes the filters by thread, process and name */
	const struct fmt_task *task; /* NULL: unknown */
	const char *comm;	     /* NULL: unknown */
	char text[144];
};

#define WHO_NO_PID UINT64_MAX

/* A user-space address of a thread during a span of time, and its printed form. */
struct printed_place {
	struct history_span span;
	uint64_t ip;
	uint32_t tid;
	uint16_t len; /* 0: empty entry */
	bool kernel, caller;
	char text[208];
};

#define NR_WHO	  512
#define NR_PLACES 8192

/* Makes lines; used by one thread at a time. */
struct printer {
	const struct script *s;
	struct text text;
	struct text place;	  /* a place that is too long for the cache */
	struct printed_task *who; /* NR_WHO, by tid */
	struct printed_place *places;
	struct unwind *unwind; /* NULL: the dump has no unwind rules */
};

/* One record and what is known about it. */
struct line {
	struct timeline_record rec;
	uint16_t type;		 /* PERF_RECORD_* */
	int32_t cpu;		 /* -1: unknown */
	const struct head *head; /* NULL: the name is in `event` */
	const char *event;	 /* never NULL; untrusted text */
	const struct printed_task *who;
};

/* The numbers of the stack pointer and program counter among a machine's perf registers. */
struct stack_regs {
	const char *machine; /* as in uname(2) */
	uint8_t sp, ip;
};

/* ---- script_filter.c ---- */

/* True when the event passes the filter by event. */
bool script_event_asked(const struct script_options *opt, const char *name);
/* The same for the filter by CPU. */
bool script_cpu_asked(const struct script_options *opt, int32_t cpu);
/* Fills s->heads. 0 or -ENOMEM. */
int script_make_heads(struct script *s);
/* Bit mask of the channels that may hold matching records; 0: all. */
uint64_t script_channels(const struct script *s);
/* True when `who` passes the filters by thread, process and name. Uses all of `who` but the printed
 * text. */
bool script_who_asked(const struct script *s, const struct printed_task *who);
/* The same, for a thread without a record. */
bool script_thread_fits(const struct script_options *opt, const struct printed_task *who);
/* Fills `l` from l->rec, after timeline_describe(); false: the record does not pass the filters. */
bool script_complete(struct printer *p, struct line *l);

/* ---- script_task.c ---- */

const struct printed_task *script_who(struct printer *p, const struct timeline_record *r);
/* False: no record of this thread at this time passes the filters. `ctx` is a printer. */
bool script_thread_asked(void *ctx, uint32_t tid, uint64_t time_ns);

/* ---- script_place.c: addresses ---- */

/* Unwinds from a sample's user registers and stack; false: the sample has none, or the dump has no
 * unwind rules. Borrowed until the next call. */
bool script_unwind(struct printer *p, const struct line *l, struct unwind_chain *c);
/* The reason why the chain ends, in words; empty when it is complete. */
void script_unwind_end(const struct unwind_chain *c, struct text *t);

/* The symbols of an address. */
struct frame {
	uint64_t ip;
	bool kernel;
	bool caller;
	const struct symbol_place
		*places; /* innermost first; the last is the function that contains the address */
	size_t nr;
};

/* `ip` in the form of script_text_frame() or script_json_frame(), borrowed until the next call.
 * `caller`: it is a return address. */
struct bytes script_place(struct printer *p, const struct line *l, uint64_t ip, bool kernel,
			  bool caller);

/* ---- script_record.c ---- */

/* The sampled user register; false: not in the sample. */
bool script_reg(const struct line *l, uint8_t reg, uint64_t *v);

/* True when the sample's RAW data have content. */
bool script_has_raw(const struct line *l);

/* A field of a record that is not a sample; script_record_field() returns false after the last. */
struct record_field {
	const char *name;
	uint64_t value;
};
bool script_record_field(const struct line *l, size_t i, struct record_field *out);
/* Its name: "PERF_RECORD_LOST". */
const char *script_record_name(uint16_t type);
/* True for records that a hardware trace adds at each context switch: printed only when named. */
bool script_record_unasked(uint16_t type);

/* ---- script_pt.c: calls of Intel PT among the events ---- */

struct pt_names_place;
struct script_pt;

/* True when the dump has calls and they are requested. */
bool script_pt_wanted(const struct script *s);
/* True for the names of its lines: "call", "return", ... */
bool script_pt_event(const char *pattern);
/* *out is NULL when there are no calls; `s` must outlive it. 0, -ENOMEM, ... */
int script_pt_open(const struct script *s, struct reader *r, struct script_pt **out,
		   struct err *err);
void script_pt_close(struct script_pt *pt);
/* Prints lines up to `to_ns` until *nr_printed reaches `limit` (0: no limit). 0, or an error;
 * errors of writing are in p->text. */
int script_pt_print(struct script_pt *pt, struct printer *p, uint64_t to_ns, uint64_t limit,
		    uint64_t *nr_printed, struct err *err);

/* The content of a line about a call. */
struct script_call {
	const struct pt_spans_event *event;
	const struct pt_names_place *at; /* of event->address */
};

/* Requires time, CPU, event name and `who` in `l`. */
void script_text_call(struct printer *p, const struct line *l, const struct script_call *c);
void script_json_call(struct printer *p, const struct line *l, const struct script_call *c);

/* ---- script_text.c, script_json.c ---- */

void script_text_head(const struct script *s, const char *event, struct text *t);
void script_json_head(const char *event, struct text *t);
void script_text_who(const struct printed_task *who, struct text *t);
void script_json_who(const struct printed_task *who, struct text *t);
void script_text_frame(const struct frame *f, struct text *t);
void script_json_frame(const struct frame *f, struct text *t);
void script_text_line(struct printer *p, const struct line *l);
void script_json_line(struct printer *p, const struct line *l);

/* ---- script.c ---- */

/* `p` is used by one thread. 0 or -ENOMEM; call script_printer_free() in any case. */
int script_printer_init(struct printer *p, const struct script *s);
void script_printer_free(struct printer *p);
/* Requires only l->rec. Appends to p->text; false when the record does not pass the filters. */
bool script_print_line(struct printer *p, struct line *l);

/* ---- script_threads.c ---- */

/* Prints all records of `t` with `nr_threads` printers. Returns as script_print(); -EAGAIN when no
 * thread could be started and nothing was printed. */
int script_print_threads(const struct script *s, struct timeline *t, unsigned nr_threads, FILE *out,
			 uint64_t *nr_printed, struct err *err);
