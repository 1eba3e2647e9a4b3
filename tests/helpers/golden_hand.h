/* SPDX-License-Identifier: MIT */
/*
 * A packed payload built by hand, column by column as in PACKED.md, with forms that the packer
 * avoids: tables and differences where it prefers others, a chain and bulk before the same word, an
 * empty chain. The expected records are computed separately, by formula. For tool_golden.c.
 */
#pragma once

#include "dump/packed/column.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define HAND_RECORDS   42u
#define HAND_TEMPLATES 3u
#define HAND_WORDS     12u
#define HAND_TIME      5000000000000ull

static const uint64_t hand_addrs[2] = {0x1000, 0xffffffff81000000};
static const uint8_t hand_roles[HAND_WORDS] = {
	FMT_ROLE_CONST, FMT_ROLE_SIZE,	 FMT_ROLE_TIME,	  FMT_ROLE_TIME_HI,
	FMT_ROLE_KEEP,	FMT_ROLE_KEEP,	 FMT_ROLE_NR,	  FMT_ROLE_CONST, /* chain and bulk */
	FMT_ROLE_VARY,	FMT_ROLE_DIRECT, FMT_ROLE_DIRECT, FMT_ROLE_VARY,
};
static const uint32_t hand_keep[2][HAND_TEMPLATES] = {{7, 5, 0xfffffff0}, {70000, 9, 100}};

/* Record `i` has template i % 3 + 1; VARY words change now and then. */
static inline bool hand_changes(unsigned word, uint32_t i)
{
	return i % (word == 8 ? 5 : 7) == 0;
}

static inline uint32_t hand_value(unsigned word, uint32_t i)
{
	switch (word) {
	case 8:
		return 3000000000u + i;
	case 9:
		return i % 2 ? 0xdeadbeef : 4 + i % 4;
	case 10:
		return i * i * 0x01000193;
	default:
		return i % 3 ? 12 : 700000;
	}
}

/* The value of a VARY word in record `i`: unchanged since the template's record before, or 0. */
static inline uint32_t hand_vary(unsigned word, uint32_t i)
{
	for (;; i -= HAND_TEMPLATES) {
		if (hand_changes(word, i))
			return hand_value(word, i);
		if (i < HAND_TEMPLATES)
			return 0;
	}
}

/* The first two templates have a chain of two, the third an empty one. */
static inline uint32_t hand_chain(uint32_t i)
{
	return i % HAND_TEMPLATES < 2 ? 2 : 0;
}

static inline void hand_put(struct buf *b, const void *p, size_t n)
{
	assert(!buf_put(b, p, n));
}

/* The records, and three bytes that are none. */
static inline void hand_records(struct buf *b)
{
	for (uint32_t i = 0; i < HAND_RECORDS; i++) {
		uint32_t chain = hand_chain(i), tpl = i % HAND_TEMPLATES;
		uint64_t time = HAND_TIME - 1000 * (i + 1), bulk = ~(uint64_t)i;
		uint32_t head[4] = {9, 1 | (HAND_WORDS * 4 + 8 + chain * 8) << 16, (uint32_t)time,
				    (uint32_t)(time >> 32)};
		uint32_t mid[4] = {hand_keep[0][tpl], hand_keep[1][tpl], chain, 0};
		uint32_t last[4] = {hand_vary(8, i), hand_value(9, i), hand_value(10, i),
				    hand_vary(11, i)};

		hand_put(b, head, sizeof(head));
		hand_put(b, mid, sizeof(mid));
		hand_put(b, hand_addrs, chain * 8);
		hand_put(b, &bulk, sizeof(bulk));
		hand_put(b, last, sizeof(last));
	}
	hand_put(b, "end", 3);
}

/* ---- the payload ---- */

struct hand {
	struct buf streams, lengths;
	size_t begun;
};

static inline void hand_begin(struct hand *h)
{
	h->begun = h->streams.len;
}

static inline void hand_end(struct hand *h)
{
	uint32_t n = (uint32_t)(h->streams.len - h->begun);

	hand_put(&h->lengths, &n, sizeof(n));
}

static inline uint32_t hand_part(struct hand *h, const uint32_t *v, uint32_t nr)
{
	uint8_t bytes[4096];
	size_t n;

	assert(column_bound(nr, 4) <= sizeof(bytes));
	n = column_put_u32(bytes, v, nr);
	hand_put(&h->streams, bytes, n);
	return (uint32_t)n;
}

static inline void hand_column(struct hand *h, const uint32_t *v, uint32_t nr)
{
	hand_begin(h);
	hand_part(h, v, nr);
	hand_end(h);
}

static inline void hand_coding(struct hand *h, uint8_t coding)
{
	hand_begin(h);
	hand_put(&h->streams, &coding, 1);
}

/* A part of a table, preceded by its length. */
static inline void hand_table(struct hand *h, const uint32_t *v, uint32_t nr)
{
	size_t at = h->streams.len;
	uint32_t n = 0;

	hand_put(&h->streams, &n, sizeof(n));
	n = hand_part(h, v, nr);
	memcpy(h->streams.p + at, &n, sizeof(n));
}

static inline uint32_t hand_fold(uint32_t now, uint32_t before)
{
	uint32_t d = now - before;

	return d >> 31 ? ~d * 2 + 1 : d * 2;
}

static inline void hand_common(struct hand *h)
{
	static const uint32_t none[1], runs[] = {0, 0, 0, 0}, templates[] = {1, 2, 3, 1};
	static const uint32_t classes[] = {1, 1, 1}, back[] = {0, 2}, grown[] = {2, 0};
	static const uint32_t frames[] = {1, 0};
	uint64_t steps[2] = {hand_addrs[0], hand_addrs[1] - hand_addrs[0]};
	uint8_t bytes[64];

	hand_column(h, runs, 4);
	hand_column(h, templates, 4);
	hand_column(h, none, 0); /* no thread is named */
	hand_coding(h, FMT_CODING_PLAIN);
	hand_part(h, none, 0);
	hand_end(h);
	hand_column(h, classes, 3);
	hand_column(h, back, 2);
	hand_column(h, grown, 2);
	hand_column(h, runs, 2);
	hand_column(h, frames, 2);
	hand_begin(h);
	hand_put(&h->streams, bytes, column_put_u64(bytes, steps, 2));
	hand_end(h);
	hand_begin(h);
	for (uint64_t i = 0; i < HAND_RECORDS; i++)
		hand_put(&h->streams, &(uint64_t){~i}, 8);
	hand_put(&h->streams, "end", 3);
	hand_end(h);
}

/* Times, masks and chains: the first record of each template names its chain. */
static inline void hand_class(struct hand *h)
{
	static const uint32_t chains[] = {1, 1, 0};
	uint64_t times[HAND_RECORDS];
	uint32_t masks[HAND_RECORDS];
	uint8_t bytes[1024];

	for (uint32_t i = 0; i < HAND_RECORDS; i++) {
		times[i] = 1000;
		masks[i] = (uint32_t)hand_changes(8, i) | (uint32_t)hand_changes(11, i) << 1 |
			   (uint32_t)(i < HAND_TEMPLATES) << 2;
	}
	hand_begin(h);
	hand_put(&h->streams, bytes, column_put_u64(bytes, times, HAND_RECORDS));
	hand_end(h);
	hand_column(h, masks, HAND_RECORDS);
	hand_column(h, chains, 3);
}

/* Codes a word as differences to the template's record before. */
static inline void hand_differences(struct hand *h, unsigned word, bool vary)
{
	uint32_t v[HAND_RECORDS], nr = 0;

	for (uint32_t i = 0; i < HAND_RECORDS; i++) {
		uint32_t before = 0;

		if (vary && !hand_changes(word, i))
			continue;
		if (i >= HAND_TEMPLATES)
			before = vary ? hand_vary(word, i - HAND_TEMPLATES)
				      : hand_value(word, i - HAND_TEMPLATES);
		v[nr++] = hand_fold(hand_value(word, i), before);
	}
	hand_coding(h, FMT_CODING_DELTA);
	hand_part(h, v, nr);
	hand_end(h);
}

static inline void hand_words(struct hand *h)
{
	/* Tables: frequent values first, then ascending ones as steps. */
	static const uint32_t often4[] = {9}, steps5[] = {100, 69900}, places5[] = {2, 0, 1};
	static const uint32_t often9[] = {0xdeadbeef}, steps9[] = {4, 2};
	static const uint32_t steps11[] = {12, 699988};
	uint32_t keep[HAND_TEMPLATES], v[HAND_RECORDS], nr = 0;

	for (uint32_t t = 0; t < HAND_TEMPLATES; t++)
		keep[t] = hand_fold(hand_keep[0][t], t ? hand_keep[0][t - 1] : 0);
	hand_coding(h, FMT_CODING_DELTA);
	hand_part(h, keep, HAND_TEMPLATES);
	hand_end(h);
	hand_coding(h, FMT_CODING_TABLE);
	hand_table(h, often4, 1);
	hand_table(h, steps5, 2);
	hand_part(h, places5, 3);
	hand_end(h);
	hand_differences(h, 8, true);
	for (uint32_t i = 0; i < HAND_RECORDS; i++)
		v[i] = i % 2 ? 0 : 1 + i % 4 / 2;
	hand_coding(h, FMT_CODING_TABLE);
	hand_table(h, often9, 1);
	hand_table(h, steps9, 2);
	hand_part(h, v, HAND_RECORDS);
	hand_end(h);
	hand_differences(h, 10, false);
	for (uint32_t i = 0; i < HAND_RECORDS; i++)
		if (hand_changes(11, i))
			v[nr++] = i % 3 ? 0 : 1;
	hand_coding(h, FMT_CODING_TABLE);
	hand_table(h, v, 0);
	hand_table(h, steps11, 2);
	hand_part(h, v, nr);
	hand_end(h);
}

static inline void hand_payload(struct buf *b, uint32_t content_bytes)
{
	struct hand h = {.begun = 0};
	struct fmt_pack f = {
		.nr_records = HAND_RECORDS,
		.content_bytes = content_bytes,
		.time_ns = HAND_TIME,
		.nr_classes = 2,
		.nr_templates = HAND_TEMPLATES,
		.nr_chains = 2,
		.nr_shared = 1,
		.nr_addrs = 2,
		.nr_streams = FMT_STREAM_CLASS + FMT_STREAM_CLASS_WORDS + 6,
		.tail_bytes = 3,
	};
	struct fmt_pack_class c = {
		.nr_records = HAND_RECORDS,
		.words = HAND_WORDS,
		.chain_at = 8,
		.bulk_at = 8,
		.bulk_words = 2,
	};
	uint32_t constants[] = {9, 1 | (HAND_WORDS * 4 + 8) << 16, 0};

	hand_common(&h);
	hand_class(&h);
	hand_words(&h);
	hand_put(b, &f, sizeof(f));
	hand_put(b, &c, sizeof(c));
	hand_put(b, hand_roles, sizeof(hand_roles));
	hand_put(b, constants, sizeof(constants));
	assert(h.lengths.len == f.nr_streams * 4);
	hand_put(b, h.lengths.p, h.lengths.len);
	hand_put(b, h.streams.p, h.streams.len);
	buf_free(&h.streams);
	buf_free(&h.lengths);
}
