// SPDX-License-Identifier: MIT
/*
 * One ring of a channel with its banks; see banks.h for the states, banks_aux.c for AUX areas. recording.c opens, closes and
 * freezes it; dumper.c's thread releases it.
 */
#include "recorder/capture/banks_impl.h"

#include "dump/base/err.h"
#include "trigger/bpf/compact.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/tracefs.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The part of a channel's ring size that the AUX event's own ring gets: it has few records. */
#define AUX_RING_PART 4
/* Bytes of a ring that are read between two checks of the time: some 20 us. */
#define HORIZON_STEP_BYTES (64u << 10)

int bank_room(struct bank *b, size_t more)
{
	int *fds = realloc(b->fds, (b->nr_fds + more) * sizeof(*fds));
	uint32_t *event;
	int *leaders;

	if (!fds)
		return -ENOMEM;
	b->fds = fds;
	event = realloc(b->event, (b->nr_fds + more) * sizeof(*event));
	if (!event)
		return -ENOMEM;
	b->event = event;
	leaders = realloc(b->leaders, (b->nr_leaders + more) * sizeof(*leaders));
	if (!leaders)
		return -ENOMEM;
	b->leaders = leaders;
	return 0;
}

/* Hints at the tracepoint's field names when the kernel rejects a filter. */
static void hint_fields(const struct event *e, struct err *err)
{
	char path[256], names[400] = "", *line, *save = NULL;
	struct buf text = {0};
	const char *colon = strchr(e->name, ':');

	if (!colon)
		return;
	snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(colon - e->name), e->name,
		 colon + 1);
	if (tracefs_read(path, &text, NULL))
		return;
	for (line = strtok_r((char *)text.p, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		char *semi = strchr(line, ';'), *name;
		size_t n = strlen(names);

		if (!strstr(line, "field:") || !semi)
			continue;
		*semi = '\0';
		name = strrchr(line, ' ');
		if (name)
			snprintf(names + n, sizeof(names) - n, "%s%s", n ? ", " : "", name + 1);
	}
	err_hint(err,
		 "compare its fields with ==, !=, <, >, &, ~ \"glob\", joined with && and ||: %s",
		 names);
	buf_free(&text);
}

static int set_filter(int fd, const struct event *e, struct err *err)
{
	int rc;

	if (!e->filter || !ioctl(fd, PERF_EVENT_IOC_SET_FILTER, e->filter))
		return 0;
	rc = -errno;
	err_sys(err, rc, "the kernel refuses the filter [%s] of %s", e->filter, e->name);
	hint_fields(e, err);
	return rc;
}

/* The first event of the bank owns the ring; all others write into it, except that an AUX event has
 * a ring of its own. */
static int join_ring(struct bank *b, int fd, const struct event *e, const struct channel *c,
		     struct perf_event_attr *attr, const struct caps *caps, struct err *err)
{
	struct ring *ring = e->has_aux ? &b->aux_ring : &b->ring;
	uint64_t bytes = e->has_aux ? b->ring_bytes / AUX_RING_PART : b->ring_bytes;
	int rc;

	if (!ring->page) {
		bytes = ring_round(bytes, (size_t)sysconf(_SC_PAGESIZE));
		rc = ring_map(ring, fd, bytes, true);
		return rc ? event_strerror(err, rc, e->name, attr, -1, -1, bytes, caps) : 0;
	}
	if (!ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd))
		return 0;
	rc = -errno;
	return err_sys(err, rc, "%s can't share the ring of channel %s", e->name, c->name);
}

/* Opens all events of the channel for one task (-1: all tasks) in a bank. */
static int bank_open_task(struct bank *b, const struct channel *c, const struct target *t,
			  const struct caps *caps, int cpu, pid_t pid, struct err *err)
{
	unsigned long flags = t->cgroup_fd >= 0 ? PERF_FLAG_PID_CGROUP : 0;
	int group = -1, rc = bank_room(b, c->events.nr);

	if (rc)
		return err_set(err, rc, "out of memory");
	for (size_t i = 0; i < c->events.nr; i++) {
		const struct event *e = c->events.v[i];
		bool leader = channel_leads(c, i);
		struct perf_event_attr attr;
		int fd;

		channel_attr(c, i, t, leader, &attr);
		if (c->horizon_ns)
			attr.wakeup_watermark = (uint32_t)(b->ring_bytes / 4);
		fd = event_open(&attr, pid, cpu, leader ? -1 : group, flags);
		if (fd < 0)
			return event_strerror(err, fd, e->name, &attr, flags ? -1 : pid, cpu, 0,
					      caps);
		b->fds[b->nr_fds] = fd;
		b->event[b->nr_fds++] = (uint32_t)i;
		if (leader)
			b->leaders[b->nr_leaders++] = fd;
		if (leader && !e->own_group)
			group = fd;
		rc = join_ring(b, fd, e, c, &attr, caps, err);
		if (!rc)
			rc = set_filter(fd, e, err);
		if (rc)
			return rc;
	}
	return 0;
}

void bank_close(struct bank *b)
{
	ring_unmap(&b->ring);
	ring_unmap(&b->aux_ring);
	for (size_t i = b->nr_fds; i-- > 0;)
		close(b->fds[i]);
	free(b->fds);
	free(b->event);
	free(b->leaders);
	*b = (struct bank){0};
}

/* Skips a thread that has exited and closes what was opened for it; -ESRCH when none is left. */
int bank_open(struct bank *b, const struct channel *c, const struct target *t,
	      const struct caps *caps, int cpu, pid_t tid, struct err *err)
{
	size_t nr_opened = 0;
	int rc;

	if (t->system)
		return bank_open_task(b, c, t, caps, cpu, -1, err);
	if (t->cgroup_fd >= 0)
		return bank_open_task(b, c, t, caps, cpu, t->cgroup_fd, err);
	for (size_t i = 0; i < t->nr_tids; i++) {
		size_t fds = b->nr_fds, leaders = b->nr_leaders;

		if (t->per_thread && t->tids[i] != tid)
			continue;
		rc = bank_open_task(b, c, t, caps, cpu, t->tids[i], err);
		if (!rc) {
			nr_opened++;
			continue;
		}
		if (rc != -ESRCH)
			return rc;
		if (!fds) {
			ring_unmap(&b->ring);
			ring_unmap(&b->aux_ring);
		}
		while (b->nr_fds > fds)
			close(b->fds[--b->nr_fds]);
		b->nr_leaders = leaders;
	}
	if (!nr_opened)
		return err_set(err, -ESRCH, "%s: all of it has ended before recording could begin",
			       t->text);
	return 0;
}

void bank_pause_ring(struct bank *bank, bool pause)
{
	int rc = 0;

	if (bank->ring.fd >= 0) /* else the ring of a compact channel */
		rc = ioctl(bank->ring.fd, PERF_EVENT_IOC_PAUSE_OUTPUT, pause ? 1 : 0);
	bank->running = pause && rc;
}

int banks_room(struct banks *b, uint64_t bytes)
{
	size_t nr = banks_max_runs(banks_max_bytes(b->channel, bytes));
	struct banks_run *runs = nr > b->max_runs ? realloc(b->runs, nr * sizeof(*runs)) : b->runs;

	if (!runs)
		return -ENOMEM;
	b->runs = runs;
	b->max_runs = nr > b->max_runs ? nr : b->max_runs;
	return 0;
}

struct banks *banks_new(const struct channel *c, const struct target *t, int cpu, pid_t tid)
{
	struct banks *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->channel = c;
	b->cpu = cpu;
	b->tid = tid;
	b->nr_banks = c->nr_banks;
	b->always_on = t->inherit && !c->aux_bytes;
	b->active = &b->bank[0];
	for (unsigned i = 0; i < b->nr_banks; i++)
		b->bank[i].ring_bytes = c->ring_bytes;
	if (!banks_room(b, c->ring_bytes))
		return b;
	free(b);
	return NULL;
}

/* Both banks lie in one map, which both hold. */
int bank_map_compact(struct banks *b, int map_fd)
{
	struct ring rings[2];
	int rc = compact_map(b->channel->programs, map_fd, rings);

	for (int i = 0; i < 2 && !rc; i++)
		b->bank[i].ring = rings[i];
	return rc;
}

static int open_compact(struct banks *b, struct err *err)
{
	int rc, fd = -1;

	for (int i = 0; i < 2; i++)
		if ((rc = bank_room(&b->bank[i], 1)))
			return err_set(err, rc, "out of memory");
	rc = compact_add(b->channel->programs, b->cpu, &fd);
	for (int i = 0; i < 2 && !rc; i++) {
		b->bank[i].fds[0] = i ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : fd;
		if (b->bank[i].fds[0] < 0)
			rc = -errno;
		else
			b->bank[i].event[b->bank[i].nr_fds++] = 0;
	}
	if (!rc)
		rc = bank_map_compact(b, fd);
	b->active = &b->bank[compact_bank(b->channel->programs)];
	return rc ? err_sys(err, rc, "can't make the ring of channel %s on CPU %d",
			    b->channel->name, b->cpu)
		  : 0;
}

int banks_open(const struct channel *c, const struct target *t, const struct caps *caps, int cpu,
	       pid_t tid, struct banks **out, struct err *err)
{
	struct banks *b = banks_new(c, t, cpu, tid);
	int rc = 0;

	if (!b)
		return err_set(err, -ENOMEM, "out of memory");
	if (c->compact)
		rc = open_compact(b, err);
	for (unsigned i = 0; i < b->nr_banks && !rc && !c->compact; i++)
		rc = bank_open(&b->bank[i], c, t, caps, cpu, tid, err);
	if (!rc && c->aux_bytes)
		rc = banks_open_aux(b, t, caps, err);
	for (unsigned i = 0; i < b->nr_banks && !rc && b->always_on; i++)
		bank_pause_ring(&b->bank[i], true);
	if (rc) {
		banks_close(b);
		return rc;
	}
	*out = b;
	return 0;
}

void banks_close(struct banks *b)
{
	if (!b)
		return;
	banks_close_aux(b);
	for (unsigned i = 0; i < b->nr_banks; i++) {
		banks_close_older(b->bank[i].older);
		bank_close(&b->bank[i]);
	}
	free(b->runs);
	free(b);
}

void bank_leaders_ioctl(struct bank *b, unsigned long request)
{
	for (size_t i = 0; i < b->nr_leaders; i++)
		ioctl(b->leaders[i], request, 0);
}

static struct bank *other(struct banks *b, const struct bank *bank)
{
	return bank == &b->bank[0] ? &b->bank[1] : &b->bank[0];
}

void bank_activate(struct banks *b, struct bank *bank)
{
	assert(bank->state == BANK_SPARE && !bank->older);
	bank->ring.armed_head = ring_head(&bank->ring);
	if (b->aux)
		banks_trace_starts(b);
	if (b->always_on)
		bank_pause_ring(bank, false);
	else
		bank_leaders_ioctl(bank, PERF_EVENT_IOC_ENABLE);
	bank->armed_ns = clock_ns();
	bank->is_first = false;
	bank->state = BANK_ACTIVE;
	banks_save(b);
}

void banks_start(struct banks *b)
{
	if (b->active->state == BANK_ACTIVE)
		return;
	bank_activate(b, b->active);
	if (b->aux)
		aux_started(b->aux);
}

void banks_retire(struct banks *b)
{
	assert(!b->frozen);
	if (b->aux)
		banks_trace_stops(b);
	bank_leaders_ioctl(b->active, PERF_EVENT_IOC_DISABLE);
	b->offline = true;
	b->kept = NULL;
	if (b->aux)
		banks_trace_stopped(b);
}

void banks_enable_spare(struct banks *b)
{
	if (b->nr_banks == 2 && !b->offline && !b->frozen)
		bank_activate(b, other(b, b->active));
}

void banks_pause(struct banks *b)
{
	struct bank *a = b->active;

	if (b->aux || b->frozen) /* taken over in the middle of a dump */
		return;
	assert(a->state == BANK_ACTIVE);
	a->paused_ns = b->last_paused_ns = clock_ns();
	bank_pause_ring(a, true);
	b->frozen_oldest_ns = banks_oldest(b);
	a->state = BANK_FROZEN;
	b->frozen = a;
	b->nr_marks = 0;
	if (b->nr_banks == 2 && !b->offline)
		b->active = other(b, a);
	banks_save(b);
}

void banks_disable_frozen(struct banks *b)
{
	/* A single bank stays enabled: the kernel counts what it drops while paused (LOST). */
	if (b->nr_banks == 2 && !b->always_on)
		bank_leaders_ioctl(b->frozen, PERF_EVENT_IOC_DISABLE);
}

void banks_release(struct banks *b)
{
	struct bank *f = b->frozen;

	assert(f && f->state == BANK_FROZEN);
	if (b->aux) {
		f->state = BANK_SPARE;
	} else if (!b->offline) {
		f->ring.armed_head = ring_head(&f->ring);
		if (b->nr_banks == 1 || !b->always_on)
			bank_pause_ring(f, false);
		f->armed_ns = clock_ns();
		f->state = b->nr_banks == 2 ? BANK_SPARE : BANK_ACTIVE;
	}
	b->frozen = NULL;
	/* With two banks the records stay where they are until the next freeze. The entry tells of
	 * them until banks_settle(): a recorder that is killed before has no dump of them. */
	if (b->nr_banks == 1)
		banks_save(b);
}

bool banks_settle(struct banks *b, bool committed)
{
	assert(!b->frozen);
	if (committed)
		b->prev_paused_ns = b->last_paused_ns;
	banks_save(b);
	if (b->aux) {
		if (!committed && !b->offline)
			trace_watch_undo(b->watch);
		banks_start_again(b);
		return b->offline && committed;
	}
	if (!b->offline || b->active->state != BANK_FROZEN)
		return false;
	if (!committed)
		b->active->state = BANK_ACTIVE;
	return committed;
}

uint64_t banks_written(const struct banks *b)
{
	/* A single bank is paused during its dump. */
	if (b->active->state != BANK_ACTIVE)
		return 0;
	return bank_written(b->active);
}

void banks_note(struct banks *b, uint64_t now_ns)
{
	uint64_t head = ring_head(&b->active->ring),
		 step = b->active->ring.size / (BANKS_MARKS / 2);

	if (b->active->state != BANK_ACTIVE)
		return;
	if (b->nr_marks && b->mark[b->nr_marks - 1].head - head < step)
		return;
	if (b->nr_marks == BANKS_MARKS)
		memmove(b->mark, b->mark + 1, --b->nr_marks * sizeof(b->mark[0]));
	b->mark[b->nr_marks++] = (struct banks_mark){now_ns, head};
}

uint64_t banks_oldest(const struct banks *b)
{
	const struct bank *a = b->active, *before;
	bool frozen = b->frozen != NULL;
	uint64_t head = ring_head(&a->ring), oldest = UINT64_MAX;

	if (a->state == BANK_ACTIVE)
		oldest = a->armed_ns;
	/* Marks a whole ring back are overwritten. */
	for (size_t i = 0; i < b->nr_marks; i++)
		if (b->mark[i].head - head >= a->ring.size)
			oldest = b->mark[i].ns;
	for (before = bank_before(a); before; before = bank_before(before))
		oldest = before->oldest_ns;
	if ((frozen || oldest == UINT64_MAX) && b->frozen_oldest_ns < oldest)
		oldest = b->frozen_oldest_ns;
	return oldest;
}

uint64_t banks_time_back(const struct banks *b, uint64_t now_ns, uint64_t bytes)
{
	const struct ring *r = &b->active->ring;
	uint64_t head = ring_head(r),
		 edge = head + bytes; /* head when the oldest byte was written */
	struct banks_mark from, to = {now_ns, head};

	if (b->active->state != BANK_ACTIVE)
		return 0;
	from = (struct banks_mark){b->active->armed_ns, r->armed_head};
	if (from.head - head <= bytes)
		return now_ns - from.ns;
	for (size_t i = 0; i < b->nr_marks; i++) {
		if (b->mark[i].head - head < bytes) {
			to = b->mark[i];
			break;
		}
		from = b->mark[i];
	}
	return now_ns - from.ns -
	       (uint64_t)((double)(to.ns - from.ns) * (double)(from.head - edge) /
			  (double)(from.head - to.head));
}

/* Since the oldest record of the banks before the active one; 0: there is none. */
static uint64_t reach_before(const struct banks *b, uint64_t now_ns)
{
	const struct bank *k = bank_before(b->active);

	while (k && bank_before(k))
		k = bank_before(k);
	return k && b->active->state == BANK_ACTIVE ? now_ns - k->reach_ns : 0;
}

uint64_t banks_reach(const struct banks *b, uint64_t now_ns)
{
	uint64_t before = reach_before(b, now_ns);

	return before ? before : banks_time_back(b, now_ns, b->active->ring.size);
}

/* The offset of the oldest mark still in the ring, where a record begins; 0: there is none. */
static uint64_t oldest_note(const struct banks *b, uint64_t head, uint64_t *ns)
{
	for (size_t i = 0; i < b->nr_marks; i++) {
		if (b->mark[i].head - head >= b->active->ring.size)
			continue;
		*ns = b->mark[i].ns;
		return b->mark[i].head - head;
	}
	return 0;
}

/* As banks_horizon() for a ring that has wrapped. */
static uint64_t compact_horizon(const struct banks *b, uint64_t now_ns, uint64_t until_ns)
{
	const struct ring *r = &b->active->ring;
	uint64_t head = ring_head(r), first = now_ns, word;
	struct compact_reader reader;
	struct compact_event e;

	compact_begin(&reader, compact_head_of(r));
	for (uint64_t off = 0; off < r->size - (head - ring_head(r)); off += sizeof(word)) {
		if (off % HORIZON_STEP_BYTES == 0 && clock_ns() >= until_ns)
			return banks_reach(b, now_ns);
		ring_copy(r, head, off, &word, sizeof(word));
		if (compact_read(&reader, word, &e) > 0)
			first = e.ns;
	}
	return now_ns > first ? now_ns - first : 0;
}

uint64_t banks_horizon(const struct banks *b, uint64_t now_ns, uint64_t until_ns)
{
	const struct ring *r = &b->active->ring;
	uint64_t head = ring_head(r), first = now_ns, off, till, safe, t;
	struct perf_event_header h;

	if (b->active->state != BANK_ACTIVE)
		return 0;
	if (r->armed_head - head <= r->size)
		return banks_reach(b, now_ns);
	if (b->channel->compact)
		return compact_horizon(b, now_ns, until_ns);
	/* The kernel keeps writing at the newest end and so overwrites the oldest data. Data in the
	 * part that it may have reached meanwhile is not used. */
	off = oldest_note(b, head, &first);
	for (till = off; ring_record_at(r, head, off, r->size, &h); off += h.size) {
		if (off >= till) {
			if (clock_ns() >= until_ns)
				return banks_reach(b, now_ns);
			till += HORIZON_STEP_BYTES;
		}
		if (h.type != PERF_RECORD_SAMPLE || h.size < b->channel->at.time + 8)
			continue;
		ring_copy(r, head, off + b->channel->at.time, &t, sizeof(t));
		safe = r->size - (head - ring_head(r));
		if (off + h.size > safe || safe > r->size)
			break;
		if (t < first)
			first = t;
	}
	return now_ns - first;
}
