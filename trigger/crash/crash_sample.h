/* SPDX-License-Identifier: MIT */
/*
 * Where a thread of a crashed process was, as a record like those the kernel writes: a sample with
 * registers and a piece of the stack. So whatever unwinds a ring's samples takes these too. All
 * threads of a crash are records of one kind in its evidence, the one that crashed first.
 *
 * Needs no memory but its caller's, and calls nothing that a signal handler may not.
 */
#pragma once

#include "dump/base/bytes.h"
#include "trigger/kernel/event.h"

struct evidence;

/* The event that these are records of. */
#define CRASH_SAMPLE_NAME "crash:thread"
/* Of a stack, from the stack pointer up; a record is shorter than 64 KiB. A multiple of 8. */
#define CRASH_STACK_MAX (60u << 10)
/* No record is longer: header, pid to cpu, registers, stack with its two sizes. */
#define CRASH_SAMPLE_MAX (CRASH_STACK_MAX + 8 * (4 + 1 + EVENT_USER_REGS_MAX + 2))

struct crash_thread {
	uint32_t pid, tid; /* as the recorder knows them */
	uint32_t cpu;
	uint64_t ns;	       /* CLOCK_MONOTONIC */
	const uint64_t *regs;  /* event_regs_of_core() or event_regs_of_signal() */
	const uint8_t *stack;  /* what lies at the stack pointer and above; NULL: not known */
	size_t nr_stack_bytes; /* of more than CRASH_STACK_MAX the first; cut to a multiple of 8 */
};

/* The attr of such records: a dummy event with just these fields. */
void crash_sample_attr(struct perf_event_attr *out);
/* Writes the record to `to`, CRASH_SAMPLE_MAX bytes, aligned to 8; its length. */
size_t crash_sample_make(const struct crash_thread *t, void *to);
/* Makes the evidence ready for such records; evidence_add() takes the kind. 0, -ENOSPC, -ENOMEM,
 * -ESHUTDOWN. */
int crash_sample_kind(struct evidence *e, size_t *kind);
/* Whether this can be such a record, of whomever it came from: its length and sizes are right. */
bool crash_sample_is_one(struct bytes rec);
