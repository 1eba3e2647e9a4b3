/* SPDX-License-Identifier: MIT */
/*
 * Source file and line of an address, inlined functions included, from the DWARF of an ELF file.
 * Files are not trusted and libdw is large: read files of other users in a separate process.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct dwarf;
struct elf;

struct dwarf_place {
	const char *function; /* as in the symbol table if DWARF has that; "" unknown */
	const char *file;     /* "" unknown */
	uint32_t line;	      /* 0: unknown */
};

/* NULL: the file has no readable DWARF. `e` must outlive the result. */
struct dwarf *dwarf_open(struct elf *e);
void dwarf_close(struct dwarf *d);

/*
 * The places of virtual address `value`, innermost first; the last is the function that the others
 * were inlined into. Sets at most `max` and returns their number, 0 when the address is unknown.
 * Texts are borrowed until dwarf_close().
 */
size_t dwarf_places(struct dwarf *d, uint64_t value, struct dwarf_place *places, size_t max);
