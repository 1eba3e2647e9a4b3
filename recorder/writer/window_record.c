// SPDX-License-Identifier: MIT
/*
 * Records of frozen rings; see window_record.h.
 *
 * A ring that is replaced by one of another size records on for some 20 us, so the same events are in
 * both. For each the kernel first calls the perf event that was enabled last, and takes the time anew
 * (perf_trace_add() in kernel/trace/trace_event_perf.c, perf_tp_event()): the new ring's record is the
 * same but for its time, which is earlier, and its id.
 */
#include "recorder/writer/window_record.h"

#include <string.h>

bool window_get(const struct window_record *c, uint32_t at, void *dst, uint32_t n)
{
	if (!span_fits(at, n, c->size))
		return false;
	ring_copy(c->ring, c->head, c->off + at, dst, n);
	return true;
}

bool window_time(const struct window_record *c, const struct channel *ch, uint32_t type,
		 uint64_t *ns)
{
	uint32_t tail = channel_time_tail(ch);

	if (type == PERF_RECORD_SAMPLE)
		return window_get(c, ch->at.time, ns, sizeof(*ns));
	return c->size >= tail + 8 && window_get(c, c->size - tail, ns, sizeof(*ns));
}

uint64_t window_newest(const struct bank *bank, const struct channel *ch)
{
	struct window_record c;
	struct perf_event_header h;
	uint64_t limit, ns;

	if (!bank)
		return 0;
	c = (struct window_record){.ring = &bank->ring, .head = ring_head(&bank->ring)};
	limit = ring_limit(c.ring, c.head);
	for (; ring_record_at(c.ring, c.head, c.off, limit, &h); c.off += h.size) {
		c.size = h.size;
		if (window_time(&c, ch, h.type, &ns))
			return ns;
	}
	return 0;
}

/* Whether two samples differ at most in their time and id. */
static bool same_sample(const struct window_record *a, const struct window_record *b,
			const struct channel *ch)
{
	bool has_id = ch->layout.sample_type & PERF_SAMPLE_IDENTIFIER;

	for (uint32_t at = sizeof(struct perf_event_header); at < a->size; at += 8) {
		uint64_t x, y;

		if (!window_get(a, at, &x, sizeof(x)) || !window_get(b, at, &y, sizeof(y)))
			return false;
		if (x != y && at != ch->at.time &&
		    !(has_id && at == sizeof(struct perf_event_header)))
			return false;
	}
	return true;
}

/* Finds the record of `c` at `*old` or further back, up to its own time, and moves `*old` past it. */
static bool find(const struct window_record *c, const struct perf_event_header *h,
		 struct window_record *old, const struct channel *ch)
{
	uint64_t limit = ring_limit(old->ring, old->head), ns, old_ns;
	struct window_record o = *old;
	struct perf_event_header oh;

	if (!window_time(c, ch, h->type, &ns))
		return false;
	for (; ring_record_at(o.ring, o.head, o.off, limit, &oh); o.off += oh.size) {
		o.size = oh.size;
		if (window_time(&o, ch, oh.type, &old_ns) && old_ns < ns)
			return false;
		if (oh.type != h->type || oh.size != h->size ||
		    (h->type == PERF_RECORD_SAMPLE && !same_sample(c, &o, ch)))
			continue;
		*old = o;
		old->off += oh.size;
		return true;
	}
	return false;
}

uint64_t window_overlap(const struct window_record *from, const struct bank *before,
			const struct channel *ch)
{
	struct window_record c = *from,
			     old = {.ring = &before->ring, .head = ring_head(&before->ring)};
	uint64_t limit = ring_limit(c.ring, c.head), end = UINT64_MAX;
	struct perf_event_header h;

	for (; ring_record_at(c.ring, c.head, c.off, limit, &h); c.off += h.size) {
		c.size = h.size;
		if (!find(&c, &h, &old, ch))
			end = UINT64_MAX; /* it is only here, as one that was being written */
		else if (end == UINT64_MAX)
			end = c.off;
	}
	return end < limit ? end : limit;
}
