/* SPDX-License-Identifier: MIT */
/* Tries a breakpoint on this thread; see breakpoint.h. Called by caps.c and src_watch.c. */
#include "trigger/kernel/breakpoint.h"

#include "dump/base/err.h"
#include "trigger/kernel/event.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <unistd.h>

int breakpoint_check(struct err *err)
{
	volatile uint64_t watched = 0;
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&watched,
		.bp_len = sizeof(watched),
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	uint64_t nr = 0;
	int fd = event_open(&a, 0, -1, -1, 0);
	ssize_t n;

	if (fd < 0)
		return 0;
	watched = 1;
	n = read(fd, &nr, sizeof(nr));
	close(fd);
	if (n != sizeof(nr) || nr)
		return 0;
	err_set(err, -ENODEV, "hardware breakpoints never fire on this machine");
	err_hint(err, "its hypervisor does not pass debug registers to guests; for a function use "
		      "uprobe:PATH:SYMBOL");
	return -ENODEV;
}
