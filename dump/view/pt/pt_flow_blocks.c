// SPDX-License-Identifier: MIT
/*
 * Cached blocks of instructions, per thread; see pt_flow_impl.h. libipt decodes the instructions
 * and their targets, once per block: it gets a made-up trace that starts at the block and continues
 * with a taken branch.
 */
#include "dump/view/pt/pt_flow_impl.h"

#include "dump/base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Both are powers of two. One second of a real program's trace has some thousands of blocks. */
#define MIN_BLOCKS 64u
#define MAX_BLOCKS 16384u
/* Bounds the work per block. */
#define MAX_INSNS 32u
/* PSB, MODE.Exec, FUP, PSBEND, TNT. */
#define TRACE_BYTES (16 + 2 + 9 + 2 + 1)

struct pt_flow_blocks {
	uint8_t trace[TRACE_BYTES];
	struct pt_encoder *enc; /* encoder of `trace` */
	struct pt_insn_decoder *dec;
	struct pt_flow_block *v;
	uint32_t *heads; /* newest block per hash, index + 1; as many as blocks */
	uint32_t nr, cap;
};

static struct pt_flow_blocks *blocks_new(size_t max)
{
	struct pt_flow_blocks *b = calloc(1, sizeof(*b));
	struct pt_config config;

	if (!b)
		return NULL;
	for (b->cap = MAX_BLOCKS; max && b->cap > max && b->cap > MIN_BLOCKS; b->cap /= 2)
		;
	pt_config_init(&config);
	config.begin = b->trace;
	config.end = b->trace + sizeof(b->trace);
	b->enc = pt_alloc_encoder(&config);
	b->dec = pt_insn_alloc_decoder(&config);
	b->v = calloc(b->cap, sizeof(*b->v));
	b->heads = calloc(b->cap, sizeof(*b->heads));
	if (!b->enc || !b->dec || !b->v || !b->heads) {
		pt_flow_blocks_free(b);
		return NULL;
	}
	return b;
}

void pt_flow_blocks_free(struct pt_flow_blocks *b)
{
	if (!b)
		return;
	pt_free_encoder(b->enc);
	pt_insn_free_decoder(b->dec);
	free(b->v);
	free(b->heads);
	free(b);
}

static bool write_trace(struct pt_flow_blocks *b, uint64_t ip, enum pt_exec_mode mode)
{
	const struct pt_packet packets[] = {
		{.type = ppt_psb},
		{.type = ppt_mode, .payload.mode.bits.exec = pt_set_exec_mode(mode)},
		{.type = ppt_fup, .payload.ip = {.ipc = pt_ipc_full, .ip = ip}},
		{.type = ppt_psbend},
		{.type = ppt_tnt_8, .payload.tnt = {.bit_size = 1, .payload = 1}},
	};
	int rc = pt_enc_sync_set(b->enc, 0);

	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]) && rc >= 0; i++)
		rc = pt_enc_next(b->enc, &packets[i]);
	return rc >= 0;
}

/* Starts libipt's decoder at `ip`. */
static bool begin(struct pt_flow_blocks *b, struct pt_image *image, uint64_t ip,
		  enum pt_exec_mode mode)
{
	struct pt_event ev;
	int status;

	if (!write_trace(b, ip, mode) || pt_insn_set_image(b->dec, image) < 0)
		return false;
	status = pt_insn_sync_set(b->dec, 0);
	while (status >= 0 && status & pts_event_pending)
		status = pt_insn_event(b->dec, &ev, sizeof(ev));
	return status >= 0;
}

/* The target of the last instruction; false: only the trace has it. */
static bool find_target(struct pt_flow_blocks *b, int status, uint64_t *target)
{
	struct pt_insn next = {0};

	if (status < 0)
		return false;
	/* The target may have no code: its address is enough. */
	pt_insn_next(b->dec, &next, sizeof(next));
	*target = next.ip;
	return true;
}

/* False: unknown. */
static bool set_kind(struct pt_flow_blocks *b, const struct pt_insn *last, int status,
		     struct pt_flow_block *out)
{
	bool direct;

	switch (last->iclass) {
	case ptic_cond_jump:
		out->kind = PT_FLOW_BLOCK_COND;
		return find_target(b, status, &out->target);
	case ptic_jump:
		direct = find_target(b, status, &out->target);
		out->kind = direct ? PT_FLOW_BLOCK_JUMP : PT_FLOW_BLOCK_IND_JUMP;
		return true;
	case ptic_call:
		direct = find_target(b, status, &out->target);
		out->kind = direct ? PT_FLOW_BLOCK_CALL : PT_FLOW_BLOCK_IND_CALL;
		return true;
	case ptic_return:
		out->kind = PT_FLOW_BLOCK_RETURN;
		return true;
	case ptic_far_return:
		out->kind = PT_FLOW_BLOCK_FAR_RETURN;
		return true;
	case ptic_far_call:
	case ptic_far_jump:
		out->kind = PT_FLOW_BLOCK_FAR;
		return true;
	default:
		out->kind = PT_FLOW_BLOCK_STRAIGHT;
		return status >= 0;
	}
}

static bool read_block(struct pt_flow_blocks *b, struct pt_flow_block *out)
{
	struct pt_insn insn = {0}, next = {0};
	unsigned int nr;
	int status = 0;

	for (nr = 0; nr < MAX_INSNS; nr++) {
		status = pt_insn_next(b->dec, &next, sizeof(next));
		/* The code ends here: the next block will fail. */
		if (next.iclass == ptic_error)
			break;
		insn = next;
		if (insn.iclass != ptic_other && insn.iclass != ptic_ptwrite)
			break;
	}
	if (!insn.size || (next.iclass == ptic_error && !nr))
		return false;
	out->end_ip = insn.ip;
	out->behind = insn.ip + insn.size;
	return set_kind(b, &insn, next.iclass == ptic_error ? 0 : status, out);
}

static uint32_t *head_of(struct pt_flow_blocks *b, uint64_t ip, uint32_t serial)
{
	return &b->heads[hash_mix(ip, (uint64_t)serial << 40) & (b->cap - 1)];
}

static struct pt_flow_block *build(struct pt_flow_work *w, struct pt_flow_blocks *b, uint64_t ip,
				   uint8_t mode)
{
	struct pt_flow_block *new;
	uint32_t *head = head_of(b, ip, w->space->serial);

	if (!w->builds)
		return NULL;
	w->builds--;
	if (b->nr == b->cap) {
		b->nr = 0;
		memset(b->heads, 0, b->cap * sizeof(*b->heads));
	}
	new = &b->v[b->nr];
	*new = (struct pt_flow_block){
		.ip = ip, .serial = w->space->serial, .older = *head, .mode = mode};
	if (!begin(b, w->space->image, ip, (enum pt_exec_mode)mode) || !read_block(b, new)) {
		/* Other blocks may point to this one, so it is made invalid first. */
		new->serial = 0;
		return NULL;
	}
	if (w->nr_found)
		pt_flow_add_found(w);
	if (w->in->source.touch) {
		pt_flow_touch(w, new->ip);
		pt_flow_touch(w, new->behind - 1);
	}
	*head = ++b->nr;
	return new;
}

struct pt_flow_block *pt_flow_block_at(struct pt_flow_work *w, uint64_t ip, uint8_t mode)
{
	struct pt_flow_blocks *b = w->bench->blocks;

	if (!b)
		b = w->bench->blocks = blocks_new(w->in->max_blocks);
	if (!b) {
		w->oom = w->over = true;
		return NULL;
	}
	for (uint32_t i = *head_of(b, ip, w->space->serial); i; i = b->v[i - 1].older)
		if (pt_flow_block_is(&b->v[i - 1], w->space->serial, ip, mode))
			return &b->v[i - 1];
	return build(w, b, ip, mode);
}
