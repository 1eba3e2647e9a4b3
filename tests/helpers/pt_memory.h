/* SPDX-License-Identifier: MIT */
/* The known code of one process, as a source for pt_flow.h. */
#pragma once

#include "dump/view/pt/pt_flow.h"

#include <assert.h>
#include <stdlib.h>

#define PT_MEMORY_MAX (1ull << 30)

struct pt_memory {
	struct pt_store *store;
	struct pt_flow_piece *pieces;
	size_t nr;
};

static inline struct pt_memory *pt_memory_new(void)
{
	struct pt_memory *m = calloc(1, sizeof(*m));
	int rc = m ? pt_store_new(PT_MEMORY_MAX, &m->store, NULL) : -1;

	assert(!rc);
	return m;
}

static inline void pt_memory_free(struct pt_memory *m)
{
	pt_store_free(m->store);
	free(m->pieces);
	free(m);
}

/* Copies `code`. Where pieces overlap the last one counts. A few large pieces are faster than
 * many. */
static inline void pt_memory_add(struct pt_memory *m, uint64_t address, struct bytes code)
{
	struct pt_flow_piece p = {.address = address, .bytes = code.len, .to_ns = UINT64_MAX};
	int rc = pt_store_put(m->store, code, &p.at, NULL);

	m->pieces = reallocarray(m->pieces, m->nr + 1, sizeof(*m->pieces));
	assert(!rc && m->pieces && span_fits(address, code.len, UINT64_MAX));
	m->pieces[m->nr++] = p;
}

static inline void pt_memory_who(void *ctx, uint64_t ip, struct pt_flow_who *out)
{
}

/* Clips a piece to the range around `address` that no later piece covers. */
static inline void pt_memory_clip(const struct pt_memory *m, size_t i, uint64_t address,
				  struct pt_flow_piece *p)
{
	for (size_t k = i + 1; k < m->nr; k++) {
		uint64_t from = m->pieces[k].address, to = from + m->pieces[k].bytes;
		uint64_t end = p->address + p->bytes;

		if (from > address && from < end)
			p->bytes = from - p->address;
		if (to <= address && to > p->address) {
			p->at += to - p->address;
			p->bytes -= to - p->address;
			p->address = to;
		}
	}
}

static inline bool pt_memory_find(void *ctx, const struct pt_flow_who *w, uint64_t address,
				  struct pt_flow_piece *out)
{
	const struct pt_memory *m = ctx;

	for (size_t i = m->nr; i-- > 0;) {
		const struct pt_flow_piece *p = &m->pieces[i];

		if (address < p->address || address - p->address >= p->bytes)
			continue;
		*out = *p;
		pt_memory_clip(m, i, address, out);
		return true;
	}
	return false;
}

/* Call it after the last piece; threads may share the source. Valid as long as `m`. */
static inline struct pt_flow_source pt_memory_source(struct pt_memory *m)
{
	return (struct pt_flow_source){
		.store = m->store, .who = pt_memory_who, .find = pt_memory_find, .ctx = m};
}
