// SPDX-License-Identifier: MIT
/*
 * First pass of the packer: sorts the records of a run into classes and derives the roles of words
 * from samples of each class. A wrong guess costs bytes, not correctness: pack_match.c compares
 * every word.
 */
#include "dump/packed/pack_impl.h"

#include "dump/base/hash.h"

#include <errno.h>

#define MIN_RECORDS 8 /* smaller classes cost more than they save */
#define NO_CLASS    0

/* ---- offsets of fields in a sample ---- */

/* The fields before CALLCHAIN in order, 8 bytes each. READ comes after them, with unknown length. */
static const uint64_t fields[] = {
	PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP,	  PERF_SAMPLE_TID,
	PERF_SAMPLE_TIME,	PERF_SAMPLE_ADDR, PERF_SAMPLE_ID,
	PERF_SAMPLE_STREAM_ID,	PERF_SAMPLE_CPU,  PERF_SAMPLE_PERIOD,
};

void pack_classes_layout(struct packer *p, const struct record_layout *l)
{
	uint32_t off = 8;

	p->layout = l;
	p->time_off = p->tid_off = p->ip_off = p->chain_off = p->rest_off = 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!(l->sample_type & fields[i]))
			continue;
		if (fields[i] == PERF_SAMPLE_IP)
			p->ip_off = off;
		if (fields[i] == PERF_SAMPLE_TID)
			p->tid_off = off + 4;
		if (fields[i] == PERF_SAMPLE_TIME)
			p->time_off = off;
		off += 8;
	}
	p->has_chain =
		l->sample_type & PERF_SAMPLE_CALLCHAIN && !(l->sample_type & PERF_SAMPLE_READ);
	p->has_raw = l->sample_type & PERF_SAMPLE_RAW && !(l->sample_type & PERF_SAMPLE_READ);
	p->chain_off = p->has_chain ? off : 0;
	p->rest_off = p->has_chain ? off + 8 : off;
}

/* Distance of the time from the end of a record of another type (in its sample_id). 0: no time. */
static uint32_t time_from_end(const struct record_layout *l)
{
	uint32_t n = 8;

	if (!l->sample_id_all || !(l->sample_type & PERF_SAMPLE_TIME))
		return 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (l->sample_type & fields[i] &
		    (PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
		     PERF_SAMPLE_IDENTIFIER))
			n += 8;
	return n;
}

/* ---- classes ---- */

/* What makes records the same class. */
struct pack_kind {
	uint64_t key; /* the header, its size without the chain */
	uint32_t event;
	bool sample;
};

/* False: the record goes to class 0. */
static bool kind_of(const struct packer *p, const uint8_t *rec, uint32_t size, struct pack_kind *k)
{
	uint64_t h = load64(rec), nr = 0;

	*k = (struct pack_kind){.key = h, .sample = (uint32_t)h == PERF_RECORD_SAMPLE};
	if (!k->sample)
		return true;
	if (size < p->rest_off)
		return false;
	if (p->has_chain) {
		nr = load64(rec + p->chain_off);
		if (nr > (size - p->rest_off) / 8)
			return false;
		k->key -= nr << 51; /* 8 * nr, in the upper 16 bits */
		/* The IP field repeats the chain's second address: role IP. */
		if (p->ip_off && nr > 1 && load64(rec + p->ip_off) == load64(rec + p->rest_off + 8))
			k->event = 1u << 16;
	}
	if (p->has_raw && p->rest_off + nr * 8 + 12 <= size)
		k->event |= load32(rec + p->rest_off + nr * 8 + 4) & 0xffff;
	return true;
}

static uint32_t slot_of(const struct pack_kind *k)
{
	return (uint32_t)(hash_mix(k->key, (uint64_t)k->event << 17) >> 54);
}

/* The bulk of a sample is the copy of the user stack. */
static void find_stack(const struct packer *p, const uint8_t *rec, uint32_t size,
		       struct pack_class *c)
{
	uint64_t type = p->layout->sample_type, off = p->rest_off, chain = 0, n;

	if (p->has_chain)
		off += chain = chain_bytes(p, rec);
	if (type & PERF_SAMPLE_READ || !(type & PERF_SAMPLE_STACK_USER) ||
	    type & PERF_SAMPLE_BRANCH_STACK)
		return;
	if (type & PERF_SAMPLE_RAW) {
		if (!span_fits(off, 4, size))
			return;
		off += 4 + load32(rec + off);
	}
	if (type & PERF_SAMPLE_REGS_USER) {
		if (off % 8 || !span_fits(off, 8, size))
			return;
		off += 8 + (load64(rec + off)
				    ? 8u * (unsigned)__builtin_popcountll(p->layout->regs_user)
				    : 0);
	}
	if (off % 8 || !span_fits(off, 8, size))
		return;
	n = load64(rec + off);
	if (!n || n % 8 || !span_fits(off + 8, n, size))
		return;
	c->bulk_at = (uint16_t)((off + 8 - chain) / 4);
	c->bulk_words = (uint16_t)(n / 4);
}

static void describe(const struct packer *p, const uint8_t *rec, uint32_t size,
		     const struct pack_kind *k, struct pack_class *c)
{
	uint32_t words = size / 4, from_end = time_from_end(p->layout);

	*c = (struct pack_class){.key = k->key, .event = k->event, .stride = 1};
	c->chain_at = c->bulk_at = FMT_PACK_NONE;
	if (k->sample) {
		c->has_time = p->time_off;
		c->time_at = (uint16_t)(p->time_off / 4);
		if (p->has_chain) {
			c->chain_at = (uint16_t)(p->rest_off / 4);
			words -= chain_bytes(p, rec) / 4;
		}
		if (p->tid_off)
			c->tid_at = (uint16_t)(p->tid_off / 4);
		else if (k->event & 0xffff)
			c->tid_at = (uint16_t)(p->rest_off / 4 + 2); /* common_pid */
		c->has_tid = c->tid_at != 0;
		find_stack(p, rec, size, c);
	} else if (from_end && size >= 8 + record_id_bytes(p->layout)) {
		c->has_time = true;
		c->time_at = (uint16_t)((size - from_end) / 4);
	}
	/* Words after MAX_WORDS are bulk. */
	if (words - c->bulk_words > MAX_WORDS || (c->bulk_words && c->bulk_at > MAX_WORDS)) {
		c->bulk_at = MAX_WORDS;
		c->bulk_words = (uint16_t)(words - MAX_WORDS);
		if (c->has_time && c->time_at >= MAX_WORDS - 1)
			c->has_time = false;
	}
	c->words = (uint16_t)(words - c->bulk_words);
}

/* Finds or adds the class of a record. */
static uint32_t class_of(struct packer *p, const uint8_t *rec, uint32_t size)
{
	struct pack_kind k;
	uint32_t at;

	if (!kind_of(p, rec, size, &k))
		return NO_CLASS;
	for (at = slot_of(&k); p->class_index[at]; at = (at + 1) & 1023) {
		uint32_t c = p->class_index[at];

		if (p->classes[c].key == k.key && p->classes[c].event == k.event)
			return c;
	}
	if (p->nr_classes == MAX_CLASSES)
		return NO_CLASS;
	describe(p, rec, size, &k, &p->classes[p->nr_classes]);
	p->class_index[at] = (uint16_t)p->nr_classes;
	return p->nr_classes++;
}

/* Samples every stride-th record (a power of two). When there are too many samples, drops every
 * second one and doubles the stride. */
static inline void sample(struct pack_class *c, uint32_t i)
{
	if (c->nr & (c->stride - 1))
		return;
	if (c->nr_samples == NR_SAMPLES) {
		for (uint32_t k = 0; k < NR_SAMPLES / 2; k++)
			c->sample[k] = c->sample[2 * k];
		c->nr_samples = NR_SAMPLES / 2;
		c->stride *= 2;
		if (c->nr & (c->stride - 1))
			return;
	}
	c->sample[c->nr_samples++] = i;
}

static int sort_record(struct packer *p, const uint8_t *rec, uint32_t size)
{
	uint32_t cls = class_of(p, rec, size);

	if (p->nr_records == MAX_RECORDS)
		return -E2BIG;
	sample(&p->classes[cls], p->nr_records);
	p->classes[cls].nr++;
	p->rec[p->nr_records] = rec;
	p->cls[p->nr_records++] = (uint8_t)cls;
	return 0;
}

/* Sorts the complete records of a piece; *rest is its remainder. */
static int sort_piece(struct packer *p, struct bytes piece, struct bytes *rest)
{
	int rc = 0;

	while (!rc && piece.len >= 8) {
		uint32_t size = (uint32_t)(load64(piece.p) >> 48);

		if (size < 8 || size % 8 || size > piece.len)
			break;
		rc = sort_record(p, piece.p, size);
		piece.p += size;
		piece.len -= size;
	}
	*rest = piece;
	return rc;
}

/* Joins the record that begins in `a` and ends in `b`, and removes its end from `b`. */
static bool join(struct packer *p, struct bytes a, struct bytes *b, struct bytes *rec)
{
	uint8_t head[8];
	uint32_t size;

	if (a.len + b->len < 8 || a.len >= sizeof(p->split))
		return false;
	memcpy(head, a.p, a.len < 8 ? a.len : 8);
	if (a.len < 8)
		memcpy(head + a.len, b->p, 8 - a.len);
	size = (uint32_t)(load64(head) >> 48);
	if (size < 8 || size % 8 || size <= a.len || size - a.len > b->len)
		return false;
	memcpy(p->split, a.p, a.len);
	memcpy(p->split + a.len, b->p, size - a.len);
	b->p += size - a.len;
	b->len -= size - a.len;
	*rec = (struct bytes){p->split, size};
	return true;
}

int pack_classes_sort(struct packer *p, const struct bytes *pieces, int nr)
{
	struct bytes rest = {0}, whole, next = {0};
	int rc = 0;

	p->nr_records = 0;
	p->nr_classes = 1;
	p->classes[0] = (struct pack_class){.stride = 1, .chain_at = FMT_PACK_NONE};
	memset(p->class_index, 0, sizeof(p->class_index));
	if (nr)
		rc = sort_piece(p, pieces[0], &rest);
	if (nr < 2 || rc)
		goto out;
	next = pieces[1];
	if (rest.len && join(p, rest, &next, &whole)) {
		rc = sort_record(p, whole.p, (uint32_t)whole.len);
		rest.len = 0;
	}
	if (!rc && !rest.len)
		rc = sort_piece(p, next, &rest);
	else if (!rc && next.len)
		rc = -EBADMSG; /* data that is not a record spans both pieces */
out:
	p->tail = rest;
	return rc;
}

/* ---- roles ---- */

/* Set of numbers, to count distinct ones. */
struct value_set {
	uint64_t key[4 * NR_SAMPLES];
	uint8_t used[4 * NR_SAMPLES];
};

static uint32_t count_distinct(const uint64_t *v, uint32_t nr)
{
	struct value_set s;
	uint32_t distinct = 0;

	memset(s.used, 0, sizeof(s.used));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t at = (uint32_t)(hash_mix(0, v[i]) >> 56);

		while (s.used[at] && s.key[at] != v[i])
			at = (at + 1) % (4 * NR_SAMPLES);
		distinct += !s.used[at];
		s.used[at] = 1;
		s.key[at] = v[i];
	}
	return distinct;
}

/* The samples of a class, word by word. */
struct class_samples {
	uint32_t nr;
	uint32_t v[MAX_WORDS][NR_SAMPLES];
	uint32_t tid[NR_SAMPLES], prev[NR_SAMPLES];
	uint32_t distinct[MAX_WORDS];
};

/* The thread of record i; 0: its class has no TID word. */
static uint32_t thread_of(const struct packer *p, uint32_t i)
{
	const struct pack_class *c = &p->classes[p->cls[i]];
	uint32_t chain = c->chain_at != FMT_PACK_NONE ? chain_bytes(p, p->rec[i]) : 0;

	return c->has_tid ? word_of(c, p->rec[i], chain, c->tid_at) : 0;
}

static void take_samples(const struct packer *p, const struct pack_class *c,
			 struct class_samples *l)
{
	l->nr = c->nr_samples;
	for (uint32_t s = 0; s < l->nr; s++) {
		uint32_t i = c->sample[s];
		uint32_t chain = c->chain_at != FMT_PACK_NONE ? chain_bytes(p, p->rec[i]) : 0;

		l->tid[s] = thread_of(p, i);
		l->prev[s] = i ? thread_of(p, i - 1) : l->tid[s];
		for (uint32_t w = 0; w < c->words; w++)
			l->v[w][s] = word_of(c, p->rec[i], chain, w);
	}
	for (uint32_t w = 0; w < c->words; w++) {
		uint64_t wide[NR_SAMPLES];

		for (uint32_t s = 0; s < l->nr; s++)
			wide[s] = l->v[w][s];
		l->distinct[w] = count_distinct(wide, l->nr);
	}
}

/* Roles that follow from the layout. */
static void set_known_roles(const struct packer *p, struct pack_class *c)
{
	if (c->has_time) {
		c->role[c->time_at] = FMT_ROLE_TIME;
		c->role[c->time_at + 1] = FMT_ROLE_TIME_HI;
	}
	if (c->has_tid)
		c->role[c->tid_at] = FMT_ROLE_TID;
	if (c->chain_at != FMT_PACK_NONE) {
		c->role[1] = FMT_ROLE_SIZE;
		c->role[c->chain_at - 2] = FMT_ROLE_NR;
		if (c->event >> 16) {
			c->role[p->ip_off / 4] = FMT_ROLE_IP;
			c->role[p->ip_off / 4 + 1] = FMT_ROLE_IP_HI;
		}
	}
}

/* TID or PREV when the word is this or the previous record's thread in every sample. */
static uint8_t thread_role(const struct pack_class *c, const struct class_samples *l, uint32_t w)
{
	if (!c->has_tid || l->distinct[w] < 2)
		return FMT_ROLE_KEEP;
	if (c->nr_same < 8 && !memcmp(l->v[w], l->tid, l->nr * sizeof(l->tid[0])))
		return FMT_ROLE_TID;
	if (c->nr_prev < 8 && !memcmp(l->v[w], l->prev, l->nr * sizeof(l->prev[0])))
		return FMT_ROLE_PREV;
	return FMT_ROLE_KEEP;
}

static uint32_t count_tuples(const struct pack_class *c, const struct class_samples *l)
{
	uint64_t hash[NR_SAMPLES] = {0};

	for (uint32_t w = 0; w < c->words; w++)
		if (c->role[w] == FMT_ROLE_KEEP && l->distinct[w] > 1)
			for (uint32_t s = 0; s < l->nr; s++)
				hash[s] = hash_mix(hash[s], l->v[w][s]) + 1;
	return count_distinct(hash, l->nr);
}

/* The KEEP word with the most distinct values. */
static uint32_t busiest(const struct pack_class *c, const struct class_samples *l)
{
	uint32_t best = c->words;

	for (uint32_t w = 0; w < c->words; w++)
		if (c->role[w] == FMT_ROLE_KEEP && l->distinct[w] > 1 &&
		    (best == c->words || l->distinct[w] > l->distinct[best]))
			best = w;
	return best;
}

static struct pack_place place_of(const struct pack_class *c, uint32_t w)
{
	return (struct pack_place){(uint16_t)(w * 4), part_of(c, w)};
}

static void choose_roles(const struct packer *p, struct pack_class *c,
			 const struct class_samples *l)
{
	memset(c->role, FMT_ROLE_KEEP, sizeof(c->role));
	set_known_roles(p, c);
	for (uint32_t w = 2; w < c->words; w++) {
		if (c->role[w] != FMT_ROLE_KEEP)
			continue;
		c->role[w] = thread_role(c, l, w);
		if (c->role[w] == FMT_ROLE_TID)
			c->same[c->nr_same++] = place_of(c, w);
		else if (c->role[w] == FMT_ROLE_PREV)
			c->prev[c->nr_prev++] = place_of(c, w);
		else if (l->distinct[w] > l->nr * 3 / 4)
			c->role[w] = FMT_ROLE_DIRECT;
	}
	while (count_tuples(c, l) > l->nr / 4) {
		uint32_t w = busiest(c, l);

		if (w == c->words)
			break;
		c->role[w] = c->nr_vary < FMT_PACK_MAX_VARY ? FMT_ROLE_VARY : FMT_ROLE_DIRECT;
		c->nr_vary += c->role[w] == FMT_ROLE_VARY;
	}
}

/* Sets the masks of a template's words of 8 bytes. The first is the header, equal in the class. */
static void set_keys(struct pack_class *c, const struct class_samples *l)
{
	memset(c->keep, 0, sizeof(c->keep));
	memset(c->firm, 0, sizeof(c->firm));
	memset(c->firm_value, 0, sizeof(c->firm_value));
	c->nr_loose = 0;
	for (uint32_t w = 0; w < c->words; w++) {
		uint64_t half = 0xffffffffull << 32 * (w & 1);

		if (c->role[w] != FMT_ROLE_KEEP)
			continue;
		c->keep[w / 2] |= half;
		if (w < 2)
			continue;
		if (l->distinct[w] > 1) {
			pack_template_loosen(c, w / 2, half);
			continue;
		}
		c->firm[w / 2] |= half;
		c->firm_value[w / 2] |= (uint64_t)l->v[w][0] << 32 * (w & 1);
	}
}

static void set_values(struct pack_class *c, uint8_t role, uint32_t first_value)
{
	for (uint32_t w = 0; w < c->words; w++) {
		if (c->role[w] != role)
			continue;
		c->value[c->nr_values] =
			(struct pack_value){place_of(c, w), first_value + c->nr_values * c->nr};
		c->nr_values++;
	}
}

/* Derives from the roles how records are compared and which values are collected. */
static void set_plan(struct pack_class *c, const struct class_samples *l)
{
	set_keys(c, l);
	c->part_end[2] = c->words / 2u;
	c->part_end[1] = c->bulk_at != FMT_PACK_NONE ? c->bulk_at / 2u : c->part_end[2];
	c->part_end[0] = c->chain_at != FMT_PACK_NONE ? c->chain_at / 2u : c->part_end[1];
	c->nr_values = 0;
	set_values(c, FMT_ROLE_VARY, c->first_value);
	c->nr_vary = c->nr_values;
	set_values(c, FMT_ROLE_DIRECT, c->first_value);
	c->time = place_of(c, c->time_at);
	c->tid = place_of(c, c->tid_at);
}

/* Whether the thread often differs from the previous record's. */
static bool is_changing(const struct pack_class *c, const struct class_samples *l)
{
	uint32_t other = 0;

	for (uint32_t s = 0; s < l->nr; s++)
		other += l->tid[s] != l->prev[s];
	return c->has_tid && other > l->nr / 4;
}

void pack_classes_plan(struct packer *p)
{
	uint32_t times = 0, values = 0;

	for (uint32_t i = 1; i < p->nr_classes; i++) {
		struct pack_class *c = &p->classes[i];
		struct class_samples l;

		if (c->nr < MIN_RECORDS) {
			c->words = 0; /* not used */
			continue;
		}
		take_samples(p, c, &l);
		choose_roles(p, c, &l);
		c->changes = is_changing(c, &l);
		c->first_time = times;
		c->first_value = values;
		set_plan(c, &l);
		times += c->nr;
		values += c->nr * c->nr_values;
	}
}
