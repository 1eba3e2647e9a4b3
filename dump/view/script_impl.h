/* SPDX-License-Identifier: MIT */
/* What the lines of script are made from; private to script*.c. */
#pragma once

#include "dump/view/fields.h"
#include "dump/view/people.h"
#include "dump/view/script.h"
#include "dump/view/timeline.h"

struct script {
	const struct meta *m;
	const struct script_options *opt;
	struct people *people;
	struct fields *fields;
	struct timeline *timeline;
	bool *wanted; /* by event id */
	bool want_unknown;
	const struct stack_regs *regs; /* of the machine; NULL: not known */
	struct text text;
};

/* One record and what was found out about it. */
struct line {
	struct timeline_record rec;
	uint16_t type;		     /* PERF_RECORD_* */
	int32_t cpu;		     /* -1: not known */
	const char *event;	     /* never NULL; foreign text */
	const char *comm;	     /* NULL: not known */
	const struct fmt_task *task; /* NULL: not known */
};

/* Where a machine's perf registers have the stack pointer and the program counter. */
struct stack_regs {
	const char *machine; /* as uname says it */
	uint8_t sp, ip;
};

/* An address of a call chain. */
struct frame {
	uint64_t ip;
	bool kernel;
	const char *path; /* NULL: not known, or kernel */
	uint64_t off;	  /* in that file */
};

/* Steps through a call chain; start with {0}. */
struct chain_walk {
	uint64_t at;
	uint64_t context; /* the last PERF_CONTEXT_*, 0: none yet */
};

/* The next address that is no PERF_CONTEXT_* mark; false at the end. */
bool script_next_frame(const struct script *s, const struct line *l, struct chain_walk *w,
		       struct frame *out);
/* What `ip` is; `kernel` says whether it is the kernel's. */
void script_frame(const struct script *s, const struct line *l, uint64_t ip, bool kernel,
		  struct frame *out);
/* True for an address that only the kernel can have. */
bool script_kernel_address(uint64_t ip);

/* The sampled user register; false when it isn't there. */
bool script_reg(const struct line *l, uint8_t reg, uint64_t *v);

/* True when the sample's RAW bytes say something: see script_record.c. */
bool script_has_raw(const struct line *l);

/* What a record that is no sample says, field by field; false past its last. */
struct record_field {
	const char *name;
	uint64_t value;
};
bool script_record_field(const struct line *l, size_t i, struct record_field *out);
/* Its name: "PERF_RECORD_LOST". */
const char *script_record_name(uint16_t type);

void script_text_line(struct script *s, const struct line *l);
void script_json_line(struct script *s, const struct line *l);
