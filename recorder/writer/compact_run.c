// SPDX-License-Identifier: MIT
/* Makes samples of compact records; see compact_run.h. Called by dump_workers.c. */
#include "recorder/writer/compact_run.h"

#include "dump/packed/pack.h"
#include "recorder/ledger/ledger.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NR_NAMES 1024u

struct compact_run {
	struct ledger *ledger;
	struct cached_name {
		uint32_t tid; /* 0: unused */
		struct ledger_name name;
	} names[NR_NAMES];
	uint8_t samples[PACK_RUN_BYTES];
};

struct compact_run *compact_run_new(struct ledger *l)
{
	struct compact_run *r = calloc(1, sizeof(*r));

	if (r)
		r->ledger = l;
	return r;
}

void compact_run_free(struct compact_run *r)
{
	free(r);
}

void compact_run_begin(struct compact_run *r)
{
	if (r)
		memset(r->names, 0, sizeof(r->names));
}

static const char *name_of(struct compact_run *r, uint32_t tid, uint64_t ns)
{
	struct cached_name *c = &r->names[tid % NR_NAMES];

	if (c->tid == tid && ns >= c->name.from_ns && ns < c->name.until_ns)
		return c->name.comm;
	c->tid = tid;
	if (!ledger_name_at(r->ledger, tid, ns, &c->name))
		c->name = (struct ledger_name){.comm = "<...>", .from_ns = ns, .until_ns = ns};
	return c->name.comm;
}

static void copy_name(struct compact_run *r, const struct banks *b, uint32_t tid, uint64_t ns,
		      char out[16])
{
	memset(out, 0, 16);
	if (tid)
		memcpy(out, name_of(r, tid, ns), 16);
	else
		snprintf(out, 16, "swapper/%d", b->cpu);
}

struct bytes compact_run_expand(struct compact_run *r, const struct banks *b,
				const struct banks_run *run)
{
	const struct compact_layout *layout = b->channel->compact;
	const struct ring *ring = run->ring;
	struct compact_reader reader = run->reader;
	uint64_t head = ring_head(ring), at = run->at, word;
	struct compact_event e;
	char comm[16], next[16] = "";
	uint32_t n = 0;

	while (n < run->bytes) {
		uint32_t bytes;

		ring_copy(ring, head, at, &word, sizeof(word));
		at += sizeof(word);
		if (compact_read(&reader, word, &e) <= 0)
			continue;
		bytes = compact_sample_bytes(layout, e.kind);
		assert(n + bytes <= run->bytes);
		copy_name(r, b, e.tid, e.ns, comm);
		if (e.kind == COMPACT_SWITCH)
			copy_name(r, b, e.next_tid, e.ns, next);
		compact_sample(layout, &e, comm, next, r->samples + n);
		n += bytes;
	}
	return (struct bytes){r->samples, n};
}
