// SPDX-License-Identifier: MIT
/* Tasks that have their own name at birth; see new_tasks.h. */
#include "recorder/ledger/new_tasks.h"

#include "dump/base/err.h"
#include "trigger/kernel/tracefs.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* CLONE_UNTRACED: the kernel sets it for all tasks it creates itself; user space hardly ever
 * does. */
#define EVENT  "task:task_newtask[clone_flags&0x800000]"
#define FORMAT "events/task/task_newtask/format"

/* Offsets of the fields since Linux 3.4. */
#define PID_AT	8
#define COMM_AT 12
static const char *const fields[] = {
	"field:pid_t pid;\toffset:8;\tsize:4;",
	"field:char comm[16];\toffset:12;\tsize:16;",
};

/* The tracepoint has pids of the initial namespace. */
static bool is_allowed(const struct caps *caps)
{
	return caps->tracepoints && caps->tracefs && caps->system_wide && caps->initial_pidns;
}

static bool is_layout_known(void)
{
	struct buf text = {0};
	bool known = !tracefs_read(FORMAT, &text, NULL);

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && known; i++)
		known = strstr((const char *)text.p, fields[i]) != NULL;
	buf_free(&text);
	return known;
}

int new_tasks_event(const struct caps *caps, struct event_list *out, struct err *err)
{
	if (!is_allowed(caps) || !is_layout_known())
		return 0;
	return event_parse(EVENT, caps, out, err);
}

int new_tasks_open(const struct event *e, const struct perf_event_attr *side, int cpu, int ring_fd,
		   const struct caps *caps, struct err *err)
{
	struct perf_event_attr attr = e->attr;
	int fd, rc;

	attr.sample_type = side->sample_type | PERF_SAMPLE_RAW;
	attr.sample_id_all = side->sample_id_all;
	attr.use_clockid = side->use_clockid;
	attr.clockid = side->clockid;
	attr.watermark = side->watermark;
	attr.wakeup_watermark = side->wakeup_watermark;
	fd = event_open(&attr, -1, cpu, -1, 0);
	if (fd < 0)
		return event_strerror(err, fd, e->name, &attr, -1, cpu, 0, caps);
	if (!ioctl(fd, PERF_EVENT_IOC_SET_FILTER, e->filter) &&
	    !ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd))
		return fd;
	rc = err_sys(err, -errno, "%s can't write into the sideband's ring", e->name);
	close(fd);
	return rc;
}

bool new_tasks_read(struct bytes raw, uint32_t *tid, char name[16])
{
	if (raw.len < COMM_AT + 16)
		return false;
	memcpy(tid, raw.p + PID_AT, sizeof(*tid));
	memcpy(name, raw.p + COMM_AT, 16);
	name[15] = '\0';
	return true;
}
