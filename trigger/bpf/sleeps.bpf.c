// SPDX-License-Identifier: MIT
/*
 * BPF programs at each switch and each wake-up; loaded by sleeps.c. When a thread goes to sleep at
 * another place than last time, the kernel writes a sample with its call stack into the ring of
 * this CPU. A thread that sleeps at the same place again, such as an event loop, costs a look at
 * six return addresses. A wake-up that ends a long sleep also gets a sample, with the waker's
 * stack.
 *
 * A place is a hash of the user registers and the return addresses along the frame pointers; the
 * system call determines the kernel's part of the stack. For kernel threads it is the depth of
 * their stack. Uninterruptible sleeps and stops are rare, so each gets a sample.
 */
#include "dump/base/sleepstack.h"
#include "trigger/bpf/task_struct.h"

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <stdbool.h>

#define PF_KTHREAD 0x00200000

#define STATE_DISK    0x02
#define STATE_STOPPED 0x0c
#define STATE_DEAD    0x80   /* the thread has exited */
#define STATE_NOLOAD  0x400  /* an idle kernel thread */
#define STATE_FROZEN  0x8000 /* since Linux 6.1, by the freezer of version 1 */

#define JOBCTL_TRAP_FREEZE (1u << 23) /* the freezer of version 2; a system call was interrupted */

#define NR_CALLERS 6

/* In some C libraries one instruction makes all blocking system calls, so its address is not
 * enough. */
#if defined(__TARGET_ARCH_x86)
#define SYSCALL_NR(regs) ((regs)->orig_rax)
#else
#define SYSCALL_NR(regs) (((struct user_pt_regs *)(regs))->regs[8])
#endif

/* The last sleep of a thread. */
struct last_sleep {
	__u64 key;	 /* the place; 0: unknown, so the next sleep gets a sample */
	__u64 sample_ns; /* time of its last sample */
	__u64 left_ns;	 /* when it left its CPU */
	__u32 turn;	 /* value of `turn` at that sample */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct last_sleep);
} places SEC(".maps");

/* Events of each bank by CPU; the loader sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__type(key, int);
	__type(value, int);
} bank_a SEC(".maps"), bank_b SEC(".maps");

/* Incremented when the recording switches rings: every place is then written again. */
volatile __u32 turn = 0;

/* Writes to both banks: usually only one records, and the other refuses. True if one took it. */
static __always_inline bool write_sample(void *ctx, enum sleep_kind kind, __u32 tid)
{
	struct sleep_sample s = {.kind = kind, .tid = tid};
	long a = bpf_perf_event_output(ctx, &bank_a, BPF_F_CURRENT_CPU, &s, sizeof(s));
	long b = bpf_perf_event_output(ctx, &bank_b, BPF_F_CURRENT_CPU, &s, sizeof(s));

	return !a || !b;
}

static __always_inline __u64 mix(__u64 h, __u64 v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

/* `depth`: of the kernel stack. It serves only for kernel threads: in system calls the kernel
 * randomizes it. */
static __always_inline __u64 place_of(struct task_struct *task, __u64 depth)
{
	struct pt_regs regs;
	__u64 h, frame[2], fp;

	if (task->flags & PF_KTHREAD)
		return depth | 1;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)bpf_task_pt_regs(task)))
		return 0;
	h = mix(PT_REGS_IP(&regs), PT_REGS_SP(&regs));
	h = mix(h, SYSCALL_NR(&regs) ^ (task->jobctl & JOBCTL_TRAP_FREEZE));
	fp = PT_REGS_FP(&regs);
	h = mix(h, PT_REGS_PARM1(&regs));
#pragma unroll
	for (int i = 0; i < NR_CALLERS; i++) {
		if (bpf_probe_read_user(frame, sizeof(frame), (void *)fp))
			break;
		h = mix(h, frame[1]);
		if (frame[0] <= fp)
			break;
		fp = frame[0];
	}
	return h | 1;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(sleeps_leave, bool preempt, struct task_struct *prev)
{
	unsigned int state = prev->__state;
	struct last_sleep *p;
	__u64 key, now;
	bool odd;

	if (preempt || !state || state & STATE_DEAD || !prev->pid)
		return 0;
	p = bpf_task_storage_get(&places, prev, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!p)
		return 0;
	now = bpf_ktime_get_ns();
	p->left_ns = now;
	odd = state & (STATE_STOPPED | STATE_FROZEN) ||
	      (state & (STATE_DISK | STATE_NOLOAD)) == STATE_DISK;
	/* ctx is on the kernel stack and p is fixed, so their distance stands for the depth. The
	 * verifier allows this difference, but no plain addresses. */
	key = odd ? 0 : place_of(prev, (__u64)((char *)ctx - (char *)p));
	if (key && key == p->key && p->turn == turn && now - p->sample_ns < SLEEP_RENEW_NS)
		return 0;
	p->turn = turn;
	p->sample_ns = now;
	p->key = write_sample(ctx, SLEEP_BEGINS, prev->pid) ? key : 0;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(sleeps_end, struct task_struct *task)
{
	struct last_sleep *p = bpf_task_storage_get(&places, task, NULL, 0);

	if (p && p->left_ns && bpf_ktime_get_ns() - p->left_ns > SLEEP_LONG_NS) {
		p->left_ns = 0;
		write_sample(ctx, SLEEP_ENDS, task->pid);
	}
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
