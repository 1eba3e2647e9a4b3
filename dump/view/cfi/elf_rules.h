/* SPDX-License-Identifier: MIT */
/*
 * The unwind rules of one ELF file, by file offset (as in SYMBOLS). They come from .eh_frame, else
 * from .debug_frame, else from the code itself where it is recognised. Files are not trusted;
 * dwarf.h says where to call this.
 */
#pragma once

#include "dump/view/cfi/cfi.h"

struct elf;
struct elf_rules;

/* The caller keeps `e`, which must outlive the result. 0 or -ENOMEM. */
int elf_rules_open(struct elf *e, struct elf_rules **out);
void elf_rules_close(struct elf_rules *f);

/* The rule for the code at `offset`, before cfi_clean(); its start is an offset too. Borrowed until
 * elf_rules_close(). False: there is no rule. */
bool elf_rules_find(const struct elf_rules *f, uint64_t offset, struct cfi_rule *out);
