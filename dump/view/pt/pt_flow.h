/* SPDX-License-Identifier: MIT */
/*
 * Intel PT: decodes the bytes of one AUX area, with the code that ran, to calls and returns with
 * times. The only user of libipt. The trace is cut into parts at PSB packets, where decoding can
 * start; parts are independent, so that threads decode several at once and the newest can come
 * first. Neither the trace nor the code is trusted: a contradiction becomes PT_FLOW_LOST, and
 * decoding continues at the next PSB. Memory is bounded by the trace's size.
 */
#pragma once

#include "dump/base/bytes.h"

struct err;
struct pt_flow;

/* ---- code ---- */

/* Bytes of code, each stored once however many processes run them. Threads may share it. */
struct pt_store;

/* Reserves space for `max_bytes` without allocating memory. Call it before the process is
 * restricted from writing files (RLIMIT_FSIZE). */
int pt_store_new(uint64_t max_bytes, struct pt_store **out, struct err *err);
void pt_store_free(struct pt_store *s);
/* Copies `code`; *at is its offset in the store. -ENOSPC: full. */
int pt_store_put(struct pt_store *s, struct bytes code, uint64_t *at, struct err *err);

/* ---- the trace ---- */

/* The thread that ran. */
struct pt_flow_who {
	uint32_t tid;	  /* copied to the steps */
	uint32_t key;	  /* equal keys have the same code */
	uint64_t ns;	  /* the time of the lookup; all times here are of the dump's clock */
	uint64_t context; /* the source's own */
};

/* Code of a process at an address, valid at least from from_ns to to_ns. */
struct pt_flow_piece {
	uint64_t address, bytes;
	uint64_t at; /* offset in the store */
	uint64_t from_ns, to_ns;
};

/* The source of code if several processes ran, or if code is looked up on first use. Called by
 * several threads at once. */
struct pt_flow_source {
	struct pt_store *store;
	/* Sets the rest of *who: the thread that continues at `ip` at who->ns. `ip` 0: unknown. */
	void (*who)(void *ctx, uint64_t ip, struct pt_flow_who *who);
	/* False: no code at `address`. */
	bool (*find)(void *ctx, const struct pt_flow_who *who, uint64_t address,
		     struct pt_flow_piece *out);
	/* Reports that the page of `address` was executed, at least once per page. May be NULL. */
	void (*touch)(void *ctx, const struct pt_flow_who *who, uint64_t address);
	void *ctx;
};

enum pt_flow_kind {
	PT_FLOW_CALL,
	PT_FLOW_RETURN,
	PT_FLOW_OFF,  /* tracing stops: a system call, an interrupt; no `to` */
	PT_FLOW_ON,   /* tracing resumes; no `from` */
	PT_FLOW_LOST, /* trace lost: events are missing here; no `from`, no `to` */
};

struct pt_flow_step {
	uint64_t time_ns;
	uint64_t from, to; /* addresses of instructions */
	enum pt_flow_kind kind;
	uint32_t tid; /* from the source */
};

/* TSC to the perf clock, as in struct perf_event_mmap_page. */
struct pt_flow_clock {
	uint64_t zero;
	uint32_t mult;
	uint16_t shift;
};

struct pt_flow_input {
	struct bytes bytes; /* oldest first; borrowed until pt_flow_free() */
	struct pt_flow_source source;
	struct pt_flow_clock clock;
	uint16_t family; /* CPU family (Intel); 0: unknown */
	uint8_t model, stepping;
	uint8_t mtc_freq, nominal_ratio;   /* 0: unknown */
	uint32_t crystal_eax, crystal_ebx; /* CPUID 0x15; 0: unknown */
	size_t part_bytes;		   /* minimum size of a part; 0: default */
	size_t max_steps;		   /* limit per part; 0: derived from its size */
	size_t max_blocks; /* code blocks cached per thread, some 70 bytes each; 0: default */
};

int pt_flow_new(const struct pt_flow_input *in, struct pt_flow **out, struct err *err);
void pt_flow_free(struct pt_flow *f);
/* 0: the trace has no PSB. */
size_t pt_flow_nr_parts(const struct pt_flow *f);

/* The first time in a part; 0: it has none. */
uint64_t pt_flow_part_ns(const struct pt_flow *f, size_t part);
/* The offset in the trace where the part begins; for pt_flow_nr_parts(), the end of the trace. */
size_t pt_flow_part_at(const struct pt_flow *f, size_t part);

struct pt_flow_steps {
	struct pt_flow_step *v; /* oldest first */
	size_t nr, cap;
};

/* Decodes one part (0 is the oldest). May be called by several threads. Empties `out` first; free
 * it with pt_flow_steps_free(). -ENOMEM. */
int pt_flow_part(struct pt_flow *f, size_t part, struct pt_flow_steps *out);
void pt_flow_steps_free(struct pt_flow_steps *s);

/*
 * Decodes all parts with `nr_threads` threads and calls `each` for one after the other, newest
 * first. Calls come from different threads but never two at once. Stops when `each` returns
 * non-zero, and returns that. `steps` is borrowed during the call.
 */
int pt_flow_backwards(struct pt_flow *f, unsigned int nr_threads,
		      int (*each)(void *ctx, size_t part, const struct pt_flow_steps *steps),
		      void *ctx, struct err *err);
