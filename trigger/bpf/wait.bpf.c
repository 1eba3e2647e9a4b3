// SPDX-License-Identifier: MIT
/* BPF programs at each switch and, for runqueue, at each wake-up; bpf_latency.c loads them for
 * src_wait.c, which describes what is timed. */
#include "trigger/bpf/latency_common.h"
#include "trigger/bpf/task_struct.h"

#include <bpf/bpf_core_read.h>

#define STATE_IDLE 0x402 /* idle kernel thread: both bits */
#define STATE_DEAD 0x80	 /* the thread has exited */

struct task_struct___before_5_14 {
	long state;
} __attribute__((preserve_access_index));

extern int LINUX_KERNEL_VERSION __kconfig;

/* Linux 5.18 and later pass the state as the last argument, because a wake-up may already have
 * changed the task's. */
static __always_inline __u32 state_of(struct task_struct *task, __u64 *ctx)
{
	if (LINUX_KERNEL_VERSION >= (5 << 16) + (18 << 8))
		return (__u32)ctx[3];
	if (bpf_core_field_exists(task->__state))
		return task->__state;
	return (__u32)((struct task_struct___before_5_14 *)task)->state;
}

/* The state as the tracepoint shows it: one bit. */
static __always_inline __u32 reported(__u32 s)
{
	if ((s & STATE_IDLE) == STATE_IDLE)
		return 0x80;
	/* States without a low bit (frozen, or waiting for a lock on PREEMPT_RT) count as D. */
	return s && !(s & 0x7f) ? 2 : s & 0x7f;
}

static __always_inline bool is_ours(struct task_struct *task)
{
	if (!task->pid)
		return false;
	if (!params.comm[0])
		return true;
#pragma unroll
	for (int i = 0; i < sizeof(task->comm); i++) {
		char c = task->comm[i];

		if (params.comm[i] == '*')
			return true;
		if (c != params.comm[i])
			return false;
		if (!c)
			break;
	}
	return true;
}

static __always_inline void note_now(void *ctx, struct task_struct *task, __u64 place, __u64 flags)
{
	struct bpf_latency_frame f = {bpf_ktime_get_ns(), place};

	add_note(ctx, task->pid, &f, flags);
}

static __always_inline void leave(void *ctx, struct task_struct *task, __u32 s)
{
	__u32 tid = task->pid;

	if (!is_ours(task))
		return;
	if (params.off_cpu) {
		if (!(s & STATE_DEAD))
			note_now(ctx, task, reported(s), BPF_ANY);
	} else if (!s) {
		note_now(ctx, task, WAIT_PREEMPTED, BPF_ANY);
	} else if (bpf_map_lookup_elem(&rb_calls, &tid)) {
		bpf_map_delete_elem(&rb_calls, &tid);
	}
}

/* extra: state or reason, previous thread (pid, 16 bytes of name), priority. */
static __always_inline void arrive(void *ctx, struct task_struct *task, struct task_struct *prev)
{
	__u32 tid = task->pid;
	struct bpf_latency_frame *f;
	__u64 now;

	if (!is_ours(task) || !(f = bpf_map_lookup_elem(&rb_calls, &tid)))
		return;
	now = bpf_ktime_get_ns();
	if (now - f->began_ns > params.threshold_ns) {
		struct bpf_latency_record rec = {.pid = task->tgid,
						 .tid = tid,
						 .began_ns = f->began_ns,
						 .ended_ns = now,
						 .extra = {f->place, prev->pid}};

		rec.extra[4] = task->prio;
		bpf_probe_read_kernel(rec.extra + 2, sizeof(prev->comm), prev->comm);
		bpf_probe_read_kernel(rec.comm, sizeof(rec.comm), task->comm);
		tell(ctx, &rec);
	}
	bpf_map_delete_elem(&rb_calls, &tid);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(wait_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	leave(ctx, prev, preempt ? 0 : state_of(prev, ctx));
	arrive(ctx, next, prev);
	return 0;
}

/* A thread that already waits keeps its start time (BPF_NOEXIST). */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(wait_wakeup, struct task_struct *task)
{
	if (is_ours(task))
		note_now(ctx, task, WAIT_WOKEN, BPF_NOEXIST);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(wait_wakeup_new, struct task_struct *task)
{
	if (is_ours(task))
		note_now(ctx, task, WAIT_WOKEN, BPF_NOEXIST);
	return 0;
}
