/* SPDX-License-Identifier: MIT */
/*
 * The state of a crashed thread as a perf record: a sample with registers and part of the stack, so
 * that the unwinder for ring samples works on it too. All threads of a crash are records of one
 * kind in its evidence; the thread that crashed comes first.
 *
 * Async-signal-safe; allocates no memory.
 */
#pragma once

#include "dump/base/bytes.h"
#include "trigger/kernel/event.h"

struct evidence;

/* The event name of these records. */
#define CRASH_SAMPLE_NAME "crash:thread"
/* Limit of the stack copy, from the stack pointer up; a record must be shorter than 64 KiB. A
 * multiple of 8. */
#define CRASH_STACK_MAX (60u << 10)
/* Limit of a record: header, pid to cpu, registers, stack with its two sizes. */
#define CRASH_SAMPLE_MAX (CRASH_STACK_MAX + 8 * (4 + 1 + EVENT_USER_REGS_MAX + 2))

struct crash_thread {
	uint32_t pid, tid; /* in the recorder's pid namespace */
	uint32_t cpu;
	uint64_t ns;	       /* CLOCK_MONOTONIC */
	const uint64_t *regs;  /* event_regs_of_core() or event_regs_of_signal() */
	const uint8_t *stack;  /* memory from the stack pointer up; NULL: unknown */
	size_t nr_stack_bytes; /* cut to CRASH_STACK_MAX and to a multiple of 8 */
};

/* The attr of these records: a dummy event with these sample fields. */
void crash_sample_attr(struct perf_event_attr *out);
/* Writes the record to `to` (CRASH_SAMPLE_MAX bytes, aligned to 8) and returns its length. */
size_t crash_sample_make(const struct crash_thread *t, void *to);
/* Adds the kind for these records to the evidence, for evidence_add(). 0, -ENOSPC, -ENOMEM,
 * -ESHUTDOWN. */
int crash_sample_kind(struct evidence *e, size_t *kind);
/* Validates the length and sizes of an untrusted record. */
bool crash_sample_is_one(struct bytes rec);
