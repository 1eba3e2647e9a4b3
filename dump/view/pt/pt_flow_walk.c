// SPDX-License-Identifier: MIT
/*
 * Follows a trace through known blocks; see pt_flow_impl.h. libipt reads the packets: whether a
 * branch was taken, the target of an indirect one, events and times. Events have an address, and
 * come before the packets of the code after it:
 *
 *	 blocks    [--------]call──▶[----]cond──▶[-----------]return
 *	 packets                         TNT      ▲ event     TIP
 *
 * So up to an event, the walk needs no trace. A contradiction or a rare case stops the walk;
 * libipt's block decoder then takes over.
 */
#include "dump/view/pt/pt_flow_impl.h"

#include <errno.h>

#define NR_RETURNS 64u

struct flow_walk {
	struct pt_flow_work *w;
	uint64_t ip;	  /* the current address */
	uint64_t last_ip; /* the previous instruction; 0: unknown */
	unsigned int still;
	uint8_t mode; /* enum pt_exec_mode */
	bool enabled;
	/* Return addresses of calls, for returns that the trace encodes as one bit. */
	uint64_t returns[NR_RETURNS];
	unsigned int top, nr_returns;
};

static void set_time(struct pt_flow_work *w)
{
	uint64_t tsc;

	if (pt_qry_time(w->query, &tsc, NULL, NULL) >= 0)
		w->tsc = tsc;
}

/* A call to the next instruction only reads its own address. */
static void push(struct flow_walk *k, const struct pt_flow_block *b)
{
	if (b->kind == PT_FLOW_BLOCK_CALL && b->target == b->behind)
		return;
	k->returns[k->top++ % NR_RETURNS] = b->behind;
	k->nr_returns += k->nr_returns < NR_RETURNS;
}

static bool pop(struct flow_walk *k)
{
	if (!k->nr_returns)
		return false;
	k->nr_returns--;
	k->ip = k->returns[--k->top % NR_RETURNS];
	return true;
}

/* NULL: unknown. */
static struct pt_flow_block *block_at(struct flow_walk *k)
{
	struct pt_flow_work *w = k->w;

	if (!w->space)
		pt_flow_choose(w, 0);
	return w->over ? NULL : pt_flow_block_at(w, k->ip, k->mode);
}

static bool needs_trace(const struct pt_flow_block *b)
{
	return b->kind >= PT_FLOW_BLOCK_COND;
}

/* Walks past a block that does not need the trace. False: endless loop. */
static bool pass(struct flow_walk *k, const struct pt_flow_block *b)
{
	struct pt_flow_work *w = k->w;

	if (!w->blocks || ++k->still > PT_FLOW_MAX_STILL)
		return false;
	w->blocks--;
	k->last_ip = b->end_ip;
	k->ip = b->kind == PT_FLOW_BLOCK_STRAIGHT ? b->behind : b->target;
	if (b->kind == PT_FLOW_BLOCK_CALL) {
		push(k, b);
		set_time(w);
		pt_flow_put(w, PT_FLOW_CALL, b->end_ip, b->target);
	}
	return true;
}

/* ---- the trace tells ---- */

/* Goes to the target in the trace. Returns the decoder's status, or an error. */
static int follow(struct flow_walk *k)
{
	int status = pt_qry_indirect_branch(k->w->query, &k->ip);

	return status >= 0 && status & pts_ip_suppressed ? -pte_noip : status;
}

static int follow_return(struct flow_walk *k)
{
	int taken, status = pt_qry_cond_branch(k->w->query, &taken);

	if (status == -pte_bad_query)
		return follow(k);
	return status < 0 || (taken && pop(k)) ? status : -pte_bad_retcomp;
}

/* Walks past a block that needs the trace, except conditional ones. */
static int turn(struct flow_walk *k, const struct pt_flow_block *b)
{
	bool is_return = b->kind == PT_FLOW_BLOCK_RETURN,
	     is_call = b->kind == PT_FLOW_BLOCK_IND_CALL;
	struct pt_flow_work *w = k->w;
	int status;

	k->last_ip = b->end_ip;
	if (is_call)
		push(k, b);
	status = is_return ? follow_return(k) : follow(k);
	if (status < 0)
		return status;
	if (is_return || is_call) {
		set_time(w);
		pt_flow_put(w, is_call ? PT_FLOW_CALL : PT_FLOW_RETURN, k->last_ip, k->ip);
	}
	/* A return from the kernel: look up the current thread. */
	if (b->kind == PT_FLOW_BLOCK_FAR_RETURN && k->last_ip >> 63) {
		set_time(w);
		pt_flow_choose(w, 0);
	}
	return status;
}

/* Walks until an event or the end of the trace. Returns the decoder's status. */
static int run(struct flow_walk *k)
{
	struct pt_flow_work *w = k->w;
	struct pt_flow_block *b = block_at(k), *next;
	int status = 0, way;

	while (b && !w->over) {
		if (b->kind == PT_FLOW_BLOCK_COND) {
			status = pt_qry_cond_branch(w->query, &way);
			if (status < 0)
				return status;
			k->last_ip = b->end_ip;
			k->ip = way ? b->target : b->behind;
			k->still = 0;
		} else if (needs_trace(b)) {
			status = turn(k, b);
			k->still = 0;
			way = 1;
		} else {
			if (!pass(k, b))
				return -pte_bad_query;
			way = b->kind != PT_FLOW_BLOCK_STRAIGHT;
		}
		if (status)
			return status;
		next = b->next[way];
		if (!pt_flow_block_is(next, w->space->serial, k->ip, k->mode))
			next = b->next[way] = block_at(k);
		b = next;
	}
	return w->over ? 0 : -pte_nomap;
}

/* ---- events ---- */

/* Walks to `to`, without the trace. */
static bool go_to(struct flow_walk *k, uint64_t to)
{
	if (k->ip == to)
		return true;
	while (k->enabled) {
		const struct pt_flow_block *b = block_at(k);

		if (!b)
			return false;
		if (to > b->ip && to <= b->end_ip) {
			k->ip = to;
			k->last_ip = 0;
			return true;
		}
		if (needs_trace(b) || !pass(k, b))
			return false;
		if (k->ip == to)
			return true;
	}
	return false;
}

/* Walks to the next branch that needs the trace, which has no packet for it. */
static bool go_to_branch(struct flow_walk *k)
{
	struct pt_flow_work *w = k->w;
	const struct pt_flow_block *b;

	while ((b = block_at(k)) && !needs_trace(b))
		if (!pass(k, b))
			return false;
	/* In the kernel it may be another instruction. */
	if (!b || b->end_ip >> 63)
		return false;
	k->last_ip = b->end_ip;
	w->open.from = 0;
	if (b->kind == PT_FLOW_BLOCK_RETURN || b->kind == PT_FLOW_BLOCK_IND_CALL) {
		set_time(w);
		w->open = (struct pt_flow_step){
			.from = b->end_ip,
			.kind = b->kind == PT_FLOW_BLOCK_RETURN ? PT_FLOW_RETURN : PT_FLOW_CALL};
	}
	return true;
}

/* Walks to the instruction that disables the trace: its target is outside the traced code. */
static bool go_to_disabled(struct flow_walk *k, const struct pt_event *ev)
{
	if (!k->enabled)
		return false;
	if (ev->ip_suppressed)
		return go_to_branch(k);
	return go_to(k, ev->variant.disabled.ip) && k->last_ip;
}

/* Walks to the event's address. False: a rare case, or a contradiction. */
static bool go_to_event(struct flow_walk *k, const struct pt_event *ev)
{
	const struct pt_errata *errata = &k->w->config.errata;
	const bool has_ip = !ev->ip_suppressed;

	switch (ev->type) {
	case ptev_enabled:
		return has_ip && !k->enabled;
	case ptev_disabled:
		return go_to_disabled(k, ev);
	case ptev_async_disabled:
		return k->enabled && !errata->skd022 && go_to(k, ev->variant.async_disabled.at);
	case ptev_async_branch:
		return k->enabled && go_to(k, ev->variant.async_branch.from);
	case ptev_exec_mode:
		return !has_ip || go_to(k, ev->variant.exec_mode.ip);
	case ptev_tsx:
		return !errata->bdm64 && (!has_ip || go_to(k, ev->variant.tsx.ip));
	case ptev_async_paging:
		return !has_ip || go_to(k, ev->variant.async_paging.ip);
	case ptev_async_vmcs:
		return !has_ip || go_to(k, ev->variant.async_vmcs.ip);
	case ptev_paging:
	case ptev_vmcs:
	case ptev_stop:
		return !k->enabled;
	case ptev_overflow:
	case ptev_tick:
	case ptev_cbr:
	case ptev_mnt:
		return true;
	default:
		return false;
	}
}

/* Applies the event. False: it contradicts the state. */
static bool apply(struct flow_walk *k, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_enabled:
		k->enabled = true;
		k->ip = ev->variant.enabled.ip;
		return !ev->status_update;
	case ptev_disabled:
	case ptev_async_disabled:
		k->enabled = false;
		return !ev->status_update;
	case ptev_async_branch:
		k->ip = ev->variant.async_branch.to;
		return !ev->status_update;
	case ptev_overflow:
		k->enabled = !ev->ip_suppressed;
		k->ip = k->enabled ? ev->variant.overflow.ip : 0;
		return !ev->status_update;
	case ptev_exec_mode:
		if (ev->status_update && k->enabled && k->mode != ptem_unknown &&
		    k->mode != ev->variant.exec_mode.mode)
			return false;
		k->mode = (uint8_t)ev->variant.exec_mode.mode;
		return true;
	default:
		return true;
	}
}

/* Takes the event. Returns the decoder's status after it. */
static int take_event(struct flow_walk *k)
{
	struct pt_flow_work *w = k->w;
	struct pt_event ev;
	int status = pt_qry_event(w->query, &ev, sizeof(ev));

	if (status < 0)
		return status;
	pt_qry_get_offset(w->query, &w->offset);
	k->still = 0;
	if (!go_to_event(k, &ev))
		return -pte_bad_query;
	pt_flow_on_event(w, &ev, k->last_ip);
	return apply(k, &ev) ? status : -pte_bad_context;
}

/* ---- the whole ---- */

static int walk(struct flow_walk *k, int status)
{
	struct pt_flow_work *w = k->w;

	while (status >= 0 && !w->over) {
		if (status & pts_event_pending) {
			status = take_event(k);
			continue;
		}
		if (status & pts_eos)
			return -pte_eos;
		if (!k->enabled)
			return -pte_no_enable;
		status = run(k);
	}
	return status;
}

int pt_flow_walk(struct pt_flow_work *w, int status, uint64_t ip)
{
	struct flow_walk k = {.w = w, .ip = ip, .enabled = !(status & pts_ip_suppressed)};

	w->space = NULL;
	w->nr_found = 0;
	w->open.from = 0;
	set_time(w);
	status = walk(&k, status);
	return status >= 0 || status == -pte_eos ? 0 : -EAGAIN;
}
