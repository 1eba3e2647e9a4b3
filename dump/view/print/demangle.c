// SPDX-License-Identifier: MIT
/* Demangles names; see demangle.h. Called once per name, when the symbols of a dump are loaded. */
#include "dump/view/print/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

/* Substitutions can double a name every few characters: gives up when the buffer is full. */
#define MAX_MANGLED 4096
#define MAX_PIECES  65536u

struct room {
	jmp_buf full;
	char *out;
	size_t n, len;
	unsigned nr_pieces;
};

/* The callback variants allocate nothing, so that longjmp() out of them is safe. */
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
	/* Rust's legacy mangling looks like C++. */
	if (!try(name, rust_demangle_callback, &r) && !try(name, cplus_demangle_v3_callback, &r))
		return name;
	out[r.len] = '\0';
	return out;
}
