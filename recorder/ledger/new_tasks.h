/* SPDX-License-Identifier: MIT */
/*
 * Who is born with a name of its own. A FORK record says whose child somebody is, and a COMM record
 * when a name changes; but since Linux 6.4 a kernel thread has its name from the beginning, and no
 * record tells it (kernel/fork.c, copy_process(): args->name). The same goes for threads that the
 * kernel starts in a process (vhost). The tracepoint task:task_newtask does, right after the FORK
 * record and before the child runs. Opened into the sideband's rings by sideband_rings.c, read by
 * ledger.c.
 */
#pragma once

#include "dump/base/bytes.h"
#include "trigger/kernel/event.h"

/*
 * *out gets the tracepoint with a filter for children of the kernel; it stays empty where kernel or
 * user can't have it, or its layout is none that new_tasks_read() knows: then a kernel thread is
 * called as its parent until a scan sees it.
 */
int new_tasks_event(const struct caps *caps, struct event_list *out, struct err *err);

/* Opens it on a CPU, with clock and sample layout of `side`, into the ring of `ring_fd`. Descriptor
 * or -errno. */
int new_tasks_open(const struct event *e, const struct perf_event_attr *side, int cpu, int ring_fd,
		   const struct caps *caps, struct err *err);

/* Takes a sample's raw data apart; false when it is too short. */
bool new_tasks_read(struct bytes raw, uint32_t *tid, char name[16]);
