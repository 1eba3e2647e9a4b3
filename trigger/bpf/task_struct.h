/* SPDX-License-Identifier: MIT */
/* The fields of a thread that the programs read; CO-RE relocates the offsets at load time. */
#pragma once

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	unsigned long jobctl;
	int pid, tgid, prio;
	char comm[16];
} __attribute__((preserve_access_index));
