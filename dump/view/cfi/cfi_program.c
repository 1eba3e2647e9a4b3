// SPDX-License-Identifier: MIT
/*
 * The interpreter of call frame programs; see cfi.h. It runs a rule up to an address, and checks a
 * new rule by running all of it. Each instruction is bounded by its bytes, and no instruction jumps
 * back.
 */
#include "dump/view/cfi/cfi.h"

#include "dump/view/base/leb128.h"
#include "dump/view/cfi/cfi_expression.h"

#include <dwarf.h>
#include <errno.h>
#include <string.h>

#define MAX_REMEMBERED 64
#define MAX_ALIGN      4096

/* Flag in an expression's offset: it is in the rule's program, not in `initial`. */
#define IN_PROGRAM (1 << 30)

struct cfi_program {
	const struct cfi_rule *rule;
	struct bytes in;  /* remaining instructions */
	bool initial;	  /* `in` is the CIE's program */
	bool useless;	  /* no row depends on the last instruction */
	uint64_t at, end; /* code offsets: of the row, and of the wanted address */
	struct cfi_row row, entry;
	struct cfi_row *remembered; /* [MAX_REMEMBERED] */
	unsigned nr_remembered;
};

/* ---- operands ---- */

static bool take_number(struct cfi_program *p, bool is_signed, int64_t *v)
{
	uint64_t u;

	if (is_signed)
		return leb128_i64(&p->in, v) && *v > INT32_MIN && *v <= INT32_MAX;
	if (!leb128_u64(&p->in, &u) || u > INT32_MAX)
		return false;
	*v = (int64_t)u;
	return true;
}

static bool take_expression(struct cfi_program *p, bool followed, int64_t *where)
{
	const struct bytes *all = p->initial ? &p->rule->initial : &p->rule->program;
	const uint8_t *from = p->in.p;
	struct bytes block;
	uint64_t n;

	if (!leb128_u64(&p->in, &n) || !n || n > CFI_MAX_EXPRESSION_BYTES ||
	    !bytes_take(&p->in, (size_t)n, &block))
		return false;
	*where = (from - all->p) | (p->initial ? 0 : IN_PROGRAM);
	p->row.work += (uint32_t)n;
	return !followed || cfi_expression_ok(block);
}

/* ---- instructions ---- */

/* The address right after the function is valid too: a call can end a function. */
static bool advance(struct cfi_program *p, uint64_t n)
{
	p->at += n * p->rule->code_align;
	return !p->initial && p->row.cfa != CFI_NO_CFA;
}

static bool set(struct cfi_program *p, uint64_t reg, enum cfi_how how, int64_t value)
{
	if (reg >= CFI_NR_REGISTERS) {
		p->useless = true;
		return true;
	}
	if (value != (int32_t)value)
		return false;
	p->row.how[reg] = how;
	p->row.value[reg] = (int32_t)value;
	p->row.changed |= 1u << reg;
	return true;
}

static bool restore(struct cfi_program *p, uint64_t reg)
{
	return reg >= CFI_NR_REGISTERS
		       ? set(p, reg, CFI_SAME, 0)
		       : !p->initial && p->row.cfa != CFI_NO_CFA &&
				 set(p, reg, p->entry.how[reg], p->entry.value[reg]);
}

static bool set_offset(struct cfi_program *p, uint64_t reg, bool is_signed, int64_t factor)
{
	int64_t n;

	return take_number(p, is_signed, &n) && set(p, reg, CFI_AT_CFA, n * factor);
}

static bool set_expression(struct cfi_program *p, uint64_t reg, enum cfi_how how)
{
	int64_t where;

	return take_expression(p, reg < CFI_NR_REGISTERS, &where) && set(p, reg, how, where);
}

static bool set_register(struct cfi_program *p, uint64_t reg)
{
	uint64_t from;

	return leb128_u64(&p->in, &from) && (from < CFI_NR_REGISTERS || reg >= CFI_NR_REGISTERS) &&
	       set(p, reg, CFI_REGISTER, (int64_t)(from % CFI_NR_REGISTERS));
}

static bool set_cfa_register(struct cfi_program *p)
{
	uint64_t reg;

	if (!leb128_u64(&p->in, &reg) || reg >= CFI_NR_REGISTERS)
		return false;
	p->row.cfa = CFI_CFA_REGISTER;
	p->row.cfa_register = (uint8_t)reg;
	return true;
}

static bool set_cfa_offset(struct cfi_program *p, bool is_signed)
{
	int64_t n;

	if (!take_number(p, is_signed, &n))
		return false;
	if (is_signed)
		n *= p->rule->data_align;
	p->row.cfa_offset = (int32_t)n;
	return n == (int32_t)n && p->row.cfa != CFI_NO_CFA;
}

static bool set_cfa_expression(struct cfi_program *p)
{
	int64_t where;

	if (!take_expression(p, true, &where))
		return false;
	p->row.cfa = CFI_CFA_EXPRESSION;
	p->row.cfa_expression = (int32_t)where;
	return true;
}

static bool remember(struct cfi_program *p)
{
	if (p->initial || p->row.cfa == CFI_NO_CFA || p->nr_remembered >= MAX_REMEMBERED)
		return false;
	p->remembered[p->nr_remembered++] = p->row;
	return true;
}

static bool recall(struct cfi_program *p)
{
	uint32_t work = p->row.work;

	if (!p->nr_remembered)
		return false;
	p->row = p->remembered[--p->nr_remembered];
	p->row.work = work;
	return true;
}

/* An instruction on one register; the register number comes first. */
static bool execute_register(struct cfi_program *p, uint8_t op)
{
	int64_t align = p->rule->data_align;
	uint64_t reg;

	if (!leb128_u64(&p->in, &reg))
		return false;
	switch (op) {
	case DW_CFA_undefined:
		return set(p, reg, CFI_UNDEFINED, 0);
	case DW_CFA_same_value:
		return set(p, reg, CFI_SAME, 0);
	case DW_CFA_restore_extended:
		return restore(p, reg);
	case DW_CFA_register:
		return set_register(p, reg);
	case DW_CFA_offset_extended:
		return set_offset(p, reg, false, align);
	case DW_CFA_offset_extended_sf:
		return set_offset(p, reg, true, align);
	case DW_CFA_GNU_negative_offset_extended:
		return set_offset(p, reg, false, -align);
	case DW_CFA_expression:
		return set_expression(p, reg, CFI_AT_EXPRESSION);
	case DW_CFA_val_expression:
		return set_expression(p, reg, CFI_EXPRESSION);
	default: /* set_loc, val_offset: no compiler emits them */
		return false;
	}
}

/* Executes the next instruction of p->in. False: invalid here. */
static bool execute(struct cfi_program *p)
{
	uint8_t op = 0, n8;
	uint16_t n16;
	uint32_t n32;
	int64_t ignored;

	p->row.work++;
	p->useless = false;
	bytes_get(&p->in, &op, 1);
	switch (op & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(p, op & 0x3f);
	case DW_CFA_offset:
		return set_offset(p, op & 0x3f, false, p->rule->data_align);
	case DW_CFA_restore:
		return restore(p, op & 0x3f);
	}
	switch (op) {
	case DW_CFA_nop:
		p->useless = true;
		return true;
	case DW_CFA_GNU_args_size:
		p->useless = true;
		return take_number(p, false, &ignored);
	case DW_CFA_advance_loc1:
		return bytes_get(&p->in, &n8, 1) && advance(p, n8);
	case DW_CFA_advance_loc2:
		return bytes_u16(&p->in, &n16) && advance(p, n16);
	case DW_CFA_advance_loc4:
		return bytes_u32(&p->in, &n32) && advance(p, n32);
	case DW_CFA_remember_state:
		return remember(p);
	case DW_CFA_restore_state:
		return recall(p);
	case DW_CFA_def_cfa:
		return set_cfa_register(p) && set_cfa_offset(p, false);
	case DW_CFA_def_cfa_sf:
		return set_cfa_register(p) && set_cfa_offset(p, true);
	case DW_CFA_def_cfa_register:
		return p->row.cfa != CFI_NO_CFA && set_cfa_register(p);
	case DW_CFA_def_cfa_offset:
		return set_cfa_offset(p, false);
	case DW_CFA_def_cfa_offset_sf:
		return set_cfa_offset(p, true);
	case DW_CFA_def_cfa_expression:
		return set_cfa_expression(p);
	default:
		return execute_register(p, op);
	}
}

/* Runs one program up to p->end; adds the useful instructions to `kept` (may be NULL). */
static int run(struct cfi_program *p, bool initial, struct buf *kept)
{
	p->initial = initial;
	p->in = initial ? p->rule->initial : p->rule->program;
	while (p->in.len) {
		const uint8_t *from = p->in.p;
		int rc;

		if (!execute(p))
			return -EBADMSG;
		if (p->at > p->end)
			break;
		rc = kept && !p->useless ? buf_put(kept, from, (size_t)(p->in.p - from)) : 0;
		if (rc)
			return rc;
	}
	p->entry = p->row;
	return initial || p->row.cfa != CFI_NO_CFA ? 0 : -EBADMSG;
}

/* ---- rules ---- */

int cfi_clean(const struct cfi_rule *in, struct buf *bytes, struct cfi_rule *out)
{
	struct cfi_row remembered[MAX_REMEMBERED];
	struct cfi_program p = {.rule = in, .end = UINT64_MAX, .remembered = remembered};
	struct cfi_rule r = *in;
	size_t split;
	int rc;

	bytes->len = 0;
	if (!in->bytes || in->bytes > CFI_MAX_CODE_BYTES || in->bytes > UINT64_MAX - in->start ||
	    !in->code_align || in->code_align > MAX_ALIGN || in->data_align > MAX_ALIGN ||
	    in->data_align < -MAX_ALIGN || in->return_register >= CFI_NR_REGISTERS ||
	    in->initial.len > CFI_MAX_PROGRAM_BYTES || in->program.len > CFI_MAX_PROGRAM_BYTES)
		return -EBADMSG;
	rc = run(&p, true, bytes);
	split = bytes->len;
	if (!rc)
		rc = run(&p, false, bytes);
	if (rc)
		return rc;
	r.initial = (struct bytes){bytes->p, split};
	r.program = (struct bytes){bytes->p + split, bytes->len - split};
	*out = r;
	return 0;
}

bool cfi_row_at(const struct cfi_rule *r, uint64_t offset, struct cfi_row *out)
{
	struct cfi_row remembered[MAX_REMEMBERED];
	struct cfi_program p = {.rule = r, .end = offset, .remembered = remembered};

	if (run(&p, true, NULL) || run(&p, false, NULL))
		return false;
	*out = p.row;
	return true;
}

static bool evaluate(const struct cfi_rule *r, int32_t where, uint64_t first,
		     const struct cfi_machine *m, uint64_t *out)
{
	struct bytes b = where & IN_PROGRAM ? r->program : r->initial, expression;
	uint64_t n;

	where &= ~IN_PROGRAM;
	b.p += where;
	b.len -= (size_t)where;
	return leb128_u64(&b, &n) && bytes_take(&b, (size_t)n, &expression) &&
	       cfi_expression_run(expression, first, m, out);
}

bool cfi_row_cfa(const struct cfi_rule *r, const struct cfi_row *row, const struct cfi_machine *m,
		 uint64_t *out)
{
	uint64_t v;

	if (row->cfa == CFI_CFA_EXPRESSION)
		return evaluate(r, row->cfa_expression, 0, m, out);
	if (!m->reg(m->ctx, row->cfa_register, &v))
		return false;
	*out = v + (uint64_t)(int64_t)row->cfa_offset;
	return true;
}

bool cfi_row_expression(const struct cfi_rule *r, const struct cfi_row *row, unsigned reg,
			uint64_t cfa, const struct cfi_machine *m, uint64_t *out)
{
	return evaluate(r, row->value[reg], cfa, m, out);
}
