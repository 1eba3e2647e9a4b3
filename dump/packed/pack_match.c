// SPDX-License-Identifier: MIT
/*
 * Second pass of the packer: assigns a template to each record and collects values that are not in
 * the template in the columns of its class.
 *
 * The predicted template, the one that last followed the previous record's template, is usually
 * correct and is tried first.
 */
#include "dump/packed/pack_impl.h"

/* ---- state from record to record ---- */

struct match_state {
	uint32_t tpl; /* the previous record's template */
	uint32_t run; /* correct predictions since the last wrong one */
	uint32_t tid, tid_run;
	uint64_t time_ns;
};

/* Verifies the roles TID and PREV. */
static inline bool threads_agree(const struct pack_class *c, const struct pack_view *v,
				 uint32_t tid, uint32_t prev)
{
	uint32_t differ = 0;

	for (unsigned i = 0; i < c->nr_same; i++)
		differ |= at32(v, c->same[i]) ^ tid;
	for (unsigned i = 0; i < c->nr_prev; i++)
		differ |= at32(v, c->prev[i]) ^ prev;
	return !differ;
}

static inline uint32_t template_of(struct packer *p, uint32_t cls, const struct pack_view *v,
				   uint32_t expected)
{
	const struct pack_template *t = &p->tpl[expected];

	if (t->cls == cls && pack_template_is(p, &p->classes[cls], v, t))
		return expected;
	return pack_template_find(p, cls, v);
}

static inline void note_template(struct packer *p, struct match_state *f, uint32_t t)
{
	uint16_t *succ = &p->tpl[f->tpl].succ;

	if (*succ == t) {
		f->run++;
	} else {
		p->runs[p->nr_runs] = f->run;
		p->misses[p->nr_runs++] = t;
		*succ = (uint16_t)t;
		f->run = 0;
	}
	p->tpl[t].nr++;
	f->tpl = t;
}

static inline uint32_t *succ_of(struct packer *p, uint32_t tid)
{
	return &p->tid_succ[tid % FMT_PACK_THREADS];
}

static inline void note_tid(struct packer *p, const struct pack_class *c, struct match_state *f,
			    uint32_t tid)
{
	uint32_t expected = c->changes ? *succ_of(p, f->tid) : f->tid;

	if (tid == expected) {
		f->tid_run++;
	} else {
		p->tid_runs[p->nr_tid_runs] = f->tid_run;
		p->tids[p->nr_tid_runs++] = tid;
		f->tid_run = 0;
	}
	if (c->changes)
		*succ_of(p, f->tid) = tid;
	f->tid = tid;
}

static inline void note_time(struct packer *p, struct pack_class *c, struct match_state *f,
			     const struct pack_view *v)
{
	uint64_t ns = at64(v, c->time);

	p->times[c->first_time + c->kept] = f->time_ns - ns;
	f->time_ns = ns;
}

/* ---- words that are not in the template ---- */

/* Zigzag: 0 -1 1 -2 2 become 0 1 2 3 4. */
static inline uint32_t fold(uint32_t d)
{
	return d << 1 ^ (uint32_t)((int32_t)d >> 31);
}

/* Stores the word and returns whether it changed; if not, the caller may drop it. */
static inline uint32_t put_value(struct packer *p, const struct pack_value *k,
				 const struct pack_view *v, uint32_t *tpl)
{
	uint32_t value = at32(v, k->place), before = tpl[k->place.at / 4];

	p->values[k->next] = value;
	p->deltas[k->next] = fold(value - before);
	tpl[k->place.at / 4] = value;
	return value != before;
}

/* Returns the mask of the VARY words that changed. Without branches, since they are unpredictable. */
static inline uint32_t collect_words(struct packer *p, struct pack_class *c,
				     const struct pack_view *v, uint32_t *tpl)
{
	uint32_t mask = 0, i;

	for (i = 0; i < c->nr_vary; i++) {
		uint32_t other = put_value(p, &c->value[i], v, tpl);

		c->value[i].next += other;
		mask |= other << i;
	}
	for (; i < c->nr_values; i++) {
		put_value(p, &c->value[i], v, tpl);
		c->value[i].next++;
	}
	return mask;
}

/* Finds or adds the chain of a record; false: no room. */
static inline bool find_chain(struct packer *p, const struct pack_view *v, uint32_t expected,
			      uint32_t *chain)
{
	const uint8_t *ips = v->base[0] + p->rest_off;
	uint32_t nr = v->chain / 8;

	*chain = pack_chains_is(&p->chains, expected, ips, nr)
			 ? expected
			 : pack_chains_add(&p->chains, ips, nr);
	return *chain != PACKCHAIN_NONE;
}

/* False: the record goes to class 0. */
static inline bool match(struct packer *p, uint32_t i, uint32_t cls, struct match_state *f)
{
	struct pack_class *c = &p->classes[cls];
	uint32_t t, tid = 0, chain = 0, mask;
	struct pack_view v;

	view_init(p, c, p->rec[i], &v);
	if (c->has_tid) {
		tid = at32(&v, c->tid);
		if (!threads_agree(c, &v, tid, f->tid))
			return false;
	}
	t = template_of(p, cls, &v, p->tpl[f->tpl].succ);
	if (!t)
		return false;
	if (c->chain_at != FMT_PACK_NONE && !find_chain(p, &v, p->tpl[t].chain, &chain))
		return false;
	note_template(p, f, t);
	if (c->has_tid)
		note_tid(p, c, f, tid);
	if (c->has_time)
		note_time(p, c, f, &v);
	mask = collect_words(p, c, &v, (uint32_t *)(p->arena + p->tpl[t].words));
	if (c->chain_at != FMT_PACK_NONE && chain != p->tpl[t].chain) {
		mask |= 1u << c->nr_vary;
		p->chain_refs[c->first_time + c->nr_chains++] = chain;
		p->chains.v[chain].refs++;
		p->tpl[t].chain = chain;
	}
	p->masks[c->first_time + c->kept++] = mask;
	return true;
}

/* The thread before the first record, chosen so that its PREV words are correct. */
static uint32_t thread_before(const struct packer *p)
{
	for (uint32_t i = 0; i < p->nr_records; i++) {
		const struct pack_class *c = &p->classes[p->cls[i]];
		struct pack_view v;

		if (!c->words || !c->has_tid)
			continue;
		view_init(p, c, p->rec[i], &v);
		return at32(&v, c->nr_prev ? c->prev[0] : c->tid);
	}
	return 0;
}

static uint64_t first_time(const struct packer *p)
{
	for (uint32_t i = 0; i < p->nr_records; i++) {
		const struct pack_class *c = &p->classes[p->cls[i]];
		struct pack_view v;

		if (!c->words || !c->has_time)
			continue;
		view_init(p, c, p->rec[i], &v);
		return at64(&v, c->time);
	}
	return 0;
}

void pack_match(struct packer *p)
{
	struct match_state f = {0};

	memset(p->tid_succ, 0, sizeof(p->tid_succ));
	pack_chains_clear(&p->chains);
	pack_template_clear(p);
	p->nr_runs = p->nr_tid_runs = 0;
	p->time_ns = f.time_ns = first_time(p);
	p->first_tid = f.tid = thread_before(p);
	for (uint32_t i = 0; i < p->nr_records; i++) {
		uint32_t cls = p->cls[i];

		if (p->classes[cls].words && match(p, i, cls, &f))
			continue;
		p->cls[i] = 0;
		note_template(p, &f, 0);
	}
}
