/* SPDX-License-Identifier: MIT */
/*
 * State of a trace that is being decoded; private to pt_flow*.c. The only header that includes
 * libipt's.
 *
 *	pt_flow.c         parts, from PSB to PSB; decodes rare cases with libipt's block decoder
 *	pt_flow_walk.c    decodes the rest: libipt's packets and events, through cached blocks
 *	pt_flow_blocks.c  the cached blocks
 *	pt_flow_code.c    the code, in the form that libipt needs
 */
#pragma once

#include "dump/view/pt/pt_flow.h"

#include <intel-pt.h>

/* More calls without a conditional branch or a return in between are not real. */
#define PT_FLOW_MAX_STILL 4096u

/* Number of processes with images that are kept for the next part. */
#define PT_FLOW_NR_SPACES 16
#define PT_FLOW_NR_FOUND  16
#define PT_FLOW_NR_SEEN	  64 /* a power of two */

struct pt_flow_blocks;

/* The code of one process, as far as it was looked up. */
struct pt_flow_space {
	uint32_t key;
	uint32_t serial;	 /* unique within the bench, over its whole life */
	uint64_t from_ns, to_ns; /* the time for which the code is valid */
	struct pt_image *image;	 /* NULL: free */
	size_t nr_sections;
};

/* The state that one thread keeps between parts. */
struct pt_flow_bench {
	struct pt_flow_bench *next;
	struct pt_flow_space spaces[PT_FLOW_NR_SPACES];
	size_t nr_used;
	uint32_t serial;
	struct pt_flow_blocks *blocks; /* NULL: none yet */
	struct pt_flow_work *work;     /* the current part */
};

/* A part that is being decoded. */
struct pt_flow_work {
	struct pt_flow *f;
	const struct pt_flow_input *in;
	struct pt_flow_bench *bench;
	struct pt_config config;
	struct pt_query_decoder *query;
	struct pt_block_decoder *dec; /* NULL: no rare case yet */
	struct pt_flow_steps *out;
	struct pt_flow_who who;
	struct pt_flow_space *space;		      /* of the current process; NULL: unknown */
	struct pt_flow_piece found[PT_FLOW_NR_FOUND]; /* pieces that are not in the image yet */
	size_t nr_found;
	uint64_t seen[PT_FLOW_NR_SEEN]; /* pages already reported to touch() */
	uint64_t tsc, offset, border;	/* border: offset in the part where the next one begins */
	size_t budget;			/* steps left */
	uint64_t blocks, insns;		/* likewise */
	uint64_t builds;		/* likewise: blocks that may be built */
	uint64_t mark;			/* the decoder's offset `still` blocks ago */
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

/* The thread that runs at `ip` is the current one from here on. */
void pt_flow_choose(struct pt_flow_work *w, uint64_t ip);
/* Adds the pieces found since to the image: libipt is faster with sections. */
void pt_flow_add_found(struct pt_flow_work *w);
/* Reports the page of `address` to source.touch, which must not be NULL. */
void pt_flow_touch(struct pt_flow_work *w, uint64_t address);
void pt_flow_spaces_free(struct pt_flow_bench *b);

/* ---- pt_flow_blocks.c ---- */

enum pt_flow_block_kind {
	PT_FLOW_BLOCK_STRAIGHT, /* continues at the next instruction */
	PT_FLOW_BLOCK_JUMP,	/* to `target`, as the next kind does */
	PT_FLOW_BLOCK_CALL,
	/* The trace decides where these continue; keep them after the kinds above. */
	PT_FLOW_BLOCK_COND, /* to `target` or to the next instruction */
	PT_FLOW_BLOCK_RETURN,
	PT_FLOW_BLOCK_IND_JUMP,
	PT_FLOW_BLOCK_IND_CALL,
	PT_FLOW_BLOCK_FAR,
	PT_FLOW_BLOCK_FAR_RETURN,
};

/* Instructions up to the first branch, with a limit on their number. */
struct pt_flow_block {
	uint64_t ip, end_ip; /* of the first and the last one */
	uint64_t behind;     /* the address after the last one */
	uint64_t target;
	/* Candidates for the next block: [0] after this one, [1] elsewhere; NULL: unknown. Verify
	 * with pt_flow_block_is(). */
	struct pt_flow_block *next[2];
	uint32_t serial; /* serial of the space */
	uint32_t older;	 /* the next in the hash chain, index + 1; 0: none */
	uint8_t mode;	 /* enum pt_exec_mode */
	uint8_t kind;	 /* enum pt_flow_block_kind */
};

static inline bool pt_flow_block_is(const struct pt_flow_block *b, uint32_t serial, uint64_t ip,
				    uint8_t mode)
{
	return b && b->ip == ip && b->serial == serial && b->mode == mode;
}

/* The block at `ip` in the code of w->space; NULL: none can be built. The call may give blocks
 * returned earlier other contents, but they stay at their address until pt_flow_blocks_free(). */
struct pt_flow_block *pt_flow_block_at(struct pt_flow_work *w, uint64_t ip, uint8_t mode);
void pt_flow_blocks_free(struct pt_flow_blocks *b);

/* ---- pt_flow_walk.c ---- */

/*
 * Decodes from the PSB at which w->query stands (`status`, `ip`: as from pt_qry_sync_set()) to the
 * border or the end of the trace, and returns 0. -EAGAIN: met a rare case or an error; the steps
 * added are invalid.
 */
int pt_flow_walk(struct pt_flow_work *w, int status, uint64_t ip);

/* ---- pt_flow.c ---- */

void pt_flow_put(struct pt_flow_work *w, enum pt_flow_kind kind, uint64_t from, uint64_t to);
/* `last_ip`: address of the last instruction. */
void pt_flow_on_event(struct pt_flow_work *w, const struct pt_event *ev, uint64_t last_ip);
