/* SPDX-License-Identifier: MIT */
/*
 * Intel PT: from the bytes of one AUX area and the code that ran to calls and returns with times.
 * The only user of libipt. The trace is cut into parts at PSB packets, which is where a decoder can
 * begin; parts know nothing of each other, so that threads decode several at once and the newest
 * comes first. Neither the trace nor the code is trusted: what does not fit is a PTFLOW_LOST, and
 * decoding goes on at the next PSB. Memory is bounded by the trace's size.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;
struct ptcode;
struct ptflow;

/* ---- the code of a process ---- */

int ptcode_new(struct ptcode **out, struct err *err);
void ptcode_free(struct ptcode *c);
/* Copies `code`, which lies at `address`. Of pieces that overlap the last one counts. Few and large
 * ones are quicker than many. Not after ptcode_seal(). */
int ptcode_add(struct ptcode *c, uint64_t address, struct bytes code, struct err *err);
/* Nothing is added from here on, and threads may share it. */
int ptcode_seal(struct ptcode *c, struct err *err);

/* ---- the trace ---- */

enum ptflow_kind {
	PTFLOW_CALL,
	PTFLOW_RETURN,
	PTFLOW_OFF,  /* the trace stops: a system call, an interrupt; no `to` */
	PTFLOW_ON,   /* and goes on; no `from` */
	PTFLOW_LOST, /* unknown what happened here; no `from`, no `to` */
};

struct ptflow_step {
	uint64_t time_ns;
	uint64_t from, to; /* addresses of instructions */
	enum ptflow_kind kind;
};

/* As struct perf_event_mmap_page has it: TSC to the perf clock. */
struct ptflow_clock {
	uint64_t zero;
	uint32_t mult;
	uint16_t shift;
};

struct ptflow_input {
	struct bytes bytes;	   /* oldest first; borrowed until ptflow_free() */
	const struct ptcode *code; /* sealed; likewise */
	struct ptflow_clock clock;
	uint16_t family; /* of the processor, an Intel; 0: unknown */
	uint8_t model, stepping;
	uint8_t mtc_freq, nominal_ratio;   /* 0: unknown */
	uint32_t crystal_eax, crystal_ebx; /* CPUID 0x15; 0: unknown */
	size_t part_bytes;		   /* parts are at least so long; 0: as is best */
};

int ptflow_new(const struct ptflow_input *in, struct ptflow **out, struct err *err);
void ptflow_free(struct ptflow *f);
/* 0: there is no PSB in it. */
size_t ptflow_nr_parts(const struct ptflow *f);

struct ptflow_steps {
	struct ptflow_step *v; /* oldest first */
	size_t nr, cap;
};

/* Decodes one part (0 is the oldest). May be called by several threads. `out` is emptied first;
 * ptflow_steps_free() ends it. -ENOMEM. */
int ptflow_part(const struct ptflow *f, size_t part, struct ptflow_steps *out);
void ptflow_steps_free(struct ptflow_steps *s);

/*
 * All parts, decoded by `nr_threads` threads, newest first: calls `each` for one after the other,
 * on changing threads but never on two at once, until it returns non-zero, and returns that.
 * `steps` is borrowed until it returns.
 */
int ptflow_backwards(const struct ptflow *f, unsigned int nr_threads,
		     int (*each)(void *ctx, size_t part, const struct ptflow_steps *steps),
		     void *ctx, struct err *err);
