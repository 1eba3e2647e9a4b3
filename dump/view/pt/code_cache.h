/* SPDX-License-Identifier: MIT */
/*
 * The code that processes of a dump ran, for whoever follows a hardware's trace through it: from
 * the pages that the dump has of it, else from files, which must be of the build that was mapped.
 * What is read is kept once for all processes, in pieces, when it is first met. Any number of
 * threads may ask.
 *
 *	thread, time, address ── history_where() ──▶ mapping ──▶ image ──▶ piece of it ──▶ store
 */
#pragma once

#include "dump/view/model/addresses.h"
#include "dump/view/pt/pt_flow.h"

struct code_cache;
struct elf;
struct symbols_writer;

struct code_cache_options {
	/* Opens the file of an image, which is mapped as mappings[0] says. NULL: the file of its
	 * path, if its build-id is that of the image. */
	int (*open)(void *ctx, const struct addresses_image *image, struct elf **e);
	/* Reads code that is in no file: of the process `key`, 0: the kernel's. How many bytes;
	 * NULL: there is none. */
	size_t (*read)(void *ctx, uint32_t key, uint64_t address, void *dst, size_t n);
	void *ctx;
	struct pt_store *store; /* whose it stays; NULL: one of its own */
};

struct code_cache_counts {
	size_t nr_images;    /* that code was asked of */
	size_t nr_pages;     /* 4 KiB of them that the flow was in; only with the `touch` */
	uint64_t kept_bytes; /* that the dump has, of all images */
	size_t nr_kept;	     /* images of which it has some */
};

/* `r` for the pages that the dump has; `p` must outlive it. 0, -ENOMEM, ... */
int code_cache_new(struct reader *r, const struct process_history *p,
		   const struct code_cache_options *opt, struct code_cache **out, struct err *err);
void code_cache_free(struct code_cache *b);
void code_cache_counts(const struct code_cache *b, struct code_cache_counts *out);

/* Who `tid` is at `ns`, and where its code is: `find` and `touch` of *out are set, with the book
 * as their context. */
void code_cache_source(struct code_cache *b, struct pt_flow_source *out);
void code_cache_who(const struct code_cache *b, uint32_t tid, uint64_t ns, struct pt_flow_who *out);
/* There is a mapping with code at `address`, or it is the kernel's. */
bool code_cache_has(const struct code_cache *b, uint32_t tid, uint64_t ns, uint64_t address);

/* The pages that the flow was in, into SYMBOLS, but for those that were put before; errors are in
 * put->rc. */
void code_cache_put(struct code_cache *b, struct symbols_writer *put);
