/* SPDX-License-Identifier: MIT */
/*
 * The protocol between a crashing program with libringback-crash.so and the recorder, over the
 * socket of ringback.h. The program's parts follow a struct ringback_message; the reply has no such
 * header.
 *
 *	program                       recorder
 *	RINGBACK_CRASH         ──▶    freezes the rings
 *	                       ◀──    struct crash_reply: the program need not wait any longer
 *	RINGBACK_CRASH_FRAMES  ──▶    added to the dump in progress
 */
#pragma once

#include "trigger/kernel/event.h"

#include <stdint.h>

/* After RINGBACK_CRASH; the stack follows, as far as it is mapped. */
struct crash_tell {
	int32_t sig, code; /* si_signo, si_code */
	uint64_t addr;	   /* si_addr, if the signal has one */
	uint32_t cpu;
	uint32_t nr_skipped;		    /* unreadable bytes at the stack pointer */
	uint64_t regs[EVENT_USER_REGS_MAX]; /* event_regs_of_signal() */
};

#define CRASH_TELL_STACK (60u << 10) /* limit of both together; a multiple of the page size */

struct crash_reply {
	uint32_t version, kind; /* RINGBACK_VERSION_1, RINGBACK_CRASH */
	uint32_t tid;		/* as the program sent it */
	uint32_t taken;		/* 1: a rule was hit, or already reported; 0: no rule takes it */
};

/* After RINGBACK_CRASH_FRAMES: the frames found in the process itself, innermost first. */
#define CRASH_FRAMES	 32
#define CRASH_NAME_BYTES 64
struct crash_frames {
	uint32_t nr, reserved;
	uint64_t ip[CRASH_FRAMES];
	uint32_t offset[CRASH_FRAMES];		   /* in the function */
	char name[CRASH_FRAMES][CRASH_NAME_BYTES]; /* untrusted; "": unknown */
};
