/* SPDX-License-Identifier: MIT */
/*
 * What the x86-64 code of an ELF file says about calls: whether an address is one that a call
 * returns to, and to whose call. It is how a caller is told from what else lies on the stack where
 * code has no unwind rules. Places are offsets in the file. Files are not trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct calls;
struct elf;

/* `e` must outlive the result. NULL: out of memory, or there is no code. */
struct calls *calls_new(struct elf *e);
void calls_free(struct calls *c);

enum calls_answer {
	CALLS_NO,
	CALLS_MAYBE, /* there is a call through a pointer */
	CALLS_YES,
};

/*
 * Whether a call in `from` that returns to the place `ret` has led to `place` in `to`: it calls the
 * function that this lies in, or one that jumps to that; from another file, by its name.
 */
enum calls_answer calls_lead(const struct calls *from, uint64_t ret, const struct calls *to,
			     uint64_t place);
/* Whether the function that `place` lies in may be called through a pointer: code mentions its
 * address. Tables of pointers in data are not looked at. */
bool calls_by_pointer(const struct calls *c, uint64_t place);
