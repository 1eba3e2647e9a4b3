/* SPDX-License-Identifier: MIT */
/*
 * Call stacks by number, each stored once. Frames are compared by name, so two samples in the same
 * functions have the same number even at different lines. Frames are innermost first. Texts are
 * borrowed from the dump's symbols and are not escaped for a terminal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call_chains;
struct err;
struct stacks;
struct timeline_record;

#define CHAIN_NONE 0u /* the record has no stack */

struct chain_frame {
	const char *function; /* equal functions are equal pointers; NULL: unknown */
	const char *image;    /* NULL: unknown */
	uint64_t addr;	      /* without a function: in the image, else as recorded */
	bool kernel;
	bool inlined;	  /* into the next frame */
	bool interrupted; /* as in struct stack_frame */
};

struct chain {
	const struct chain_frame *frames;
	size_t nr;
};

/* `st` must outlive the result. 0, -ENOMEM. */
int call_chains_new(struct stacks *st, struct call_chains **out, struct err *err);
void call_chains_free(struct call_chains *c);

/* The number of the record's stack, from 1; CHAIN_NONE when it has no stack or memory is out. */
uint32_t call_chains_add(struct call_chains *c, const struct timeline_record *rec);
/* Borrowed until the next call_chains_add(); empty for CHAIN_NONE. */
struct chain call_chains_get(const struct call_chains *c, uint32_t id);
/* The largest number so far. */
uint32_t call_chains_nr(const struct call_chains *c);
