// SPDX-License-Identifier: MIT
/* Forward rings with a wake-up per record; see wakeup_ring.h. All events of a CPU write into the
 * ring of its first event. This file opens and closes them; wakeup_ring_read.c reads. */
#include "trigger/events/wakeup_ring_impl.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "trigger/kernel/settings.h"
#include "trigger/engine/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define ALWAYS	   (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define RING_BYTES (64u << 10)
#define MAX_CPUS   8192 /* of any kernel: CONFIG_NR_CPUS */
#define MAX_CHAIN  127

/* ---- opening ---- */

void wakeup_ring_ring_close(struct wakeup_ring *t, struct wakeup_ring_ring *r)
{
	if (!r)
		return;
	if (r->ring.page && r->waits < r->nr_fds)
		epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, r->fds[r->waits], NULL);
	if (t->given == &r->ring)
		t->given = NULL;
	ring_unmap(&r->ring);
	while (r->nr_fds)
		close(r->fds[--r->nr_fds]);
	free(r->fds);
	free(r->lost);
	free(r);
}

/* Any event that writes into a ring becomes ready for each record. But an event whose task has
 * ended reports EPOLLHUP for ever; then the next event is watched. */
int wakeup_ring_ring_wait(struct wakeup_ring *t, struct wakeup_ring_ring *r)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = r};

	if (r->waits == r->nr_fds)
		return 0;
	return epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, r->fds[r->waits], &ev) ? -errno : 0;
}

static int refuse(const struct wakeup_ring *t, int code, pid_t tid, int cpu, size_t bytes,
		  struct err *err)
{
	return event_strerror(err, code, t->event->name, &t->attr, tid, cpu, bytes, t->caps);
}

/* The first event of a CPU owns the ring. */
static int own_ring(struct wakeup_ring *t, struct wakeup_ring_ring *r, int fd, struct err *err)
{
	int rc = ring_map(&r->ring, fd, t->ring_bytes, false);

	return rc ? refuse(t, rc, -1, r->cpu, t->ring_bytes, err) : 0;
}

static int add_event(struct wakeup_ring *t, struct wakeup_ring_ring *r, pid_t tid, struct err *err)
{
	int fd = event_open(&t->attr, tid, r->cpu, -1, 0);

	if (fd == -EINVAL && t->attr.read_format & PERF_FORMAT_LOST) {
		/* Linux before 6.0 reports losses only by PERF_RECORD_LOST. */
		t->attr.read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		fd = event_open(&t->attr, tid, r->cpu, -1, 0);
	}
	if (fd < 0)
		return refuse(t, fd, tid, r->cpu, 0, err);
	r->fds[r->nr_fds++] = fd;
	if (t->event->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, t->event->filter)) {
		int rc = err_sys(err, -errno, "the kernel refuses the filter [%s] of %s",
				 t->event->filter, t->event->name);

		err_hint(err, "it may compare the fields in the event's format, such as "
			      "[prev_pid==0 && prev_state!=0], or comm and common_pid");
		return rc;
	}
	if (!r->ring.page)
		return own_ring(t, r, fd, err);
	return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->ring.fd)
		       ? err_sys(err, -errno, "events of %s can't share a ring", t->event->name)
		       : 0;
}

/* Skips threads that have ended meanwhile; -ESRCH when all have. */
static int ring_open(struct wakeup_ring *t, int cpu, struct wakeup_ring_ring **out, struct err *err)
{
	struct wakeup_ring_ring *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	r->cpu = cpu;
	r->fds = calloc(t->nr_tids, sizeof(*r->fds));
	r->lost = calloc(t->nr_tids, sizeof(*r->lost));
	if (!r->fds || !r->lost)
		rc = err_set(err, -ENOMEM, "out of memory for a trigger");
	for (size_t i = 0; i < t->nr_tids && (!rc || rc == -ESRCH); i++)
		rc = add_event(t, r, t->tids[i], err);
	if (rc == -ESRCH && r->nr_fds)
		rc = 0;
	if (!rc && (rc = wakeup_ring_ring_wait(t, r)))
		err_sys(err, rc, "can't wait for %s", t->event->name);
	if (rc) {
		wakeup_ring_ring_close(t, r);
		return rc;
	}
	for (size_t i = 0; i < r->nr_fds; i++)
		ioctl(r->fds[i], PERF_EVENT_IOC_ENABLE, 0);
	*out = r;
	return 0;
}

static int add_cpu(struct wakeup_ring *t, int cpu, struct err *err)
{
	int rc;

	if (!array_room(t->rings, t->nr_rings))
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	rc = ring_open(t, cpu, &t->rings[t->nr_rings], err);
	if (!rc)
		t->nr_rings++;
	return rc;
}

static uint16_t max_chain(void)
{
	int64_t allowed;

	return setting_number("kernel/perf_event_max_stack", &allowed) && allowed > 0 &&
			       allowed < MAX_CHAIN
		       ? (uint16_t)allowed
		       : MAX_CHAIN;
}

static void set_attr(struct wakeup_ring *t, const struct wakeup_ring_options *o)
{
	struct perf_event_attr *a = &t->attr;

	*a = o->event->attr;
	a->size = sizeof(*a);
	a->sample_type = ALWAYS | o->sample_type;
	if (o->event->kind == EVENT_TRACEPOINT)
		a->sample_type |= PERF_SAMPLE_RAW;
	if (a->sample_type & PERF_SAMPLE_STACK_USER) {
		a->sample_type |= PERF_SAMPLE_REGS_USER;
		a->sample_stack_user = o->stack_bytes;
		a->exclude_callchain_user = 1;
	}
	if (a->sample_type & PERF_SAMPLE_REGS_USER)
		a->sample_regs_user = event_user_regs();
	if (a->sample_type & PERF_SAMPLE_CALLCHAIN)
		a->sample_max_stack = max_chain();
	a->read_format =
		PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_LOST;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->disabled = 1;
	a->inherit = o->nr_tids && o->inherit;
	a->watermark = 0;
	a->wakeup_events = 1;
	t->ring_bytes = ring_round(o->ring_bytes			? o->ring_bytes
				   : 4ull * o->stack_bytes > RING_BYTES ? 4ull * o->stack_bytes
									: RING_BYTES,
				   (size_t)sysconf(_SC_PAGESIZE));
}

void wakeup_ring_set_stack(struct wakeup_ring_options *o, const struct rule *r)
{
	if (r->stack == RULE_STACK_NONE)
		return;
	o->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (r->stack == RULE_STACK_FP)
		return;
	o->sample_type |= PERF_SAMPLE_STACK_USER;
	o->stack_bytes = r->stack_bytes;
}

static int copy_tids(struct wakeup_ring *t, const struct wakeup_ring_options *o, struct err *err)
{
	t->nr_tids = o->nr_tids ? o->nr_tids : 1;
	t->tids = calloc(t->nr_tids, sizeof(*t->tids));
	if (!t->tids)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	if (o->nr_tids)
		memcpy(t->tids, o->tids, o->nr_tids * sizeof(*t->tids));
	else
		t->tids[0] = -1;
	return 0;
}

static int open_all(struct wakeup_ring *t, struct err *err)
{
	int rc = 0, left = (int)setting_cpus_online();

	/* A CPU that goes offline meanwhile is never found. */
	for (int cpu = 0; left > 0 && cpu < MAX_CPUS && !rc; cpu++) {
		if (!setting_cpu_online(cpu))
			continue;
		rc = add_cpu(t, cpu, err);
		left--;
	}
	return rc;
}

int wakeup_ring_open(const struct wakeup_ring_options *o, const struct source_env *env,
		     struct wakeup_ring **out, struct err *err)
{
	struct wakeup_ring *t = calloc(1, sizeof(*t));
	int rc;

	if (!t)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	t->event = o->event;
	t->caps = env ? env->caps : NULL;
	set_attr(t, o);
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	rc = t->epoll_fd < 0 ? err_sys(err, -errno, "epoll_create1 for a trigger")
			     : copy_tids(t, o, err);
	if (!rc)
		rc = open_all(t, err);
	/* Opened after its own events: each pause then also has a record of the hit. */
	if (!rc && o->brakes && !o->nr_tids && aux_pause_can(o->event) &&
	    (rc = aux_pause_new(o->brakes, o->event, &t->brake)))
		err_set(err, rc, "out of memory for a trigger");
	if (rc)
		wakeup_ring_close(t);
	else
		*out = t;
	return rc;
}

void wakeup_ring_close(struct wakeup_ring *t)
{
	if (!t)
		return;
	aux_pause_free(t->brake);
	while (t->nr_rings)
		wakeup_ring_ring_close(t, t->rings[--t->nr_rings]);
	free(t->rings);
	free(t->tids);
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	free(t);
}

/* ---- CPUs ---- */

static struct wakeup_ring_ring *find(const struct wakeup_ring *t, int cpu)
{
	for (size_t i = 0; i < t->nr_rings; i++)
		if (t->rings[i]->cpu == cpu && !t->rings[i]->away)
			return t->rings[i];
	return NULL;
}

/* Events of an offline CPU no longer count; the rest of their ring is read before it is closed. */
int wakeup_ring_cpu(struct wakeup_ring *t, int cpu, bool online, struct err *err)
{
	struct wakeup_ring_ring *old = find(t, cpu);
	int rc;

	if (old)
		old->away = true;
	if (!online)
		return 0;
	rc = add_cpu(t, cpu, err);
	/* All watched tasks have ended, so this CPU needs no events. */
	return rc == -ESRCH && t->nr_rings ? 0 : rc;
}

int wakeup_ring_cpu_fd(const struct wakeup_ring *t, int cpu)
{
	const struct wakeup_ring_ring *r = find(t, cpu);

	return r ? r->fds[0] : -1;
}

/* ---- properties ---- */

void wakeup_ring_brake(struct wakeup_ring *t, bool on)
{
	aux_pause_set(t->brake, on);
}

bool wakeup_ring_brakes(const struct wakeup_ring *t)
{
	return aux_pause_nr(t->brake) > 0;
}

int wakeup_ring_fd(const struct wakeup_ring *t)
{
	return t->epoll_fd;
}

const struct perf_event_attr *wakeup_ring_attr(const struct wakeup_ring *t)
{
	return &t->attr;
}

bool wakeup_ring_ended(const struct wakeup_ring *t)
{
	for (size_t i = 0; i < t->nr_rings; i++)
		if (t->rings[i]->waits < t->rings[i]->nr_fds)
			return false;
	return true;
}
