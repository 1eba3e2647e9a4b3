/* SPDX-License-Identifier: MIT */
/*
 * Call frame information (DWARF 4, 6.4; .eh_frame as in the LSB): how to get from a function's
 * frame to its caller's. An entry of .eh_frame or .debug_frame, whose pointers mean something only
 * within its file, becomes a rule that stands alone. Its two programs, the CIE's and the FDE's, make
 * a row for each address. Sections and rules are not trusted. Pure functions on bytes.
 */
#pragma once

#include "dump/base/bytes.h"

#include <stdbool.h>
#include <stddef.h>

/* x86-64's 16 registers and the return address; instructions about others are left out. */
#define CFI_NR_REGISTERS 17
/* A larger rule is refused: each new address runs the programs from the start. */
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
 * Checks a rule and copies it without the instructions that no row depends on. The programs are put
 * one behind the other into `bytes` (what is there is replaced), where *out refers to them.
 * -EBADMSG: the rule is damaged, or has something that no compiler makes: jumps, set_loc. -ENOMEM.
 */
int cfi_clean(const struct cfi_rule *in, struct buf *bytes, struct cfi_rule *out);

/* Where the caller's value of a register is. */
enum cfi_how {
	CFI_SAME, /* in the register */
	CFI_UNDEFINED,
	CFI_AT_CFA,	   /* in memory at CFA + value */
	CFI_REGISTER,	   /* in register `value` */
	CFI_AT_EXPRESSION, /* in memory where the expression says */
	CFI_EXPRESSION,	   /* the expression's value */
};

enum cfi_cfa { CFI_NO_CFA, CFI_CFA_REGISTER, CFI_CFA_EXPRESSION };

/* How to restore the caller's registers at one address. */
struct cfi_row {
	uint32_t changed; /* bit i: how[i] may be something else than CFI_SAME */
	uint32_t work;	  /* steps that running the programs and all expressions takes */
	uint8_t cfa;	  /* enum cfi_cfa */
	uint8_t cfa_register;
	uint8_t how[CFI_NR_REGISTERS]; /* enum cfi_how */
	int32_t cfa_offset, cfa_expression;
	int32_t value[CFI_NR_REGISTERS];
};

struct cfi_machine;

/* The row for the code `offset` bytes behind the start of a clean rule. False: the rule is not
 * clean. */
bool cfi_row_at(const struct cfi_rule *r, uint64_t offset, struct cfi_row *out);
/* The canonical frame address: the stack pointer in the caller. False: `m` lacks something. */
bool cfi_row_cfa(const struct cfi_rule *r, const struct cfi_row *row, const struct cfi_machine *m,
		 uint64_t *out);
/* The value of the expression for a register. */
bool cfi_row_expression(const struct cfi_rule *r, const struct cfi_row *row, unsigned reg,
			uint64_t cfa, const struct cfi_machine *m, uint64_t *out);

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
