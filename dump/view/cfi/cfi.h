/* SPDX-License-Identifier: MIT */
/*
 * Call frame information (DWARF 4, 6.4; .eh_frame as in the LSB): how to get from a function's
 * frame to its caller's frame. The pointers in an entry of .eh_frame or .debug_frame are valid only
 * within its file; here an entry becomes a rule that needs nothing else. Its two programs, the
 * CIE's and the FDE's, produce a row for each address. Sections and rules are not trusted. Pure
 * functions on bytes.
 */
#pragma once

#include "dump/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* x86-64's 16 registers and the return address; instructions about other registers are removed. */
#define CFI_NR_REGISTERS 17
/* Larger rules are refused: each new address runs the programs from the start. */
#define CFI_MAX_PROGRAM_BYTES (16u << 10)
#define CFI_MAX_CODE_BYTES    (1ull << 31)

#define CFI_SIGNAL 1u /* the caller made no call: a signal interrupted it */
#define CFI_SWITCH 2u /* its callees run on another stack than its caller */

struct cfi_rule {
	uint64_t start, bytes; /* of the code that the rule covers */
	uint32_t code_align;
	int32_t data_align;
	uint32_t return_register;
	uint32_t flags;
	struct bytes initial, program; /* borrowed */
};

/*
 * Checks a rule and copies it without the instructions that affect no row. Replaces the contents of
 * `bytes` with the two programs, one after the other; *out refers to them. -EBADMSG: the rule is
 * damaged, or contains something that no compiler emits (jumps, set_loc). -ENOMEM.
 */
int cfi_clean(const struct cfi_rule *in, struct buf *bytes, struct cfi_rule *out);

/* Where the caller's value of a register is. */
enum cfi_how {
	CFI_SAME, /* in the register */
	CFI_UNDEFINED,
	CFI_AT_CFA,	   /* in memory at CFA + value */
	CFI_REGISTER,	   /* in register `value` */
	CFI_AT_EXPRESSION, /* in memory at the address that the expression yields */
	CFI_EXPRESSION,	   /* the expression's value */
};

enum cfi_cfa { CFI_NO_CFA, CFI_CFA_REGISTER, CFI_CFA_EXPRESSION };

/* How to restore the caller's registers at one address. */
struct cfi_row {
	uint32_t changed; /* bit i: how[i] may differ from CFI_SAME */
	uint32_t work;	  /* number of steps to run the programs and all expressions */
	uint8_t cfa;	  /* enum cfi_cfa */
	uint8_t cfa_register;
	uint8_t how[CFI_NR_REGISTERS]; /* enum cfi_how */
	int32_t cfa_offset, cfa_expression;
	int32_t value[CFI_NR_REGISTERS];
};

struct cfi_machine;

/* The row for the code `offset` bytes after the start of a clean rule. False: the rule is not
 * clean. */
bool cfi_row_at(const struct cfi_rule *r, uint64_t offset, struct cfi_row *out);
/* The canonical frame address: the stack pointer in the caller. False: `m` lacks a value. */
bool cfi_row_cfa(const struct cfi_rule *r, const struct cfi_row *row, const struct cfi_machine *m,
		 uint64_t *out);
/* The value of the expression for a register. */
bool cfi_row_expression(const struct cfi_rule *r, const struct cfi_row *row, unsigned reg,
			uint64_t cfa, const struct cfi_machine *m, uint64_t *out);

/* The sections with entries; addresses as linked. Empty: the section does not exist. */
struct cfi_sections {
	struct bytes eh_frame;
	uint64_t eh_frame_addr;
	struct bytes debug_frame;
};

struct cfi;

/* The sections' bytes must outlive the result. 0, -ENOMEM. */
int cfi_new(const struct cfi_sections *s, struct cfi **out);
void cfi_free(struct cfi *c);

/* The rule for the code at `addr`, before cfi_clean(); from .debug_frame if .eh_frame has none.
 * False: there is no rule. */
bool cfi_find(const struct cfi *c, uint64_t addr, struct cfi_rule *out);

/*
 * The rule for the instruction at offset `at` of `code`, for code that the sections do not cover.
 * Knows a few pieces of x86-64 code that are the same everywhere: the return from a signal handler,
 * a stub that jumps to another file's function. rule->start is relative to `code`; it may be
 * negative, stored as an unsigned number. The programs are clean and constant.
 */
bool cfi_of_code(struct bytes code, size_t at, struct cfi_rule *out);
