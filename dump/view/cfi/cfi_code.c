// SPDX-License-Identifier: MIT
/* Rules for code that is the same in every file; see cfi.h. Called by elf_rules.c. */
#include "dump/view/cfi/cfi.h"

#include <dwarf.h>
#include <string.h>

#define RULE(start_at, nr, how, of_initial)                                                        \
	((struct cfi_rule){.start = (start_at),                                                    \
			   .bytes = (nr),                                                          \
			   .code_align = 1,                                                        \
			   .data_align = -8,                                                       \
			   .return_register = 16,                                                  \
			   .flags = (how),                                                         \
			   .initial = {of_initial, sizeof(of_initial)}})

/* The caller's frame is `n` bytes above the stack pointer. */
#define AT_STACK(n)                                                                                \
	{                                                                                          \
		DW_CFA_def_cfa, 7, (n), DW_CFA_offset | 16, 1                                      \
	}

/* Registers in the ucontext_t that the kernel put on the stack, at these offsets from the stack
 * pointer (arch/x86/include/uapi/asm/sigcontext.h). */
#define CONTEXT(reg, lo, hi) DW_CFA_expression, (reg), 3, DW_OP_breg0 + 7, 0x80 | (lo), (hi)
#define AT(reg, off)	     CONTEXT(reg, (off)&0x7f, (off) >> 7)

static bool is_return_from_signal(struct bytes code, size_t at, size_t *start)
{
	static const uint8_t ends[] = {0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
	static const uint8_t shapes[][3] = {{0x48, 0xc7, 0xc0}, {0xb8}};

	/* mov $15,%rax; syscall, or with %eax. The handler returns to the first byte; a lookup that
	 * takes this for a return address asks for the byte before. */
	for (size_t i = 0; i < 2; i++) {
		size_t n = i ? 1 : 3;

		for (size_t back = 0; back < n + sizeof(ends) && back <= at + 1; back++) {
			size_t from = at + 1 - back;

			if (span_fits(from, n + sizeof(ends), code.len) &&
			    !memcmp(code.p + from, shapes[i], n) &&
			    !memcmp(code.p + from + n, ends, sizeof(ends))) {
				*start = from;
				return true;
			}
		}
	}
	return false;
}

/* The offset after the jump of a stub that begins at `i`; 0: not a stub. */
static size_t jump_of(struct bytes code, size_t i)
{
	static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t from = i;

	if (span_fits(i, 4, code.len) && !memcmp(code.p + i, landing, 4))
		i += 4;
	if (span_fits(i, 1, code.len) && code.p[i] == 0xf2)
		i++;
	if (!span_fits(i, 6, code.len) || code.p[i] != 0xff || code.p[i + 1] != 0x25)
		return 0;
	return i + 6 - from;
}

bool cfi_of_code(struct bytes code, size_t at, struct cfi_rule *out)
{
	/* 40: offset of the mcontext in the ucontext; its first register is R8. */
	static const uint8_t handler[] = {DW_CFA_def_cfa_expression,
					  4,
					  DW_OP_breg0 + 7,
					  0x80 | (160 & 0x7f),
					  160 >> 7,
					  DW_OP_deref,
					  AT(8, 40),
					  AT(9, 48),
					  AT(10, 56),
					  AT(11, 64),
					  AT(12, 72),
					  AT(13, 80),
					  AT(14, 88),
					  AT(15, 96),
					  AT(5, 104),
					  AT(4, 112),
					  AT(6, 120),
					  AT(3, 128),
					  AT(1, 136),
					  AT(0, 144),
					  AT(2, 152),
					  AT(7, 160),
					  AT(16, 168)};
	static const uint8_t called[] = AT_STACK(8), pushed[] = AT_STACK(16);
	size_t start, jump, end;
	bool lazy;

	if (at >= code.len)
		return false;
	if (is_return_from_signal(code, at, &start)) {
		*out = RULE((uint64_t)start - 1, 16, CFI_SIGNAL, handler);
		return true;
	}
	for (size_t step = 16; step >= 8; step /= 2) {
		start = at & ~(step - 1);
		jump = jump_of(code, start);
		if (!jump)
			continue;
		/* push of a number, then a jump to code that all stubs share */
		lazy = jump == 6 && span_fits(start, 7, code.len) && code.p[start + 6] == 0x68;
		end = lazy ? 11 : jump;
		if (at - start < end) {
			*out = RULE(start, end, 0, called);
			return true;
		}
		if (lazy && at - start < 16) {
			*out = RULE(start + end, 5, 0, pushed);
			return true;
		}
	}
	return false;
}
