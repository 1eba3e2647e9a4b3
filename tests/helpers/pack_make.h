/* SPDX-License-Identifier: MIT */
/*
 * Makes records as kernels do, of any layout: tracepoints with fields that step, repeat and refer
 * to threads, call chains out of a tree, registers, stacks, records that are no samples, and some
 * that no kernel would write. For tests of the packer. The output depends on the seed alone.
 *
 * Records come newest first, as in a ring, so times go down.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/record.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define MAKE_EVENTS 16u
#define MAKE_WORDS  24u

/* Kinds of words in a tracepoint's fields. */
enum make_word {
	MAKE_CONST,
	MAKE_TID,
	MAKE_BEFORE,  /* the thread of the record before */
	MAKE_FEW,     /* one of a few numbers */
	MAKE_COUNT,   /* steps by one */
	MAKE_NEAR,    /* moves up and down in small steps */
	MAKE_POINTER, /* one of some hundred large numbers */
	MAKE_RANDOM,
	MAKE_NR_WORDS
};

/* Style of a run. Numbers "of 1,000" are rates: so many records of 1,000. */
struct make_style {
	uint32_t nr_threads, nr_events, nr_chains, max_depth;
	uint32_t max_words;   /* of 4 bytes, in a tracepoint's own fields */
	uint32_t stack_bytes; /* of the user's stack */
	uint32_t step_ns;     /* largest time between two records */
	uint32_t odd;	      /* of 1,000: not a sample */
	uint32_t jumps;	      /* of 1,000: the time jumps */
	uint32_t noise;	      /* of 1,000: a word is random */
	uint32_t lies;	      /* of 1,000: a length is wrong */
	uint32_t strangers;   /* of 1,000: the thread is not one of nr_threads */
	uint32_t event_order; /* of 1,000: the event is not the next in order */
};

struct make_event {
	uint32_t nr_words;
	uint8_t word[MAKE_WORDS];
	uint32_t last[MAKE_WORDS];
};

struct make {
	struct buf b;
	uint32_t nr;
	uint64_t rng, time;
	uint32_t tid, before, event;
	struct record_layout layout;
	struct make_style style;
	struct make_event events[MAKE_EVENTS];
	uint8_t *at; /* end of the record in the making */
};

static inline uint64_t make_random64(struct make *m)
{
	m->rng ^= m->rng << 13;
	m->rng ^= m->rng >> 7;
	m->rng ^= m->rng << 17;
	return m->rng;
}

static inline uint32_t make_random(struct make *m, uint32_t below)
{
	return (uint32_t)((make_random64(m) >> 32) * below >> 32);
}

static inline bool make_chance(struct make *m, uint32_t of_1000)
{
	return of_1000 && make_random(m, 1000) < of_1000;
}

/* A number that depends on `a` and `b` alone, for parts that must be the same each time. */
static inline uint64_t make_hash(uint64_t a, uint64_t b)
{
	a = (a ^ b * 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
	return a ^ a >> 32;
}

static inline void make_begin(struct make *m, uint64_t seed, const struct record_layout *l,
			      const struct make_style *s)
{
	struct buf b = m->b;

	memset(m, 0, sizeof(*m));
	m->b = b;
	m->b.len = 0;
	m->rng = seed * 0x9e3779b97f4a7c15u | 1;
	m->layout = *l;
	m->style = *s;
	m->time = 3600000000000ull + make_random(m, UINT32_MAX);
	m->tid = 1000;
	for (uint32_t e = 0; e < s->nr_events; e++) {
		struct make_event *ev = &m->events[e];

		ev->nr_words = s->max_words ? make_random(m, s->max_words + 1) : 0;
		for (uint32_t w = 0; w < ev->nr_words; w++) {
			ev->word[w] = (uint8_t)make_random(m, MAKE_NR_WORDS);
			ev->last[w] = make_random(m, 1000);
		}
	}
}

static inline void make_end(struct make *m)
{
	buf_free(&m->b);
}

static inline void make_put(struct make *m, const void *p, size_t n)
{
	memcpy(m->at, p, n);
	m->at += n;
}

static inline void make_u32(struct make *m, uint32_t v)
{
	make_put(m, &v, sizeof(v));
}

static inline void make_u64(struct make *m, uint64_t v)
{
	make_put(m, &v, sizeof(v));
}

/* Makes room for the largest record; make_finish() writes the header. */
static inline void make_start(struct make *m)
{
	assert(!buf_reserve(&m->b, 1 << 17));
	m->at = m->b.p + m->b.len + sizeof(struct perf_event_header);
}

static inline void make_finish(struct make *m, uint32_t type, uint16_t misc)
{
	uint8_t *start = m->b.p + m->b.len;
	struct perf_event_header h = {.type = type, .misc = misc};

	while ((m->at - start) % 8)
		*m->at++ = 0;
	h.size = (uint16_t)(m->at - start);
	assert(m->at - start <= 65528);
	memcpy(start, &h, sizeof(h));
	m->b.len += h.size;
	m->nr++;
}

/* ---- fields of a sample ---- */

static inline uint32_t make_word(struct make *m, struct make_event *ev, uint32_t w)
{
	uint32_t *last = &ev->last[w];

	if (make_chance(m, m->style.noise))
		return (uint32_t)make_random64(m);
	switch (ev->word[w]) {
	case MAKE_CONST:
		return *last;
	case MAKE_TID:
		return m->tid;
	case MAKE_BEFORE:
		return m->before;
	case MAKE_FEW:
		return *last + make_random(m, 3);
	case MAKE_COUNT:
		return ++*last;
	case MAKE_NEAR:
		return *last += make_random(m, 64) - 32;
	case MAKE_POINTER:
		return 0x88000000u | (uint32_t)make_hash(w, make_random(m, 200));
	default:
		return (uint32_t)make_random64(m);
	}
}

/* Address `i` of chain `id`, counted from the outermost frame. Many chains share outer frames. */
static inline uint64_t make_ip(uint32_t id, uint32_t i)
{
	uint32_t shift = 12 > i ? 12 - i : 0;

	return 0x400000 + make_hash(i, id >> shift) % 0x7ffffff000u;
}

static inline uint32_t make_depth(const struct make *m, uint32_t id)
{
	uint32_t max = m->style.max_depth;

	return max ? 1 + (uint32_t)(make_hash(id, max) % max) : 0;
}

static inline void make_chain(struct make *m, uint32_t id)
{
	uint32_t depth = make_depth(m, id);

	if (make_chance(m, m->style.lies)) {
		make_u64(m, make_random(m, 2) ? make_random(m, 20000) : make_random64(m));
		return;
	}
	make_u64(m, depth);
	for (uint32_t i = depth; i-- > 0;)
		make_u64(m, i + 1 == depth ? (uint64_t)-512 : make_ip(id, i));
}

static inline void make_raw(struct make *m)
{
	struct make_event *ev = &m->events[m->event];
	uint32_t bytes = 8 + 4 * ev->nr_words;
	uint16_t head[2] = {(uint16_t)(300 + m->event), 0};

	bytes += ~bytes & 4; /* the length word included, a multiple of 8 */
	if (make_chance(m, m->style.lies))
		make_u32(m, make_random(m, 2) ? 0 : (uint32_t)make_random64(m));
	else
		make_u32(m, bytes);
	make_put(m, head, sizeof(head));
	make_u32(m, m->tid);
	for (uint32_t w = 0; w < ev->nr_words; w++)
		make_u32(m, make_word(m, ev, w));
	if (!(ev->nr_words & 1))
		make_u32(m, 0);
}

static inline void make_regs(struct make *m)
{
	bool user = m->event % 5 != 4;

	make_u64(m, user ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE);
	for (uint64_t left = user ? m->layout.regs_user : 0; left; left &= left - 1)
		make_u64(m, 0x7ffc00000000u + make_random(m, left & 7 ? 1000 : 4) * 8);
}

static inline void make_stack(struct make *m)
{
	uint32_t bytes = m->event % 5 != 4 ? m->style.stack_bytes & ~7u : 0;

	make_u64(m, bytes);
	for (uint32_t i = 0; i < bytes; i += 8)
		make_u64(m, i % 64 ? make_hash(i, m->tid) & 0xffff : make_random64(m));
	if (bytes)
		make_u64(m, make_random(m, bytes + 1));
}

/* Next time, next thread, next event. */
static inline void make_step(struct make *m)
{
	const struct make_style *s = &m->style;

	m->time -= make_random(m, s->step_ns + 1);
	if (make_chance(m, s->jumps))
		m->time = make_random64(m) >> make_random(m, 64);
	m->before = m->tid;
	if (make_chance(m, s->strangers))
		m->tid = (uint32_t)make_random64(m);
	else if (make_random(m, 2))
		m->tid = 1000 + make_random(m, s->nr_threads + 1);
	m->event++;
	if (make_chance(m, s->event_order))
		m->event = make_random(m, s->nr_events);
	if (m->event >= s->nr_events)
		m->event = 0;
}

static inline void make_head_fields(struct make *m, uint32_t chain)
{
	uint64_t type = m->layout.sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		make_u64(m, 500 + m->event);
	if (type & PERF_SAMPLE_IP)
		make_u64(m, make_depth(m, chain) > 1 ? make_ip(chain, make_depth(m, chain) - 2)
						     : make_hash(m->tid, 1) >> 8);
	if (type & PERF_SAMPLE_TID) {
		make_u32(m, m->tid & ~7u);
		make_u32(m, m->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		make_u64(m, m->time);
	if (type & PERF_SAMPLE_ADDR)
		make_u64(m, 0x7f0000000000u + make_random(m, 5000) * 4096u);
	if (type & PERF_SAMPLE_ID)
		make_u64(m, 500 + m->event);
	if (type & PERF_SAMPLE_STREAM_ID)
		make_u64(m, 900 + m->event);
	if (type & PERF_SAMPLE_CPU) {
		make_u32(m, m->event % 4);
		make_u32(m, 0);
	}
	if (type & PERF_SAMPLE_PERIOD)
		make_u64(m, make_chance(m, 100) ? make_random(m, 100000) : 1);
}

static inline void make_sample(struct make *m)
{
	uint64_t type = m->layout.sample_type;
	uint32_t chain = m->style.nr_chains ? make_random(m, m->style.nr_chains) : 0;

	make_start(m);
	make_head_fields(m, chain);
	if (type & PERF_SAMPLE_READ)
		for (uint32_t i = 0; i <= m->event % 4; i++)
			make_u64(m, m->time + make_random(m, 1000));
	if (type & PERF_SAMPLE_CALLCHAIN)
		make_chain(m, chain);
	if (type & PERF_SAMPLE_RAW)
		make_raw(m);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		make_u64(m, 0);
	if (type & PERF_SAMPLE_REGS_USER)
		make_regs(m);
	if (type & PERF_SAMPLE_STACK_USER)
		make_stack(m);
	make_finish(m, PERF_RECORD_SAMPLE, make_chance(m, 300) ? 1 : 2);
}

/* ---- records that are no samples ---- */

static inline void make_sample_id(struct make *m)
{
	uint64_t type = m->layout.sample_id_all ? m->layout.sample_type : 0;

	if (type & PERF_SAMPLE_TID)
		make_u64(m, m->tid | (uint64_t)m->tid << 32);
	if (type & PERF_SAMPLE_TIME)
		make_u64(m, m->time);
	if (type & PERF_SAMPLE_ID)
		make_u64(m, 500);
	if (type & PERF_SAMPLE_STREAM_ID)
		make_u64(m, 900);
	if (type & PERF_SAMPLE_CPU)
		make_u64(m, 1);
	if (type & PERF_SAMPLE_IDENTIFIER)
		make_u64(m, 500);
}

static inline void make_words(struct make *m, uint32_t nr)
{
	while (nr--)
		make_u64(m, make_random64(m));
}

static inline void make_odd(struct make *m)
{
	static const char path[] = "/usr/lib/x86_64-linux-gnu/libdemo.so.1.0";
	uint32_t kind = make_random(m, 7), type = PERF_RECORD_LOST;

	make_start(m);
	switch (kind) {
	case 0:
		make_u64(m, 500);
		make_u64(m, make_random(m, 100));
		break;
	case 1:
		type = make_random(m, 2) ? PERF_RECORD_THROTTLE : PERF_RECORD_UNTHROTTLE;
		make_u64(m, m->time);
		make_u64(m, 500);
		make_u64(m, 900);
		break;
	case 2:
		type = PERF_RECORD_COMM;
		make_u64(m, m->tid | (uint64_t)m->tid << 32);
		make_put(m, "worker\0", 8);
		break;
	case 3:
		type = PERF_RECORD_MMAP2;
		make_u64(m, m->tid | (uint64_t)m->tid << 32);
		make_words(m, 7);
		make_put(m, path, 32);
		break;
	case 4:
		type = PERF_RECORD_FORK;
		make_u64(m, m->tid | 1ull << 32);
		make_u64(m, m->tid | 1ull << 32);
		make_u64(m, m->time);
		break;
	case 5:
		type = PERF_RECORD_SWITCH; /* only its sample_id */
		break;
	default:
		type = 70 + make_random(m, 3); /* an unknown type */
		make_words(m, make_random(m, 12));
	}
	if (kind != 6 || make_random(m, 2))
		make_sample_id(m);
	make_finish(m, type, 0);
}

/* Appends one record. */
static inline void make_record(struct make *m)
{
	make_step(m);
	if (make_chance(m, m->style.odd))
		make_odd(m);
	else
		make_sample(m);
}

/* Makes up to `nr` records in at most `bytes`; drops a last record that does not fit. */
static inline struct bytes make_run(struct make *m, size_t bytes, uint32_t nr)
{
	while (m->nr < nr) {
		size_t before = m->b.len;

		make_record(m);
		if (m->b.len <= bytes)
			continue;
		m->b.len = before;
		m->nr--;
		break;
	}
	return (struct bytes){m->b.p, m->b.len};
}
