/* SPDX-License-Identifier: MIT */
/* Resolves "PATH:SYMBOL[+OFF]" and "PATH:0xOFFSET" for the kernel's uprobe PMU. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

struct uprobe {
	char *path;	 /* absolute, links resolved */
	char *target;	 /* "PATH:SYMBOL+0xOFF", as recorded in dumps */
	uint64_t offset; /* in the file */
};

/* `on_return`: for uretprobes, which allow only the start of a function. On success the caller
 * calls uprobe_fini(). */
int uprobe_resolve(const char *spec, bool on_return, struct uprobe *out, struct err *err);
void uprobe_fini(struct uprobe *u);
