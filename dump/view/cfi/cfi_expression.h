/* SPDX-License-Identifier: MIT */
/* DWARF expressions in call frame information (DWARF 4, 2.5), without jumps and division, so
 * running one takes at most one step per byte. Expressions are not trusted. */
#pragma once

#include "dump/base/bytes.h"

#include <stdbool.h>

#define CFI_MAX_EXPRESSION_BYTES 256

/* Registers and memory of a frame. The functions return false for an unknown value. */
struct cfi_machine {
	bool (*reg)(void *ctx, unsigned reg, uint64_t *v);
	bool (*read)(void *ctx, uint64_t addr, size_t bytes, uint64_t *v); /* bytes <= 8 */
	void *ctx;
};

/* Whether all operators are known. */
bool cfi_expression_ok(struct bytes expression);
/* The value, with `first` on the stack at the start. False: the expression is invalid, or needs an
 * unknown value. */
bool cfi_expression_run(struct bytes expression, uint64_t first, const struct cfi_machine *m,
			uint64_t *out);
