/* SPDX-License-Identifier: MIT */
/* What programs read of a thread; where the kernel has it is found at loading (CO-RE). */
#pragma once

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid, tgid, prio;
	char comm[16];
} __attribute__((preserve_access_index));
