// SPDX-License-Identifier: MIT
/*
 * Reads the rings; see wakeup_ring.h. Fields of a sample are in the order of perf_event_open(2),
 * "PERF_RECORD_SAMPLE"; only those that a wakeup ring can request are parsed.
 *
 * A perf descriptor reports readiness only once: any poll of it, or of an epoll set above it,
 * clears the state. So when no record is found, the descriptors are polled last, and the rings are
 * read again if one was ready.
 */
#include "trigger/events/wakeup_ring_impl.h"

#include "dump/base/hash.h"

#include "trigger/engine/evidence.h"
#include "trigger/engine/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define KNOWN                                                                                      \
	((uint64_t)(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IP |        \
		    PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |                \
		    PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER))

#define MAX_CALLERS 127 /* the kernel's default limit */

/* ---- one sample ---- */

static bool take_chain(struct bytes *b, struct bytes *out)
{
	uint64_t nr;

	return bytes_u64(b, &nr) && nr <= b->len / 8 && bytes_take(b, nr * 8, out);
}

static bool take_raw(struct bytes *b, struct bytes *out)
{
	uint32_t n;

	return bytes_u32(b, &n) && bytes_take(b, n, out);
}

/* u64 abi; the registers follow unless it is 0. */
static bool take_regs(struct bytes *b, uint64_t mask, struct bytes *out)
{
	uint64_t abi;

	return bytes_u64(b, &abi) &&
	       (!abi || bytes_take(b, 8 * (size_t)__builtin_popcountll(mask), out));
}

/* u64 size; then, unless it is 0, the bytes and the number of valid ones. */
static bool take_stack(struct bytes *b, struct bytes *out)
{
	uint64_t size, used;
	struct bytes all;

	if (!bytes_u64(b, &size) || !size)
		return true;
	if (!bytes_take(b, size, &all) || !bytes_u64(b, &used))
		return false;
	*out = (struct bytes){all.p, used < size ? used : size};
	return true;
}

static bool parse_sample(const struct wakeup_ring *t, struct bytes rec,
			 struct wakeup_ring_sample *s)
{
	uint64_t type = t->attr.sample_type, word;
	struct bytes b = rec;
	bool ok = bytes_take(&b, sizeof(struct perf_event_header), &(struct bytes){0});

	*s = (struct wakeup_ring_sample){.rec = rec};
	if (type & PERF_SAMPLE_IP)
		ok = ok && bytes_u64(&b, &s->ip);
	ok = ok && bytes_u32(&b, &s->pid) && bytes_u32(&b, &s->tid) && bytes_u64(&b, &s->ns);
	if (type & PERF_SAMPLE_ADDR)
		ok = ok && bytes_u64(&b, &s->addr);
	ok = ok && bytes_u64(&b, &word);
	if (!ok || type & ~KNOWN)
		return false;
	s->cpu = (uint32_t)word;
	if (type & PERF_SAMPLE_PERIOD)
		ok = ok && bytes_u64(&b, &word);
	if (type & PERF_SAMPLE_CALLCHAIN)
		ok = ok && take_chain(&b, &s->chain);
	if (type & PERF_SAMPLE_RAW)
		ok = ok && take_raw(&b, &s->raw);
	if (type & PERF_SAMPLE_REGS_USER)
		ok = ok && take_regs(&b, t->attr.sample_regs_user, &s->regs);
	if (type & PERF_SAMPLE_STACK_USER)
		ok = ok && take_stack(&b, &s->stack);
	return ok;
}

uint64_t wakeup_ring_stack_hash(struct bytes chain)
{
	uint64_t hash = 0, ip;
	bool user = false, any = false;

	while (bytes_u64(&chain, &ip)) {
		if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
			user = ip == (uint64_t)PERF_CONTEXT_USER;
			continue;
		}
		hash = hash_mix(hash, user ? ip & 0xfff : ip);
		any = true;
	}
	return any && !hash ? 1 : any ? hash : 0;
}

/* A frame is { u64 caller's frame; u64 return address; }; each lies above the one before. */
static uint64_t mix_callers(uint64_t hash, const struct event_frame *f, struct bytes stack)
{
	uint64_t at = f->fp, frame[2];

	for (int i = 0; i < MAX_CALLERS && span_fits(at - f->sp, sizeof(frame), stack.len); i++) {
		memcpy(frame, stack.p + (at - f->sp), sizeof(frame));
		hash = hash_mix(hash, frame[1] & 0xfff);
		if (frame[0] <= at)
			break;
		at = frame[0];
	}
	return hash;
}

uint64_t wakeup_ring_sample_hash(const struct wakeup_ring_sample *s)
{
	uint64_t hash = wakeup_ring_stack_hash(s->chain);
	struct event_frame f;

	if (!s->stack.len || !event_user_frame(s->regs, &f))
		return hash;
	return mix_callers(hash_mix(hash, f.ip & 0xfff), &f, s->stack) | 1;
}

/* ---- rings ---- */

/* Counts lost records: struct { header; u64 id; u64 lost; }. */
static void note_lost(struct wakeup_ring *t, struct bytes rec)
{
	uint64_t lost;

	if (t->attr.read_format & PERF_FORMAT_LOST ||
	    rec.len < sizeof(struct perf_event_header) + 16)
		return;
	memcpy(&lost, rec.p + sizeof(struct perf_event_header) + 8, sizeof(lost));
	t->lost += lost;
}

static void consume_given(struct wakeup_ring *t)
{
	if (t->given)
		ring_consume(t->given, t->given_end);
	t->given = NULL;
}

static bool next_of(struct wakeup_ring *t, struct wakeup_ring_ring *r,
		    struct wakeup_ring_sample *out)
{
	uint64_t head = ring_head(&r->ring), pos = ring_tail(&r->ring);
	struct perf_event_header h;
	struct bytes rec;

	if (head - pos > r->ring.size / 2)
		r->crowded = true;
	while (ring_next(&r->ring, &pos, head, t->scratch, &rec)) {
		memcpy(&h, rec.p, sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE && parse_sample(t, rec, out)) {
			t->given = &r->ring;
			t->given_end = pos;
			return true;
		}
		if (h.type == PERF_RECORD_LOST)
			note_lost(t, rec);
		ring_consume(&r->ring, pos);
	}
	return false;
}

static bool next_of_any(struct wakeup_ring *t, struct wakeup_ring_sample *out)
{
	for (size_t i = 0; i < t->nr_rings; i++)
		if (next_of(t, t->rings[t->turn++ % t->nr_rings], out))
			return true;
	return false;
}

/* Clears the readiness of all descriptors; false: none was ready. */
static bool ask(struct wakeup_ring *t)
{
	struct epoll_event ev[16];
	int n = epoll_wait(t->epoll_fd, ev, 16, 0);

	for (int i = 0; i < n; i++) {
		struct wakeup_ring_ring *r = ev[i].data.ptr;

		if (!(ev[i].events & (EPOLLHUP | EPOLLERR)))
			continue;
		epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, r->fds[r->waits], NULL);
		r->waits++;
		wakeup_ring_ring_wait(t, r);
	}
	return n > 0;
}

bool wakeup_ring_read_event(const struct wakeup_ring *t, int fd, struct wakeup_ring_count *out)
{
	size_t want = t->attr.read_format & PERF_FORMAT_LOST ? 32 : 24;
	uint64_t v[4] = {0};

	if (read(fd, v, sizeof(v)) != (ssize_t)want)
		return false;
	*out = (struct wakeup_ring_count){v[0], v[1], v[2], v[3]};
	return true;
}

static void read_lost(struct wakeup_ring *t, struct wakeup_ring_ring *r)
{
	struct wakeup_ring_count c;

	for (size_t i = 0; i < r->nr_fds; i++) {
		if (!wakeup_ring_read_event(t, r->fds[i], &c) || c.lost <= r->lost[i])
			continue;
		t->lost += c.lost - r->lost[i];
		r->lost[i] = c.lost;
	}
	r->crowded = false;
}

static uint64_t skip_ring(struct wakeup_ring *t, struct wakeup_ring_ring *r)
{
	uint64_t head = ring_head(&r->ring), pos = ring_tail(&r->ring), nr = 0;
	struct perf_event_header h;
	struct bytes rec;

	if (head - pos > r->ring.size / 2)
		r->crowded = true;
	while (ring_next(&r->ring, &pos, head, t->scratch, &rec)) {
		memcpy(&h, rec.p, sizeof(h));
		nr += h.type == PERF_RECORD_SAMPLE;
		if (h.type == PERF_RECORD_LOST)
			note_lost(t, rec);
	}
	ring_consume(&r->ring, pos);
	return nr;
}

/* Estimates the full count of a hardware event that was multiplexed. */
static uint64_t scaled(const struct wakeup_ring_count *c)
{
	if (!c->running || c->running >= c->enabled)
		return c->value;
	return (uint64_t)((double)c->value * (double)c->enabled / (double)c->running);
}

static uint64_t count_of(const struct wakeup_ring *t, const struct wakeup_ring_ring *r)
{
	struct wakeup_ring_count c;
	uint64_t sum = 0;

	for (size_t i = 0; i < r->nr_fds; i++)
		if (wakeup_ring_read_event(t, r->fds[i], &c))
			sum += scaled(&c);
	return sum;
}

uint64_t wakeup_ring_count(const struct wakeup_ring *t)
{
	uint64_t sum = t->counted_away;

	for (size_t i = 0; i < t->nr_rings; i++)
		sum += count_of(t, t->rings[i]);
	return sum;
}

/* Call when all rings have been read. */
static void close_away(struct wakeup_ring *t)
{
	for (size_t i = 0; i < t->nr_rings;) {
		struct wakeup_ring_ring *r = t->rings[i];

		if (!r->away) {
			i++;
			continue;
		}
		if (r->crowded)
			read_lost(t, r);
		t->counted_away += count_of(t, r);
		wakeup_ring_ring_close(t, r);
		t->rings[i] = t->rings[--t->nr_rings];
	}
}

int wakeup_ring_next(struct wakeup_ring *t, struct wakeup_ring_sample *out, struct err *err)
{
	consume_given(t);
	do {
		if (next_of_any(t, out))
			return 1;
	} while (ask(t));
	close_away(t);
	return 0;
}

uint64_t wakeup_ring_take_lost(struct wakeup_ring *t)
{
	uint64_t lost;

	if (t->attr.read_format & PERF_FORMAT_LOST)
		for (size_t i = 0; i < t->nr_rings; i++)
			if (t->rings[i]->crowded && !t->given)
				read_lost(t, t->rings[i]);
	lost = t->lost;
	t->lost = 0;
	return lost;
}

uint64_t wakeup_ring_skip(struct wakeup_ring *t)
{
	uint64_t nr = 0;

	consume_given(t);
	do {
		for (size_t i = 0; i < t->nr_rings; i++)
			nr += skip_ring(t, t->rings[i]);
	} while (ask(t));
	nr += wakeup_ring_take_lost(t);
	close_away(t);
	return nr;
}

/* ---- sightings ---- */

static struct evidence *as_evidence(const struct wakeup_ring *t, const struct wakeup_ring_sample *s)
{
	struct evidence_kind k = {.attr = t->attr,
				  .name = t->event->name,
				  .filter = t->event->filter,
				  .target = t->event->target};
	struct evidence *e;
	size_t kind;

	if (evidence_new(&e))
		return NULL;
	if (evidence_add_kind(e, &k, &kind) || evidence_add(e, kind, s->cpu, s->rec)) {
		evidence_put(e);
		return NULL;
	}
	return e;
}

void wakeup_ring_sighting(const struct wakeup_ring *t, const struct wakeup_ring_sample *s,
			  struct sighting *what)
{
	what->ns = s->ns;
	what->pid = s->pid;
	what->tid = s->tid;
	what->nr_hits++;
	if (!what->comm[0] && s->pid)
		source_comm(s->tid, what->comm);
	if (!what->uid && s->tid)
		what->uid = source_uid(s->tid);
	if (!what->stack_hash)
		what->stack_hash = wakeup_ring_sample_hash(s);
	evidence_put(what->evidence);
	what->evidence = as_evidence(t, s);
}
