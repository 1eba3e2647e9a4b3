// SPDX-License-Identifier: MIT
/*
 * while-running: a look at the notes each half threshold, so that a call that never returns is seen
 * at most half a threshold late. The timer runs only while a call may get there: when a look finds
 * no call that has not been told already, and none has begun since the look before, it stops, and
 * the next call that begins says so (see AWAKE_* in latency_shared.h). So nobody is woken for
 * what is not called, nor for a call that hangs and was told.
 *
 * A call that was told is told again by its program when it returns after all: known by thread and
 * beginning, that is dropped.
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
	uint32_t look; /* number of the last one */
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

/* True when it was not told before. The oldest makes room: it may then be told twice. */
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

/*
 * Of the calls of one thread that have lasted too long the innermost is told, and the others with
 * it. True when one has not lasted that long yet: it has to be looked at again.
 */
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

/* Calls that are no longer in the map were told by their program before this look, or never will
 * be. */
static void forget_gone(struct bpf_latency_running *r)
{
	for (size_t i = 0; i < r->nr_told;) {
		if (r->look - r->told[i].seen > 1)
			r->told[i] = r->told[--r->nr_told];
		else
			i++;
	}
}

/* A note that goes away while it is asked for sends the walk back to the start: so it is bounded.
 */
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
	/* Before the look: a call that begins meanwhile is either seen by it or says so itself. */
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
