// SPDX-License-Identifier: MIT
/*
 * Second pass of the packer: gives each record a template and collects, in the columns of its
 * class, what the template does not tell.
 *
 * Mostly a record's template is the one that followed the last record's template before, so that is
 * tried first; then the one that its class had last; then all, by hash.
 */
#include "dump/pack_impl.h"

#define INDEX_MASK (4 * MAX_TEMPLATES - 1)

/* A record as its class sees it: words before the chain, words behind it, words behind the bulk. */
struct view {
	const uint8_t *rec;
	uint32_t chain;	  /* bytes */
	uint32_t part[4]; /* where each of the three begins, in words of 8 bytes; and the end */
	uint32_t off[3];  /* bytes to add to a word's place in each */
};

static void view_init(const struct packer *p, const struct pack_class *c, const uint8_t *rec,
		      struct view *v)
{
	uint32_t words = c->words / 2;

	v->rec = rec;
	v->chain = c->chain_at != FMT_PACK_NONE ? chain_bytes(p, rec) : 0;
	v->part[0] = 0;
	v->part[1] = c->chain_at != FMT_PACK_NONE ? c->chain_at / 2u : words;
	v->part[2] = c->bulk_at != FMT_PACK_NONE ? c->bulk_at / 2u : words;
	v->part[3] = words;
	if (v->part[1] > v->part[2])
		v->part[1] = v->part[2];
	v->off[0] = 0;
	v->off[1] = v->chain;
	v->off[2] = v->chain + c->bulk_words * 4u;
}

/* Whether all words that a template keeps are as in `tpl`. */
static inline bool matches(const struct pack_class *c, const struct view *v, const uint64_t *tpl)
{
	uint64_t differ = 0;

	for (int k = 0; k < 3; k++) {
		const uint8_t *at = v->rec + v->off[k];

		for (uint32_t w = v->part[k]; w < v->part[k + 1]; w++)
			differ |= (load64(at + w * 8) ^ tpl[w]) & c->keep[w];
	}
	return !differ;
}

static uint64_t hash_of(const struct pack_class *c, const struct view *v, uint64_t seed)
{
	uint64_t h = seed;

	for (int k = 0; k < 3; k++) {
		const uint8_t *at = v->rec + v->off[k];

		for (uint32_t w = v->part[k]; w < v->part[k + 1]; w++) {
			if (!c->keep[w])
				continue;
			h = (h ^ (load64(at + w * 8) & c->keep[w])) * 0x9e3779b97f4a7c15u;
			h ^= h >> 29;
		}
	}
	return h;
}

/* A new template from a record. What may vary is taken to have been 0 before. 0: no more room. */
static uint32_t add_template(struct packer *p, uint16_t cls, const struct view *v, uint64_t hash)
{
	const struct pack_class *c = &p->classes[cls];
	uint32_t words = c->words / 2u;
	uint64_t *to = p->arena + p->arena_used;

	if (p->nr_tpl == MAX_TEMPLATES || words > ARENA_WORDS - p->arena_used)
		return 0;
	for (int k = 0; k < 3; k++)
		for (uint32_t w = v->part[k]; w < v->part[k + 1]; w++)
			to[w] = load64(v->rec + v->off[k] + w * 8) & c->keep[w];
	p->tpl[p->nr_tpl] = (struct template){
		.words = p->arena_used, .chain = CHAIN_NONE, .cls = cls, .hash = hash};
	p->arena_used += words;
	return p->nr_tpl++;
}

static uint32_t find_template(struct packer *p, uint16_t cls, const struct view *v)
{
	const struct pack_class *c = &p->classes[cls];
	uint64_t hash = hash_of(c, v, cls);
	uint32_t at = (uint32_t)hash & INDEX_MASK, t;

	for (; (t = p->tpl_index[at]); at = (at + 1) & INDEX_MASK)
		if (p->tpl[t].hash == hash && p->tpl[t].cls == cls &&
		    matches(c, v, p->arena + p->tpl[t].words))
			return t;
	t = add_template(p, cls, v, hash);
	p->tpl_index[at] = (uint16_t)t;
	return t;
}

static inline uint32_t template_of(struct packer *p, uint16_t cls, const struct view *v,
				   uint32_t expected)
{
	struct pack_class *c = &p->classes[cls];

	if (expected && p->tpl[expected].cls == cls &&
	    matches(c, v, p->arena + p->tpl[expected].words))
		return expected;
	if (c->recent && c->recent != expected && matches(c, v, p->arena + p->tpl[c->recent].words))
		return c->recent;
	return find_template(p, cls, v);
}

/* Where word `w` of a record is. */
static inline const uint8_t *place_of(const struct pack_class *c, const struct view *v, uint32_t w)
{
	return v->rec + w * 4 + (w >= c->bulk_at ? v->off[2] : w >= c->chain_at ? v->off[1] : 0);
}

/* What the roles TID and PREV claim. */
static inline bool threads_agree(const struct pack_class *c, const struct view *v, uint32_t tid,
				 uint32_t prev)
{
	for (unsigned i = 0; i < c->nr_same; i++)
		if (load32(place_of(c, v, c->same_at[i])) != tid)
			return false;
	for (unsigned i = 0; i < c->nr_prev; i++)
		if (load32(place_of(c, v, c->prev_at[i])) != prev)
			return false;
	return true;
}

/* 0 -1 1 -2 2 become 0 1 2 3 4. */
static inline uint32_t fold(uint32_t d)
{
	return d << 1 ^ (uint32_t)((int32_t)d >> 31);
}

static inline void add_value(struct packer *p, struct pack_class *c, uint32_t column,
			     uint32_t value, uint32_t before)
{
	uint32_t at = c->first_value + column * c->nr + c->nr_values[column]++;

	p->values[at] = value;
	p->deltas[at] = fold(value - before);
}

/* Whether a VARY word of the record is not as in the template's record before. */
static inline bool varies(const struct pack_class *c, const struct view *v, const uint64_t *tpl)
{
	uint64_t differ = 0;

	for (int k = 0; k < 3; k++) {
		const uint8_t *at = v->rec + v->off[k];

		for (uint32_t w = v->part[k]; w < v->part[k + 1]; w++)
			differ |= (load64(at + w * 8) ^ tpl[w]) & c->vary[w];
	}
	return differ;
}

/* The words of a record that are not in its template; returns which of VARY were. */
static inline uint32_t collect_words(struct packer *p, struct pack_class *c, const struct view *v,
				     uint32_t *tpl)
{
	uint32_t mask = 0, nr = c->nr_vary;

	if (nr && !varies(c, v, (const uint64_t *)tpl))
		nr = 0;
	for (unsigned i = 0; i < nr; i++) {
		uint32_t w = c->vary_at[i], value = load32(place_of(c, v, w));

		if (value == tpl[w])
			continue;
		mask |= 1u << i;
		add_value(p, c, i, value, tpl[w]);
		tpl[w] = value;
	}
	for (unsigned i = 0; i < c->nr_direct; i++) {
		uint32_t w = c->direct_at[i], value = load32(place_of(c, v, w));

		add_value(p, c, c->nr_vary + i, value, tpl[w]);
		tpl[w] = value;
	}
	return mask;
}

/* What goes from record to record. */
struct flow {
	uint32_t tpl; /* the last one's template */
	uint32_t run; /* how many were as expected since the last that was not */
	uint32_t tid, tid_run;
	uint64_t time_ns;
};

static void note_template(struct packer *p, struct flow *f, uint32_t t)
{
	if (p->tpl[f->tpl].succ == t) {
		f->run++;
	} else {
		p->runs[p->nr_runs] = f->run;
		p->misses[p->nr_runs++] = t;
		p->tpl[f->tpl].succ = t;
		f->run = 0;
	}
	p->tpl[t].nr++;
	f->tpl = t;
}

static inline uint32_t *succ_of(struct packer *p, uint32_t tid)
{
	return &p->tid_succ[tid % FMT_PACK_THREADS];
}

static inline void note_tid(struct packer *p, const struct pack_class *c, struct flow *f,
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

static inline void note_time(struct packer *p, struct pack_class *c, struct flow *f,
			     const struct view *v)
{
	uint64_t ns = load64(place_of(c, v, c->time_at));

	p->times[c->first_time + c->kept] = f->time_ns - ns;
	f->time_ns = ns;
}

/* The chain of a record; false when there is no room for it. */
static inline bool find_chain(struct packer *p, const struct view *v, uint32_t expected,
			      uint32_t *chain)
{
	const uint8_t *ips = v->rec + p->rest_off;
	uint32_t nr = v->chain / 8;

	*chain = chains_is(&p->chains, expected, ips, nr) ? expected
							  : chains_add(&p->chains, ips, nr);
	return *chain != CHAIN_NONE;
}

/* A record of a class; false: it has to be kept as it is. */
static inline bool match(struct packer *p, uint32_t i, uint16_t cls, struct flow *f)
{
	struct pack_class *c = &p->classes[cls];
	uint32_t t, tid = 0, chain = 0, mask;
	struct view v;

	view_init(p, c, p->rec[i], &v);
	if (c->has_tid) {
		tid = load32(place_of(c, &v, c->tid_at));
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
	c->recent = t;
	return true;
}

/* The thread before the first record: such that a PREV in it is right. */
static uint32_t thread_before(const struct packer *p)
{
	for (uint32_t i = 0; i < p->nr_records; i++) {
		const struct pack_class *c = &p->classes[p->cls[i]];
		struct view v;

		if (!c->words || !c->has_tid)
			continue;
		view_init(p, c, p->rec[i], &v);
		return load32(place_of(c, &v, c->nr_prev ? c->prev_at[0] : c->tid_at));
	}
	return 0;
}

static uint64_t first_time(const struct packer *p)
{
	for (uint32_t i = 0; i < p->nr_records; i++) {
		const struct pack_class *c = &p->classes[p->cls[i]];
		struct view v;

		if (!c->words || !c->has_time)
			continue;
		view_init(p, c, p->rec[i], &v);
		return load64(place_of(c, &v, c->time_at));
	}
	return 0;
}

void packmatch(struct packer *p)
{
	struct flow f = {0};

	memset(p->tpl_index, 0, sizeof(p->tpl_index));
	memset(p->tid_succ, 0, sizeof(p->tid_succ));
	chains_clear(&p->chains);
	p->tpl[0] = (struct template){0};
	p->nr_tpl = 1;
	p->arena_used = 0;
	p->nr_runs = p->nr_tid_runs = 0;
	p->raw_bytes = 0;
	p->time_ns = f.time_ns = first_time(p);
	p->first_tid = f.tid = thread_before(p);
	for (uint32_t i = 0; i < p->nr_records; i++) {
		uint16_t cls = p->cls[i];

		if (p->classes[cls].words && match(p, i, cls, &f))
			continue;
		p->cls[i] = 0;
		p->raw_bytes += load64(p->rec[i]) >> 48;
		note_template(p, &f, 0);
	}
}
