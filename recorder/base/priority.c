// SPDX-License-Identifier: MIT
/* Scheduling of CPU and disk for one thread; see priority.h. Called by dumper.c and dump_workers.c.
 */
#include "recorder/base/priority.h"

#include "trigger/kernel/settings.h"

#include <linux/capability.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOW_NICE 19
/* RLIMIT_NICE counts from 1 (nice 19) to 40 (nice -20). */
#define RLIMIT_NICE_0 20

bool priority_can_return(void)
{
	struct rlimit r;

	/* sched(7): RLIMIT_NICE limits leaving SCHED_IDLE and lowering the nice value. */
	return setting_capable(CAP_SYS_NICE) ||
	       (!getrlimit(RLIMIT_NICE, &r) && r.rlim_cur >= RLIMIT_NICE_0);
}

void priority_set(pid_t tid, enum priority priority)
{
	struct sched_param none = {0};
	int class = priority == PRIORITY_ORDINARY ? IOPRIO_CLASS_NONE : IOPRIO_CLASS_IDLE;

	sched_setscheduler(tid, priority == PRIORITY_IDLE ? SCHED_IDLE : SCHED_OTHER, &none);
	setpriority(PRIO_PROCESS, (id_t)tid, priority == PRIORITY_LOW ? LOW_NICE : 0);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid, IOPRIO_PRIO_VALUE(class, 0));
}
