/* SPDX-License-Identifier: MIT */
/* The private parts of a wakeup ring, for wakeup_ring.c (open, close) and wakeup_ring_read.c
 * (read). */
#pragma once

#include "trigger/events/aux_pause.h"
#include "trigger/kernel/ring.h"
#include "trigger/events/wakeup_ring.h"

#define WAKEUP_RING_MAX_RECORD 65536

struct wakeup_ring_ring {
	int cpu;
	struct ring ring;
	/* One event per task; the first owns the ring, the others write into it. */
	int *fds;
	size_t nr_fds;
	size_t waits;	/* index of the watched event; nr_fds: all have ended */
	bool away;	/* its CPU went offline: close after the last record was read */
	bool crowded;	/* was more than half full: records may have been lost */
	uint64_t *lost; /* per event, the losses already reported */
};

struct wakeup_ring {
	const struct event *event;
	const struct caps *caps;
	struct perf_event_attr attr;
	uint64_t ring_bytes;
	pid_t *tids; /* one, -1: all tasks */
	size_t nr_tids;
	int epoll_fd;
	struct aux_pause *brake; /* NULL: pauses no traces */
	struct wakeup_ring_ring **rings;
	size_t nr_rings;
	size_t turn; /* next ring to read */
	uint64_t lost;
	uint64_t counted_away; /* by events of CPUs that went offline */
	/* The record last returned; consumed at the next call. */
	struct ring *given;
	uint64_t given_end;
	uint8_t scratch[WAKEUP_RING_MAX_RECORD];
};

void wakeup_ring_ring_close(struct wakeup_ring *t, struct wakeup_ring_ring *r);
/* Watches the first event of the ring that has not ended; 0 or -errno. */
int wakeup_ring_ring_wait(struct wakeup_ring *t, struct wakeup_ring_ring *r);
/* Result of reading an event; see perf_event_open(2), "Reading results". */
struct wakeup_ring_count {
	uint64_t value, enabled, running, lost;
};
bool wakeup_ring_read_event(const struct wakeup_ring *t, int fd, struct wakeup_ring_count *out);
