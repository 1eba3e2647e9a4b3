// SPDX-License-Identifier: MIT
/*
 * Packs a run of records; see pack.h. The passes are in packclass.c and packmatch.c; what they
 * collected becomes columns here, in the order of FORMAT.md. Called by the recorder's workers.
 */
#include "dump/pack_impl.h"

#include "dump/base/err.h"
#include "dump/column.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_TABLE 2048u /* different numbers in a column that gets a table of them */
#define FREQUENT  3u	/* times: cheaper by a small place than by a small difference */

int packer_new(struct packer **out, struct err *err)
{
	struct packer *p = malloc(sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory for packing");
	memset(p, 0, sizeof(*p)); /* have the pages */
	*out = p;
	return 0;
}

void packer_free(struct packer *p)
{
	free(p);
}

/* ---- a payload in the making ---- */

struct sheet {
	uint8_t *start, *at, *end;
	uint8_t *lengths; /* of streams: u32 each */
	bool full;	  /* there was no room: nothing of it is right */
};

static uint8_t *sheet_take(struct sheet *s, size_t n)
{
	uint8_t *at = s->at;

	if (n > (size_t)(s->end - s->at)) {
		s->full = true;
		return NULL;
	}
	s->at += n;
	return at;
}

static void sheet_put(struct sheet *s, const void *src, size_t n)
{
	uint8_t *to = sheet_take(s, n);

	if (to && n)
		memcpy(to, src, n);
}

static void end_stream(struct sheet *s, const uint8_t *start)
{
	uint32_t n = (uint32_t)(s->at - start);

	memcpy(s->lengths, &n, sizeof(n));
	s->lengths += sizeof(n);
}

/* A column of PLAIN numbers that is a part of a stream. */
static void put_column32(struct sheet *s, const uint32_t *v, uint32_t nr)
{
	size_t bound = column_bound(nr, 4);

	if (!sheet_take(s, bound))
		return;
	s->at -= bound;
	s->at += column_put_u32(s->at, v, nr);
}

static void stream32(struct sheet *s, const uint32_t *v, uint32_t nr)
{
	uint8_t *start = s->at;

	put_column32(s, v, nr);
	end_stream(s, start);
}

static void stream64(struct sheet *s, const uint64_t *v, uint32_t nr)
{
	uint8_t *start = s->at;
	size_t bound = column_bound(nr, 8);

	if (sheet_take(s, bound)) {
		s->at -= bound;
		s->at += column_put_u64(s->at, v, nr);
	}
	end_stream(s, start);
}

/* ---- words: plain, as differences, or by a table ---- */

/* Bits of a number on average, in 16ths, by some of them. */
static uint32_t mean_bits(const uint32_t *v, uint32_t nr)
{
	uint32_t step = nr / 128 + 1, bits = 0, seen = 0;

	for (uint32_t i = 0; i < nr; i += step, seen++)
		bits += 32u - (unsigned)__builtin_clz(v[i] | 1);
	return bits * 16 / seen;
}

/* The different numbers of a column. */
struct table {
	uint32_t v[MAX_TABLE], count[MAX_TABLE], place[MAX_TABLE], nr;
	uint16_t index[2 * MAX_TABLE]; /* number of an entry + 1 */
};

/* The entry for `v`, a new one if need be; `max` when there are that many. */
static inline uint32_t table_entry(struct table *t, uint32_t v, uint32_t max)
{
	uint32_t at = v * 0x9e3779b1u >> 20;

	for (; t->index[at]; at = (at + 1) % (2 * MAX_TABLE))
		if (t->v[t->index[at] - 1] == v)
			return t->index[at] - 1u;
	if (t->nr == max)
		return max;
	t->v[t->nr] = v;
	t->count[t->nr] = 0;
	t->index[at] = (uint16_t)(t->nr + 1);
	return t->nr++;
}

/* Fills `t` and `refs` (entry of each number). False when a table would not pay. */
static bool make_table(struct table *t, const uint32_t *v, uint32_t nr, uint32_t *refs)
{
	uint32_t max = nr / 2 < MAX_TABLE ? nr / 2 : MAX_TABLE;

	t->nr = 0;
	memset(t->index, 0, sizeof(t->index));
	for (uint32_t i = 0; i < nr; i++) {
		refs[i] = table_entry(t, v[i], max);
		if (refs[i] == max)
			return false;
		t->count[refs[i]]++;
		/* Mostly different so far: they will be. */
		if (i == 63 && t->nr > 56)
			return false;
	}
	return true;
}

/* A column preceded by its length in bytes. */
static void put_sized(struct sheet *s, const uint32_t *v, uint32_t nr)
{
	uint8_t *start = sheet_take(s, sizeof(uint32_t));
	uint32_t bytes;

	put_column32(s, v, nr);
	if (!start || s->full)
		return;
	bytes = (uint32_t)(s->at - start - sizeof(bytes));
	memcpy(start, &bytes, sizeof(bytes));
}

/* Frequent numbers have the first places; the rest are cheaper in ascending order. */
static void put_table(struct sheet *s, struct table *t, uint32_t *refs, uint32_t nr)
{
	uint32_t order[MAX_TABLE], v[MAX_TABLE], frequent = 0, last = 0;
	uint16_t rest[2][MAX_TABLE], *sorted;
	uint64_t key[MAX_TABLE];

	rank_by_count(t->count, t->nr, order);
	for (; frequent < t->nr && t->count[order[frequent]] >= FREQUENT; frequent++) {
		t->place[order[frequent]] = frequent;
		v[frequent] = t->v[order[frequent]];
	}
	put_sized(s, v, frequent);
	for (uint32_t i = frequent; i < t->nr; i++) {
		rest[0][i - frequent] = (uint16_t)order[i];
		key[order[i]] = t->v[order[i]];
	}
	sorted = sort_by_key(key, t->nr - frequent, rest[0], rest[1]);
	for (uint32_t i = 0; i < t->nr - frequent; i++) {
		t->place[sorted[i]] = frequent + i;
		v[i] = t->v[sorted[i]] - last;
		last = t->v[sorted[i]];
	}
	put_sized(s, v, t->nr - frequent);
	for (uint32_t i = 0; i < nr; i++)
		refs[i] = t->place[refs[i]];
}

/*
 * A column of words as a stream. `deltas` is `v` itself where there are no differences to choose.
 * Where the coding is TABLE, the table comes before the column.
 */
static void stream_words(struct sheet *s, const uint32_t *v, const uint32_t *deltas, uint32_t nr)
{
	uint8_t *start = s->at, coding = FMT_CODING_PLAIN;
	struct table t;

	sheet_put(s, &coding, 1);
	if (nr >= 16) {
		uint32_t plain = mean_bits(v, nr), differences = mean_bits(deltas, nr);
		uint32_t refs[PACK_RUN_RECORDS];

		if (differences < plain)
			coding = FMT_CODING_DELTA;
		if ((differences < plain ? differences : plain) > 6 * 16) {
			if (make_table(&t, v, nr, refs)) {
				coding = FMT_CODING_TABLE;
				put_table(s, &t, refs, nr);
				put_column32(s, refs, nr);
			}
		}
	}
	if (coding == FMT_CODING_DELTA)
		put_column32(s, deltas, nr);
	else if (coding == FMT_CODING_PLAIN)
		put_column32(s, v, nr);
	if (!s->full)
		*start = coding;
	end_stream(s, start);
}

/* ---- classes and templates ---- */

/* What of a packer gets a new name when it is written. */
struct names {
	uint32_t by_rank[MAX_TEMPLATES]; /* templates, the frequent ones first; [0]: template 0 */
	uint8_t cls[MAX_CLASSES], used[MAX_CLASSES]; /* new number; classes by new number, from 1 */
	uint32_t nr_classes;
	uint32_t nr_words; /* columns of words */
};

static void rank_templates(struct packer *p, struct names *n)
{
	uint32_t count[MAX_TEMPLATES], order[MAX_TEMPLATES];

	for (uint32_t i = 1; i < p->nr_tpl; i++)
		count[i - 1] = p->tpl[i].nr;
	rank_by_count(count, p->nr_tpl - 1, order);
	n->by_rank[0] = 0;
	for (uint32_t r = 1; r < p->nr_tpl; r++) {
		n->by_rank[r] = order[r - 1] + 1;
		p->tpl[n->by_rank[r]].rank = r;
	}
}

static inline uint32_t template_word(const struct packer *p, uint32_t t, uint32_t w)
{
	return ((const uint32_t *)(p->arena + p->tpl[t].words))[w];
}

/* KEEP words that all templates agree on are CONST. */
static void find_constants(struct packer *p, uint32_t cls, const struct names *n)
{
	struct pack_class *c = &p->classes[cls];
	uint32_t first = 0;

	for (uint32_t r = 1; r < p->nr_tpl; r++) {
		uint32_t t = n->by_rank[r];

		if (p->tpl[t].cls != cls)
			continue;
		if (!first)
			first = t;
		for (uint32_t w = 0; w < c->words; w++)
			if (c->role[w] == FMT_ROLE_CONST &&
			    template_word(p, t, w) != template_word(p, first, w))
				c->role[w] = FMT_ROLE_KEEP;
	}
}

static bool in_column(uint8_t role)
{
	return role == FMT_ROLE_KEEP || role == FMT_ROLE_VARY || role == FMT_ROLE_DIRECT;
}

static void name_classes(struct packer *p, struct names *n)
{
	n->nr_classes = 1;
	n->nr_words = 0;
	for (uint32_t i = 1; i < p->nr_classes; i++) {
		struct pack_class *c = &p->classes[i];

		if (!c->kept)
			continue;
		n->cls[i] = (uint8_t)n->nr_classes;
		n->used[n->nr_classes++] = (uint8_t)i;
		for (uint32_t w = 0; w < c->words; w++)
			if (c->role[w] == FMT_ROLE_KEEP)
				c->role[w] = FMT_ROLE_CONST;
		find_constants(p, i, n);
		for (uint32_t w = 0; w < c->words; w++)
			n->nr_words += in_column(c->role[w]);
	}
}

static void put_classes(struct packer *p, const struct names *n, struct sheet *s)
{
	for (uint32_t i = 1; i < n->nr_classes; i++) {
		const struct pack_class *c = &p->classes[n->used[i]];
		struct fmt_pack_class f = {
			.nr_records = c->kept,
			.words = c->words,
			.chain_at = c->chain_at,
			.bulk_at = c->bulk_at,
			.bulk_words = c->bulk_words,
			.flags = c->changes ? FMT_PACK_CHANGES : 0,
		};

		sheet_put(s, &f, sizeof(f));
	}
	for (uint32_t i = 1; i < n->nr_classes; i++)
		sheet_put(s, p->classes[n->used[i]].role, p->classes[n->used[i]].words);
}

/* The values of CONST and SIZE words, in the order of roles. */
static void put_constants(struct packer *p, const struct names *n, struct sheet *s)
{
	for (uint32_t i = 1; i < n->nr_classes; i++) {
		const struct pack_class *c = &p->classes[n->used[i]];

		for (uint32_t w = 0; w < c->words; w++) {
			uint32_t v = (uint32_t)(c->key >> 32);

			if (c->role[w] == FMT_ROLE_CONST)
				v = template_word(p, c->recent, w);
			else if (c->role[w] != FMT_ROLE_SIZE)
				continue;
			sheet_put(s, &v, sizeof(v));
		}
	}
}

/* ---- streams ---- */

static void put_templates(struct packer *p, const struct names *n, struct sheet *s)
{
	uint32_t cls[MAX_TEMPLATES];

	for (uint32_t i = 0; i < p->nr_runs; i++)
		p->misses[i] = p->tpl[p->misses[i]].rank;
	for (uint32_t r = 1; r < p->nr_tpl; r++)
		cls[r - 1] = n->cls[p->tpl[n->by_rank[r]].cls];
	stream32(s, p->runs, p->nr_runs);
	stream32(s, p->misses, p->nr_runs);
	stream32(s, p->tid_runs, p->nr_tid_runs);
	stream_words(s, p->tids, p->tids, p->nr_tid_runs);
	stream32(s, cls, p->nr_tpl - 1);
}

/* Numbers the chains as the columns will refer to them, and makes these references. */
static void number_chains(struct packer *p, const struct names *n)
{
	struct chains *ch = &p->chains;

	chains_number_shared(ch);
	for (uint32_t k = 1; k < n->nr_classes; k++) {
		struct pack_class *c = &p->classes[n->used[k]];
		uint32_t *ref = p->chain_refs + c->first_time;

		for (uint32_t i = 0; i < c->nr_chains; i++) {
			if (ch->v[ref[i]].number == CHAIN_NONE) {
				chains_number_next(ch, ref[i]);
				ref[i] = 0;
			} else {
				ref[i] = ch->v[ref[i]].number + 1;
			}
		}
	}
	chains_build(ch);
}

/* The addresses of nodes: mostly what came below the same address before. */
static void put_frames(struct chains *c, struct sheet *s)
{
	uint16_t below[CHAIN_MAX_FRAMES + 1] = {0}; /* by address + 1: address + 1 */
	uint32_t runs[CHAIN_MAX_FRAMES], misses[CHAIN_MAX_FRAMES], nr = 0, run = 0;

	for (uint32_t i = 1; i <= c->nr_nodes; i++) {
		uint32_t parent = c->parent[i] ? c->addr[c->parent[i]] + 1u : 0;

		if (below[parent] == c->addr[i] + 1) {
			run++;
			continue;
		}
		below[parent] = (uint16_t)(c->addr[i] + 1);
		runs[nr] = run;
		misses[nr++] = c->place[c->addr[i]];
		run = 0;
	}
	stream32(s, runs, nr);
	stream32(s, misses, nr);
}

static void put_chains(struct packer *p, struct sheet *s)
{
	struct chains *c = &p->chains;
	uint64_t steps[CHAIN_MAX_FRAMES], before = 0;

	stream32(s, c->back, c->nr_numbers);
	stream32(s, c->grown, c->nr_numbers);
	put_frames(c, s);
	for (uint32_t i = 0; i < c->nr_addrs; i++) {
		steps[i] = c->addrs[c->sorted[i]] - before;
		before = c->addrs[c->sorted[i]];
	}
	stream64(s, steps, c->nr_addrs);
}

/* Records of class 0 whole, of others what is bulk, in the order of records; then the tail. */
static void put_bulk(struct packer *p, struct sheet *s)
{
	uint8_t *start = s->at;

	for (uint32_t i = 0; i < p->nr_records; i++) {
		const struct pack_class *c = &p->classes[p->cls[i]];
		const uint8_t *rec = p->rec[i];

		if (!p->cls[i])
			sheet_put(s, rec, load64(rec) >> 48);
		else if (c->bulk_words)
			sheet_put(s,
				  rec + c->bulk_at * 4u +
					  (c->chain_at != FMT_PACK_NONE ? chain_bytes(p, rec) : 0),
				  c->bulk_words * 4u);
	}
	sheet_put(s, p->tail.p, p->tail.len);
	end_stream(s, start);
}

static void put_keep_word(struct packer *p, uint32_t cls, uint32_t w, const struct names *n,
			  struct sheet *s)
{
	uint32_t v[MAX_TEMPLATES], nr = 0;

	for (uint32_t r = 1; r < p->nr_tpl; r++) {
		uint32_t t = n->by_rank[r];

		if (p->tpl[t].cls == cls)
			v[nr++] = template_word(p, t, w);
	}
	stream_words(s, v, v, nr);
}

static void put_class(struct packer *p, uint32_t cls, const struct names *n, struct sheet *s)
{
	struct pack_class *c = &p->classes[cls];
	uint32_t column = 0, direct = c->nr_vary;

	stream64(s, p->times + c->first_time, c->has_time ? c->kept : 0);
	stream32(s, p->masks + c->first_time, c->kept);
	stream32(s, p->chain_refs + c->first_time, c->nr_chains);
	for (uint32_t w = 0; w < c->words; w++) {
		uint32_t k, at;

		if (c->role[w] == FMT_ROLE_KEEP)
			put_keep_word(p, cls, w, n, s);
		if (c->role[w] != FMT_ROLE_VARY && c->role[w] != FMT_ROLE_DIRECT)
			continue;
		k = c->role[w] == FMT_ROLE_VARY ? column++ : direct++;
		at = c->first_value + k * c->nr;
		stream_words(s, p->values + at, p->deltas + at, c->nr_values[k]);
	}
}

static void write_payload(struct packer *p, struct sheet *s, uint32_t content_bytes)
{
	struct names n;
	struct fmt_pack f;

	rank_templates(p, &n);
	name_classes(p, &n);
	number_chains(p, &n);
	sheet_take(s, sizeof(f));
	put_classes(p, &n, s);
	put_constants(p, &n, s);
	f = (struct fmt_pack){
		.nr_records = p->nr_records,
		.content_bytes = content_bytes,
		.time_ns = p->time_ns,
		.first_tid = p->first_tid,
		.nr_classes = n.nr_classes,
		.nr_templates = p->nr_tpl - 1,
		.nr_chains = p->chains.nr_numbers,
		.nr_shared = p->chains.nr_shared,
		.nr_addrs = p->chains.nr_addrs,
		.nr_streams =
			FMT_STREAM_CLASS + FMT_STREAM_CLASS_WORDS * (n.nr_classes - 1) + n.nr_words,
		.tail_bytes = (uint32_t)p->tail.len,
	};
	s->lengths = sheet_take(s, f.nr_streams * sizeof(uint32_t));
	if (s->full)
		return;
	put_templates(p, &n, s);
	put_chains(p, s);
	put_bulk(p, s);
	for (uint32_t i = 1; i < n.nr_classes && !s->full; i++)
		put_class(p, n.used[i], &n, s);
	memcpy(s->start, &f, sizeof(f));
}

int pack(struct packer *p, const struct record_layout *l, const struct bytes *pieces, int nr,
	 struct bytes *payload)
{
	struct sheet s = {.start = p->out, .at = p->out, .end = p->out + sizeof(p->out)};
	uint64_t total = 0;
	int rc;

	for (int i = 0; i < nr; i++) {
		if (pieces[i].len > PACK_RUN_BYTES - total)
			return -E2BIG;
		total += pieces[i].len;
	}
	packclass_layout(p, l);
	rc = packclass_sort(p, pieces, nr);
	if (rc)
		return -E2BIG;
	packclass_plan(p);
	packmatch(p);
	write_payload(p, &s, (uint32_t)total);
	if (s.full || (uint64_t)(s.at - s.start) > total)
		return -E2BIG;
	*payload = (struct bytes){s.start, (size_t)(s.at - s.start)};
	return 0;
}
