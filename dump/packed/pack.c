// SPDX-License-Identifier: MIT
/*
 * Packs a run of records; see pack.h. Writes what the passes in pack_classes.c and pack_match.c
 * collected as columns, in the order of PACKED.md. Called by the recorder's workers.
 */
#include "dump/packed/pack_impl.h"

#include "dump/base/err.h"
#include "dump/packed/pack_streams.h"

#include <errno.h>
#include <stdlib.h>

int packer_new(struct packer **out, struct err *err)
{
	struct packer *p = malloc(sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory for packing");
	memset(p, 0, sizeof(*p)); /* allocates the pages now */
	*out = p;
	return 0;
}

void packer_free(struct packer *p)
{
	free(p);
}

/* ---- classes and templates ---- */

/* Final numbers of classes and templates in the payload. */
struct pack_numbering {
	uint32_t nr_classes;
	uint8_t used[MAX_CLASSES]; /* classes by new number, from 1 */
	uint32_t nr_tpl;
	uint32_t cls[MAX_TEMPLATES]; /* new number of the class, by rank - 1 */
	/* Templates of class k: from first_tpl[k] on, in the order of ranks. */
	uint16_t tpl[MAX_TEMPLATES];
	uint32_t first_tpl[MAX_CLASSES + 1];
	uint32_t nr_words; /* columns of words */
};

/* Numbers the classes that have records. */
static void name_classes(const struct packer *p, struct pack_numbering *n, uint32_t *new_name)
{
	n->nr_classes = 1;
	for (uint32_t i = 1; i < p->nr_classes; i++) {
		if (!p->classes[i].kept)
			continue;
		new_name[i] = n->nr_classes;
		n->used[n->nr_classes++] = (uint8_t)i;
	}
}

/* Numbers the templates that have records, those with the most records first. */
static void rank_templates(struct packer *p, struct pack_numbering *n, const uint32_t *new_name)
{
	uint32_t count[MAX_TEMPLATES], order[MAX_TEMPLATES], next[MAX_CLASSES] = {0};

	n->nr_tpl = 0;
	for (uint32_t t = 1; t < p->nr_tpl; t++) {
		count[t - 1] = p->tpl[t].nr;
		if (!p->tpl[t].nr)
			continue;
		n->nr_tpl++;
		next[new_name[p->tpl[t].cls]]++;
	}
	n->first_tpl[1] = 0;
	for (uint32_t k = 1; k < n->nr_classes; k++) {
		n->first_tpl[k + 1] = n->first_tpl[k] + next[k];
		next[k] = n->first_tpl[k];
	}
	rank_by_count(count, p->nr_tpl - 1, order);
	for (uint32_t r = 0; r < n->nr_tpl; r++) {
		struct pack_template *t = &p->tpl[order[r] + 1];

		t->rank = (uint16_t)(r + 1);
		n->cls[r] = new_name[t->cls];
		n->tpl[next[n->cls[r]]++] = (uint16_t)(order[r] + 1);
	}
}

static inline uint32_t template_word(const struct packer *p, uint32_t t, uint32_t w)
{
	return ((const uint32_t *)(p->arena + p->tpl[t].words))[w];
}

/* Makes words that are equal in all templates of class `k` (new number) CONST. */
static void find_constants(struct packer *p, const struct pack_numbering *n, uint32_t k)
{
	struct pack_class *c = &p->classes[n->used[k]];
	const uint16_t *tpl = n->tpl + n->first_tpl[k];
	uint32_t nr = n->first_tpl[k + 1] - n->first_tpl[k];

	for (uint32_t w = 0; w < c->words; w++) {
		uint32_t differ = 0;

		if (c->role[w] != FMT_ROLE_KEEP)
			continue;
		for (uint32_t i = 1; i < nr; i++)
			differ |= template_word(p, tpl[i], w) ^ template_word(p, tpl[0], w);
		if (!differ)
			c->role[w] = FMT_ROLE_CONST;
	}
}

static bool in_column(uint8_t role)
{
	return role == FMT_ROLE_KEEP || role == FMT_ROLE_VARY || role == FMT_ROLE_DIRECT;
}

static void make_names(struct packer *p, struct pack_numbering *n)
{
	uint32_t new_name[MAX_CLASSES];

	name_classes(p, n, new_name);
	rank_templates(p, n, new_name);
	n->nr_words = 0;
	for (uint32_t k = 1; k < n->nr_classes; k++) {
		const struct pack_class *c = &p->classes[n->used[k]];

		find_constants(p, n, k);
		for (uint32_t w = 0; w < c->words; w++)
			n->nr_words += in_column(c->role[w]);
	}
}

static void put_classes(struct packer *p, const struct pack_numbering *n, struct pack_streams *s)
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

		pack_streams_put(s, &f, sizeof(f));
	}
	for (uint32_t i = 1; i < n->nr_classes; i++)
		pack_streams_put(s, p->classes[n->used[i]].role, p->classes[n->used[i]].words);
}

/* The values of CONST and SIZE words, in the order of roles. */
static void put_constants(struct packer *p, const struct pack_numbering *n, struct pack_streams *s)
{
	for (uint32_t i = 1; i < n->nr_classes; i++) {
		const struct pack_class *c = &p->classes[n->used[i]];

		for (uint32_t w = 0; w < c->words; w++) {
			uint32_t v = (uint32_t)(c->key >> 32);

			if (c->role[w] == FMT_ROLE_CONST)
				v = template_word(p, n->tpl[n->first_tpl[i]], w);
			else if (c->role[w] != FMT_ROLE_SIZE)
				continue;
			pack_streams_put(s, &v, sizeof(v));
		}
	}
}

/* ---- streams ---- */

static void put_templates(struct packer *p, const struct pack_numbering *n, struct pack_streams *s)
{
	for (uint32_t i = 0; i < p->nr_runs; i++)
		p->misses[i] = p->tpl[p->misses[i]].rank;
	pack_streams_u32(s, p->runs, p->nr_runs);
	pack_streams_u32(s, p->misses, p->nr_runs);
	pack_streams_u32(s, p->tid_runs, p->nr_tid_runs);
	pack_streams_words(s, p->tids, p->tids, p->nr_tid_runs);
	pack_streams_u32(s, n->cls, n->nr_tpl);
}

/* Numbers the chains and converts the references to these numbers. */
static void number_chains(struct packer *p, const struct pack_numbering *n)
{
	struct pack_chains *ch = &p->chains;

	pack_chains_number_shared(ch);
	for (uint32_t k = 1; k < n->nr_classes; k++) {
		struct pack_class *c = &p->classes[n->used[k]];
		uint32_t *ref = p->chain_refs + c->first_time;

		for (uint32_t i = 0; i < c->nr_chains; i++) {
			if (ch->v[ref[i]].number == PACKCHAIN_NONE) {
				pack_chains_number_next(ch, ref[i]);
				ref[i] = 0;
			} else {
				ref[i] = ch->v[ref[i]].number + 1;
			}
		}
	}
	pack_chains_build(ch);
}

/* The addresses of nodes, predicted by the last one with the same parent address. */
static void put_frames(struct pack_chains *c, struct pack_streams *s)
{
	uint16_t below[PACKCHAIN_MAX_FRAMES + 1] = {0}; /* by address + 1: address + 1 */
	uint32_t runs[PACKCHAIN_MAX_FRAMES], misses[PACKCHAIN_MAX_FRAMES], nr = 0, run = 0;

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
	pack_streams_u32(s, runs, nr);
	pack_streams_u32(s, misses, nr);
}

static void put_chains(struct packer *p, struct pack_streams *s)
{
	struct pack_chains *c = &p->chains;
	uint64_t steps[PACKCHAIN_MAX_FRAMES], before = 0;

	pack_streams_u32(s, c->back, c->nr_numbers);
	pack_streams_u32(s, c->grown, c->nr_numbers);
	put_frames(c, s);
	for (uint32_t i = 0; i < c->nr_addrs; i++) {
		steps[i] = c->addrs[c->sorted[i]] - before;
		before = c->addrs[c->sorted[i]];
	}
	pack_streams_u64(s, steps, c->nr_addrs);
}

/* In the order of records: those of class 0, the bulk of others; then the tail. */
static void put_bulk(struct packer *p, struct pack_streams *s)
{
	uint8_t *start = s->at;

	for (uint32_t i = 0; i < p->nr_records; i++) {
		const struct pack_class *c = &p->classes[p->cls[i]];
		const uint8_t *rec = p->rec[i];

		if (!p->cls[i])
			pack_streams_put(s, rec, load64(rec) >> 48);
		else if (c->bulk_words)
			pack_streams_put(
				s,
				rec + c->bulk_at * 4u +
					(c->chain_at != FMT_PACK_NONE ? chain_bytes(p, rec) : 0),
				c->bulk_words * 4u);
	}
	pack_streams_put(s, p->tail.p, p->tail.len);
	pack_streams_end_stream(s, start);
}

static void put_keep_word(struct packer *p, const struct pack_numbering *n, uint32_t k, uint32_t w,
			  struct pack_streams *s)
{
	const uint16_t *tpl = n->tpl + n->first_tpl[k];
	uint32_t v[MAX_TEMPLATES], nr = n->first_tpl[k + 1] - n->first_tpl[k];

	for (uint32_t i = 0; i < nr; i++)
		v[i] = template_word(p, tpl[i], w);
	pack_streams_words(s, v, v, nr);
}

/* The streams of class `k` (new number). */
static void put_class(struct packer *p, const struct pack_numbering *n, uint32_t k,
		      struct pack_streams *s)
{
	struct pack_class *c = &p->classes[n->used[k]];
	uint32_t vary = 0, direct = c->nr_vary;

	pack_streams_u64(s, p->times + c->first_time, c->has_time ? c->kept : 0);
	pack_streams_u32(s, p->masks + c->first_time, c->kept);
	pack_streams_u32(s, p->chain_refs + c->first_time, c->nr_chains);
	for (uint32_t w = 0; w < c->words; w++) {
		uint32_t column, at;

		if (c->role[w] == FMT_ROLE_KEEP)
			put_keep_word(p, n, k, w, s);
		if (c->role[w] != FMT_ROLE_VARY && c->role[w] != FMT_ROLE_DIRECT)
			continue;
		column = c->role[w] == FMT_ROLE_VARY ? vary++ : direct++;
		at = c->first_value + column * c->nr;
		pack_streams_words(s, p->values + at, p->deltas + at, c->value[column].next - at);
	}
}

static void write_payload(struct packer *p, struct pack_streams *s, uint32_t content_bytes)
{
	struct pack_numbering n;
	struct fmt_pack f;

	make_names(p, &n);
	number_chains(p, &n);
	pack_streams_take(s, sizeof(f));
	put_classes(p, &n, s);
	put_constants(p, &n, s);
	f = (struct fmt_pack){
		.nr_records = p->nr_records,
		.content_bytes = content_bytes,
		.time_ns = p->time_ns,
		.first_tid = p->first_tid,
		.nr_classes = n.nr_classes,
		.nr_templates = n.nr_tpl,
		.nr_chains = p->chains.nr_numbers,
		.nr_shared = p->chains.nr_shared,
		.nr_addrs = p->chains.nr_addrs,
		.nr_streams =
			FMT_STREAM_CLASS + FMT_STREAM_CLASS_WORDS * (n.nr_classes - 1) + n.nr_words,
		.tail_bytes = (uint32_t)p->tail.len,
	};
	s->lengths = pack_streams_take(s, f.nr_streams * sizeof(uint32_t));
	if (s->full)
		return;
	put_templates(p, &n, s);
	put_chains(p, s);
	put_bulk(p, s);
	for (uint32_t i = 1; i < n.nr_classes && !s->full; i++)
		put_class(p, &n, i, s);
	memcpy(s->start, &f, sizeof(f));
}

int pack(struct packer *p, const struct record_layout *l, const struct bytes *pieces, int nr,
	 struct bytes *payload)
{
	struct pack_streams s = {.start = p->out, .at = p->out, .end = p->out + sizeof(p->out)};
	uint64_t total = 0;
	int rc;

	for (int i = 0; i < nr; i++) {
		if (pieces[i].len > PACK_RUN_BYTES - total)
			return -E2BIG;
		total += pieces[i].len;
	}
	pack_classes_layout(p, l);
	rc = pack_classes_sort(p, pieces, nr);
	if (rc)
		return -E2BIG;
	pack_classes_plan(p);
	pack_match(p);
	write_payload(p, &s, (uint32_t)total);
	if (s.full || (uint64_t)(s.at - s.start) > total)
		return -E2BIG;
	*payload = (struct bytes){s.start, (size_t)(s.at - s.start)};
	return 0;
}
