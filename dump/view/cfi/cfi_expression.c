// SPDX-License-Identifier: MIT
/* DWARF expressions; see cfi_expression.h. Called by cfi_program.c. */
#include "dump/view/cfi/cfi_expression.h"

#include "dump/view/base/leb128.h"
#include "dump/view/cfi/cfi.h"

#include <dwarf.h>
#include <string.h>

#define MAX_VALUES 64

struct operation {
	uint8_t op;
	uint64_t arg; /* sign-extended if signed */
};

struct value_stack {
	uint64_t v[MAX_VALUES];
	unsigned nr;
	bool bad; /* stack overflow or underflow */
};

/* A number of `n` bytes. */
static bool take_fixed(struct bytes *b, size_t n, bool is_signed, uint64_t *v)
{
	unsigned unused = 64 - 8 * (unsigned)n;

	*v = 0;
	if (!bytes_get(b, v, n))
		return false;
	if (is_signed)
		*v = (uint64_t)((int64_t)(*v << unused) >> unused);
	return true;
}

static bool take_sleb(struct bytes *b, uint64_t *v)
{
	int64_t s = 0;
	bool ok = leb128_i64(b, &s);

	*v = (uint64_t)s;
	return ok;
}

/* Excluded: pick, abs, branches, multiplication and division. */
static bool has_no_operand(uint8_t op)
{
	switch (op) {
	case DW_OP_deref:
	case DW_OP_dup:
	case DW_OP_drop:
	case DW_OP_over:
	case DW_OP_swap:
	case DW_OP_rot:
	case DW_OP_and:
	case DW_OP_minus:
	case DW_OP_neg:
	case DW_OP_not:
	case DW_OP_or:
	case DW_OP_plus:
	case DW_OP_shl:
	case DW_OP_shr:
	case DW_OP_shra:
	case DW_OP_xor:
	case DW_OP_nop:
		return true;
	default:
		return (op >= DW_OP_eq && op <= DW_OP_ne) ||
		       (op >= DW_OP_lit0 && op <= DW_OP_lit31);
	}
}

static bool take_operation(struct bytes *b, struct operation *o)
{
	if (!bytes_get(b, &o->op, 1))
		return false;
	switch (o->op) {
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_deref_size:
		return take_fixed(b, 1, o->op == DW_OP_const1s, &o->arg);
	case DW_OP_const2u:
	case DW_OP_const2s:
		return take_fixed(b, 2, o->op == DW_OP_const2s, &o->arg);
	case DW_OP_const4u:
	case DW_OP_const4s:
		return take_fixed(b, 4, o->op == DW_OP_const4s, &o->arg);
	case DW_OP_const8u:
	case DW_OP_const8s:
		return take_fixed(b, 8, false, &o->arg);
	case DW_OP_constu:
	case DW_OP_plus_uconst:
		return leb128_u64(b, &o->arg);
	case DW_OP_consts:
		return take_sleb(b, &o->arg);
	}
	if (o->op >= DW_OP_breg0 && o->op < DW_OP_breg0 + CFI_NR_REGISTERS)
		return take_sleb(b, &o->arg);
	return has_no_operand(o->op);
}

bool cfi_expression_ok(struct bytes b)
{
	struct operation o;

	while (b.len)
		if (!take_operation(&b, &o))
			return false;
	return true;
}

static void push(struct value_stack *s, uint64_t v)
{
	s->bad |= s->nr >= MAX_VALUES;
	if (!s->bad)
		s->v[s->nr++] = v;
}

static uint64_t pop(struct value_stack *s)
{
	s->bad |= !s->nr;
	return s->bad ? 0 : s->v[--s->nr];
}

/* a was pushed before b. */
static uint64_t binary(uint8_t op, uint64_t a, uint64_t b)
{
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case DW_OP_and:
		return a & b;
	case DW_OP_or:
		return a | b;
	case DW_OP_xor:
		return a ^ b;
	case DW_OP_plus:
		return a + b;
	case DW_OP_minus:
		return a - b;
	case DW_OP_shl:
		return b < 64 ? a << b : 0;
	case DW_OP_shr:
		return b < 64 ? a >> b : 0;
	case DW_OP_shra:
		return (uint64_t)(sa >> (b < 64 ? b : 63));
	case DW_OP_eq:
		return a == b;
	case DW_OP_ne:
		return a != b;
	case DW_OP_ge:
		return sa >= sb;
	case DW_OP_gt:
		return sa > sb;
	case DW_OP_le:
		return sa <= sb;
	default: /* DW_OP_lt */
		return sa < sb;
	}
}

static bool deref(struct value_stack *s, uint64_t bytes, const struct cfi_machine *m)
{
	uint64_t addr = pop(s), v;

	if (s->bad || !bytes || bytes > sizeof(v) || !m->read(m->ctx, addr, (size_t)bytes, &v))
		return false;
	push(s, v);
	return true;
}

static bool apply(const struct operation *o, struct value_stack *s, const struct cfi_machine *m)
{
	uint64_t a, b, c;

	switch (o->op) {
	case DW_OP_deref:
		return deref(s, 8, m);
	case DW_OP_deref_size:
		return deref(s, o->arg, m);
	case DW_OP_const1u ... DW_OP_consts:
		push(s, o->arg);
		return true;
	case DW_OP_lit0 ... DW_OP_lit31:
		push(s, o->op - DW_OP_lit0);
		return true;
	case DW_OP_dup:
		push(s, a = pop(s));
		push(s, a);
		return true;
	case DW_OP_drop:
		pop(s);
		return true;
	case DW_OP_over:
		b = pop(s);
		a = pop(s);
		push(s, a);
		push(s, b);
		push(s, a);
		return true;
	case DW_OP_swap:
		b = pop(s);
		a = pop(s);
		push(s, b);
		push(s, a);
		return true;
	case DW_OP_rot:
		c = pop(s);
		b = pop(s);
		a = pop(s);
		push(s, c);
		push(s, a);
		push(s, b);
		return true;
	case DW_OP_neg:
		push(s, -pop(s));
		return true;
	case DW_OP_not:
		push(s, ~pop(s));
		return true;
	case DW_OP_plus_uconst:
		push(s, pop(s) + o->arg);
		return true;
	case DW_OP_nop:
		return true;
	}
	if (o->op >= DW_OP_breg0) {
		if (!m->reg(m->ctx, o->op - DW_OP_breg0, &a))
			return false;
		push(s, a + o->arg);
		return true;
	}
	b = pop(s);
	a = pop(s);
	push(s, binary(o->op, a, b));
	return true;
}

bool cfi_expression_run(struct bytes b, uint64_t first, const struct cfi_machine *m, uint64_t *out)
{
	struct value_stack s;
	struct operation o;

	s.v[0] = first;
	s.nr = 1;
	s.bad = false;
	while (b.len)
		if (!take_operation(&b, &o) || !apply(&o, &s, m) || s.bad)
			return false;
	*out = pop(&s);
	return !s.bad;
}
