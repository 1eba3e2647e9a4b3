// SPDX-License-Identifier: MIT
/* Detects traces that rules' events have stopped, and resumes them; see aux_resume.h. For
 * banks.c. */
#include "recorder/trace/aux_resume.h"

#include "trigger/kernel/clock.h"
#include "trigger/kernel/event.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* The kernel's minimum period. */
#define TICK_NS 10000
/* After this time a tick that did not come is requested again: the CPU may have been offline. */
#define AGAIN_NS 100000000ull

/* The layout of EVENT_NOTE_SAMPLE. */
struct note {
	struct perf_event_header header;
	uint64_t id, ns;
};

static void set_attr(struct perf_event_attr *a)
{
	*a = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(*a),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = TICK_NS,
		.sample_type = EVENT_NOTE_SAMPLE,
		.write_backward = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX,
	};
	event_set_aux_action(a, EVENT_AUX_RESUME);
}

int aux_resume_open(struct aux_resume *n, int trace_fd, int cpu)
{
	struct perf_event_attr a;
	int rc = 0;

	*n = (struct aux_resume){.ring.fd = -1};
	set_attr(&a);
	n->fd = event_open(&a, -1, cpu, trace_fd, 0);
	if (n->fd < 0)
		return n->fd;
	if (ioctl(n->fd, PERF_EVENT_IOC_ID, &n->id))
		rc = -errno;
	if (!rc)
		rc = ring_map(&n->ring, n->fd, ring_round(1, (size_t)sysconf(_SC_PAGESIZE)), true);
	if (rc)
		aux_resume_close(n);
	return rc;
}

void aux_resume_close(struct aux_resume *n)
{
	ring_unmap(&n->ring);
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

uint64_t aux_resume_stands(const struct aux_resume *n, uint64_t *last_ns)
{
	uint64_t head = ring_head(&n->ring), limit = ring_limit(&n->ring, head), since = 0;
	struct perf_event_header h;
	struct note note;

	for (uint64_t off = 0; ring_record_at(&n->ring, head, off, limit, &h); off += h.size) {
		if (h.type != PERF_RECORD_SAMPLE || h.size < sizeof(note))
			continue;
		ring_copy(&n->ring, head, off, &note, sizeof(note));
		if (note.id == n->id)
			break;
		if (!since && last_ns)
			*last_ns = note.ns;
		since = note.ns;
	}
	return since;
}

bool aux_resume_let_run(struct aux_resume *n, uint64_t now_ns)
{
	uint64_t head = ring_head(&n->ring);

	if (head == n->asked_head && now_ns - n->asked_ns < AGAIN_NS)
		return false;
	n->asked_head = head;
	n->asked_ns = now_ns;
	return !ioctl(n->fd, PERF_EVENT_IOC_REFRESH, 1);
}

void aux_resume_wait(const struct aux_resume *n, uint64_t ns)
{
	uint64_t until = clock_ns() + ns;

	while (aux_resume_stands(n, NULL) && clock_ns() < until)
		sched_yield();
}
