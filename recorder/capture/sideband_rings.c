// SPDX-License-Identifier: MIT
/* The sideband's rings; see sideband_rings.h. */
#include "recorder/capture/sideband_rings.h"

#include "dump/base/array.h"
#include "dump/base/err.h"
#include "dump/base/hash.h"
#include "trigger/kernel/event.h"
#include "recorder/ledger/new_tasks.h"
#include "recorder/capture/manifest.h"
#include "recorder/capture/sideband.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define RING_BYTES	(512u << 10)
#define RING_BYTES_USER (32u << 10) /* for users with an mlock limit */

static const char what[] = "the sideband (process names and mappings)";

/* The sideband of one CPU: a forward ring for the dummy events of all tasks and the event of
 * new_tasks.h. */
struct side {
	int cpu;
	struct ring ring;
	int *fds;
	size_t nr_fds;
};

struct sideband_rings {
	const struct target *target;
	const struct caps *caps;
	uint64_t ring_bytes;
	struct perf_event_attr attr;
	struct record_layout layout;
	struct event_list newborn; /* the event of new_tasks.h, or none */
	struct side **v;
	struct ring **rings; /* of v[] */
	size_t nr;
	struct kept *from; /* while they are opened: another recorder's; may be NULL */
	size_t nr_ended;   /* the first so many of v[0]->fds belong to ended tasks */
};

/* ---- one ---- */

static void side_close(struct side *s)
{
	if (!s)
		return;
	ring_unmap(&s->ring);
	while (s->nr_fds)
		close(s->fds[--s->nr_fds]);
	free(s->fds);
	free(s);
}

static int side_add(const struct sideband_rings *all, struct side *s, pid_t pid, struct err *err)
{
	int fd = event_open(&all->attr, pid, s->cpu, -1, 0), rc;

	if (fd < 0)
		return event_strerror(err, fd, what, &all->attr, pid, s->cpu, 0, all->caps);
	s->fds[s->nr_fds++] = fd;
	if (s->ring.page)
		return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, s->ring.fd)
			       ? err_sys(err, -errno, "sideband events can't share a ring")
			       : 0;
	rc = ring_map(&s->ring, fd, all->ring_bytes, false);
	return rc ? event_strerror(err, rc, what, &all->attr, pid, s->cpu, all->ring_bytes,
				   all->caps)
		  : 0;
}

static int side_add_newborn(const struct sideband_rings *all, struct side *s, struct err *err)
{
	int fd = new_tasks_open(all->newborn.v[0], &all->attr, s->cpu, s->ring.fd, all->caps, err);

	if (fd < 0)
		return fd;
	s->fds[s->nr_fds++] = fd;
	return 0;
}

/* For a cgroup the sideband covers the whole system: a task may have got its name before it
 * joins. */
static int side_open(const struct sideband_rings *all, int cpu, struct side **out, struct err *err)
{
	const struct target *t = all->target;
	bool tasks = target_is_tasks(t);
	size_t nr = tasks ? t->nr_tids : 1;
	struct side *s = calloc(1, sizeof(*s));
	int rc = 0;

	if (!s || !(s->fds = calloc(nr + 1, sizeof(*s->fds)))) {
		free(s);
		return err_set(err, -ENOMEM, "out of memory");
	}
	s->cpu = cpu;
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = side_add(all, s, tasks ? t->tids[i] : -1, err);
		if (rc == -ESRCH)
			rc = 0;
	}
	if (!rc && !s->nr_fds)
		rc = err_set(err, -ESRCH, "%s: all of it has ended before recording could begin",
			     t->text);
	if (!rc && all->newborn.nr)
		rc = side_add_newborn(all, s, err);
	if (rc) {
		side_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

/* ---- rings that outlive the recorder ---- */

static uint64_t signature(const struct sideband_rings *s)
{
	uint64_t h = hash_bytes(hash_mix(1, s->ring_bytes), &s->attr, sizeof(s->attr));

	for (size_t i = 0; i < s->newborn.nr; i++)
		h = hash_bytes(h, &s->newborn.v[i]->attr, sizeof(s->newborn.v[i]->attr));
	return h;
}

/* -ENOENT: there is none. */
static int side_take_over(const struct sideband_rings *all, int cpu, struct side **out,
			  struct err *err)
{
	size_t nr = 1 + all->newborn.nr;
	struct side *s;
	int rc;

	if (!all->from || target_is_tasks(all->target))
		return -ENOENT;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->fds = calloc(nr, sizeof(*s->fds)))) {
		free(s);
		return err_set(err, -ENOMEM, "out of memory");
	}
	s->cpu = cpu;
	if (!kept_take_side(all->from, signature(all), cpu, s->fds, nr)) {
		side_close(s);
		return -ENOENT;
	}
	s->nr_fds = nr;
	rc = ring_map(&s->ring, s->fds[0], all->ring_bytes, false);
	if (rc) {
		side_close(s);
		return err_sys(err, rc, "can't map the kept ring of the sideband");
	}
	*out = s;
	return 0;
}

int sideband_rings_keep(const struct sideband_rings *s, size_t i, struct kept_side *entry,
			struct keep_set *set)
{
	const struct side *v = s->v[i];
	int rc = 0;

	*entry = (struct kept_side){
		.signature = signature(s), .cpu = v->cpu, .nr_events = (uint32_t)v->nr_fds};
	for (size_t k = 0; k < v->nr_fds && !rc; k++)
		rc = keep_set_add(set, v->fds[k], k ? 0 : v->ring.map_bytes);
	return rc;
}

/* ---- all ---- */

bool sideband_rings_has_cpu(const struct sideband_rings *s, int cpu)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->v[i]->cpu == cpu)
			return true;
	return false;
}

int sideband_rings_add(struct sideband_rings *s, int cpu, struct err *err)
{
	int rc;

	if (!array_room(s->v, s->nr) || !array_room(s->rings, s->nr))
		return err_set(err, -ENOMEM, "out of memory");
	rc = side_take_over(s, cpu, &s->v[s->nr], err);
	if (rc == -ENOENT)
		rc = side_open(s, cpu, &s->v[s->nr], err);
	if (rc)
		return rc;
	s->rings[s->nr] = &s->v[s->nr]->ring;
	s->nr++;
	return 0;
}

static void drop(struct sideband_rings *s, size_t i)
{
	side_close(s->v[i]);
	s->nr--;
	memmove(&s->v[i], &s->v[i + 1], (s->nr - i) * sizeof(struct side *));
	memmove(&s->rings[i], &s->rings[i + 1], (s->nr - i) * sizeof(struct ring *));
}

void sideband_rings_drop_older(struct sideband_rings *s, int cpu)
{
	bool newest = true;

	for (size_t i = s->nr; i-- > 0;) {
		if (s->v[i]->cpu != cpu)
			continue;
		if (!newest)
			drop(s, i);
		newest = false;
	}
}

/* poll() reports a hang-up when an event's task and all tasks that inherited it have ended. The
 * events of one CPU are enough: each has all tasks. */
bool sideband_rings_ended(struct sideband_rings *s)
{
	const struct side *first = s->nr ? s->v[0] : NULL;

	if (!first || !target_is_tasks(s->target))
		return false;
	for (; s->nr_ended < first->nr_fds; s->nr_ended++) {
		struct pollfd p = {.fd = first->fds[s->nr_ended]};

		if (poll(&p, 1, 0) <= 0 || !(p.revents & POLLHUP))
			return false;
	}
	return true;
}

int sideband_rings_open(const struct target *t, const struct caps *caps, struct kept *from,
			struct sideband_rings **out, struct err *err)
{
	struct sideband_rings *s = calloc(1, sizeof(*s));
	int *cpus = NULL, rc;
	size_t nr = 0;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->target = t;
	s->caps = caps;
	s->from = from;
	s->ring_bytes = caps->ipc_lock || caps->memlock_bytes == RLIM_INFINITY ? RING_BYTES
									       : RING_BYTES_USER;
	sideband_attr(caps, s->ring_bytes, &s->attr, &s->layout);
	s->attr.inherit = target_is_tasks(t);
	/* Children of tasks are never kernel threads. */
	rc = target_is_tasks(t) ? 0 : new_tasks_event(caps, &s->newborn, err);
	if (!rc)
		rc = target_cpus(target_is_tasks(t), &cpus, &nr, err);
	for (size_t i = 0; i < nr && !rc; i++) {
		rc = sideband_rings_add(s, cpus[i], err);
		/* The CPU has just gone offline: a dummy event has no other reason for -ENODEV. */
		if (rc == -ENODEV)
			rc = 0;
	}
	free(cpus);
	if (rc) {
		sideband_rings_close(s);
		return rc;
	}
	s->from = NULL;
	*out = s;
	return 0;
}

void sideband_rings_close(struct sideband_rings *s)
{
	if (!s)
		return;
	while (s->nr)
		side_close(s->v[--s->nr]);
	event_list_free(&s->newborn);
	free(s->v);
	free(s->rings);
	free(s);
}

struct ring *const *sideband_rings_rings(const struct sideband_rings *s, size_t *nr)
{
	*nr = s->nr;
	return s->rings;
}

const struct record_layout *sideband_rings_layout(const struct sideband_rings *s)
{
	return &s->layout;
}

uint64_t sideband_rings_bytes(const struct sideband_rings *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nr; i++)
		sum += s->v[i]->ring.map_bytes;
	return sum;
}
