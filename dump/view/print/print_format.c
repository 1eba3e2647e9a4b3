// SPDX-License-Identifier: MIT
/*
 * Compiles the format string of a print fmt to a program's pieces; see print_format.h. Called by
 * fields.c. Anything unknown fails the compilation: no line is printed half right.
 */
#include "dump/view/print/print_format.h"

#include "dump/base/array.h"
#include "dump/view/print/print_program.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FORMAT_BYTES (64u << 10) /* the largest of today's kernels has 5 KiB */
#define MAX_WIDTH	 256

static struct print_piece *piece_new(struct scanner *s, enum piece_kind kind)
{
	struct program *prog = s->prog;

	if (!array_room(prog->pieces, prog->nr))
		return NULL;
	prog->pieces[prog->nr] = (struct print_piece){.kind = (uint8_t)kind, .precision = -1};
	return &prog->pieces[prog->nr++];
}

/* Text up to the next conversion. Returns its end. */
static const char *text_piece(struct scanner *s, const char *at)
{
	struct print_piece *p = piece_new(s, PIECE_TEXT);
	char *to = s->prog->texts + s->prog->texts_len;

	if (!p)
		return NULL;
	p->text = to;
	while (*at && (*at != '%' || at[1] == '%')) {
		at += *at == '%';
		*to++ = isprint((unsigned char)*at) ? *at : ' ';
		at++;
	}
	p->text_len = (size_t)(to - p->text);
	s->prog->texts_len += p->text_len;
	return at;
}

/* "-08.3" of a conversion; `star` is set when an argument gives the width or precision. */
static bool spec(const char **at, struct print_piece *p, bool *star)
{
	const char *s = *at;

	for (; *s && strchr("-0#+ ", *s); s++)
		p->flags |= *s == '-'	? SPEC_LEFT
			    : *s == '0' ? SPEC_ZERO
			    : *s == '#' ? SPEC_ALT
			    : *s == '+' ? SPEC_PLUS
					: 0;
	for (; isdigit((unsigned char)*s) && p->width < MAX_WIDTH; s++)
		p->width = (int16_t)(p->width * 10 + (*s - '0'));
	*star = *s == '*';
	s += *star;
	if (*s == '.') {
		s++;
		*star |= *s == '*';
		p->precision = 0;
		for (; isdigit((unsigned char)*s) && p->precision < MAX_WIDTH; s++)
			p->precision = (int16_t)(p->precision * 10 + (*s - '0'));
		if (*s == '*') {
			p->precision = -1;
			s++;
		}
	}
	*at = s;
	return p->width < MAX_WIDTH && p->precision < MAX_WIDTH;
}

static unsigned length_bytes(const char **at)
{
	const char *s = *at;
	unsigned bytes = 4;

	for (; *s == 'h'; s++)
		bytes /= 2;
	for (; *s && strchr("lLzZ", *s); s++)
		bytes = 8;
	*at = s;
	return bytes;
}

struct pointer_name {
	const char *text; /* after %p; the longest match counts */
	uint8_t kind;
	char sep;
	bool reverse, port;
};

static const struct pointer_name pointer_names[] = {
	{"ISpc", PTR_SOCKADDR, 0, false, true},	 {"ISpfsc", PTR_SOCKADDR, 0, false, true},
	{"ISpsc", PTR_SOCKADDR, 0, false, true}, {"ISc", PTR_SOCKADDR, 0, false, false},
	{"ISp", PTR_SOCKADDR, 0, false, true},	 {"IS", PTR_SOCKADDR, 0, false, false},
	{"I6c", PTR_IP6, 0, false, false},	 {"I6", PTR_IP6, 0, false, false},
	{"i6", PTR_IP6, 0, false, false},	 {"I4h", PTR_IP4, 0, true, false},
	{"I4l", PTR_IP4, 0, true, false},	 {"I4n", PTR_IP4, 0, false, false},
	{"I4b", PTR_IP4, 0, false, false},	 {"I4", PTR_IP4, 0, false, false},
	{"i4", PTR_IP4, 0, false, false},	 {"MF", PTR_MAC, '-', false, false},
	{"M", PTR_MAC, ':', false, false},	 {"m", PTR_MAC, 0, false, false},
	{"Ub", PTR_UUID, 0, false, false},	 {"UB", PTR_UUID, 0, false, false},
	{"Ul", PTR_UUID, 0, true, false},	 {"UL", PTR_UUID, 0, true, false},
	{"U", PTR_UUID, 0, false, false},	 {"hC", PTR_HEX, ':', false, false},
	{"hD", PTR_HEX, '-', false, false},	 {"hN", PTR_HEX, 0, false, false},
	{"h", PTR_HEX, ' ', false, false},	 {"x", PTR_PLAIN, 0, false, false},
	{"K", PTR_PLAIN, 0, false, false},	 {"S", PTR_PLAIN, 0, false, false},
	{"s", PTR_PLAIN, 0, false, false},	 {"F", PTR_PLAIN, 0, false, false},
	{"f", PTR_PLAIN, 0, false, false},	 {"B", PTR_PLAIN, 0, false, false},
	{"", PTR_PLAIN, 0, false, false},
};

static const struct pointer_name *pointer_find(const char *at)
{
	const struct pointer_name *k = pointer_names;

	while (strncmp(at, k->text, strlen(k->text)))
		k++;
	return k;
}

static bool pointer_piece(struct print_piece *p, const char **at, struct print_node *arg)
{
	const struct pointer_name *k = pointer_find(*at);

	*at += strlen(k->text);
	if (isalnum((unsigned char)**at)) /* an unknown kind: %pbl */
		return false;
	p->kind = PIECE_POINTER;
	p->pointer = k->kind;
	p->sep = k->sep;
	p->reverse = k->reverse;
	p->port = k->port;
	p->arg = arg;
	if (k->kind != PTR_PLAIN)
		return arg->kind == NODE_MEM && (!p->len || k->kind == PTR_HEX);
	return node_is_number(arg) && !p->len;
}

/* Values that only the running kernel has: "page=%p" of mm events, "age=%lu" from jiffies. */
static bool unknown_piece(struct scanner *s, struct print_piece *p)
{
	p->kind = PIECE_STRING;
	p->arg = scanner_text_node(s, "?");
	return p->arg && !p->len;
}

static bool conversion(struct scanner *s, struct print_piece *p, const char **at,
		       struct print_node *arg)
{
	char conv;

	p->bytes = (uint8_t)length_bytes(at);
	conv = **at;
	if (!conv || !p->bytes)
		return false;
	(*at)++;
	if (conv == 'p' && !pointer_piece(p, at, arg) && arg->kind != NODE_UNKNOWN)
		return false;
	if (arg->kind == NODE_UNKNOWN)
		return unknown_piece(s, p);
	if (conv == 'p')
		return true;
	p->arg = arg;
	if (conv == 's') {
		p->kind = PIECE_STRING;
		return true;
	}
	p->kind = conv == 'c' ? PIECE_CHAR : PIECE_NUMBER;
	p->conv = conv == 'i' ? 'd' : conv;
	return strchr("cdiuxXo", conv) && node_is_number(arg) && !p->len;
}

static struct print_node *next_arg(struct scanner *s)
{
	return scanner_skip(s, ',') ? scanner_expr(s) : NULL;
}

/* One conversion with its arguments. Returns its end, NULL when it is unknown. */
static const char *arg_piece(struct scanner *s, const char *at)
{
	struct print_piece done = {.precision = -1}, *p;
	struct print_node *arg;
	bool star;

	at++;
	if (!spec(&at, &done, &star))
		return NULL;
	if (star) {
		done.len = next_arg(s);
		if (!done.len || !node_is_number(done.len))
			return NULL;
	}
	arg = next_arg(s);
	if (!arg || !conversion(s, &done, &at, arg))
		return NULL;
	p = piece_new(s, PIECE_TEXT);
	if (!p)
		return NULL;
	*p = done;
	return at;
}

/* The text after "print fmt:", which is the last line of a format. */
static bool find_print(struct bytes format, struct scanner *s)
{
	static const char mark[] = "\nprint fmt:";
	const char *at = memmem(format.p, format.len, mark, sizeof(mark) - 1);

	if (!at || format.len > MAX_FORMAT_BYTES)
		return false;
	s->p = at + sizeof(mark) - 1;
	s->end = (const char *)format.p + format.len;
	return true;
}

static bool compile(struct scanner *s)
{
	const char *at = scanner_string(s);

	while (at && *at)
		at = *at == '%' && at[1] != '%' ? arg_piece(s, at) : text_piece(s, at);
	return at && scanner_peek(s) == '\0';
}

int program_new(struct bytes format, const struct tpfields *tp, struct program **out)
{
	struct scanner s = {.tp = tp};
	int rc = -ENOMEM;

	if (!format.len || !find_print(format, &s))
		return -EBADMSG;
	s.prog = calloc(1, sizeof(*s.prog));
	if (!s.prog)
		return -ENOMEM;
	/* Room for each string once, and for the format string a second time in pieces. */
	s.prog->texts = calloc(1, 2 * format.len + 2 + PUT_SLACK);
	if (s.prog->texts)
		rc = compile(&s) ? program_plan(s.prog) : -EBADMSG;
	if (rc) {
		program_free(s.prog);
		return rc;
	}
	*out = s.prog;
	return 0;
}

void program_free(struct program *prog)
{
	struct print_node *next;

	if (!prog)
		return;
	for (struct print_node *n = prog->owned; n; n = next) {
		next = n->owned;
		free(n->syms);
		free(n);
	}
	for (size_t i = 0; i < prog->nr; i++)
		free(prog->pieces[i].table);
	free(prog->pieces);
	free(prog->texts);
	free(prog);
}
