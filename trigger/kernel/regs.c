// SPDX-License-Identifier: MIT
/*
 * Which user registers go with a copied stack: what an unwinder needs to start. The only place that
 * is per architecture; channel.c asks through event.h.
 */
#include "trigger/kernel/event.h"

#include <asm/perf_regs.h>

#if defined(__x86_64__)
#define BIT(name) (1ull << PERF_REG_X86_##name)

uint64_t event_user_regs(void)
{
	/* DS, ES, FS and GS are refused for 64-bit tasks (arch/x86/kernel/perf_regs.c). */
	return BIT(AX) | BIT(BX) | BIT(CX) | BIT(DX) | BIT(SI) | BIT(DI) | BIT(BP) | BIT(SP) |
	       BIT(IP) | BIT(FLAGS) | BIT(CS) | BIT(SS) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11) |
	       BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15);
}

#elif defined(__aarch64__)

uint64_t event_user_regs(void)
{
	/* x0 to x30, sp and pc; the vector length register is of no use to an unwinder. */
	return (1ull << (PERF_REG_ARM64_PC + 1)) - 1;
}

#else
#error "which user registers perf samples on this architecture has to be told here"
#endif
