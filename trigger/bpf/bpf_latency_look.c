// SPDX-License-Identifier: MIT
/*
 * while-running: checks all notes every half threshold, so that a call that never returns is
 * reported at most half a threshold late. The timer runs only while a call may exceed the
 * threshold. It stops when a look finds no call that is still below the threshold, and no call has
 * begun since the look before. The next call then wakes the recorder (AWAKE_* in latency_shared.h).
 * So neither an unused function nor a call that hangs and was reported wakes the recorder.
 *
 * When a reported call returns after all, its program reports it again. That record is recognized
 * by thread and start time, and dropped.
 */
#include "trigger/bpf/bpf_latency_impl.h"

#include "dump/base/err.h"
#include "trigger/kernel/clock.h"
#include "trigger/engine/source.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define SHORTEST_LOOK_NS 1000000ull

struct told_call {
	uint64_t began_ns;
	uint32_t tid;
	uint32_t seen; /* the last look that found it in the map */
};

struct bpf_latency_running {
	int timer_fd;
	bool ticking;
	uint32_t look; /* number of the last look */
	struct told_call told[BPF_LATENCY_TOLD];
	size_t nr_told;
	struct bpf_latency_record pending[BPF_LATENCY_PENDING];
	size_t nr_pending;
	uint64_t nr_more; /* found, but no room in `pending` */
	uint8_t note[BPF_LATENCY_FRAMES * sizeof(struct bpf_latency_frame) + BPF_LATENCY_EXTRA * 8];
};

int bpf_latency_running_open(struct bpf_latency *w, struct err *err)
{
	struct bpf_latency_running *r = calloc(1, sizeof(*r));

	if (!r)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	w->running = r;
	r->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return r->timer_fd < 0 ? err_sys(err, -errno, "timerfd_create for a trigger") : 0;
}

void bpf_latency_running_close(struct bpf_latency *w)
{
	if (!w->running)
		return;
	if (w->running->timer_fd >= 0)
		close(w->running->timer_fd);
	free(w->running);
}

int bpf_latency_running_fd(const struct bpf_latency *w)
{
	return w->running->timer_fd;
}

static void set_timer(struct bpf_latency *w, bool on)
{
	uint64_t ns = w->threshold_ns / 2;
	struct itimerspec t = {0};

	if (ns < SHORTEST_LOOK_NS)
		ns = SHORTEST_LOOK_NS;
	if (on) {
		t.it_value.tv_sec = t.it_interval.tv_sec = (time_t)(ns / 1000000000);
		t.it_value.tv_nsec = t.it_interval.tv_nsec = (long)(ns % 1000000000);
	}
	timerfd_settime(w->running->timer_fd, 0, &t, NULL);
	w->running->ticking = on;
}

void bpf_latency_running_start(struct bpf_latency *w)
{
	if (w->running && !w->running->ticking)
		set_timer(w, true);
}

static struct told_call *find_told(struct bpf_latency_running *r, uint32_t tid, uint64_t began_ns)
{
	for (size_t i = 0; i < r->nr_told; i++)
		if (r->told[i].tid == tid && r->told[i].began_ns == began_ns)
			return &r->told[i];
	return NULL;
}

bool bpf_latency_running_knows(struct bpf_latency *w, uint32_t tid, uint64_t began_ns)
{
	struct bpf_latency_running *r = w->running;
	struct told_call *t = r ? find_told(r, tid, began_ns) : NULL;

	if (t)
		*t = r->told[--r->nr_told];
	return t;
}

/* True if it was not reported before. A full list drops its oldest entry, which may then be
 * reported twice. */
static bool note_told(struct bpf_latency_running *r, uint32_t tid, uint64_t began_ns)
{
	struct told_call *t = find_told(r, tid, began_ns);

	if (t) {
		t->seen = r->look;
		return false;
	}
	if (r->nr_told == BPF_LATENCY_TOLD)
		memmove(r->told, r->told + 1, --r->nr_told * sizeof(*t));
	r->told[r->nr_told++] = (struct told_call){began_ns, tid, r->look};
	return true;
}

static void queue(struct bpf_latency *w, uint32_t tid, const struct bpf_latency_frame *f)
{
	struct bpf_latency_running *r = w->running;
	struct bpf_latency_record *rec;

	if (r->nr_pending == BPF_LATENCY_PENDING) {
		r->nr_more++;
		return;
	}
	rec = &r->pending[r->nr_pending++];
	*rec = (struct bpf_latency_record){.tid = tid, .began_ns = f->began_ns};
	rec->extra[0] = f->place;
	memcpy(rec->extra + 1, r->note + w->nr_frames * sizeof(*f), w->nr_extra * 8);
	source_comm(tid, rec->comm);
}

/* Reports the innermost of one thread's calls that exceed the threshold, and marks all of them as
 * reported. True if a call is still below the threshold, so that it must be checked again. */
static bool look_at(struct bpf_latency *w, uint32_t tid, uint64_t now)
{
	struct bpf_latency_frame f, inner = {0};
	bool open = false, fresh = false;

	for (unsigned i = 0; i < w->nr_frames; i++) {
		memcpy(&f, w->running->note + i * sizeof(f), sizeof(f));
		if (!f.began_ns)
			break;
		if (now <= f.began_ns || now - f.began_ns <= w->threshold_ns) {
			open = true;
			continue;
		}
		inner = f;
		fresh = note_told(w->running, tid, f.began_ns);
	}
	if (inner.began_ns && fresh && !inner.told)
		queue(w, tid, &inner);
	return open;
}

/* Forgets calls that two looks did not find in the map. By now their return was reported, or it
 * never will be. */
static void forget_gone(struct bpf_latency_running *r)
{
	for (size_t i = 0; i < r->nr_told;) {
		if (r->look - r->told[i].seen > 1)
			r->told[i] = r->told[--r->nr_told];
		else
			i++;
	}
}

/* When a note is removed during the walk, bpf_map_get_next_key() restarts at the first key; so the
 * number of steps is bounded. */
static bool look_at_all(struct bpf_latency *w, uint64_t now)
{
	uint32_t tid, next;
	bool open = false;
	int rc = bpf_map_get_next_key(w->calls, NULL, &next);

	for (unsigned n = 0; !rc && n < 2 * BPF_LATENCY_CALLS; n++) {
		tid = next;
		if (!bpf_map_lookup_elem(w->calls, &tid, w->running->note) && look_at(w, tid, now))
			open = true;
		rc = bpf_map_get_next_key(w->calls, &tid, &next);
	}
	return open;
}

void bpf_latency_running_look(struct bpf_latency *w)
{
	struct bpf_latency_running *r = w->running;
	uint64_t expired, was;

	if (!r || read(r->timer_fd, &expired, sizeof(expired)) != sizeof(expired))
		return;
	r->look++;
	was = w->state->awake;
	/* Set before the look: a call that begins meanwhile is either seen by it or writes a
	 * record. */
	w->state->awake = was == AWAKE_BUSY ? AWAKE_QUIET : AWAKE_ASLEEP;
	if (look_at_all(w, clock_ns()))
		w->state->awake = AWAKE_QUIET;
	else if (was != AWAKE_BUSY)
		set_timer(w, false);
	forget_gone(r);
}

int bpf_latency_running_next(struct bpf_latency *w, struct bpf_latency_record *rec, uint64_t *more)
{
	struct bpf_latency_running *r = w->running;

	if (!r || !r->nr_pending)
		return 0;
	*rec = r->pending[--r->nr_pending];
	*more = r->nr_more;
	r->nr_more = 0;
	return 1;
}
