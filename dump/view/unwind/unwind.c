// SPDX-License-Identifier: MIT
/*
 * Unwinding by rules; see unwind.h.
 *
 *	sample ── registers ──▶ frame ── row ──▶ frame of the caller, and so on
 *	       ── stack ─────────────────┘ ▲
 *	                              rule │ known_row
 *	         ip ── history_where() ──▶ unwind_source
 *
 * Many samples share addresses, so rows are cached by process and address, each for the lifetime of
 * its mapping.
 */
#include "dump/view/unwind/unwind.h"

#include "dump/base/err.h"
#include "dump/base/hash.h"
#include "dump/view/cfi/cfi_expression.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

/* Limit of rule steps (cfi_row) per sample; a real one takes some thousands. Cached rows count as
 * if they were run again, so the result does not depend on the cache. */
#define MAX_WORK   (1u << 19)
#define KNOWN_BITS 12
#define MAX_POPPED 256 /* bytes */
/* The stack may continue after the copied bytes, up to this far. */
#define MAX_STACK_BYTES (1ull << 30)

/* ---- registers ---- */

enum { REG_BP = 6, REG_SP = 7, REG_IP = 16, NR_REGS = CFI_NR_REGISTERS };

/* Indexed by DWARF's numbers: bits of sample_regs_user (asm/perf_regs.h of x86). */
static const uint8_t perf_regs[NR_REGS] = {
	0,			    /* rax */
	3,			    /* rdx */
	2,			    /* rcx */
	1,			    /* rbx */
	4,			    /* rsi */
	5,			    /* rdi */
	6,			    /* rbp */
	7,			    /* rsp */
	16,			    /* r8 */
	17, 18, 19, 20, 21, 22, 23, /* r15 */
	8,			    /* rip */
};

/* Callee-saved registers: rbx, rbp, r12 to r15. */
#define SAVED_REGS (1u << 3 | 1u << REG_BP | 0xfu << 12)

/* A frame. Saved registers are read only on use: the stack there may not be copied, and the
 * register may not be needed. */
struct unwind_cursor {
	uint64_t ip, sp;
	uint64_t reg[NR_REGS]; /* the value, or the address where it was saved */
	uint32_t saved;	       /* bit i: reg[i] is an address */
	uint32_t unknown;
};

struct known_row {
	const struct unwind_rule *rule; /* NULL: free */
	uint64_t addr;
	struct history_span span; /* the time for which the row holds */
	uint32_t key;		  /* of the process */
	struct cfi_row row;
};

struct unwind {
	const struct process_history *history;
	struct unwind_source src;
	struct known_row known[1 << KNOWN_BITS];

	/* The current sample: */
	const struct timeline_record *rec;
	uint32_t key;
	uint64_t regs[NR_REGS];
	uint64_t sp; /* address of `stack` */
	struct bytes stack;
	unsigned work;
	struct unwind_cursor at;
	bool cut;		/* an address after the copied stack was read */
	bool no_rule, unmapped; /* for the last address that needed a rule */
	bool elsewhere;		/* the frame is on another stack than the copied one */
	bool last_frame;	/* reached by frame pointers, which end here */
	const char *image;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	size_t nr;
};

int unwind_new(const struct process_history *p, const struct unwind_source *src,
	       struct unwind **out, struct err *err)
{
	struct unwind *u = calloc(1, sizeof(*u));

	if (!u)
		return err_set(err, -ENOMEM, "out of memory to unwind stacks");
	u->history = p;
	u->src = *src;
	*out = u;
	return 0;
}

void unwind_free(struct unwind *u)
{
	free(u);
}

/* The sample's process; 0: unknown. */
static uint32_t process_of(const struct unwind *u)
{
	uint64_t ns = u->rec->time_ns;
	const struct fmt_task *t = history_task(u->history, u->rec->tid, ns);

	if (t && t->pid != t->tid)
		t = history_task(u->history, t->pid, ns);
	return t ? t->key : 0;
}

static bool take_regs(struct unwind *u)
{
	const struct record_sample *s = &u->rec->s;
	uint64_t mask = u->rec->channel->layout.regs_user;

	if (s->regs_abi != PERF_SAMPLE_REGS_ABI_64 || !s->regs)
		return false;
	for (unsigned i = 0; i < NR_REGS; i++) {
		uint64_t bit = 1ull << perf_regs[i];

		u->regs[i] = 0;
		if (mask & bit)
			memcpy(&u->regs[i],
			       s->regs + 8 * (unsigned)__builtin_popcountll(mask & (bit - 1)), 8);
	}
	return mask & 1ull << perf_regs[REG_SP] && mask & 1ull << perf_regs[REG_IP];
}

/* ---- memory and registers of a frame ---- */

static bool read_stack(struct unwind *u, uint64_t addr, size_t n, uint64_t *v)
{
	uint64_t off = addr - u->sp;

	if (span_fits(off, n, u->stack.len)) {
		*v = 0;
		memcpy(v, u->stack.p + off, n);
		return true;
	}
	if (u->elsewhere || (addr >= u->sp && off < MAX_STACK_BYTES))
		u->cut = true;
	return false;
}

/*
 * Nothing below the stack pointer is copied. At a function's end, rules still place a register
 * there that the function has just popped: then the register has its old value already, and had it
 * in the sample.
 */
static bool was_popped(const struct unwind *u, unsigned reg)
{
	uint64_t addr = u->at.reg[reg];

	return SAVED_REGS >> reg & 1 && addr < u->sp && u->sp - addr <= MAX_POPPED;
}

/* Reads a register by reg[] and `saved`. */
static bool read_reg(struct unwind *u, unsigned reg, uint64_t *v)
{
	if (u->at.unknown >> reg & 1)
		return false;
	if (!(u->at.saved >> reg & 1))
		*v = u->at.reg[reg];
	else if (was_popped(u, reg))
		*v = u->regs[reg];
	else
		return read_stack(u, u->at.reg[reg], sizeof(*v), v);
	return true;
}

static bool get_reg(void *arg, unsigned reg, uint64_t *v)
{
	struct unwind *u = arg;

	if (reg != REG_SP && reg != REG_IP)
		return read_reg(u, reg, v);
	*v = reg == REG_SP ? u->at.sp : u->at.ip;
	return true;
}

static bool get_memory(void *arg, uint64_t addr, size_t n, uint64_t *v)
{
	return read_stack(arg, addr, n, v);
}

static bool is_mapped(void *arg, uint64_t addr, struct history_map *map)
{
	struct unwind *u = arg;

	return history_map(u->history, u->rec->tid, u->rec->time_ns, addr, map);
}

/* ---- rules ---- */

static const struct unwind_rule *conclude(struct unwind *u, const struct history_map *map,
					  uint64_t place)
{
	struct unwind_top top = {.bp = UINT64_MAX, .where = is_mapped, .arg = u};
	uint64_t off = u->at.sp - u->sp, bp;

	if (!u->src.conclude || !span_fits(off, 8, u->stack.len))
		return NULL;
	if (read_reg(u, REG_BP, &bp))
		top.bp = bp - u->at.sp;
	top.stack = (struct bytes){u->stack.p + off, u->stack.len - off};
	return u->src.conclude(u->src.ctx, map, place, &top);
}

/* The row for the code at `addr`, cached in *k. */
static bool find_row(struct unwind *u, uint64_t addr, struct known_row *k)
{
	struct history_span span;
	struct history_map map;
	const struct unwind_rule *r;
	uint64_t place;

	k->rule = NULL;
	u->unmapped = !history_where(u->history, u->rec->tid, u->rec->time_ns, addr, &map, &span);
	if (u->unmapped)
		return false;
	place = addr - map.f.start + map.f.pgoff;
	r = u->src.find(u->src.ctx, &map, place);
	/* For a system call that does not return, the address may be after its function. */
	if (!r && u->nr == 1 && place)
		r = u->src.find(u->src.ctx, &map, place - 1);
	if (!r)
		r = conclude(u, &map, place);
	u->no_rule = !r;
	u->image = map.path;
	if (!r || !cfi_row_at(&r->r, place - r->r.start, &k->row))
		return false;
	k->rule = r;
	k->addr = addr;
	/* After its function, the row holds for this sample only. */
	k->span = place - r->r.start < r->r.bytes ? span : (struct history_span){UINT64_MAX, 0};
	k->key = u->key;
	return true;
}

static const struct known_row *row_of(struct unwind *u, uint64_t addr)
{
	uint64_t hash = hash_mix(addr, u->key), ns = u->rec->time_ns;
	struct known_row *k = &u->known[hash >> (64 - KNOWN_BITS)];

	if (k->rule && k->addr == addr && k->key == u->key && k->span.from_ns <= ns &&
	    ns <= k->span.to_ns)
		return k;
	return find_row(u, addr, k) ? k : NULL;
}

/* ---- from frame to frame ---- */

static bool restore(struct unwind *u, const struct known_row *k, unsigned reg, uint64_t cfa,
		    struct unwind_cursor *to)
{
	const struct cfi_machine m = {get_reg, get_memory, u};
	uint32_t bit = 1u << reg;
	bool known = true;

	to->unknown &= ~bit;
	to->saved &= ~bit;
	switch (k->row.how[reg]) {
	case CFI_SAME:
		to->reg[reg] = u->at.reg[reg];
		to->saved |= u->at.saved & bit;
		to->unknown |= u->at.unknown & bit;
		break;
	case CFI_UNDEFINED:
		to->unknown |= bit;
		break;
	case CFI_AT_CFA:
		to->reg[reg] = cfa + (uint64_t)(int64_t)k->row.value[reg];
		to->saved |= bit;
		break;
	case CFI_REGISTER:
		if (!get_reg(u, (unsigned)k->row.value[reg], &to->reg[reg]))
			to->unknown |= bit;
		break;
	case CFI_AT_EXPRESSION:
		to->saved |= bit;
		known = cfi_row_expression(&k->rule->r, &k->row, reg, cfa, &m, &to->reg[reg]);
		break;
	case CFI_EXPRESSION:
		known = cfi_row_expression(&k->rule->r, &k->row, reg, cfa, &m, &to->reg[reg]);
		break;
	}
	return known;
}

/* Goes to the caller. 1; 0: there is none; -1: unknown. */
static int step(struct unwind *u, bool exact, uint32_t *flags)
{
	const struct cfi_machine m = {get_reg, get_memory, u};
	const struct known_row *k = row_of(u, u->at.ip - !exact);
	const struct unwind_cursor from = u->at;
	struct unwind_cursor to = from;
	unsigned ra;
	uint64_t cfa;

	if (!k)
		return -1;
	ra = k->rule->r.return_register;
	*flags = k->rule->r.flags;
	u->work += k->row.work;
	if (u->work > MAX_WORK || !cfi_row_cfa(&k->rule->r, &k->row, &m, &cfa))
		return -1;
	for (uint32_t left = k->row.changed; left; left &= left - 1)
		if (!restore(u, k, (unsigned)__builtin_ctz(left), cfa, &to))
			return -1;
	to.sp = cfa;
	u->at = to;
	if (to.unknown >> ra & 1)
		return 0;
	if (!read_reg(u, ra, &u->at.ip) || (u->at.ip == from.ip && cfa == from.sp))
		return -1;
	return u->at.ip != 0;
}

/* Puts the cursor into a frame found without a rule, after a call. */
static void enter(struct unwind *u, uint64_t ip, uint64_t sp, uint64_t bp)
{
	u->at.ip = ip;
	u->at.sp = sp;
	u->at.reg[REG_BP] = bp;
	u->at.saved &= ~(1u << REG_BP);
	u->at.unknown &= ~(1u << REG_BP);
}

/* Finds the caller by the frame pointer. Where the sample was taken, also by the top of the stack:
 * it may be the function's first instruction. */
static bool guess(struct unwind *u, bool sampled)
{
	uint64_t bp, sp = u->at.sp, ip, next;
	struct history_map map;

	if (!read_reg(u, REG_BP, &bp))
		bp = 0;
	if (bp >= sp && !(bp & 7) && read_stack(u, bp, 8, &next) && read_stack(u, bp + 8, 8, &ip) &&
	    (!next || next > bp) && is_mapped(u, ip - 1, &map)) {
		enter(u, ip, bp + 16, next);
		u->last_frame = !next;
		return true;
	}
	if (sampled && read_stack(u, sp, 8, &ip) && is_mapped(u, ip - 1, &map)) {
		enter(u, ip, sp + 8, bp);
		return true;
	}
	return false;
}

/* After a failed step: tries another way to continue, else sets *end to the reason. */
static bool go_on(struct unwind *u, enum unwind_end *end)
{
	bool sampled = u->nr == 1;

	if (u->no_rule || (u->unmapped && sampled)) {
		u->cut = false;
		if (guess(u, sampled))
			return true;
		*end = u->last_frame ? UNWIND_COMPLETE
		       : u->cut	     ? UNWIND_CUT
		       : u->unmapped ? UNWIND_BAD
				     : UNWIND_NO_RULE;
		return false;
	}
	if (u->unmapped && u->nr > 1)
		u->nr--;
	*end = u->unmapped || !u->cut ? UNWIND_BAD : u->elsewhere ? UNWIND_ELSEWHERE : UNWIND_CUT;
	return false;
}

static enum unwind_end walk(struct unwind *u)
{
	bool exact = true, signal;
	enum unwind_end end;
	int rc;

	while (u->nr < UNWIND_MAX_FRAMES) {
		uint64_t sp = u->at.sp;
		uint32_t flags = 0;

		u->frames[u->nr++] = (struct unwind_frame){u->at.ip, exact};
		u->no_rule = u->unmapped = u->cut = false;
		rc = step(u, exact, &flags);
		if (flags & CFI_SWITCH && (!exact || rc < 0))
			return UNWIND_ELSEWHERE;
		signal = rc >= 0 && flags & CFI_SIGNAL;
		if (rc >= 0)
			u->last_frame = false;
		else if (!go_on(u, &end))
			return end;
		/* A handler returns to the first byte of this code, because the kernel put that
		 * address there. */
		if (signal)
			u->frames[u->nr - 1].exact = true;
		if (!rc || !u->at.ip)
			return UNWIND_COMPLETE;
		/* A handler may have its own stack; otherwise the stack pointer must increase. */
		if (!signal && u->at.sp <= sp)
			return UNWIND_BAD;
		exact = signal;
		/* The interrupted code may be on a stack that was not copied. */
		u->elsewhere = signal && !span_fits(u->at.sp - u->sp, 8, u->stack.len);
	}
	return UNWIND_DEEP;
}

bool unwind_has(const struct timeline_record *rec)
{
	const uint64_t both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;

	return (rec->s.have & both) == both;
}

void unwind_sample(struct unwind *u, const struct timeline_record *rec, struct unwind_chain *out)
{
	enum unwind_end end = UNWIND_NO_REGS;

	u->rec = rec;
	u->nr = 0;
	u->work = 0;
	u->last_frame = u->elsewhere = false;
	u->image = NULL;
	u->stack = rec->s.stack;
	if (take_regs(u)) {
		u->key = process_of(u);
		u->sp = u->regs[REG_SP];
		u->at = (struct unwind_cursor){.ip = u->regs[REG_IP], .sp = u->sp};
		memcpy(u->at.reg, u->regs, sizeof(u->regs));
		end = walk(u);
	}
	*out = (struct unwind_chain){
		.frames = u->frames,
		.nr = u->nr,
		.end = end,
		.image = end == UNWIND_NO_RULE ? u->image : NULL,
		.stack_bytes = rec->s.stack.len,
	};
}
