/* SPDX-License-Identifier: MIT */
/* What a tap is; private to wakeup_ring.c, which opens it, and wakeup_ring_read.c, which reads it.
 */
#pragma once

#include "trigger/events/aux_pause.h"
#include "trigger/kernel/ring.h"
#include "trigger/events/wakeup_ring.h"

#define WAKEUP_RING_MAX_RECORD 65536

struct wakeup_ring_ring {
	int cpu;
	struct ring ring;
	/* One event a task; the first has the ring, the others write into it. */
	int *fds;
	size_t nr_fds;
	size_t waits;	/* index of the event that is waited on; nr_fds: none, all have ended */
	bool away;	/* its CPU went: closed as soon as it has been read */
	bool crowded;	/* was more than half full: something may not have fitted */
	uint64_t *lost; /* of each event, what was told already */
};

struct wakeup_ring {
	const struct event *event;
	const struct caps *caps;
	struct perf_event_attr attr;
	uint64_t ring_bytes;
	pid_t *tids; /* one, -1: all tasks */
	size_t nr_tids;
	int epoll_fd;
	struct aux_pause *brake; /* NULL: it stops no traces */
	struct wakeup_ring_ring **rings;
	size_t nr_rings;
	size_t turn; /* the ring that is read next */
	uint64_t lost;
	uint64_t counted_away; /* by events of CPUs that went */
	/* A record that has been given out; consumed at the next call. */
	struct ring *given;
	uint64_t given_end;
	uint8_t scratch[WAKEUP_RING_MAX_RECORD];
};

void wakeup_ring_ring_close(struct wakeup_ring *t, struct wakeup_ring_ring *r);
/* Waits on the first event of the ring that has not ended; 0 or -errno. */
int wakeup_ring_ring_wait(struct wakeup_ring *t, struct wakeup_ring_ring *r);
/* What a read of one event says; see perf_event_open(2), "Reading results". */
struct wakeup_ring_count {
	uint64_t value, enabled, running, lost;
};
bool wakeup_ring_read_event(const struct wakeup_ring *t, int fd, struct wakeup_ring_count *out);
