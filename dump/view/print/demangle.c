// SPDX-License-Identifier: MIT
/* See demangle.h. Called once a name, when the symbols of a dump are loaded. */
#include "dump/view/print/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

/* Substitutions double a name every few characters: what is longer than its room is given up. */
#define MAX_MANGLED 4096
#define MAX_PIECES  65536u

struct room {
	jmp_buf full;
	char *out;
	size_t n, len;
	unsigned nr_pieces;
};

/* The callback variants keep all they have on the stack, so that they can be left at any time. */
static void put(const char *piece, size_t len, void *ctx)
{
	struct room *r = ctx;

	if (len >= r->n - r->len || ++r->nr_pieces > MAX_PIECES)
		longjmp(r->full, 1);
	memcpy(r->out + r->len, piece, len);
	r->len += len;
}

static bool try(const char *name, int (*with)(const char *, int, demangle_callbackref, void *),
		struct room *r)
{
	int options = DMGL_ANSI | DMGL_RET_DROP;

	r->len = r->nr_pieces = 0;
	if (setjmp(r->full))
		return false;
	return with(name, options, put, r) && r->len;
}

const char *demangle(const char *name, char *out, size_t n)
{
	struct room r = {.out = out, .n = n};

	if (name[0] != '_' || strnlen(name, MAX_MANGLED) == MAX_MANGLED)
		return name;
	/* The older of Rust's two forms looks like C++. */
	if (!try(name, rust_demangle_callback, &r) && !try(name, cplus_demangle_v3_callback, &r))
		return name;
	out[r.len] = '\0';
	return out;
}
