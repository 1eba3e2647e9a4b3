// SPDX-License-Identifier: MIT
/*
 * Which user registers go with a copied stack: what an unwinder needs to start. The only place that
 * is per architecture; channel.c asks through event.h.
 */
#include "trigger/kernel/event.h"

#include <asm/perf_regs.h>

#include <string.h>

#if defined(__x86_64__)
#define REG_IP	  PERF_REG_X86_IP
#define REG_SP	  PERF_REG_X86_SP
#define REG_FP	  PERF_REG_X86_BP
#define BIT(name) (1ull << PERF_REG_X86_##name)

uint64_t event_user_regs(void)
{
	/* DS, ES, FS and GS are refused for 64-bit tasks (arch/x86/kernel/perf_regs.c). */
	return BIT(AX) | BIT(BX) | BIT(CX) | BIT(DX) | BIT(SI) | BIT(DI) | BIT(BP) | BIT(SP) |
	       BIT(IP) | BIT(FLAGS) | BIT(CS) | BIT(SS) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11) |
	       BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15);
}

#elif defined(__aarch64__)
#define REG_IP PERF_REG_ARM64_PC
#define REG_SP PERF_REG_ARM64_SP
#define REG_FP PERF_REG_ARM64_X29

uint64_t event_user_regs(void)
{
	/* x0 to x30, sp and pc; the vector length register is of no use to an unwinder. */
	return (1ull << (PERF_REG_ARM64_PC + 1)) - 1;
}

#else
#error "which user registers perf samples on this architecture has to be told here"
#endif

/* Registers stand in the order of their bits, those that are not sampled left out. */
static uint64_t take(struct bytes regs, unsigned reg)
{
	uint64_t v, below = event_user_regs() & ((1ull << reg) - 1);

	memcpy(&v, regs.p + 8 * (size_t)__builtin_popcountll(below), sizeof(v));
	return v;
}

bool event_user_frame(struct bytes regs, struct event_frame *out)
{
	if (regs.len < 8 * (size_t)__builtin_popcountll(event_user_regs()))
		return false;
	*out = (struct event_frame){take(regs, REG_IP), take(regs, REG_SP), take(regs, REG_FP)};
	return true;
}
