/* SPDX-License-Identifier: MIT */
/*
 * Call instructions in the x86-64 code of an ELF file: whether an address follows a call, and which
 * function the call reaches. Used to find callers on the stack for code without unwind rules.
 * Places are file offsets. Files are not trusted.
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
	CALLS_MAYBE, /* the call goes through a pointer */
	CALLS_YES,
};

/*
 * Whether the call in `from` that returns to the place `ret` can reach `place` in `to`: it calls
 * the function that contains the place, or a function that jumps to that one. Across files,
 * functions are matched by name.
 */
enum call_sites_answer call_sites_lead(const struct call_sites *from, uint64_t ret,
				       const struct call_sites *to, uint64_t place);
/* Whether the function that contains `place` may be called through a pointer: code mentions its
 * address. Pointer tables in data are not checked. */
bool call_sites_by_pointer(const struct call_sites *c, uint64_t place);
