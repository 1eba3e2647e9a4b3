// SPDX-License-Identifier: MIT
/*
 * Programs of call frame information made fit to be run by somebody who trusts them; see cfi.h.
 * Whatever is kept was understood: registers are those that are followed, expressions have no
 * jumps and nothing that can trap, what is restored was remembered, and the frame's address is
 * defined before anything else is asked. What concerns other registers is left out.
 */
#include "dump/view/cfi/cfi.h"

#include "dump/view/base/leb128.h"

#include <errno.h>
#include <string.h>

#define MAX_EXPRESSION_BYTES 256
#define MAX_REMEMBERED	     64
#define MAX_ALIGN	     4096
/* Distances on the stack. */
#define MAX_OFFSET (1ll << 31)

enum {
	CFA_ADVANCE = 0x40, /* upper two bits of the byte */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_NOP = 0x00,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF = 0x0c,
	CFA_DEF_REGISTER = 0x0d,
	CFA_DEF_OFFSET = 0x0e,
	CFA_DEF_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_SF = 0x12,
	CFA_DEF_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET = 0x2f,
};

/* What follows an instruction's byte, in this order. */
enum operand {
	NONE = 0,
	REG,  /* ULEB: the register that it is about */
	FROM, /* ULEB: another register, which has to be one that is followed */
	U8,
	U16,
	U32,
	ULEB,
	SLEB,
	BLOCK, /* an expression */
};

enum what {
	REFUSE = 0, /* nothing that is in real programs */
	KEEP,
	LEAVE, /* of no use to an unwinder */
};

struct instruction {
	uint8_t what;
	uint8_t operands[2];
};

static const struct instruction instructions[0x40] = {
	[CFA_NOP] = {LEAVE, {NONE}},
	[CFA_ADVANCE1] = {KEEP, {U8}},
	[CFA_ADVANCE2] = {KEEP, {U16}},
	[CFA_ADVANCE4] = {KEEP, {U32}},
	[CFA_OFFSET_EXTENDED] = {KEEP, {REG, ULEB}},
	[CFA_RESTORE_EXTENDED] = {KEEP, {REG}},
	[CFA_UNDEFINED] = {KEEP, {REG}},
	[CFA_SAME_VALUE] = {KEEP, {REG}},
	[CFA_REGISTER] = {KEEP, {REG, FROM}},
	[CFA_REMEMBER] = {KEEP, {NONE}},
	[CFA_RESTORE_STATE] = {KEEP, {NONE}},
	[CFA_DEF] = {KEEP, {FROM, ULEB}},
	[CFA_DEF_REGISTER] = {KEEP, {FROM}},
	[CFA_DEF_OFFSET] = {KEEP, {ULEB}},
	[CFA_DEF_EXPRESSION] = {KEEP, {BLOCK}},
	[CFA_EXPRESSION] = {KEEP, {REG, BLOCK}},
	[CFA_OFFSET_EXTENDED_SF] = {KEEP, {REG, SLEB}},
	[CFA_DEF_SF] = {KEEP, {FROM, SLEB}},
	[CFA_DEF_OFFSET_SF] = {KEEP, {SLEB}},
	[CFA_VAL_EXPRESSION] = {KEEP, {REG, BLOCK}},
	[CFA_GNU_ARGS_SIZE] = {LEAVE, {ULEB}},
	[CFA_GNU_NEGATIVE_OFFSET] = {KEEP, {REG, ULEB}},
};

/* What it is at while it goes through a program. */
struct walk {
	struct bytes in;
	struct buf *out;
	bool initial; /* the CIE's: what holds where the function begins */
	bool defined; /* the frame's address is */
	unsigned remembered;
};

/* ---- expressions ---- */

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_NEG = 0x1f,
	OP_PLUS_UCONST = 0x23,
	OP_XOR = 0x27,
	OP_EQ = 0x29,
	OP_NE = 0x2e,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

/* Bytes behind the operator; -1: an operator that is refused. ULEB and SLEB: as such. */
static int after_operator(uint8_t op)
{
	switch (op) {
	case OP_CONST1U:
	case OP_CONST1S:
	case OP_DEREF_SIZE:
		return 1;
	case OP_CONST2U:
	case OP_CONST2S:
		return 2;
	case OP_CONST4U:
	case OP_CONST4S:
		return 4;
	case OP_CONST8U:
	case OP_CONST8S:
		return 8;
	case OP_DEREF:
	case OP_SWAP:
	case OP_ROT:
	case OP_AND:
	case OP_MINUS:
	case OP_NOP:
		return 0;
	default:
		/* dup, drop, over; neg, not, or, plus; shl, shr, shra, xor; comparisons; numbers.
		 * Not among them: pick, abs, and what divides. */
		if ((op >= OP_DUP && op < 0x15) || (op >= OP_NEG && op < OP_PLUS_UCONST) ||
		    (op > OP_PLUS_UCONST && op <= OP_XOR) || (op >= OP_EQ && op <= OP_NE) ||
		    (op >= OP_LIT0 && op <= OP_LIT31))
			return 0;
		return -1;
	}
}

static bool operator_ok(struct bytes *b)
{
	struct bytes ignored;
	uint64_t u;
	int64_t s;
	uint8_t op;
	int n;

	if (!bytes_get(b, &op, 1))
		return false;
	if (op >= OP_BREG0 && op < OP_BREG0 + CFI_NR_REGISTERS)
		return leb128_i64(b, &s);
	if (op == OP_CONSTU || op == OP_PLUS_UCONST)
		return leb128_u64(b, &u);
	if (op == OP_CONSTS)
		return leb128_i64(b, &s);
	n = after_operator(op);
	return n >= 0 && bytes_take(b, (size_t)n, &ignored);
}

static bool expression_ok(struct bytes b)
{
	while (b.len)
		if (!operator_ok(&b))
			return false;
	return true;
}

/* ---- instructions ---- */

static bool offset_ok(int64_t v)
{
	return v > -MAX_OFFSET && v < MAX_OFFSET;
}

/* Takes an operand; *other: the instruction is about a register that is not followed. */
static bool take_operand(struct bytes *b, enum operand o, bool *other)
{
	static const uint8_t widths[] = {[U8] = 1, [U16] = 2, [U32] = 4};
	struct bytes part;
	uint64_t u;
	int64_t s;

	switch (o) {
	case NONE:
		return true;
	case REG:
		if (!leb128_u64(b, &u))
			return false;
		*other = u >= CFI_NR_REGISTERS;
		return true;
	case FROM:
		return leb128_u64(b, &u) && (u < CFI_NR_REGISTERS || *other);
	case U8:
	case U16:
	case U32:
		return bytes_take(b, widths[o], &part);
	case ULEB:
		return leb128_u64(b, &u) && u < (uint64_t)MAX_OFFSET;
	case SLEB:
		return leb128_i64(b, &s) && offset_ok(s);
	case BLOCK:
		return leb128_u64(b, &u) && u && u <= MAX_EXPRESSION_BYTES &&
		       bytes_take(b, (size_t)u, &part) && (*other || expression_ok(part));
	}
	return false;
}

/* The instruction's operands are taken off w->in. */
static int take_instruction(struct walk *w, uint8_t op, bool *keep)
{
	const struct instruction *i;
	bool other = false;
	uint64_t ignored;

	*keep = true;
	switch (op & 0xc0) {
	case CFA_ADVANCE:
		return 0;
	case CFA_RESTORE:
	case CFA_OFFSET:
		*keep = (op & 0x3f) < CFI_NR_REGISTERS;
		return (op & 0xc0) == CFA_RESTORE || leb128_u64(&w->in, &ignored) ? 0 : -EBADMSG;
	}
	i = &instructions[op];
	if (i->what == REFUSE)
		return -EBADMSG;
	for (unsigned n = 0; n < 2; n++)
		if (!take_operand(&w->in, i->operands[n], &other))
			return -EBADMSG;
	*keep = i->what == KEEP && !other;
	return 0;
}

/* Whether it may stand here: nothing is asked for an address before the frame's is defined. */
static bool in_place(struct walk *w, uint8_t op)
{
	switch (op) {
	case CFA_DEF:
	case CFA_DEF_SF:
	case CFA_DEF_EXPRESSION:
		w->defined = true;
		return true;
	case CFA_DEF_REGISTER:
	case CFA_DEF_OFFSET:
	case CFA_DEF_OFFSET_SF:
		return w->defined;
	case CFA_REMEMBER:
		return !w->initial && w->defined && w->remembered++ < MAX_REMEMBERED;
	case CFA_RESTORE_STATE:
		return w->remembered && w->remembered--;
	case CFA_ADVANCE1:
	case CFA_ADVANCE2:
	case CFA_ADVANCE4:
	case CFA_RESTORE_EXTENDED:
		return !w->initial && w->defined;
	default:
		/* Left: advance and restore with their operand in the byte, and what always may. */
		return op < 0x40 || (op & 0xc0) == CFA_OFFSET || (!w->initial && w->defined);
	}
}

static int clean_program(struct walk *w)
{
	uint8_t op = 0; /* gcc's sanitized build does not see that there is a byte */
	bool keep;
	int rc;

	while (w->in.len) {
		const uint8_t *from = w->in.p;

		bytes_get(&w->in, &op, 1);
		rc = take_instruction(w, op, &keep);
		if (rc)
			return rc;
		if (!keep)
			continue;
		if (!in_place(w, op))
			return -EBADMSG;
		rc = buf_put(w->out, from, (size_t)(w->in.p - from));
		if (rc)
			return rc;
	}
	return w->initial || w->defined ? 0 : -EBADMSG;
}

int cfi_clean(const struct cfi_rule *in, struct buf *bytes, struct cfi_rule *out)
{
	struct walk w = {.in = in->initial, .out = bytes, .initial = true};
	struct cfi_rule r = *in;
	size_t split;
	int rc;

	bytes->len = 0;
	if (!in->bytes || in->bytes > CFI_MAX_CODE_BYTES || in->bytes > UINT64_MAX - in->start ||
	    !in->code_align || in->code_align > MAX_ALIGN || in->data_align > MAX_ALIGN ||
	    in->data_align < -MAX_ALIGN || in->return_register >= CFI_NR_REGISTERS ||
	    in->initial.len > CFI_MAX_PROGRAM_BYTES || in->program.len > CFI_MAX_PROGRAM_BYTES)
		return -EBADMSG;
	rc = clean_program(&w);
	if (rc)
		return rc;
	split = bytes->len;
	w.in = in->program;
	w.initial = false;
	rc = clean_program(&w);
	if (rc)
		return rc;
	r.initial = (struct bytes){bytes->p, split};
	r.program = (struct bytes){bytes->p + split, bytes->len - split};
	*out = r;
	return 0;
}

/* ---- code that is the same everywhere ---- */

#define RULE(start_at, nr, how, of_initial)                                                        \
	((struct cfi_rule){.start = (start_at),                                                    \
			   .bytes = (nr),                                                          \
			   .code_align = 1,                                                        \
			   .data_align = -8,                                                       \
			   .return_register = 16,                                                  \
			   .flags = (how),                                                         \
			   .initial = {of_initial, sizeof(of_initial)}})

/* The caller's frame is where the stack pointer is, `n` bytes up. */
#define AT_STACK(n)                                                                                \
	{                                                                                          \
		CFA_DEF, 7, (n), CFA_OFFSET | 16, 1                                                \
	}

/* Registers in the ucontext_t that the kernel put on the stack, at these offsets of the stack
 * pointer (arch/x86/include/uapi/asm/sigcontext.h). */
#define CONTEXT(reg, lo, hi) CFA_EXPRESSION, (reg), 3, OP_BREG0 + 7, 0x80 | (lo), (hi)
#define AT(reg, off)	     CONTEXT(reg, (off)&0x7f, (off) >> 7)

static bool is_return_from_signal(struct bytes code, size_t at, size_t *start)
{
	static const uint8_t ends[] = {0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
	static const uint8_t shapes[][3] = {{0x48, 0xc7, 0xc0}, {0xb8}};

	/* mov $15,%rax; syscall, or with %eax. The interrupted code returns to its first byte, and
	 * whoever takes that for a call looks at the byte before. */
	for (size_t i = 0; i < 2; i++) {
		size_t n = i ? 1 : 3;

		for (size_t back = 0; back < n + sizeof(ends) && back <= at + 1; back++) {
			size_t from = at + 1 - back;

			if (span_fits(from, n + sizeof(ends), code.len) &&
			    !memcmp(code.p + from, shapes[i], n) &&
			    !memcmp(code.p + from + n, ends, sizeof(ends))) {
				*start = from;
				return true;
			}
		}
	}
	return false;
}

/* Where the jump of a stub that begins at `i` is behind; 0: it is none. */
static size_t jump_of(struct bytes code, size_t i)
{
	static const uint8_t landing[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t from = i;

	if (span_fits(i, 4, code.len) && !memcmp(code.p + i, landing, 4))
		i += 4;
	if (span_fits(i, 1, code.len) && code.p[i] == 0xf2)
		i++;
	if (!span_fits(i, 6, code.len) || code.p[i] != 0xff || code.p[i + 1] != 0x25)
		return 0;
	return i + 6 - from;
}

bool cfi_of_code(struct bytes code, size_t at, struct cfi_rule *out)
{
	/* 40: of the mcontext in the ucontext; R8 is its first. */
	static const uint8_t handler[] = {
		CFA_DEF_EXPRESSION, 4,		OP_BREG0 + 7, 0x80 | (160 & 0x7f), 160 >> 7,
		OP_DEREF,	    AT(8, 40),	AT(9, 48),    AT(10, 56),	   AT(11, 64),
		AT(12, 72),	    AT(13, 80), AT(14, 88),   AT(15, 96),	   AT(5, 104),
		AT(4, 112),	    AT(6, 120), AT(3, 128),   AT(1, 136),	   AT(0, 144),
		AT(2, 152),	    AT(7, 160), AT(16, 168)};
	static const uint8_t called[] = AT_STACK(8), pushed[] = AT_STACK(16);
	size_t start, jump, end;
	bool lazy;

	if (at >= code.len)
		return false;
	if (is_return_from_signal(code, at, &start)) {
		*out = RULE((uint64_t)start - 1, 16, CFI_SIGNAL, handler);
		return true;
	}
	for (size_t step = 16; step >= 8; step /= 2) {
		start = at & ~(step - 1);
		jump = jump_of(code, start);
		if (!jump)
			continue;
		/* push of a number, then a jump to what all of them share */
		lazy = jump == 6 && span_fits(start, 7, code.len) && code.p[start + 6] == 0x68;
		end = lazy ? 11 : jump;
		if (at - start < end) {
			*out = RULE(start, end, 0, called);
			return true;
		}
		if (lazy && at - start < 16) {
			*out = RULE(start + end, 5, 0, pushed);
			return true;
		}
	}
	return false;
}
