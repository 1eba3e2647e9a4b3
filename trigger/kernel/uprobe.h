/* SPDX-License-Identifier: MIT */
/* "PATH:SYMBOL[+OFF]" and "PATH:0xOFFSET" to what the kernel's uprobe PMU wants. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

struct uprobe {
	char *path;	 /* absolute, links resolved */
	char *target;	 /* "PATH:SYMBOL+0xOFF": what is recorded in dumps */
	uint64_t offset; /* in the file */
};

/* `on_return`: for uretprobes, which go to the function's start only. On success uprobe_fini() is
 * due. */
int uprobe_resolve(const char *spec, bool on_return, struct uprobe *out, struct err *err);
void uprobe_fini(struct uprobe *u);
