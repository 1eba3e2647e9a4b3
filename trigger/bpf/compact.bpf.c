// SPDX-License-Identifier: MIT
/*
 * BPF programs that record the scheduler's events in eight bytes each (compact_shared.h); loaded by
 * compact.c. The rings belong to CPUs. An interrupt may come between two steps of a program, and its
 * own records too: hence a place is taken by one atomic subtraction.
 *
 * The recorder turns all CPUs to the other bank by one store to `turn`. A program that has read the
 * old value still writes there: the reader waits for a grace period of RCU, within which programs run.
 */
#include "trigger/bpf/compact_shared.h"
#include "trigger/bpf/task_struct.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <stdbool.h>

/* Bits of __state and exit_state (include/linux/sched.h). */
#define STATE_REPORTED 0x7f
#define STATE_DISK     0x02
#define STATE_IDLE     0x402
#define STATE_RTLOCK   0x1000
#define STATE_FROZEN   0x8000
#define REPORT_IDLE    0x80

/* Bits of the preempt count (include/linux/preempt.h). */
#define COUNT_SOFTIRQ 0x00000100
#define COUNT_HARDIRQ 0x000f0000

/* The template of the rings; the loader sets its size. */
struct cpu_banks {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, 4);
	__uint(value_size, 16384);
};

/* By CPU; the loader sets the number. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__array(values, struct cpu_banks);
} rings SEC(".maps");

const volatile __u64 ring_bytes = 4096;
/* x86: from the run queue of a CPU to its preempt count, which both are per-CPU variables; 0: not
 * known. */
const volatile __u64 count_distance = 0;
/* Bit 0: the bank. Never 0 once programs run. */
volatile __u32 turn = 0;

struct bank_place {
	__u8 *ring; /* of the bank: its page, then its data */
	struct compact_head *head;
	__u32 turn;
	__u64 now;
};

static __always_inline bool find_place(struct bank_place *p)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	void *map = bpf_map_lookup_elem(&rings, &cpu);

	p->ring = map ? bpf_map_lookup_elem(map, &zero) : NULL;
	if (!p->ring)
		return false;
	p->now = bpf_ktime_get_ns();
	p->turn = turn;
	if (p->turn & 1)
		p->ring += COMPACT_HEAD_BYTES + ring_bytes;
	p->head = (struct compact_head *)(p->ring + COMPACT_HEAD_AT);
	return true;
}

static __always_inline void put(const struct bank_place *p, __u64 pos, __u64 record)
{
	*(__u64 *)(p->ring + COMPACT_HEAD_BYTES + (pos & (ring_bytes - 8))) = record;
}

/* Where the preempt count of this CPU is: beside its run queue, to which each thread leads. No symbol
 * has to be known. */
static __always_inline __u64 find_count(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	if (!count_distance || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	return (__u64)task->se.cfs_rq->rq + count_distance;
#else
	return (__u64)task + bpf_core_field_offset(task->thread_info.preempt.count);
#endif
}

static __always_inline __u64 context(const struct bank_place *p)
{
	int count;

	if (!p->head->count_at ||
	    bpf_probe_read_kernel(&count, sizeof(count), (void *)p->head->count_at))
		return 0;
	return (count & COUNT_HARDIRQ ? COMPACT_HARDIRQ : 0) |
	       (count & COUNT_SOFTIRQ ? COMPACT_SOFTIRQ : 0);
}

/* Whether the bank has records of this turn. */
static __always_inline bool has_begun(const struct bank_place *p)
{
	return p->head->key >> COMPACT_EPOCH_BITS == p->turn;
}

/* Writes `record` with its time, and the newer neighbour `after`, if it is not 0. When another thread
 * runs than the older records say, or with another priority, that comes before it. */
static __always_inline void write(const struct bank_place *p, __u64 record, __u64 after)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 key = p->now >> COMPACT_TIME_BITS | (__u64)p->turn << COMPACT_EPOCH_BITS;
	__u64 bytes = after ? 16 : 8, pos, closes = 0, was = 0;
	struct compact_head *h = p->head;

	if (h->key != key) {
		if (has_begun(p)) {
			closes = COMPACT_EPOCH | (h->key & COMPACT_EPOCH_MASK) << 4;
			bytes += 8;
		} else {
			h->tid = (__u32)task->pid;
			h->prio = (__u32)task->prio;
			h->count_at = find_count(task);
		}
		h->key = key;
	}
	if (h->tid != (__u32)task->pid || h->prio != (__u32)task->prio) {
		was = COMPACT_WAS |
		      ((__u64)h->prio & COMPACT_PRIO_MASK) << COMPACT_MORE_PRIO_SHIFT |
		      (__u64)h->tid << COMPACT_WAS_TID_SHIFT;
		h->tid = (__u32)task->pid;
		h->prio = (__u32)task->prio;
		bytes += 8;
	}
	pos = __sync_fetch_and_add(&h->data_head, -bytes);
	if (closes)
		put(p, pos -= 8, closes);
	if (was)
		put(p, pos -= 8, was);
	put(p, pos -= 8, record | p->now << COMPACT_TIME_SHIFT);
	if (after)
		put(p, pos -= 8, after);
}

/* What sched_switch reports of the state, as the number of its bit (__task_state_index()). */
static __always_inline __u64 state_of(unsigned int state, struct task_struct *task)
{
	__u64 nr = 0;

	if (state <= STATE_DISK)
		return state;
	if ((state & STATE_IDLE) == STATE_IDLE)
		state = REPORT_IDLE;
	else if (state & (STATE_RTLOCK | STATE_FROZEN))
		state = STATE_DISK;
	else
		state = (state | (unsigned int)task->exit_state) & STATE_REPORTED;
	for (int i = 0; i < 8; i++)
		if (state >> i & 1)
			nr = i + 1;
	return nr;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(ringback_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int state)
{
	__u64 record = COMPACT_SWITCH | (__u64)prev->pid << COMPACT_TID_SHIFT;
	__u64 prio = (__u64)prev->prio & COMPACT_PRIO_MASK;
	struct bank_place p;

	if (!find_place(&p))
		return 0;
	record |= (preempt ? COMPACT_PREEMPTED : state_of(state, prev)) << COMPACT_STATE_SHIFT;
	record |= prio << COMPACT_PRIO_SHIFT;
	write(&p, record, 0);
	p.head->tid = (__u32)next->pid;
	p.head->prio = (__u32)next->prio;
	return 0;
}

static __always_inline int wake(enum compact_kind kind, struct task_struct *task)
{
	__u64 prio = (__u64)task->prio & COMPACT_PRIO_MASK, after = 0;
	struct bank_place p;

	if (!find_place(&p))
		return 0;
	if (prio != COMPACT_PRIO)
		after = COMPACT_MORE | prio << COMPACT_MORE_PRIO_SHIFT;
	write(&p,
	      kind | (__u64)task->pid << COMPACT_TID_SHIFT |
		      (__u64)task->thread_info.cpu << COMPACT_CPU_SHIFT |
		      context(&p) << COMPACT_CONTEXT_SHIFT,
	      after);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(ringback_waking, struct task_struct *task)
{
	return wake(COMPACT_WAKING, task);
}

SEC("tp_btf/sched_wakeup")
int BPF_PROG(ringback_wakeup, struct task_struct *task)
{
	return wake(COMPACT_WAKEUP, task);
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(ringback_new, struct task_struct *task)
{
	return wake(COMPACT_WAKEUP_NEW, task);
}

SEC("tp_btf/sched_migrate_task")
int BPF_PROG(ringback_move, struct task_struct *task, int cpu)
{
	__u64 prio = (__u64)task->prio & COMPACT_PRIO_MASK;
	struct bank_place p;

	if (!find_place(&p))
		return 0;
	write(&p,
	      COMPACT_MIGRATE | (__u64)task->pid << COMPACT_TID_SHIFT |
		      (__u64)cpu << COMPACT_CPU_SHIFT | context(&p) << COMPACT_CONTEXT_SHIFT,
	      COMPACT_MORE | prio << COMPACT_MORE_PRIO_SHIFT |
		      (__u64)task->thread_info.cpu << COMPACT_MORE_CPU_SHIFT);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
