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
#define PTFLOW_MAX_STILL 4096u

/* Images of so many processes are kept for the next part. */
#define PTFLOW_NR_SPACES 16
#define PTFLOW_NR_FOUND	 16
#define PTFLOW_NR_SEEN	 64 /* a power of two */

struct ptflow_blocks;

/* The code of one process, as far as it was met. */
struct ptflow_space {
	uint32_t key;
	uint32_t serial;	 /* no other one of the bench ever had it */
	uint64_t from_ns, to_ns; /* when what is in it holds */
	struct pt_image *image;	 /* NULL: free */
	size_t nr_sections;
};

/* What one thread keeps from part to part. */
struct ptflow_bench {
	struct ptflow_bench *next;
	struct ptflow_space spaces[PTFLOW_NR_SPACES];
	size_t nr_used;
	uint32_t serial;
	struct ptflow_blocks *blocks; /* NULL: none yet */
	struct ptflow_work *work;     /* at it */
};

/* One part at work. */
struct ptflow_work {
	struct ptflow *f;
	const struct ptflow_input *in;
	struct ptflow_bench *bench;
	struct pt_config config;
	struct pt_query_decoder *query;
	struct pt_block_decoder *dec; /* NULL: nothing was rare yet */
	struct ptflow_steps *out;
	struct ptflow_who who;
	struct ptflow_space *space;		    /* who's; NULL: not known yet */
	struct ptflow_piece found[PTFLOW_NR_FOUND]; /* that are not in the image yet */
	size_t nr_found;
	uint64_t seen[PTFLOW_NR_SEEN]; /* pages that were told */
	uint64_t tsc, offset, border;  /* border: in bytes of the part, where the next one begins */
	size_t budget;		       /* steps that are left */
	uint64_t blocks, insns;	       /* likewise */
	uint64_t builds;	       /* likewise: blocks that may be looked at anew */
	uint64_t mark;		       /* the decoder's offset `still` blocks ago */
	unsigned int still;
	struct ptflow_step open; /* a call or return whose `to` comes next; .from 0: none */
	bool over, oom;
};

static inline uint64_t ptflow_to_ns(const struct ptflow_clock *c, uint64_t tsc)
{
	uint64_t rest = tsc & ((1ull << c->shift) - 1);

	return c->zero + (tsc >> c->shift) * c->mult + (rest * c->mult >> c->shift);
}

/* ---- pt_flow_code.c ---- */

/* From here on it is whoever runs at `ip`. */
void ptflow_choose(struct ptflow_work *w, uint64_t ip);
/* What was found meanwhile joins the image: libipt is quicker with sections. */
void ptflow_add_found(struct ptflow_work *w);
/* The flow is in the page of `address`; source.touch must be there. */
void ptflow_touch(struct ptflow_work *w, uint64_t address);
void ptflow_spaces_free(struct ptflow_bench *b);

/* ---- pt_flow_blocks.c ---- */

enum ptflow_block_kind {
	PTFLOW_BLOCK_STRAIGHT, /* it goes on behind it */
	PTFLOW_BLOCK_JUMP,     /* to `target`, as the next one */
	PTFLOW_BLOCK_CALL,
	/* The trace says where it goes on: these after those above. */
	PTFLOW_BLOCK_COND, /* to `target` or behind it */
	PTFLOW_BLOCK_RETURN,
	PTFLOW_BLOCK_IND_JUMP,
	PTFLOW_BLOCK_IND_CALL,
	PTFLOW_BLOCK_FAR,
	PTFLOW_BLOCK_FAR_RETURN,
};

/* Instructions up to the first that goes elsewhere, or not much further. */
struct ptflow_block {
	uint64_t ip, end_ip; /* of the first and the last one */
	uint64_t behind;     /* the last one */
	uint64_t target;
	/* Perhaps what comes next: [0] behind it, [1] elsewhere; NULL: not known. Ask
	 * ptflow_block_is(). */
	struct ptflow_block *next[2];
	uint32_t serial; /* of the space */
	uint32_t older;	 /* the next of the same hash, counted from 1; 0: none */
	uint8_t mode;	 /* enum pt_exec_mode */
	uint8_t kind;	 /* enum ptflow_block_kind */
};

static inline bool ptflow_block_is(const struct ptflow_block *b, uint32_t serial, uint64_t ip,
				   uint8_t mode)
{
	return b && b->ip == ip && b->serial == serial && b->mode == mode;
}

/* The block at `ip` in the code of w->space; NULL: it can't be told. Those of before may be others
 * after it, but they stay where they are until ptflow_blocks_free(). */
struct ptflow_block *ptflow_block_at(struct ptflow_work *w, uint64_t ip, uint8_t mode);
void ptflow_blocks_free(struct ptflow_blocks *b);

/* ---- pt_flow_walk.c ---- */

/*
 * From the PSB that w->query stands at, with what pt_qry_sync_set() said, to the border or the end
 * of the trace: then it returns 0. -EAGAIN: it met what is rare or wrong, and what it put doesn't
 * count.
 */
int ptflow_walk(struct ptflow_work *w, int status, uint64_t ip);

/* ---- pt_flow.c ---- */

void ptflow_put(struct ptflow_work *w, enum ptflow_kind kind, uint64_t from, uint64_t to);
/* `last_ip`: of the last instruction. */
void ptflow_on_event(struct ptflow_work *w, const struct pt_event *ev, uint64_t last_ip);
