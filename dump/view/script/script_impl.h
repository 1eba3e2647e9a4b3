/* SPDX-License-Identifier: MIT */
/*
 * What the lines of script are made from; private to script*.c.
 *
 *	timeline ─▶ record ─▶ line ─▶ printer ─▶ text
 *	            found     who, which event,   one a thread; its caches answer what
 *	                      asked for at all?   the records ask again and again
 */
#pragma once

#include "dump/view/analysis/analysis.h"
#include "dump/view/pt/pt_spans.h"
#include "dump/view/script/script.h"
#include "dump/view/unwind/unwind.h"

/* What is printed of an event before its content, made once: "  sched:sched_switch:". */
struct head {
	const char *text; /* PUT_SLACK bytes may be read behind it */
	size_t len;
	bool wanted;
};

/* What all printers share; once open_all() is through, it is only read. */
struct script {
	struct analysis a;
	const struct script_options *opt;
	bool has_symbols;   /* at least one */
	struct head *heads; /* by event id */
	struct text head_text;
	bool want_unknown;
	bool *wanted;		       /* by event id; NULL: all are */
	const struct stack_regs *regs; /* of the machine; NULL: not known */
};

/* A thread for a while, and what is printed of it. */
struct printed_task {
	struct history_span span; /* when all of this is so */
	uint32_t tid;
	uint32_t len;
	uint64_t pid;		     /* as the record has it; WHO_NO_PID: not at all */
	bool asked;		     /* the filters by thread, process and name take it */
	const struct fmt_task *task; /* NULL: not known */
	const char *comm;	     /* NULL: not known */
	char text[144];
};

#define WHO_NO_PID UINT64_MAX

/* An address of user space in a thread for a while, and what is printed of it. */
struct printed_place {
	struct history_span span;
	uint64_t ip;
	uint32_t tid;
	uint16_t len; /* 0: nothing is known yet */
	bool kernel, caller;
	char text[208];
};

#define NR_WHO	  512
#define NR_PLACES 8192

/* Makes lines: one a thread. */
struct printer {
	const struct script *s;
	struct text text;
	struct text place;	  /* one that is too long to be kept */
	struct printed_task *who; /* NR_WHO, by tid */
	struct printed_place *places;
	struct unwind *unwind; /* NULL: the dump has no rules for it */
};

/* One record and what was found out about it. */
struct line {
	struct timeline_record rec;
	uint16_t type;		 /* PERF_RECORD_* */
	int32_t cpu;		 /* -1: not known */
	const struct head *head; /* NULL: `event` is the name */
	const char *event;	 /* never NULL; foreign text */
	const struct printed_task *who;
};

/* Where a machine's perf registers have the stack pointer and the program counter. */
struct stack_regs {
	const char *machine; /* as uname says it */
	uint8_t sp, ip;
};

/* ---- script_filter.c: what is asked for ---- */

/* The filter by event takes it. */
bool script_event_asked(const struct script_options *opt, const char *name);
/* The filter by CPU does. */
bool script_cpu_asked(const struct script_options *opt, int32_t cpu);
/* Fills s->heads. 0 or -ENOMEM. */
int script_make_heads(struct script *s);
/* The channels that may hold what is asked for; 0: all. */
uint64_t script_channels(const struct script *s);
/* True when the filters by thread, process and name take it: all of `who` but that is known. */
bool script_who_asked(const struct script *s, const struct printed_task *who);
/* The same by what is known of a thread without a record. */
bool script_thread_fits(const struct script_options *opt, const struct printed_task *who);
/* Finds out all about l->rec, which timeline_describe() went over; false: it isn't asked for. */
bool script_complete(struct printer *p, struct line *l);

/* ---- script_task.c ---- */

const struct printed_task *script_who(struct printer *p, const struct timeline_record *r);
/* False: no record of this thread at this time is asked for. `ctx` is a printer. */
bool script_thread_asked(void *ctx, uint32_t tid, uint64_t time_ns);

/* ---- script_place.c: addresses ---- */

/* The chain of a sample's user registers and stack; false: it has none, or the dump no rules.
 * Borrowed until the next call. */
bool script_unwind(struct printer *p, const struct line *l, struct unwind_chain *c);
/* Why it ends, in words; empty when it is complete. */
void script_unwind_end(const struct unwind_chain *c, struct text *t);

/* What is known of an address. */
struct frame {
	uint64_t ip;
	bool kernel;
	bool caller;
	const struct symbol_place *places; /* innermost first; the last is the function itself */
	size_t nr;
};

/* `ip` as script_text_frame() or script_json_frame() print it, borrowed until the next call.
 * `caller`: it is a return address. */
struct bytes script_place(struct printer *p, const struct line *l, uint64_t ip, bool kernel,
			  bool caller);

/* ---- script_record.c: the rest of a record ---- */

/* The sampled user register; false when it isn't there. */
bool script_reg(const struct line *l, uint8_t reg, uint64_t *v);

/* True when the sample's RAW bytes say something. */
bool script_has_raw(const struct line *l);

/* What a record that is no sample says, field by field; false past its last. */
struct record_field {
	const char *name;
	uint64_t value;
};
bool script_record_field(const struct line *l, size_t i, struct record_field *out);
/* Its name: "PERF_RECORD_LOST". */
const char *script_record_name(uint16_t type);
/* One for each time that a thread got the CPU, beside a hardware trace: printed when it is named.
 */
bool script_record_unasked(uint16_t type);

/* ---- script_pt.c: calls of Intel PT among the events ---- */

struct pt_names_place;
struct script_pt;

/* True when the dump has some and they are asked for. */
bool script_pt_wanted(const struct script *s);
/* "call", "return", ...: the names of its lines. */
bool script_pt_event(const char *pattern);
/* *out NULL when there is nothing to come; `s` must outlive it. 0, -ENOMEM, ... */
int script_pt_open(const struct script *s, struct reader *r, struct script_pt **out,
		   struct err *err);
void script_pt_close(struct script_pt *pt);
/* Prints the lines up to `to_ns`, as long as there are fewer than `limit` (0: all) of *nr_printed.
 * 0, or an error; those of writing are in p->text. */
int script_pt_print(struct script_pt *pt, struct printer *p, uint64_t to_ns, uint64_t limit,
		    uint64_t *nr_printed, struct err *err);

/* What a line of it says. */
struct script_call {
	const struct pt_spans_event *event;
	const struct pt_names_place *at; /* of event->address */
};

/* Of `l` time, CPU, name of the event and who are set. */
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

/* `p` is for one thread. 0 or -ENOMEM; script_printer_free() is due in any case. */
int script_printer_init(struct printer *p, const struct script *s);
void script_printer_free(struct printer *p);
/* Of `l` only rec is set. Its lines go into p->text; false when it is not asked for. */
bool script_print_line(struct printer *p, struct line *l);

/* ---- script_threads.c ---- */

/*
 * Prints all that `t` has with `nr_threads` printers. As script_print(); -EAGAIN when no thread
 * could be started, then nothing is done.
 */
int script_print_threads(const struct script *s, struct timeline *t, unsigned nr_threads, FILE *out,
			 uint64_t *nr_printed, struct err *err);
