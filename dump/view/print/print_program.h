/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint's `print fmt` as a program of pieces: what print_format.c (conversions) and
 *print_expr.c (arguments) compile, print_plan.c finds short cuts for, and print_run.c runs. Private
 *to them.
 *
 *	"pid=%d state=%s", REC->pid, REC->state ? "S" : "R"
 *	 └─ PIECE_TEXT, PIECE_NUMBER(NODE_FIELD), PIECE_TEXT, PIECE_STRING(NODE_CHOICE)
 *	    QUICK_TEXT  QUICK_DECIMAL             QUICK_TEXT  QUICK_TABLE
 */
#pragma once

#include "dump/base/tpfields.h"
#include "dump/view/base/text.h"

enum node_kind {
	/* numbers */
	NODE_CONST,
	NODE_FIELD,
	NODE_CAST,   /* a, cut to `width` bytes */
	NODE_BINARY, /* a op b; unary: a is NULL */
	NODE_COND,   /* a ? b : c */
	NODE_INDEX,  /* element a of the array f */
	NODE_DYNLEN, /* bytes of the dynamic array f */
	/* strings */
	NODE_CHOICE, /* a ? b : c, of which one or both are strings */
	NODE_TEXT,
	NODE_STRING, /* f, up to its NUL */
	NODE_FLAGS,
	NODE_SYMBOL,
	NODE_HEX,  /* a bytes of f */
	NODE_INTS, /* a elements of b bytes of f */
	NODE_MASK, /* f as the kernel prints bit masks */
	/* memory */
	NODE_MEM, /* f's bytes, elements of `width` bytes */
	/* what only the running kernel knows: a symbol's address */
	NODE_UNKNOWN,
};

/* Two-character operators that aren't their first character. */
enum { OP_SHL = 128, OP_SHR, OP_LE, OP_GE, OP_EQ, OP_NE, OP_AND, OP_OR };

struct sym {
	uint64_t value;
	const char *text;
};

struct print_node {
	uint8_t kind;
	uint8_t op;    /* NODE_BINARY: a character or OP_* */
	uint8_t width; /* bytes of the number's type, or of an element: 1, 2, 4 or 8 */
	uint8_t depth; /* of the tree from here down */
	bool is_signed;
	char sep; /* NODE_HEX */
	const struct field *f;
	uint64_t value;
	struct print_node *a, *b, *c;
	const char *text; /* NODE_TEXT; NODE_FLAGS: the delimiter */
	struct sym *syms;
	size_t nr_syms;
	struct print_node *owned; /* the next one to free */
};

static inline bool node_is_number(const struct print_node *n)
{
	return n->kind <= NODE_DYNLEN;
}

enum piece_kind { PIECE_TEXT, PIECE_NUMBER, PIECE_CHAR, PIECE_STRING, PIECE_POINTER };

enum pointer_kind { PTR_PLAIN, PTR_IP4, PTR_IP6, PTR_SOCKADDR, PTR_MAC, PTR_UUID, PTR_HEX };

#define SPEC_LEFT 1u
#define SPEC_ZERO 2u
#define SPEC_ALT  4u
#define SPEC_PLUS 8u

/*
 * How a piece is put without a look at its arguments' trees; see print_plan.c. All that it reads
 * lies within program.quick_bytes of the record.
 */
enum quick_kind {
	QUICK_NONE,    /* not at all */
	QUICK_TEXT,    /* as it is */
	QUICK_DECIMAL, /* the number at `load` */
	QUICK_HEX,
	QUICK_POINTER, /* as QUICK_HEX, after "0x" */
	QUICK_STRING,  /* load.bytes, a multiple of 8, up to a NUL */
	QUICK_TABLE,   /* the number at `load` says which of `table`, if it is that small */
};

/* A number or a string in the record. */
struct load {
	uint32_t at;
	uint32_t end; /* of the field that it is in, which a record has whole or not at all */
	uint16_t bytes;
	bool is_signed;
};

#define QUICK_VALUES	 64
#define QUICK_TEXT_BYTES 15

struct quick_text {
	uint8_t len; /* UINT8_MAX: it is too long to be here */
	char text[QUICK_TEXT_BYTES];
};

struct print_piece {
	uint8_t quick; /* enum quick_kind */
	uint8_t zeros; /* QUICK_DECIMAL, QUICK_HEX: as many digits at least */
	struct load load;
	struct quick_text *table; /* QUICK_VALUES */

	uint8_t kind;
	uint8_t flags;		  /* SPEC_* */
	uint8_t bytes;		  /* numbers: of the C type that the conversion takes */
	uint8_t pointer;	  /* enum pointer_kind */
	char conv;		  /* d u x X o */
	char sep;		  /* PTR_HEX, PTR_MAC */
	bool reverse;		  /* PTR_IP4 in host order, PTR_UUID as a GUID */
	bool port;		  /* PTR_SOCKADDR */
	int16_t width, precision; /* precision -1: none */
	struct print_node *arg;
	struct print_node *len; /* "%.*s", "%*ph"; NULL: none */
	char *text;
	size_t text_len;
};

struct program {
	struct print_piece *pieces;
	size_t nr;
	struct print_node *owned;
	char *texts; /* backs all strings: shorter than the format they come from */
	size_t texts_len;
	size_t quick_bytes; /* a record that is shorter has no short cuts */
	size_t room;	    /* what all quick pieces take at most */
};

/* The program is complete but for what is quick. 0 or -ENOMEM. */
int program_plan(struct program *prog);

/* The piece by its trees: the long way. */
void program_run_piece(const struct print_piece *p, struct bytes raw, struct text *t);

/* Where the compiler stands in the text of the print fmt. */
struct scanner {
	const char *p, *end;
	const struct tpfields *tp;
	struct program *prog;
	unsigned nesting;
};

/* The next character that is no white space, '\0' at the end. */
char scanner_peek(struct scanner *s);
bool scanner_skip(struct scanner *s, char c);

/* Text that stands there as it is, white space before it skipped. */
bool scanner_skip_text(struct scanner *s, const char *what);

struct scanner_word {
	const char *p;
	size_t len;
};

/* An identifier. */
bool scanner_word(struct scanner *s, struct scanner_word *w);
bool scanner_word_is(struct scanner_word w, const char *text);

struct scanner_type {
	const char *words;
	uint8_t width;
	bool is_signed;
};

/* What stands in a cast. */
struct scanner_cast {
	const struct scanner_type *type; /* NULL: not one we know, the value stays as it is */
	bool pointer;
};

/* "unsigned int", "const struct sockaddr *": words, then stars. False when it is no type at all. */
bool scanner_type(struct scanner *s, struct scanner_cast *out);
/* The character that stands for \\n and its like: white space is a space, an event is one line. */
char scanner_unescape(char c);

/* One or more "..." in a row as one string, escapes undone; NULL when there is none. */
const char *scanner_string(struct scanner *s);

/* An expression, up to a ',' or what closes it; NULL when it isn't one, or too deep. */
struct print_node *scanner_expr(struct scanner *s);

/* `n` as a value of its own for text pieces; NULL when out of memory. */
struct print_node *scanner_text_node(struct scanner *s, const char *text);

uint64_t node_eval(const struct print_node *n, struct bytes raw);
