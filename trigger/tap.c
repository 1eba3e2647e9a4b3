// SPDX-License-Identifier: MIT
/*
 * Forward rings with a wake-up per record; see tap.h. All events of a CPU write into one ring, that
 * of its first event. Fields of a sample stand in the order of perf_event_open(2), "PERF_RECORD_
 * SAMPLE"; only those that a tap can ask for are read.
 */
#include "trigger/tap.h"

#include "dump/base/err.h"
#include "trigger/evidence.h"
#include "trigger/kernel/clock.h"
#include "trigger/kernel/ring.h"
#include "trigger/kernel/settings.h"
#include "trigger/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ALWAYS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define KNOWN                                                                                      \
	(ALWAYS | PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | \
	 PERF_SAMPLE_RAW | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define RING_BYTES (64u << 10)
#define MAX_RECORD 65536
#define MAX_CHAIN  127

struct tap_ring {
	int cpu;
	struct ring ring;
	int *fds;
	size_t nr_fds;
};

struct tap {
	const struct event *event;
	const struct caps *caps;
	struct perf_event_attr attr;
	uint64_t ring_bytes;
	pid_t *tids; /* one, -1: all tasks */
	size_t nr_tids;
	int epoll_fd;
	struct tap_ring **rings;
	size_t nr_rings;
	size_t turn; /* the ring that is read next */
	uint64_t lost;
	/* A record that has been given out; consumed at the next call. */
	struct ring *given;
	uint64_t given_end;
	uint8_t scratch[MAX_RECORD];
};

/* ---- opening ---- */

static void ring_close(struct tap *t, struct tap_ring *r)
{
	if (!r)
		return;
	if (r->ring.page)
		epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, r->ring.fd, NULL);
	if (t->given == &r->ring)
		t->given = NULL;
	ring_unmap(&r->ring);
	while (r->nr_fds)
		close(r->fds[--r->nr_fds]);
	free(r->fds);
	free(r);
}

static int refuse(const struct tap *t, int code, pid_t tid, int cpu, size_t bytes, struct err *err)
{
	return event_strerror(err, code, t->event->name, &t->attr, tid, cpu, bytes, t->caps);
}

/* The first event of a CPU has the ring and is waited on. */
static int own_ring(struct tap *t, struct tap_ring *r, int fd, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = r};
	int rc = ring_map(&r->ring, fd, t->ring_bytes, false);

	if (rc)
		return refuse(t, rc, -1, r->cpu, t->ring_bytes, err);
	return epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, fd, &ev)
		       ? err_sys(err, -errno, "can't wait for %s", t->event->name)
		       : 0;
}

static int add_event(struct tap *t, struct tap_ring *r, pid_t tid, struct err *err)
{
	int fd = event_open(&t->attr, tid, r->cpu, -1, 0);

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

/* Threads that have ended meanwhile are left out; when all have, that is -ESRCH. */
static int ring_open(struct tap *t, int cpu, struct tap_ring **out, struct err *err)
{
	struct tap_ring *r = calloc(1, sizeof(*r));
	int rc = 0;

	if (!r || !(r->fds = calloc(t->nr_tids, sizeof(*r->fds)))) {
		free(r);
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	r->cpu = cpu;
	for (size_t i = 0; i < t->nr_tids && (!rc || rc == -ESRCH); i++)
		rc = add_event(t, r, t->tids[i], err);
	if (rc == -ESRCH && r->nr_fds)
		rc = 0;
	if (rc) {
		ring_close(t, r);
		return rc;
	}
	for (size_t i = 0; i < r->nr_fds; i++)
		ioctl(r->fds[i], PERF_EVENT_IOC_ENABLE, 0);
	*out = r;
	return 0;
}

static int add_cpu(struct tap *t, int cpu, struct err *err)
{
	struct tap_ring **v = reallocarray(t->rings, t->nr_rings + 1, sizeof(struct tap_ring *));
	int rc;

	if (!v)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	t->rings = v;
	rc = ring_open(t, cpu, &v[t->nr_rings], err);
	if (!rc)
		t->nr_rings++;
	return rc;
}

static void set_attr(struct tap *t, const struct tap_options *o)
{
	struct perf_event_attr *a = &t->attr;

	*a = o->event->attr;
	a->size = sizeof(*a);
	a->sample_type = ALWAYS | o->sample_type;
	if (o->event->kind == EVENT_TRACEPOINT)
		a->sample_type |= PERF_SAMPLE_RAW;
	if (a->sample_type & PERF_SAMPLE_STACK_USER) {
		a->sample_type |= PERF_SAMPLE_REGS_USER;
		a->sample_regs_user = event_user_regs();
		a->sample_stack_user = o->stack_bytes;
	}
	if (a->sample_type & PERF_SAMPLE_CALLCHAIN)
		a->sample_max_stack = MAX_CHAIN;
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

static int copy_tids(struct tap *t, const struct tap_options *o, struct err *err)
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

static int open_all(struct tap *t, struct err *err)
{
	int rc = 0;

	for (int cpu = 0, left = (int)setting_cpus_online(); left > 0 && !rc; cpu++) {
		if (!setting_cpu_online(cpu))
			continue;
		rc = add_cpu(t, cpu, err);
		left--;
	}
	return rc;
}

int tap_open(const struct tap_options *o, const struct source_env *env, struct tap **out,
	     struct err *err)
{
	struct tap *t = calloc(1, sizeof(*t));
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
	if (rc)
		tap_close(t);
	else
		*out = t;
	return rc;
}

void tap_close(struct tap *t)
{
	if (!t)
		return;
	while (t->nr_rings)
		ring_close(t, t->rings[--t->nr_rings]);
	free(t->rings);
	free(t->tids);
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	free(t);
}

/* ---- CPUs ---- */

static struct tap_ring *find(const struct tap *t, int cpu, size_t *at)
{
	for (size_t i = 0; i < t->nr_rings; i++) {
		*at = i;
		if (t->rings[i]->cpu == cpu)
			return t->rings[i];
	}
	return NULL;
}

/* The events of a CPU that was away no longer count; what is left in its ring is read first. */
int tap_cpu(struct tap *t, int cpu, bool online, struct err *err)
{
	struct tap_ring *old;
	size_t at;

	if (!online)
		return 0;
	old = find(t, cpu, &at);
	if (old) {
		t->rings[at] = t->rings[--t->nr_rings];
		t->turn = 0;
		ring_close(t, old);
	}
	return add_cpu(t, cpu, err);
}

int tap_cpu_fd(const struct tap *t, int cpu)
{
	size_t at;
	const struct tap_ring *r = find(t, cpu, &at);

	return r ? r->fds[0] : -1;
}

/* ---- reading ---- */

int tap_fd(const struct tap *t)
{
	return t->epoll_fd;
}

const struct perf_event_attr *tap_attr(const struct tap *t)
{
	return &t->attr;
}

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

/* The ABI, then a word for each register; of a thread without a user side there are none. */
static bool take_regs(const struct tap *t, struct bytes *b, struct bytes *out)
{
	uint64_t abi, mask = t->attr.sample_regs_user;

	return bytes_u64(b, &abi) &&
	       (!abi || bytes_take(b, 8 * (size_t)__builtin_popcountll(mask), out));
}

/* The size that was reserved, that many bytes, and how many of them were read. */
static bool take_stack(struct bytes *b, struct bytes *out)
{
	uint64_t size, got;

	if (!bytes_u64(b, &size) || !size)
		return !b->len;
	if (!bytes_take(b, size, out) || !bytes_u64(b, &got) || got > size)
		return false;
	out->len = got;
	return true;
}

static bool parse_sample(const struct tap *t, struct bytes rec, struct tap_sample *s)
{
	uint64_t type = t->attr.sample_type, word;
	struct bytes b = rec;
	bool ok = bytes_take(&b, sizeof(struct perf_event_header), &(struct bytes){0});

	*s = (struct tap_sample){.rec = rec};
	if (type & PERF_SAMPLE_IP)
		ok = ok && bytes_u64(&b, &s->ip);
	ok = ok && bytes_u32(&b, &s->pid) && bytes_u32(&b, &s->tid) && bytes_u64(&b, &s->ns);
	if (type & PERF_SAMPLE_ADDR)
		ok = ok && bytes_u64(&b, &s->addr);
	ok = ok && bytes_u64(&b, &word);
	s->cpu = (uint32_t)word;
	if (type & PERF_SAMPLE_PERIOD)
		ok = ok && bytes_u64(&b, &word);
	if (type & PERF_SAMPLE_CALLCHAIN)
		ok = ok && take_chain(&b, &s->chain);
	if (type & PERF_SAMPLE_RAW)
		ok = ok && take_raw(&b, &s->raw);
	if (type & PERF_SAMPLE_REGS_USER)
		ok = ok && take_regs(t, &b, &s->regs);
	if (type & PERF_SAMPLE_STACK_USER)
		ok = ok && take_stack(&b, &s->stack);
	return ok && !(type & ~(uint64_t)KNOWN);
}

/* Counts what the kernel could not write: struct { header; u64 id; u64 lost; }. */
static void note_lost(struct tap *t, struct bytes rec)
{
	uint64_t lost;

	if (rec.len < sizeof(struct perf_event_header) + 16)
		return;
	memcpy(&lost, rec.p + sizeof(struct perf_event_header) + 8, sizeof(lost));
	t->lost += lost;
}

static void consume_given(struct tap *t)
{
	if (t->given)
		ring_consume(t->given, t->given_end);
	t->given = NULL;
}

/* The next sample of one ring. */
static bool next_of(struct tap *t, struct tap_ring *r, struct tap_sample *out)
{
	uint64_t head = ring_head(&r->ring), pos = ring_tail(&r->ring);
	struct perf_event_header h;
	struct bytes rec;

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

int tap_next(struct tap *t, struct tap_sample *out, struct err *err)
{
	struct epoll_event ev;

	consume_given(t);
	for (size_t i = 0; i < t->nr_rings; i++) {
		struct tap_ring *r = t->rings[t->turn++ % t->nr_rings];

		if (next_of(t, r, out))
			return 1;
	}
	/* A ring whose tasks have all ended hangs up for ever: it is not waited on any more. */
	while (epoll_wait(t->epoll_fd, &ev, 1, 0) == 1 && ev.events & (EPOLLHUP | EPOLLERR)) {
		struct tap_ring *r = ev.data.ptr;

		epoll_ctl(t->epoll_fd, EPOLL_CTL_DEL, r->ring.fd, NULL);
	}
	return 0;
}

uint64_t tap_take_lost(struct tap *t)
{
	uint64_t lost = t->lost;

	t->lost = 0;
	return lost;
}

static uint64_t skip_ring(struct tap *t, struct ring *r)
{
	uint64_t head = ring_head(r), pos = ring_tail(r), nr = 0;
	struct perf_event_header h;
	struct bytes rec;

	while (ring_next(r, &pos, head, t->scratch, &rec)) {
		memcpy(&h, rec.p, sizeof(h));
		nr += h.type == PERF_RECORD_SAMPLE;
		if (h.type == PERF_RECORD_LOST)
			note_lost(t, rec);
	}
	ring_consume(r, head);
	return nr;
}

uint64_t tap_skip(struct tap *t)
{
	uint64_t nr = 0;

	consume_given(t);
	for (size_t i = 0; i < t->nr_rings; i++)
		nr += skip_ring(t, &t->rings[i]->ring);
	return nr + tap_take_lost(t);
}

static struct evidence *as_evidence(const struct tap *t, const struct tap_sample *s)
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

void tap_sighting(const struct tap *t, const struct tap_sample *s, struct sighting *what)
{
	what->ns = s->ns;
	what->pid = s->pid;
	what->tid = s->tid;
	what->nr_hits++;
	evidence_put(what->evidence);
	what->evidence = as_evidence(t, s);
}
