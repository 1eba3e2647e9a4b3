/* SPDX-License-Identifier: MIT */
/*
 * Intel PT: from the bytes of one AUX area and the code that ran to calls and returns with times.
 * The only user of libipt. The trace is cut into parts at PSB packets, which is where a decoder can
 * begin; parts know nothing of each other, so that threads decode several at once and the newest
 * comes first. Neither the trace nor the code is trusted: what does not fit is a PT_FLOW_LOST, and
 * decoding goes on at the next PSB. Memory is bounded by the trace's size.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;
struct pt_flow;

/* ---- code ---- */

/* Bytes of code, each kept once however many processes run them. Threads may share it. */
struct pt_store;

/* Room for `max_bytes` is set aside, without memory for it: so that it works also for a process
 * that may not write files any more (RLIMIT_FSIZE) when it is made before. */
int pt_store_new(uint64_t max_bytes, struct pt_store **out, struct err *err);
void pt_store_free(struct pt_store *s);
/* Copies `code`; *at is where it is kept. -ENOSPC. */
int pt_store_put(struct pt_store *s, struct bytes code, uint64_t *at, struct err *err);

/* ---- the trace ---- */

/* Whose flow it is. */
struct pt_flow_who {
	uint32_t tid;	  /* told in the steps */
	uint32_t key;	  /* what has the same key has the same code */
	uint64_t ns;	  /* when it was asked; of the dump's clock, as all times here */
	uint64_t context; /* the source's own */
};

/* Code that a process has at an address, at least from from_ns to to_ns. */
struct pt_flow_piece {
	uint64_t address, bytes;
	uint64_t at; /* in the store */
	uint64_t from_ns, to_ns;
};

/* Where code comes from when several processes ran, or when it is looked for as it is met. Called
 * by several threads at once. */
struct pt_flow_source {
	struct pt_store *store;
	/* Who it is that goes on at `ip` at who->ns: sets the rest of *who. `ip` 0: not known. */
	void (*who)(void *ctx, uint64_t ip, struct pt_flow_who *who);
	/* False: there is no code at `address`. */
	bool (*find)(void *ctx, const struct pt_flow_who *who, uint64_t address,
		     struct pt_flow_piece *out);
	/* The flow was in the page of `address`, told once or more; NULL: nobody wants to know. */
	void (*touch)(void *ctx, const struct pt_flow_who *who, uint64_t address);
	void *ctx;
};

enum pt_flow_kind {
	PT_FLOW_CALL,
	PT_FLOW_RETURN,
	PT_FLOW_OFF,  /* the trace stops: a system call, an interrupt; no `to` */
	PT_FLOW_ON,   /* and goes on; no `from` */
	PT_FLOW_LOST, /* unknown what happened here; no `from`, no `to` */
};

struct pt_flow_step {
	uint64_t time_ns;
	uint64_t from, to; /* addresses of instructions */
	enum pt_flow_kind kind;
	uint32_t tid; /* as the source says */
};

/* As struct perf_event_mmap_page has it: TSC to the perf clock. */
struct pt_flow_clock {
	uint64_t zero;
	uint32_t mult;
	uint16_t shift;
};

struct pt_flow_input {
	struct bytes bytes; /* oldest first; borrowed until pt_flow_free() */
	struct pt_flow_source source;
	struct pt_flow_clock clock;
	uint16_t family; /* of the processor, an Intel; 0: unknown */
	uint8_t model, stepping;
	uint8_t mtc_freq, nominal_ratio;   /* 0: unknown */
	uint32_t crystal_eax, crystal_ebx; /* CPUID 0x15; 0: unknown */
	size_t part_bytes;		   /* parts are at least so long; 0: as is best */
	size_t max_steps;		   /* of a part; 0: as its bytes make likely */
	size_t max_blocks; /* of code, that a thread knows of, some 70 bytes each; 0: as is best */
};

int pt_flow_new(const struct pt_flow_input *in, struct pt_flow **out, struct err *err);
void pt_flow_free(struct pt_flow *f);
/* 0: there is no PSB in it. */
size_t pt_flow_nr_parts(const struct pt_flow *f);

/* When a part begins, by the first time in it; 0: it has none. */
uint64_t pt_flow_part_ns(const struct pt_flow *f, size_t part);
/* The bytes of the trace that it begins at; of pt_flow_nr_parts(), where the trace ends. */
size_t pt_flow_part_at(const struct pt_flow *f, size_t part);

struct pt_flow_steps {
	struct pt_flow_step *v; /* oldest first */
	size_t nr, cap;
};

/* Decodes one part (0 is the oldest). May be called by several threads. `out` is emptied first;
 * pt_flow_steps_free() ends it. -ENOMEM. */
int pt_flow_part(struct pt_flow *f, size_t part, struct pt_flow_steps *out);
void pt_flow_steps_free(struct pt_flow_steps *s);

/*
 * All parts, decoded by `nr_threads` threads, newest first: calls `each` for one after the other,
 * on changing threads but never on two at once, until it returns non-zero, and returns that.
 * `steps` is borrowed until it returns.
 */
int pt_flow_backwards(struct pt_flow *f, unsigned int nr_threads,
		      int (*each)(void *ctx, size_t part, const struct pt_flow_steps *steps),
		      void *ctx, struct err *err);
