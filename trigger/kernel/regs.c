// SPDX-License-Identifier: MIT
/*
 * Which user registers go with a copied stack: what an unwinder needs to start. The only place that
 * is per architecture; channel.c asks through event.h.
 */
#include "trigger/kernel/event.h"

#include <asm/perf_regs.h>

#include <string.h>

#if defined(__x86_64__)
#define REG_IP	   PERF_REG_X86_IP
#define REG_SP	   PERF_REG_X86_SP
#define REG_FP	   PERF_REG_X86_BP
#define REG_RESULT PERF_REG_X86_AX
#define BIT(name)  (1ull << PERF_REG_X86_##name)

static const unsigned arg_regs[EVENT_ARGS] = {PERF_REG_X86_DI, PERF_REG_X86_SI, PERF_REG_X86_DX,
					      PERF_REG_X86_CX, PERF_REG_X86_R8, PERF_REG_X86_R9};

uint64_t event_user_regs(void)
{
	/* DS, ES, FS and GS are refused for 64-bit tasks (arch/x86/kernel/perf_regs.c). */
	return BIT(AX) | BIT(BX) | BIT(CX) | BIT(DX) | BIT(SI) | BIT(DI) | BIT(BP) | BIT(SP) |
	       BIT(IP) | BIT(FLAGS) | BIT(CS) | BIT(SS) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11) |
	       BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15);
}

#elif defined(__aarch64__)
#define REG_IP	   PERF_REG_ARM64_PC
#define REG_SP	   PERF_REG_ARM64_SP
#define REG_FP	   PERF_REG_ARM64_X29
#define REG_RESULT PERF_REG_ARM64_X0

static const unsigned arg_regs[EVENT_ARGS] = {PERF_REG_ARM64_X0, PERF_REG_ARM64_X1,
					      PERF_REG_ARM64_X2, PERF_REG_ARM64_X3,
					      PERF_REG_ARM64_X4, PERF_REG_ARM64_X5};

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

static bool is_whole(struct bytes regs)
{
	return regs.len >= 8 * (size_t)__builtin_popcountll(event_user_regs());
}

bool event_user_call(struct bytes regs, struct event_call *out)
{
	if (!is_whole(regs))
		return false;
	for (size_t i = 0; i < EVENT_ARGS; i++)
		out->arg[i] = take(regs, arg_regs[i]);
	out->result = take(regs, REG_RESULT);
	return true;
}

bool event_user_frame(struct bytes regs, struct event_frame *out)
{
	if (!is_whole(regs))
		return false;
	*out = (struct event_frame){take(regs, REG_IP), take(regs, REG_SP), take(regs, REG_FP)};
	return true;
}
