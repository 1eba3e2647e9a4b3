/* SPDX-License-Identifier: MIT */
/*
 * DWARF expressions in call frame information (DWARF 4, 2.5), without jumps and division: one takes
 * at most a step for each of its bytes. They are not trusted.
 */
#pragma once

#include "dump/base/bytes.h"

#include <stdbool.h>

#define CFI_MAX_EXPRESSION_BYTES 256

/* Registers and memory of a frame. False: unknown. */
struct cfi_machine {
	bool (*reg)(void *ctx, unsigned reg, uint64_t *v);
	bool (*read)(void *ctx, uint64_t addr, size_t bytes, uint64_t *v); /* up to 8 */
	void *ctx;
};

/* Whether all of its operators are known. */
bool cfi_expression_ok(struct bytes expression);
/* Its value, with `first` on the stack. False: it is none, or needs something that is unknown. */
bool cfi_expression_run(struct bytes expression, uint64_t first, const struct cfi_machine *m,
			uint64_t *out);
