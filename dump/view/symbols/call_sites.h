/* SPDX-License-Identifier: MIT */
/*
 * Call instructions in the x86-64 code of an ELF file: whether an address follows a call, and which
 * function that call reaches. Finds callers on the stack where code has no unwind rules. Places are
 * file offsets. Files are not trusted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct call_sites;
struct elf;

/* `e` must outlive the result. NULL: out of memory, or there is no code. */
struct call_sites *call_sites_new(struct elf *e);
void call_sites_free(struct call_sites *c);

enum call_sites_answer {
	CALLS_NO,
	CALLS_MAYBE, /* there is a call through a pointer */
	CALLS_YES,
};

/*
 * Whether a call in `from` that returns to the place `ret` has led to `place` in `to`: it calls the
 * function that this lies in, or one that jumps to that; from another file, by its name.
 */
enum call_sites_answer call_sites_lead(const struct call_sites *from, uint64_t ret,
				       const struct call_sites *to, uint64_t place);
/* Whether the function that `place` lies in may be called through a pointer: code mentions its
 * address. Tables of pointers in data are not looked at. */
bool call_sites_by_pointer(const struct call_sites *c, uint64_t place);
