/* SPDX-License-Identifier: MIT */
/* The fields of a thread that the programs read; CO-RE relocates the offsets at load time. */
#pragma once

struct preempt_count {
	unsigned int count;
} __attribute__((preserve_access_index));

struct thread_info {
	unsigned int cpu;
	struct preempt_count preempt; /* not on x86 */
} __attribute__((preserve_access_index));

struct rq;

struct cfs_rq {
	struct rq *rq;
} __attribute__((preserve_access_index));

struct sched_entity {
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	struct sched_entity se;
	unsigned int __state;
	unsigned int flags;
	unsigned long jobctl;
	int exit_state;
	int pid, tgid, prio;
	char comm[16];
} __attribute__((preserve_access_index));
