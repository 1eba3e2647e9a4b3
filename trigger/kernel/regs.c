// SPDX-License-Identifier: MIT
/* The user registers that an unwinder needs with a copied stack. The only architecture-specific
 * file; channel.c uses it through event.h. */
#include "trigger/kernel/event.h"

#include <asm/perf_regs.h>

#include <string.h>
#include <sys/user.h>
#include <ucontext.h>

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
	/* The kernel refuses DS, ES, FS and GS for 64-bit tasks (arch/x86/kernel/perf_regs.c). */
	return BIT(AX) | BIT(BX) | BIT(CX) | BIT(DX) | BIT(SI) | BIT(DI) | BIT(BP) | BIT(SP) |
	       BIT(IP) | BIT(FLAGS) | BIT(CS) | BIT(SS) | BIT(R8) | BIT(R9) | BIT(R10) | BIT(R11) |
	       BIT(R12) | BIT(R13) | BIT(R14) | BIT(R15);
}

bool event_regs_of_core(struct bytes pr_reg, uint64_t out[EVENT_USER_REGS_MAX])
{
	struct user_regs_struct r;

	if (pr_reg.len < sizeof(r))
		return false;
	memcpy(&r, pr_reg.p, sizeof(r));
	memcpy(out, (const uint64_t[]){r.rax, r.rbx, r.rcx,    r.rdx, r.rsi, r.rdi, r.rbp,
				       r.rsp, r.rip, r.eflags, r.cs,  r.ss,  r.r8,  r.r9,
				       r.r10, r.r11, r.r12,    r.r13, r.r14, r.r15},
	       20 * sizeof(*out));
	return true;
}

void event_regs_of_signal(const void *ucontext, uint64_t out[EVENT_USER_REGS_MAX])
{
	/* REG_CSGSFS is cs, gs, fs and ss, 16 bits each. */
	static const int regs[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP,
				   REG_RSP, REG_RIP, REG_EFL, -1,      -2,	REG_R8,	 REG_R9,
				   REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	const greg_t *g = ((const ucontext_t *)ucontext)->uc_mcontext.gregs;
	uint64_t segments = (uint64_t)g[REG_CSGSFS];

	for (size_t i = 0; i < sizeof(regs) / sizeof(*regs); i++)
		out[i] = regs[i] >= 0	 ? (uint64_t)g[regs[i]]
			 : regs[i] == -1 ? segments & 0xffff
					 : segments >> 48;
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
	/* x0 to x30, sp and pc; unwinding does not need the vector length register. */
	return (1ull << (PERF_REG_ARM64_PC + 1)) - 1;
}

bool event_regs_of_core(struct bytes pr_reg, uint64_t out[EVENT_USER_REGS_MAX])
{
	/* struct user_regs_struct: x0 to x30, sp, pc, pstate. */
	size_t n = sizeof(*out) * (PERF_REG_ARM64_PC + 1);

	if (pr_reg.len < n)
		return false;
	memcpy(out, pr_reg.p, n);
	return true;
}

void event_regs_of_signal(const void *ucontext, uint64_t out[EVENT_USER_REGS_MAX])
{
	const mcontext_t *m = &((const ucontext_t *)ucontext)->uc_mcontext;

	for (int i = 0; i <= 30; i++)
		out[i] = m->regs[i];
	out[PERF_REG_ARM64_SP] = m->sp;
	out[PERF_REG_ARM64_PC] = m->pc;
}

#else
#error "which user registers perf samples on this architecture has to be told here"
#endif

/* Registers are in the order of their bits; registers not sampled are left out. */
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
