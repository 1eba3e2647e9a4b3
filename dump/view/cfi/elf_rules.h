/* SPDX-License-Identifier: MIT */
/*
 * The unwind rules of one ELF file, by places in the file as SYMBOLS count them. From .eh_frame,
 * else from .debug_frame; where neither says anything, from the code
 * itself when that is known. Files are not trusted; see dwarf.h for where to call this.
 */
#pragma once

#include "dump/view/cfi/cfi.h"

struct elf;
struct elf_rules;

/* `e` stays the caller's and must outlive the result. 0 or -ENOMEM. */
int elf_rules_open(struct elf *e, struct elf_rules **out);
void elf_rules_close(struct elf_rules *f);

/* The rule, not clean yet, for the code at `offset`, its start an offset too; borrowed until
 * elf_rules_close(). False: there is none. */
bool elf_rules_find(const struct elf_rules *f, uint64_t offset, struct cfi_rule *out);
