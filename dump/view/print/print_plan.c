// SPDX-License-Identifier: MIT
/*
 * Fast paths for a compiled print fmt: most pieces print a number or a string at a fixed offset of
 * the record, or a word that depends on one small number. Called by print_format.c after
 * compilation; print_run.c takes the fast paths. They print the same as the trees.
 */
#include "dump/view/print/print_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Maximum size of a number: sign, "0x", zeros, digits; put_hex() always writes 16 bytes. */
#define NUMBER_ROOM 48

/* Applies a cast to `width` bytes; false when the result is no longer a number in the record. */
static bool cast_load(struct load *l, unsigned width, bool is_signed)
{
	if (width > l->bytes)
		return width == 8 || !l->is_signed || is_signed;
	/* The low bytes come first. */
	l->bytes = (uint16_t)width;
	l->is_signed = is_signed;
	return true;
}

static bool field_load(const struct field *f, struct load *out)
{
	if (f->flags & (FIELD_DYNAMIC | FIELD_REST))
		return false;
	*out = (struct load){
		.at = f->offset,
		.end = f->offset + f->size,
		.bytes = (uint16_t)f->size,
		.is_signed = f->flags & FIELD_SIGNED,
	};
	return f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8;
}

/* The position of the number `n` in the record; false when it is calculated. */
static bool number_load(const struct print_node *n, struct load *out)
{
	uint64_t i;

	switch (n->kind) {
	case NODE_FIELD:
		return field_load(n->f, out);
	case NODE_CAST:
		return number_load(n->a, out) && cast_load(out, n->width, n->is_signed);
	case NODE_INDEX:
		if (n->a->kind != NODE_CONST || n->f->flags & (FIELD_DYNAMIC | FIELD_REST))
			return false;
		i = n->a->value;
		if (i >= n->f->size / n->width)
			return false;
		*out = (struct load){
			.at = n->f->offset + (uint32_t)i * n->width,
			.end = n->f->offset + n->f->size,
			.bytes = n->width,
			.is_signed = n->is_signed,
		};
		return true;
	default:
		return false;
	}
}

static bool plan_number(struct print_piece *p)
{
	int zeros = p->precision < 0 ? p->width : p->precision;

	if (p->conv != 'd' && p->conv != 'u' && p->conv != 'x')
		return false;
	/* No padding, or padding with zeros. */
	if (p->flags & ~SPEC_ZERO || zeros > DIGITS_MAX || (p->precision >= 0 && p->width) ||
	    (p->precision < 0 && p->width && !(p->flags & SPEC_ZERO)))
		return false;
	if (!number_load(p->arg, &p->load) || !cast_load(&p->load, p->bytes, p->conv == 'd'))
		return false;
	/* Wider than the record's number: no conversion. */
	if (p->conv != 'd' && p->load.is_signed)
		return false;
	p->quick = p->conv == 'x' ? QUICK_HEX : QUICK_DECIMAL;
	p->zeros = (uint8_t)zeros;
	return true;
}

static bool plan_pointer(struct print_piece *p)
{
	if (p->pointer != PTR_PLAIN || p->width > 0 || !number_load(p->arg, &p->load))
		return false;
	p->quick = QUICK_POINTER;
	return true;
}

static bool plan_string(struct print_piece *p)
{
	const struct field *f = p->arg->f;

	if (p->width || p->precision >= 0 || p->len ||
	    (p->arg->kind != NODE_STRING && p->arg->kind != NODE_MEM))
		return false;
	if (f->flags & (FIELD_DYNAMIC | FIELD_REST) || !f->size || f->size % 8 || f->size > 256)
		return false;
	p->quick = QUICK_STRING;
	p->load = (struct load){
		.at = f->offset,
		.end = f->offset + f->size,
		.bytes = (uint16_t)f->size,
	};
	return true;
}

/* ---- tables ---- */

/*
 * False when the tree reads anything except numbers of one field, or is too large; *f is that field,
 * NULL at first.
 */
static bool one_field(const struct print_node *n, const struct field **f, unsigned *budget)
{
	if (!n)
		return true;
	if (!(*budget)--)
		return false;
	switch (n->kind) {
	case NODE_CONST:
	case NODE_TEXT:
		return true;
	case NODE_FIELD:
		if (*f && *f != n->f)
			return false;
		*f = n->f;
		return true;
	case NODE_CAST:
	case NODE_BINARY:
	case NODE_COND:
	case NODE_CHOICE:
	case NODE_FLAGS:
	case NODE_SYMBOL:
		return one_field(n->a, f, budget) && one_field(n->b, f, budget) &&
		       one_field(n->c, f, budget);
	default:
		return false;
	}
}

/* Runs the piece on a record that contains only the number. */
static int fill_table(struct print_piece *p)
{
	size_t len = p->load.end;
	uint8_t *raw = calloc(1, len);
	struct text t = {0};

	p->table = calloc(QUICK_VALUES, sizeof(*p->table));
	for (unsigned v = 0; p->table && raw && v < QUICK_VALUES; v++) {
		raw[p->load.at] = (uint8_t)v;
		t.b.len = 0;
		program_run_piece(p, (struct bytes){raw, len}, &t);
		if (t.b.len > QUICK_TEXT_BYTES) {
			p->table[v].len = UINT8_MAX;
			continue;
		}
		p->table[v].len = (uint8_t)t.b.len;
		if (t.b.len)
			memcpy(p->table[v].text, t.b.p, t.b.len);
	}
	text_free(&t);
	free(raw);
	return raw && p->table && !t.rc ? 0 : -ENOMEM;
}

static int plan_table(struct print_piece *p)
{
	const struct field *f = NULL;
	unsigned budget = 1000;

	if (p->len || p->kind == PIECE_POINTER || !one_field(p->arg, &f, &budget) || !f ||
	    !field_load(f, &p->load))
		return 0;
	p->load.is_signed = false;
	p->quick = QUICK_TABLE;
	return fill_table(p);
}

/* ---- all pieces ---- */

static size_t room_of(const struct print_piece *p)
{
	switch (p->quick) {
	case QUICK_TEXT:
		return p->text_len;
	case QUICK_STRING:
		return p->load.bytes;
	case QUICK_TABLE:
		return QUICK_TEXT_BYTES;
	default:
		return NUMBER_ROOM;
	}
}

static int plan_piece(struct print_piece *p)
{
	if (p->kind == PIECE_TEXT) {
		p->quick = QUICK_TEXT;
		return 0;
	}
	if ((p->kind == PIECE_NUMBER && plan_number(p)) ||
	    (p->kind == PIECE_POINTER && plan_pointer(p)) ||
	    (p->kind == PIECE_STRING && plan_string(p)))
		return 0;
	return plan_table(p);
}

int program_plan(struct program *prog)
{
	prog->room = PUT_SLACK;
	for (size_t i = 0; i < prog->nr; i++) {
		struct print_piece *p = &prog->pieces[i];
		int rc = plan_piece(p);

		if (rc)
			return rc;
		prog->room += room_of(p);
		if (p->quick > QUICK_TEXT && p->load.end > prog->quick_bytes)
			prog->quick_bytes = p->load.end;
	}
	return 0;
}
