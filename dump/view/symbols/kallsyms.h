/* SPDX-License-Identifier: MIT */
/* The kernel's own list of symbols, /proc/kallsyms or a System.map, as text. One symbol per line:
 * "ffffffff81000000 T _text", for a module followed by a tab and "[ext4]". */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct kallsyms;

struct kallsyms_function {
	uint64_t start, bytes;
	const char *name; /* name_bytes long, not null-terminated */
	size_t name_bytes;
	const char *module; /* "[ext4]", "" for the kernel itself; both borrowed */
};

/* 0; -EACCES when all addresses are hidden (kernel.kptr_restrict); -ENOMEM. */
int kallsyms_read(FILE *in, struct kallsyms **out);
void kallsyms_free(struct kallsyms *k);
bool kallsyms_find(const struct kallsyms *k, uint64_t addr, struct kallsyms_function *out);
/* The address of _text, where the kernel begins; 0: unknown. */
uint64_t kallsyms_text(const struct kallsyms *k);
