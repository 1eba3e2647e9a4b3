/* SPDX-License-Identifier: MIT */
/*
 * A tracepoint's `print fmt` as a program of pieces. print_format.c (conversions) and print_expr.c
 * (arguments) compile it, print_plan.c adds fast paths, print_run.c runs it. Private to these files.
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
	/* a value that only the running kernel has: a symbol's address */
	NODE_UNKNOWN,
};

/* Two-character operators. */
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
 * The fast path of a piece, which does not use the arguments' trees; see print_plan.c. It reads only
 * the first program.quick_bytes of the record.
 */
enum quick_kind {
	QUICK_NONE,    /* no fast path */
	QUICK_TEXT,    /* as it is */
	QUICK_DECIMAL, /* the number at `load` */
	QUICK_HEX,
	QUICK_POINTER, /* as QUICK_HEX, after "0x" */
	QUICK_STRING,  /* load.bytes, a multiple of 8, up to a NUL */
	QUICK_TABLE,   /* the number at `load` is an index in `table`, if small enough */
};

/* A number or a string in the record. */
struct load {
	uint32_t at;
	uint32_t end; /* end of its field, which a record has in full or not at all */
	uint16_t bytes;
	bool is_signed;
};

#define QUICK_VALUES	 64
#define QUICK_TEXT_BYTES 15

struct quick_text {
	uint8_t len; /* UINT8_MAX: too long for the table */
	char text[QUICK_TEXT_BYTES];
};

struct print_piece {
	uint8_t quick; /* enum quick_kind */
	uint8_t zeros; /* QUICK_DECIMAL, QUICK_HEX: minimum number of digits */
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
	size_t quick_bytes; /* shorter records take no fast path */
	size_t room;	    /* maximum output of all quick pieces */
};

/* Adds the fast paths to a compiled program. 0 or -ENOMEM. */
int program_plan(struct program *prog);

/* Runs the piece by its trees. */
void program_run_piece(const struct print_piece *p, struct bytes raw, struct text *t);

/* The compiler's position in the text of the print fmt. */
struct scanner {
	const char *p, *end;
	const struct tpfields *tp;
	struct program *prog;
	unsigned nesting;
};

/* The next character that is not white space, '\0' at the end. */
char scanner_peek(struct scanner *s);
bool scanner_skip(struct scanner *s, char c);

/* Accepts the text `word`, after white space. */
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

/* The type in a cast. */
struct scanner_cast {
	const struct scanner_type *type; /* NULL: unknown, the value does not change */
	bool pointer;
};

/* "unsigned int", "const struct sockaddr *": words, then stars. False when it is not a type. */
bool scanner_type(struct scanner *s, struct scanner_cast *out);
/* The character of an escape such as \\n: white space becomes a space, an event is one line. */
char scanner_unescape(char c);

/* One or more "..." in a row as one string, escapes undone; NULL when there is none. */
const char *scanner_string(struct scanner *s);

/* An expression up to ',' or its closing character; NULL when invalid or too deep. */
struct print_node *scanner_expr(struct scanner *s);

/* `n` as a separate value for text pieces; NULL when out of memory. */
struct print_node *scanner_text_node(struct scanner *s, const char *text);

uint64_t node_eval(const struct print_node *n, struct bytes raw);
