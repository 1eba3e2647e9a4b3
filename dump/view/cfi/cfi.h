/* SPDX-License-Identifier: MIT */
/*
 * Call frame information (DWARF 4, 6.4; .eh_frame as in the LSB): how to get from a function's
 * frame to its caller's. Entries of .eh_frame and .debug_frame, whose pointers mean something
 * within their file only, are turned into rules that stand alone: the two programs of an entry
 * without what an unwinder has no use for, and nothing in them that it could stumble over. Sections
 * and rules are not trusted. Pure functions on bytes; who runs the programs is unwind.c.
 */
#pragma once

#include "dump/base/bytes.h"

#include <stddef.h>

/* Registers that are followed: x86-64's 16 and its return address. Others are left out. */
#define CFI_NR_REGISTERS 17
/* What is larger is no rule: it has to be gone through for each new address. */
#define CFI_MAX_PROGRAM_BYTES (16u << 10)
#define CFI_MAX_CODE_BYTES    (1ull << 31)

#define CFI_SIGNAL 1u /* what it returns to did not call, but was interrupted */
#define CFI_SWITCH 2u /* what it calls has another stack than what called it */

struct cfi_rule {
	uint64_t start, bytes; /* of the code that it is about */
	uint32_t code_align;
	int32_t data_align;
	uint32_t return_register;
	uint32_t flags;
	struct bytes initial, program; /* borrowed */
};

/*
 * A copy of the rule whose programs are fit to be run, put behind each other into `bytes` (what is
 * there is replaced), where *out refers to them. -EBADMSG when it is none, or one with something in
 * it that no compiler makes: jumps, set_loc; -ENOMEM.
 */
int cfi_clean(const struct cfi_rule *in, struct buf *bytes, struct cfi_rule *out);

/* Where the entries are; addresses as linked. Empty: there is none. */
struct cfi_sections {
	struct bytes eh_frame;
	uint64_t eh_frame_addr;
	struct bytes debug_frame;
};

struct cfi;

/* The sections' bytes must outlive the result. 0, -ENOMEM. */
int cfi_new(const struct cfi_sections *s, struct cfi **out);
void cfi_free(struct cfi *c);

/* The rule for the code at `addr`, not clean yet; .debug_frame is asked where .eh_frame has none.
 * False: there is none. */
bool cfi_find(const struct cfi *c, uint64_t addr, struct cfi_rule *out);

/*
 * The rule for the instruction `at` of `code`, where the section says nothing, when that is one of
 * the few pieces of x86-64 that are the same everywhere: the return from a signal handler, a stub
 * that jumps to another file's function. rule->start is relative to `code` and may be negative, as
 * an unsigned number; its programs are clean and constant.
 */
bool cfi_of_code(struct bytes code, size_t at, struct cfi_rule *out);
