// SPDX-License-Identifier: MIT
/*
 * Parses the arguments of a print fmt, C expressions over a record's fields, by precedence climbing;
 * see print_program.h. Called by print_format.c. The text is not trusted: nesting and depth of trees
 * are bounded, and constants are folded by the arithmetic of print_run.c, which is total.
 */
#include "dump/view/print/print_program.h"

#include "dump/base/array.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NESTING 100
#define MAX_DEPTH   200

/* ---- nodes ---- */

static struct print_node *node_new(struct scanner *s, enum node_kind kind, unsigned width,
				   bool is_signed)
{
	struct print_node *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->kind = (uint8_t)kind;
	n->width = (uint8_t)width;
	n->is_signed = is_signed;
	n->depth = 1;
	n->owned = s->prog->owned;
	s->prog->owned = n;
	return n;
}

struct print_node *scanner_text_node(struct scanner *s, const char *text)
{
	struct print_node *n = node_new(s, NODE_TEXT, 8, false);

	if (n)
		n->text = text;
	return n;
}

static struct print_node *field_node(struct scanner *s, enum node_kind kind, const struct field *f)
{
	struct print_node *n = f ? node_new(s, kind, 8, false) : NULL;

	if (n)
		n->f = f;
	return n;
}

/* Sets the depth of `n` after its children; NULL when one is missing or the tree is too deep. */
static struct print_node *with_children(struct print_node *n)
{
	const struct print_node *kids[] = {n->a, n->b, n->c};

	for (size_t i = 0; i < 3; i++) {
		if (!kids[i])
			continue;
		if (kids[i]->depth >= MAX_DEPTH)
			return NULL;
		if (kids[i]->depth >= n->depth)
			n->depth = kids[i]->depth + 1;
	}
	return n;
}

/* A number or an unknown value; text and memory are not operands. */
static bool usable(const struct print_node *n)
{
	return n && (node_is_number(n) || n->kind == NODE_UNKNOWN);
}

static struct print_node *unknown(struct scanner *s)
{
	return node_new(s, NODE_UNKNOWN, 8, false);
}

static bool is_unknown(const struct print_node *n)
{
	return n && n->kind == NODE_UNKNOWN;
}

/* Promotion and the usual conversions: the wider type wins, and of equally wide ones the unsigned.
 */
static void convert(struct print_node *n)
{
	const struct print_node *a = n->a ? n->a : n->b, *b = n->b;
	bool shift = n->op == OP_SHL || n->op == OP_SHR;

	n->width = a->width > b->width || shift ? a->width : b->width;
	n->is_signed = (a->width < n->width || a->is_signed) &&
		       (shift || b->width < n->width || b->is_signed);
	if (n->width < 4) {
		n->width = 4;
		n->is_signed = true;
	}
}

/* ---- operands ---- */

static struct print_node *unary(struct scanner *s);

/* 10, 0x10, 10UL, with its C type. */
static struct print_node *number_node(struct scanner *s)
{
	char digits[32], *end;
	size_t len = 0;
	struct print_node *n;
	bool wide, is_unsigned;
	uint64_t v;

	while (s->p + len < s->end && isalnum((unsigned char)s->p[len]) &&
	       len < sizeof(digits) - 1) {
		digits[len] = s->p[len];
		len++;
	}
	digits[len] = '\0';
	v = strtoull(digits, &end, 0);
	if (end == digits || strspn(end, "uUlL") != strlen(end))
		return NULL;
	s->p += len;
	wide = strpbrk(end, "lL") || v > UINT32_MAX;
	is_unsigned = strpbrk(end, "uU") || v > (wide ? INT64_MAX : INT32_MAX);
	n = node_new(s, NODE_CONST, wide ? 8 : 4, !is_unsigned);
	if (n)
		n->value = v;
	return n;
}

static struct print_node *char_node(struct scanner *s)
{
	struct print_node *n = NULL;
	char c;

	s->p++;
	if (s->end - s->p >= 3 && *s->p == '\\') {
		s->p++;
		c = *s->p == '0' ? '\0' : scanner_unescape(*s->p);
	} else {
		c = s->p < s->end ? *s->p : '\0';
	}
	if (s->end - s->p >= 2 && s->p[1] == '\'')
		n = node_new(s, NODE_CONST, 4, true);
	if (n) {
		n->value = (uint64_t)c;
		s->p += 2;
	}
	return n;
}

static const struct field *find(struct scanner *s, struct scanner_word w)
{
	return tpfields_find(s->tp, w.p, w.len);
}

static struct print_node *mem_node(struct scanner *s, const struct field *f)
{
	struct print_node *n = field_node(s, NODE_MEM, f);

	if (n) {
		n->width = (uint8_t)(f->elem_bytes ? f->elem_bytes : 1);
		n->is_signed = f->flags & FIELD_SIGNED;
	}
	return n;
}

/* REC->name: a number, or the memory of an array. */
static struct print_node *field_ref(struct scanner *s)
{
	const struct field *f;
	struct print_node *n;
	struct scanner_word w;

	if (!scanner_skip_text(s, "->") || !scanner_word(s, &w))
		return NULL;
	f = find(s, w);
	if (!f)
		return NULL;
	if (f->flags & FIELD_ARRAY ||
	    (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8))
		return mem_node(s, f);
	n = field_node(s, NODE_FIELD, f);
	if (n) {
		n->width = (uint8_t)f->size;
		n->is_signed = f->flags & FIELD_SIGNED;
	}
	return n;
}

/* ---- functions ---- */

/* "name)" of __get_str(name) and similar functions. */
static const struct field *field_arg(struct scanner *s)
{
	struct scanner_word w;

	if (!scanner_word(s, &w) || !scanner_skip(s, ')'))
		return NULL;
	return find(s, w);
}

static struct print_node *call_str(struct scanner *s)
{
	return field_node(s, NODE_STRING, field_arg(s));
}

static struct print_node *call_array(struct scanner *s)
{
	const struct field *f = field_arg(s);

	return f ? mem_node(s, f) : NULL;
}

static struct print_node *call_len(struct scanner *s)
{
	return field_node(s, NODE_DYNLEN, field_arg(s));
}

static struct print_node *call_mask(struct scanner *s)
{
	return field_node(s, NODE_MASK, field_arg(s));
}

static struct print_node *argument(struct scanner *s, char then)
{
	struct print_node *n = scanner_expr(s);

	return n && scanner_skip(s, then) ? n : NULL;
}

static struct print_node *call_hex_sep(struct scanner *s, char sep)
{
	struct print_node *mem = argument(s, ','), *n;

	n = mem && mem->kind == NODE_MEM ? field_node(s, NODE_HEX, mem->f) : NULL;
	if (!n)
		return NULL;
	n->sep = sep;
	n->a = argument(s, ')');
	return n->a && node_is_number(n->a) ? with_children(n) : NULL;
}

static struct print_node *call_hex(struct scanner *s)
{
	return call_hex_sep(s, ' ');
}

static struct print_node *call_hex_str(struct scanner *s)
{
	return call_hex_sep(s, '\0');
}

static struct print_node *call_ints(struct scanner *s)
{
	struct print_node *mem = argument(s, ','), *n;

	n = mem && mem->kind == NODE_MEM ? field_node(s, NODE_INTS, mem->f) : NULL;
	if (!n)
		return NULL;
	n->a = argument(s, ',');
	n->b = argument(s, ')');
	if (!n->a || !n->b || !node_is_number(n->a) || !node_is_number(n->b))
		return NULL;
	return with_children(n);
}

static bool add_symbol(struct print_node *n, uint64_t value, const char *text)
{
	if (!array_room(n->syms, n->nr_syms))
		return false;
	n->syms[n->nr_syms++] = (struct sym){value, text};
	return true;
}

/* value, "name" }. Skips a symbolic value and the end marker (-1, NULL). */
static bool symbol(struct scanner *s, struct print_node *n)
{
	struct print_node *v = argument(s, ','), *name;

	if (!v || (v->kind != NODE_CONST && !is_unknown(v)))
		return false;
	name = scanner_expr(s);
	if (!name || !scanner_skip(s, '}'))
		return false;
	return name->kind != NODE_TEXT || is_unknown(v) || add_symbol(n, v->value, name->text);
}

/* { value, "name" }, ... ) */
static struct print_node *symbols(struct scanner *s, struct print_node *n)
{
	do {
		if (!scanner_skip(s, '{'))
			return NULL;
		if (!scanner_skip(s, '}') && !symbol(s, n))
			return NULL;
	} while (scanner_skip(s, ','));
	return scanner_skip(s, ')') ? with_children(n) : NULL;
}

static struct print_node *call_flags(struct scanner *s)
{
	struct print_node *n = node_new(s, NODE_FLAGS, 8, false);

	if (!n)
		return NULL;
	n->a = argument(s, ',');
	n->text = n->a && node_is_number(n->a) ? scanner_string(s) : NULL;
	return n->text && scanner_skip(s, ',') ? symbols(s, n) : NULL;
}

static struct print_node *call_symbolic(struct scanner *s)
{
	struct print_node *n = node_new(s, NODE_SYMBOL, 8, false);

	if (!n)
		return NULL;
	n->a = argument(s, ',');
	return n->a && node_is_number(n->a) ? symbols(s, n) : NULL;
}

static struct print_node *call_expect(struct scanner *s)
{
	struct print_node *n = argument(s, ',');

	return n && argument(s, ')') ? n : NULL;
}

static struct print_node *call_sizeof(struct scanner *s)
{
	struct print_node *n = NULL;
	struct scanner_cast c;

	if (scanner_type(s, &c) && scanner_skip(s, ')') && (c.pointer || c.type))
		n = node_new(s, NODE_CONST, 8, false);
	if (n)
		n->value = c.pointer ? 8 : c.type->width;
	return n;
}

struct print_function {
	const char *name;
	struct print_node *(*call)(struct scanner *s); /* called after the '('; takes the ')' */
};

static const struct print_function functions[] = {
	{"__get_str", call_str},
	{"__get_rel_str", call_str},
	{"__get_dynamic_array", call_array},
	{"__get_rel_dynamic_array", call_array},
	{"__get_sockaddr", call_array},
	{"__get_rel_sockaddr", call_array},
	{"__get_dynamic_array_len", call_len},
	{"__get_rel_dynamic_array_len", call_len},
	{"__get_bitmask", call_mask},
	{"__get_rel_bitmask", call_mask},
	{"__get_cpumask", call_mask},
	{"__get_rel_cpumask", call_mask},
	{"__print_flags", call_flags},
	{"__print_flags_u64", call_flags},
	{"__print_symbolic", call_symbolic},
	{"__print_symbolic_u64", call_symbolic},
	{"__print_hex", call_hex},
	{"__print_hex_str", call_hex_str},
	{"__print_array", call_ints},
	{"__builtin_expect", call_expect},
	{"sizeof", call_sizeof},
};

static struct print_node *word_node(struct scanner *s)
{
	struct scanner_word w;

	scanner_word(s, &w);
	if (scanner_word_is(w, "REC"))
		return field_ref(s);
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (scanner_word_is(w, functions[i].name))
			return scanner_skip(s, '(') ? functions[i].call(s) : NULL;
	/* Calls of other kernel functions are not supported; another kernel symbol is unknown. */
	return scanner_peek(s) == '(' ? NULL : unknown(s);
}

/* ---- operators ---- */

/* Folds a cast or an operation on constants. */
static struct print_node *folded(struct print_node *n)
{
	if (!n || (n->a && n->a->kind != NODE_CONST) || (n->b && n->b->kind != NODE_CONST))
		return n;
	n->value = node_eval(n, (struct bytes){0});
	n->kind = NODE_CONST;
	n->a = n->b = NULL;
	n->depth = 1;
	return n;
}

static struct print_node *cast_node(struct scanner *s, const struct scanner_cast *c)
{
	struct print_node *a = unary(s), *n;

	if (!a || !c->type)
		return a;
	if (a->kind == NODE_MEM && c->pointer) {
		a->width = c->type->width;
		a->is_signed = c->type->is_signed;
		return a;
	}
	if (!node_is_number(a) || c->pointer)
		return a;
	n = node_new(s, NODE_CAST, c->type->width, c->type->is_signed);
	if (!n)
		return NULL;
	n->a = a;
	return folded(with_children(n));
}

/* True at an operand, which follows a cast; an operator follows a value in parentheses. */
static bool operand_follows(struct scanner *s, const struct scanner_cast *cast)
{
	char c = scanner_peek(s);

	return isalnum((unsigned char)c) || (c && strchr("_(\"'!~", c)) ||
	       (cast->type && c && strchr("-+&", c));
}

static struct print_node *paren(struct scanner *s)
{
	const char *back = s->p;
	struct scanner_cast c;

	if (scanner_type(s, &c) && scanner_skip(s, ')') && operand_follows(s, &c))
		return cast_node(s, &c);
	s->p = back;
	return argument(s, ')');
}

static struct print_node *index_node(struct scanner *s, struct print_node *mem)
{
	struct print_node *n;

	if (mem->kind != NODE_MEM)
		return NULL;
	n = field_node(s, NODE_INDEX, mem->f);
	if (!n)
		return NULL;
	n->width = mem->width;
	n->is_signed = mem->is_signed;
	n->a = argument(s, ']');
	return n->a && node_is_number(n->a) ? with_children(n) : NULL;
}

static struct print_node *operand(struct scanner *s)
{
	char c = scanner_peek(s);
	const char *text;
	struct print_node *n;

	if (c == '"') {
		text = scanner_string(s);
		return text ? scanner_text_node(s, text) : NULL;
	}
	if (c == '\'')
		return char_node(s);
	if (isdigit((unsigned char)c))
		n = number_node(s);
	else if (scanner_skip(s, '('))
		n = paren(s);
	else if (isalpha((unsigned char)c) || c == '_')
		n = word_node(s);
	else
		return NULL;
	while (n && scanner_skip(s, '['))
		n = index_node(s, n);
	return n;
}

/* `a` is NULL for an operator with one operand. */
static struct print_node *operation(struct scanner *s, uint8_t op, struct print_node *a,
				    struct print_node *b)
{
	struct print_node *n;

	if (!usable(b) || (a && !usable(a)))
		return NULL;
	if (is_unknown(a) || is_unknown(b))
		return unknown(s);
	n = node_new(s, NODE_BINARY, 8, false);
	if (!n)
		return NULL;
	n->op = op;
	n->a = a;
	n->b = b;
	convert(n);
	return folded(with_children(n));
}

static struct print_node *unary_nested(struct scanner *s)
{
	char c = scanner_peek(s);

	if (c == '&') { /* the address of an array is the array */
		s->p++;
		return unary(s);
	}
	if (c && strchr("!~-+", c)) {
		s->p++;
		return operation(s, (uint8_t)c, NULL, unary(s));
	}
	return operand(s);
}

static struct print_node *unary(struct scanner *s)
{
	struct print_node *n;

	if (s->nesting >= MAX_NESTING)
		return NULL;
	s->nesting++;
	n = unary_nested(s);
	s->nesting--;
	return n;
}

struct op {
	const char *text;
	uint8_t op;
	uint8_t level; /* the higher, the closer it binds */
};

/* Longer ones first. */
static const struct op ops[] = {
	{"<<", OP_SHL, 8}, {">>", OP_SHR, 8}, {"<=", OP_LE, 7}, {">=", OP_GE, 7}, {"==", OP_EQ, 6},
	{"!=", OP_NE, 6},  {"&&", OP_AND, 2}, {"||", OP_OR, 1}, {"*", '*', 10},	  {"/", '/', 10},
	{"%", '%', 10},	   {"+", '+', 9},     {"-", '-', 9},	{"<", '<', 7},	  {">", '>', 7},
	{"&", '&', 5},	   {"^", '^', 4},     {"|", '|', 3},
};

static const struct op *take_op(struct scanner *s, unsigned level)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		const char *back = s->p;

		if (!scanner_skip_text(s, ops[i].text))
			continue;
		if (ops[i].level >= level)
			return &ops[i];
		s->p = back;
		return NULL;
	}
	return NULL;
}

static struct print_node *binary(struct scanner *s, unsigned level)
{
	struct print_node *n = unary(s);
	const struct op *op;

	while (n && (op = take_op(s, level))) {
		struct print_node *b = binary(s, op->level + 1u);

		n = b ? operation(s, op->op, n, b) : NULL;
	}
	return n;
}

static struct print_node *cond_node(struct scanner *s, struct print_node *a)
{
	struct print_node *b = argument(s, ':'), *c = b ? scanner_expr(s) : NULL, *n;

	if (!c || !usable(a))
		return NULL;
	if (is_unknown(a) || is_unknown(b) || is_unknown(c))
		return unknown(s);
	n = node_new(s, node_is_number(b) && node_is_number(c) ? NODE_COND : NODE_CHOICE, 8, false);
	if (!n)
		return NULL;
	n->a = a;
	n->b = b;
	n->c = c;
	if (n->kind == NODE_COND) {
		n->width = b->width > c->width ? b->width : c->width;
		n->is_signed = b->is_signed && c->is_signed;
	}
	return with_children(n);
}

struct print_node *scanner_expr(struct scanner *s)
{
	struct print_node *n;

	if (s->nesting >= MAX_NESTING)
		return NULL;
	s->nesting++;
	n = binary(s, 1);
	if (n && scanner_skip(s, '?'))
		n = cond_node(s, n);
	s->nesting--;
	return n;
}
