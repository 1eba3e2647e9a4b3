/* SPDX-License-Identifier: MIT */
/*
 * What a crashing program with libringback-crash.so and the recorder say to each other, over the
 * socket of ringback.h. Each is behind a struct ringback_message, the answer stands alone.
 *
 *	program                       recorder
 *	RINGBACK_CRASH         ──▶    freezes the rings, copies the stack
 *	                       ◀──    struct crash_reply: the program need not wait any longer
 *	RINGBACK_CRASH_FRAMES  ──▶    goes into the dump in the making
 */
#pragma once

#include "trigger/kernel/event.h"

#include <stdint.h>

/* With RINGBACK_CRASH; the first bytes of the stack follow. */
struct crash_tell {
	int32_t sig, code; /* si_signo, si_code */
	uint64_t addr;	   /* si_addr, where the signal has one */
	uint32_t cpu;
	uint32_t nr_skipped;		    /* bytes at the stack pointer that can't be read */
	uint64_t regs[EVENT_USER_REGS_MAX]; /* event_regs_of_signal() */
};

#define CRASH_TELL_STACK 3072 /* at most so many bytes of the stack in the message */
#define CRASH_SKIP_MAX	 (64u << 10)

struct crash_reply {
	uint32_t version, kind; /* RINGBACK_VERSION_1, RINGBACK_CRASH */
	uint32_t tid;		/* as it said itself */
	uint32_t taken;		/* a rule was met, or it was told before; 0: nobody wants to know */
};

/* With RINGBACK_CRASH_FRAMES: what unwinding in the process itself found, the innermost first. */
#define CRASH_FRAMES	 32
#define CRASH_NAME_BYTES 64
struct crash_frames {
	uint32_t nr, reserved;
	uint64_t ip[CRASH_FRAMES];
	uint32_t offset[CRASH_FRAMES];		   /* in the function */
	char name[CRASH_FRAMES][CRASH_NAME_BYTES]; /* untrusted; "": not known */
};
