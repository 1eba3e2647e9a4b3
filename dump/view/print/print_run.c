// SPDX-License-Identifier: MIT
/*
 * Runs a compiled print fmt on a record; see print_program.h. Called by fields.c through
 * print_format.h. Every read goes through field_bytes() or field_number(); only the text allocates.
 */
#include "dump/view/print/print_format.h"
#include "dump/view/print/print_program.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORD 4096 /* maximum precision from an argument */

static uint64_t mask_of(unsigned width)
{
	return width >= 8 ? ~0ull : (1ull << (8 * width)) - 1;
}

static uint64_t extend(uint64_t v, unsigned width, bool is_signed)
{
	v &= mask_of(width);
	if (is_signed && width < 8 && (v >> (8 * width - 1)) & 1)
		v |= ~mask_of(width);
	return v;
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed, bool rest)
{
	if (!b)
		return 0;
	if (is_signed && b == ~0ull)
		return rest ? 0 : -a;
	if (is_signed)
		return (uint64_t)(rest ? (int64_t)a % (int64_t)b : (int64_t)a / (int64_t)b);
	return rest ? a % b : a / b;
}

static bool less(uint64_t a, uint64_t b, bool is_signed)
{
	return is_signed ? (int64_t)a < (int64_t)b : a < b;
}

static uint64_t binary(const struct print_node *n, struct bytes raw)
{
	uint64_t a = n->a ? node_eval(n->a, raw) : 0, b;

	if (n->op == OP_AND && !a)
		return 0;
	if (n->op == OP_OR && a)
		return 1;
	b = node_eval(n->b, raw);
	a = extend(a, n->width, n->is_signed);
	if (n->op != OP_SHL && n->op != OP_SHR)
		b = extend(b, n->width, n->is_signed);
	switch (n->op) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
	case '%':
		return divide(a, b, n->is_signed, n->op == '%');
	case '&':
		return a & b;
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '~':
		return ~b;
	case '!':
		return !b;
	case OP_SHL:
		return a << (b & 63);
	case OP_SHR:
		return n->is_signed ? (uint64_t)((int64_t)a >> (b & 63)) : a >> (b & 63);
	case '<':
		return less(a, b, n->is_signed);
	case '>':
		return less(b, a, n->is_signed);
	case OP_LE:
		return !less(b, a, n->is_signed);
	case OP_GE:
		return !less(a, b, n->is_signed);
	case OP_EQ:
		return a == b;
	case OP_NE:
		return a != b;
	default: /* OP_AND, OP_OR */
		return b != 0;
	}
}

static uint64_t element(const struct print_node *n, struct bytes raw)
{
	uint64_t i = node_eval(n->a, raw);
	struct bytes b;

	if (!field_bytes(n->f, raw, &b) || i >= b.len / n->width)
		return 0;
	return field_value(b.p + i * n->width, n->width, n->is_signed);
}

uint64_t node_eval(const struct print_node *n, struct bytes raw)
{
	struct bytes b;

	switch (n->kind) {
	case NODE_CONST:
		return n->value;
	case NODE_FIELD:
		return field_number(n->f, raw);
	case NODE_CAST:
		return extend(node_eval(n->a, raw), n->width, n->is_signed);
	case NODE_BINARY:
		return extend(binary(n, raw), n->width, n->is_signed);
	case NODE_COND:
		return node_eval(node_eval(n->a, raw) ? n->b : n->c, raw);
	case NODE_INDEX:
		return element(n, raw);
	case NODE_DYNLEN:
		return field_bytes(n->f, raw, &b) ? b.len : 0;
	default:
		return 0;
	}
}

static void put_cstr(struct text *t, const char *s)
{
	text_safe(t, s, strlen(s));
}

static void put_0x(struct text *t, uint64_t v)
{
	text_put(t, "0x", 2);
	text_hex(t, v, 1);
}

/* Names of the bits that are set, bits without a name as a number. The name of 0 means no bits. */
static void put_flags(const struct print_node *n, struct bytes raw, struct text *t)
{
	uint64_t mask = mask_of(n->a->width), v = node_eval(n->a, raw) & mask;
	bool any = false;

	for (size_t i = 0; i < n->nr_syms; i++) {
		uint64_t s = n->syms[i].value & mask;

		if (!s || (v & s) != s)
			continue;
		if (any)
			put_cstr(t, n->text);
		put_cstr(t, n->syms[i].text);
		any = true;
		v &= ~s;
	}
	if (!v)
		return;
	if (any)
		put_cstr(t, n->text);
	put_0x(t, v);
}

static void put_symbol(const struct print_node *n, struct bytes raw, struct text *t)
{
	uint64_t mask = mask_of(n->a->width), v = node_eval(n->a, raw) & mask;

	for (size_t i = 0; i < n->nr_syms; i++) {
		if ((n->syms[i].value & mask) == v) {
			put_cstr(t, n->syms[i].text);
			return;
		}
	}
	put_0x(t, v);
}

static void put_ints(const struct print_node *n, struct bytes raw, struct text *t)
{
	uint64_t nr = node_eval(n->a, raw), size = node_eval(n->b, raw);
	struct bytes b;

	if ((size != 1 && size != 2 && size != 4 && size != 8) || !field_bytes(n->f, raw, &b))
		return;
	text_char(t, '{');
	for (uint64_t i = 0; i < nr && i < b.len / size; i++) {
		text_str(t, i ? "," : "");
		put_0x(t, field_value(b.p + i * size, size, false));
	}
	text_char(t, '}');
}

/* Words of 32 bits, highest first, as the kernel prints bitmaps. */
static void put_mask(const struct print_node *n, struct bytes raw, struct text *t)
{
	struct bytes b;

	if (!field_bytes(n->f, raw, &b))
		return;
	for (size_t i = b.len / 4; i-- > 0;) {
		text_hex(t, field_value(b.p + 4 * i, 4, false), 8);
		if (i)
			text_char(t, ',');
	}
}

static void put_string(const struct print_node *n, struct bytes raw, struct text *t, size_t max)
{
	struct bytes b;
	uint64_t nr;

	switch (n->kind) {
	case NODE_TEXT:
		put_cstr(t, n->text);
		break;
	case NODE_STRING:
	case NODE_MEM:
		if (field_string(n->f, raw, &b))
			text_safe(t, (const char *)b.p, b.len < max ? b.len : max);
		break;
	case NODE_CHOICE:
		put_string(node_eval(n->a, raw) ? n->b : n->c, raw, t, max);
		break;
	case NODE_FLAGS:
		put_flags(n, raw, t);
		break;
	case NODE_SYMBOL:
		put_symbol(n, raw, t);
		break;
	case NODE_HEX:
		nr = node_eval(n->a, raw);
		if (field_bytes(n->f, raw, &b))
			text_hexdump(t, (struct bytes){b.p, nr < b.len ? nr : b.len}, n->sep);
		break;
	case NODE_INTS:
		put_ints(n, raw, t);
		break;
	case NODE_MASK:
		put_mask(n, raw, t);
		break;
	default:
		put_0x(t, node_eval(n, raw));
		break;
	}
}

/* Pads the text from `from` on to the piece's width. */
static void pad(const struct print_piece *p, struct text *t, size_t from)
{
	size_t len = t->b.len - from;
	int fill = (size_t)p->width > len ? p->width - (int)len : 0;

	if (p->width <= 0 || !fill || t->rc)
		return;
	text_fill(t, ' ', fill);
	if (t->rc || p->flags & SPEC_LEFT)
		return;
	memmove(t->b.p + from + fill, t->b.p + from, len);
	memset(t->b.p + from, ' ', (size_t)fill);
}

/* Writes the digits of `v`, without sign and prefix, to the end of `raw`; returns their start. */
static size_t digits(char raw[32], uint64_t v, char conv)
{
	unsigned base = conv == 'x' || conv == 'X' ? 16 : conv == 'o' ? 8 : 10;
	const char *set = conv == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
	size_t at = 32;

	do {
		raw[--at] = set[v % base];
		v /= base;
	} while (v);
	return at;
}

static void put_padded(const struct print_piece *p, uint64_t v, bool negative, struct text *t)
{
	size_t from = t->b.len, at;
	char raw[32];
	int nr, zeros;

	at = digits(raw, v, p->conv);
	nr = (int)(32 - at);
	if (negative)
		text_char(t, '-');
	else if (p->flags & SPEC_PLUS && p->conv == 'd')
		text_char(t, '+');
	if (p->flags & SPEC_ALT && v && (p->conv == 'x' || p->conv == 'X'))
		text_put(t, p->conv == 'x' ? "0x" : "0X", 2);
	zeros = p->precision - nr;
	if (p->precision < 0 && (p->flags & (SPEC_ZERO | SPEC_LEFT)) == SPEC_ZERO)
		zeros = p->width - nr - (int)(t->b.len - from);
	text_fill(t, '0', zeros);
	text_put(t, raw + at, (size_t)nr);
	pad(p, t, from);
}

static void put_number(const struct print_piece *p, struct bytes raw, struct text *t)
{
	bool is_signed = p->conv == 'd', negative;
	uint64_t v = extend(node_eval(p->arg, raw), p->bytes, is_signed);

	negative = is_signed && (int64_t)v < 0;
	if (negative)
		v = -v;
	if (!p->width && p->precision < 0 && !p->flags && p->conv != 'X' && p->conv != 'o') {
		if (negative)
			text_char(t, '-');
		if (p->conv == 'x')
			text_hex(t, v, 1);
		else
			text_u64(t, v);
		return;
	}
	put_padded(p, v, negative, t);
}

static void put_ip4(const uint8_t *b, bool reverse, struct text *t)
{
	for (int i = 0; i < 4; i++) {
		if (i)
			text_char(t, '.');
		text_u64(t, b[reverse ? 3 - i : i]);
	}
}

static void put_ip6(const uint8_t *b, struct text *t)
{
	char name[INET6_ADDRSTRLEN];

	if (inet_ntop(AF_INET6, b, name, sizeof(name)))
		text_str(t, name);
}

static void put_sockaddr(const struct print_piece *p, struct bytes b, struct text *t)
{
	uint16_t family = (uint16_t)(b.len >= 8 ? field_value(b.p, 2, false) : AF_UNSPEC);

	if (family == AF_INET) {
		put_ip4(b.p + 4, false, t);
	} else if (family == AF_INET6 && b.len >= 24) {
		text_str(t, p->port ? "[" : "");
		put_ip6(b.p + 8, t);
		text_str(t, p->port ? "]" : "");
	} else {
		text_hexdump(t, b, '\0');
		return;
	}
	if (p->port) {
		text_char(t, ':');
		text_u64(t, (uint64_t)b.p[2] << 8 | b.p[3]);
	}
}

static void put_uuid(const struct print_piece *p, const uint8_t *b, struct text *t)
{
	static const uint8_t guid[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};

	for (int i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text_char(t, '-');
		text_hex(t, b[p->reverse ? guid[i] : i], 2);
	}
}

static size_t pointee_bytes(uint8_t kind)
{
	static const size_t bytes[] = {
		[PTR_IP4] = 4, [PTR_IP6] = 16, [PTR_MAC] = 6, [PTR_UUID] = 16};

	return kind < sizeof(bytes) / sizeof(bytes[0]) ? bytes[kind] : 0;
}

static void put_pointer(const struct print_piece *p, struct bytes raw, struct text *t)
{
	size_t from = t->b.len, need = pointee_bytes(p->pointer);
	struct bytes b = {0};
	uint64_t nr;

	if (p->pointer == PTR_PLAIN) {
		put_0x(t, node_eval(p->arg, raw));
		pad(p, t, from);
		return;
	}
	if (!field_bytes(p->arg->f, raw, &b) || b.len < need) {
		text_char(t, '?');
		return;
	}
	if (p->pointer == PTR_IP4) {
		put_ip4(b.p, p->reverse, t);
	} else if (p->pointer == PTR_IP6) {
		put_ip6(b.p, t);
	} else if (p->pointer == PTR_SOCKADDR) {
		put_sockaddr(p, b, t);
	} else if (p->pointer == PTR_UUID) {
		put_uuid(p, b.p, t);
	} else {
		nr = p->pointer == PTR_MAC ? 6 : p->len ? node_eval(p->len, raw) : 1;
		text_hexdump(t, (struct bytes){b.p, nr < b.len ? nr : b.len}, p->sep);
	}
}

static void put_text(const struct print_piece *p, struct bytes raw, struct text *t)
{
	size_t from = t->b.len, max = p->precision >= 0 ? (size_t)p->precision : SIZE_MAX;
	uint64_t len;

	if (p->len) {
		len = node_eval(p->len, raw);
		max = len < MAX_WORD ? len : MAX_WORD;
	}
	put_string(p->arg, raw, t, max);
	pad(p, t, from);
}

void program_run_piece(const struct print_piece *p, struct bytes raw, struct text *t)
{
	char c;

	switch (p->kind) {
	case PIECE_TEXT:
		text_put(t, p->text, p->text_len);
		break;
	case PIECE_NUMBER:
		put_number(p, raw, t);
		break;
	case PIECE_CHAR:
		c = (char)node_eval(p->arg, raw);
		text_safe(t, &c, 1);
		break;
	case PIECE_STRING:
		put_text(p, raw, t);
		break;
	case PIECE_POINTER:
		put_pointer(p, raw, t);
		break;
	}
}

/* ---- fast paths; NULL: use the trees for this record ---- */

static uint64_t load_value(const struct load *l, struct bytes raw)
{
	return field_value(raw.p + l->at, l->bytes, l->is_signed);
}

/* Moves the digits from `from` on and adds zeros, to `zeros` digits in total. */
static char *fill_zeros(char *from, char *to, unsigned zeros)
{
	size_t nr = (size_t)(to - from);

	if (nr >= zeros)
		return to;
	memmove(from + (zeros - nr), from, nr);
	memset(from, '0', zeros - nr);
	return from + zeros;
}

static char *quick_decimal(const struct print_piece *p, struct bytes raw, char *to)
{
	uint64_t v = load_value(&p->load, raw);

	if (p->load.is_signed && (int64_t)v < 0) {
		if (p->zeros)
			return NULL; /* zeros with a sign: use the trees */
		*to++ = '-';
		v = -v;
	}
	return fill_zeros(to, put_u64(to, v), p->zeros);
}

static char *quick_string(const struct print_piece *p, struct bytes raw, char *to)
{
	const uint8_t *from = raw.p + p->load.at;

	for (size_t i = 0; i < p->load.bytes; i += 8) {
		unsigned plain = plain_bytes(from + i);

		memcpy(to + i, from + i, 8);
		if (plain < 8)
			return from[i + plain] ? NULL : to + i + plain;
	}
	return to + p->load.bytes;
}

static char *quick_table(const struct print_piece *p, struct bytes raw, char *to)
{
	uint64_t v = load_value(&p->load, raw);
	const struct quick_text *q = &p->table[v % QUICK_VALUES];

	if (v >= QUICK_VALUES || q->len > QUICK_TEXT_BYTES)
		return NULL;
	memcpy(to, q->text, QUICK_TEXT_BYTES);
	return to + q->len;
}

static char *quick_piece(const struct print_piece *p, struct bytes raw, char *to)
{
	switch (p->quick) {
	case QUICK_TEXT:
		return put_wide(to, p->text, p->text_len);
	case QUICK_DECIMAL:
		return quick_decimal(p, raw, to);
	case QUICK_POINTER:
		memcpy(to, "0x", 2);
		return put_hex(to + 2, load_value(&p->load, raw));
	case QUICK_HEX:
		return fill_zeros(to, put_hex(to, load_value(&p->load, raw)), p->zeros);
	case QUICK_STRING:
		return quick_string(p, raw, to);
	case QUICK_TABLE:
		return quick_table(p, raw, to);
	default:
		return NULL;
	}
}

void program_run(const struct program *prog, struct bytes raw, struct text *t)
{
	bool whole = raw.len >= prog->quick_bytes;
	char *to = text_room(t, prog->room), *end;

	for (size_t i = 0; i < prog->nr && to; i++) {
		const struct print_piece *p = &prog->pieces[i];

		end = whole ? quick_piece(p, raw, to) : NULL;
		if (end) {
			to = end;
			continue;
		}
		text_end(t, to);
		program_run_piece(p, raw, t);
		to = text_room(t, prog->room);
	}
	if (to)
		text_end(t, to);
}
