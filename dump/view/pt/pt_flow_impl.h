/* SPDX-License-Identifier: MIT */
/*
 * What a trace at work is; private to ptflow*.c. The only place that knows libipt's header.
 *
 *	pt_flow.c         parts, from PSB to PSB; what is rare goes block by block as libipt has it
 *	pt_flow_walk.c    what is not: libipt's packets and events, and a way through known blocks
 *	pt_flow_blocks.c  these blocks
 *	pt_flow_code.c    the code, as libipt wants it
 */
#pragma once

#include "dump/view/pt/pt_flow.h"

#include <intel-pt.h>

/* Nothing real calls so often without a conditional branch or a return in between. */
#define PT_FLOW_MAX_STILL 4096u

/* Images of so many processes are kept for the next part. */
#define PT_FLOW_NR_SPACES 16
#define PT_FLOW_NR_FOUND  16
#define PT_FLOW_NR_SEEN	  64 /* a power of two */

struct pt_flow_blocks;

/* The code of one process, as far as it was met. */
struct pt_flow_space {
	uint32_t key;
	uint32_t serial;	 /* no other one of the bench ever had it */
	uint64_t from_ns, to_ns; /* when what is in it holds */
	struct pt_image *image;	 /* NULL: free */
	size_t nr_sections;
};

/* What one thread keeps from part to part. */
struct pt_flow_bench {
	struct pt_flow_bench *next;
	struct pt_flow_space spaces[PT_FLOW_NR_SPACES];
	size_t nr_used;
	uint32_t serial;
	struct pt_flow_blocks *blocks; /* NULL: none yet */
	struct pt_flow_work *work;     /* at it */
};

/* One part at work. */
struct pt_flow_work {
	struct pt_flow *f;
	const struct pt_flow_input *in;
	struct pt_flow_bench *bench;
	struct pt_config config;
	struct pt_query_decoder *query;
	struct pt_block_decoder *dec; /* NULL: nothing was rare yet */
	struct pt_flow_steps *out;
	struct pt_flow_who who;
	struct pt_flow_space *space;		      /* who's; NULL: not known yet */
	struct pt_flow_piece found[PT_FLOW_NR_FOUND]; /* that are not in the image yet */
	size_t nr_found;
	uint64_t seen[PT_FLOW_NR_SEEN]; /* pages that were told */
	uint64_t tsc, offset, border; /* border: in bytes of the part, where the next one begins */
	size_t budget;		      /* steps that are left */
	uint64_t blocks, insns;	      /* likewise */
	uint64_t builds;	      /* likewise: blocks that may be looked at anew */
	uint64_t mark;		      /* the decoder's offset `still` blocks ago */
	unsigned int still;
	struct pt_flow_step open; /* a call or return whose `to` comes next; .from 0: none */
	bool over, oom;
};

static inline uint64_t pt_flow_to_ns(const struct pt_flow_clock *c, uint64_t tsc)
{
	uint64_t rest = tsc & ((1ull << c->shift) - 1);

	return c->zero + (tsc >> c->shift) * c->mult + (rest * c->mult >> c->shift);
}

/* ---- pt_flow_code.c ---- */

/* From here on it is whoever runs at `ip`. */
void pt_flow_choose(struct pt_flow_work *w, uint64_t ip);
/* What was found meanwhile joins the image: libipt is quicker with sections. */
void pt_flow_add_found(struct pt_flow_work *w);
/* The flow is in the page of `address`; source.touch must be there. */
void pt_flow_touch(struct pt_flow_work *w, uint64_t address);
void pt_flow_spaces_free(struct pt_flow_bench *b);

/* ---- pt_flow_blocks.c ---- */

enum pt_flow_block_kind {
	PT_FLOW_BLOCK_STRAIGHT, /* it goes on behind it */
	PT_FLOW_BLOCK_JUMP,	/* to `target`, as the next one */
	PT_FLOW_BLOCK_CALL,
	/* The trace says where it goes on: these after those above. */
	PT_FLOW_BLOCK_COND, /* to `target` or behind it */
	PT_FLOW_BLOCK_RETURN,
	PT_FLOW_BLOCK_IND_JUMP,
	PT_FLOW_BLOCK_IND_CALL,
	PT_FLOW_BLOCK_FAR,
	PT_FLOW_BLOCK_FAR_RETURN,
};

/* Instructions up to the first that goes elsewhere, or not much further. */
struct pt_flow_block {
	uint64_t ip, end_ip; /* of the first and the last one */
	uint64_t behind;     /* the last one */
	uint64_t target;
	/* Perhaps what comes next: [0] behind it, [1] elsewhere; NULL: not known. Ask
	 * pt_flow_block_is(). */
	struct pt_flow_block *next[2];
	uint32_t serial; /* of the space */
	uint32_t older;	 /* the next of the same hash, counted from 1; 0: none */
	uint8_t mode;	 /* enum pt_exec_mode */
	uint8_t kind;	 /* enum pt_flow_block_kind */
};

static inline bool pt_flow_block_is(const struct pt_flow_block *b, uint32_t serial, uint64_t ip,
				    uint8_t mode)
{
	return b && b->ip == ip && b->serial == serial && b->mode == mode;
}

/* The block at `ip` in the code of w->space; NULL: it can't be told. Those of before may be others
 * after it, but they stay where they are until pt_flow_blocks_free(). */
struct pt_flow_block *pt_flow_block_at(struct pt_flow_work *w, uint64_t ip, uint8_t mode);
void pt_flow_blocks_free(struct pt_flow_blocks *b);

/* ---- pt_flow_walk.c ---- */

/*
 * From the PSB that w->query stands at, with what pt_qry_sync_set() said, to the border or the end
 * of the trace: then it returns 0. -EAGAIN: it met what is rare or wrong, and what it put doesn't
 * count.
 */
int pt_flow_walk(struct pt_flow_work *w, int status, uint64_t ip);

/* ---- pt_flow.c ---- */

void pt_flow_put(struct pt_flow_work *w, enum pt_flow_kind kind, uint64_t from, uint64_t to);
/* `last_ip`: of the last instruction. */
void pt_flow_on_event(struct pt_flow_work *w, const struct pt_event *ev, uint64_t last_ip);
