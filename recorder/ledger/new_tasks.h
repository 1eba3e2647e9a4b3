/* SPDX-License-Identifier: MIT */
/*
 * Tasks that have their own name at birth. FORK records tell a task's parent, and COMM records a
 * change of name. But since Linux 6.4 a kernel thread has its name from the beginning, and no
 * record tells it (kernel/fork.c, copy_process(): args->name). The same goes for threads that the
 * kernel starts in a process (vhost). The tracepoint task:task_newtask tells it, right after the
 * FORK record and before the child runs. sideband_rings.c opens it into the sideband's rings,
 * ledger.c reads it.
 */
#pragma once

#include "dump/base/bytes.h"
#include "trigger/kernel/event.h"

/*
 * *out gets the tracepoint with a filter for tasks created by the kernel. It stays empty when the
 * kernel lacks the tracepoint, the user may not open it, or new_tasks_read() does not know its
 * layout: then a kernel thread keeps its parent's name until a scan reads its own.
 */
int new_tasks_event(const struct caps *caps, struct event_list *out, struct err *err);

/* Opens it on a CPU, with the clock and sample layout of `side`, and redirects it to the ring of
 * `ring_fd`. A descriptor or -errno. */
int new_tasks_open(const struct event *e, const struct perf_event_attr *side, int cpu, int ring_fd,
		   const struct caps *caps, struct err *err);

/* Parses a sample's raw data; false when it is too short. */
bool new_tasks_read(struct bytes raw, uint32_t *tid, char name[16]);
