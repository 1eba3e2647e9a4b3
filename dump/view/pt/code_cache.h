/* SPDX-License-Identifier: MIT */
/*
 * The code that the processes of a dump ran, for decoding a hardware trace. It comes from code
 * pages in the dump, else from files with the build-id of the mapped file. Code is read in pieces
 * on first use and stored once for all processes. Any number of threads may call.
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
	/* Opens the file of an image, mapped as in mappings[0]. NULL: the file at its path, if its
	 * build-id is the image's. */
	int (*open)(void *ctx, const struct addresses_image *image, struct elf **e);
	/* Reads code that is in no file, of the process `key`, or of the kernel if 0. Returns the
	 * number of bytes. May be NULL. */
	size_t (*read)(void *ctx, uint32_t key, uint64_t address, void *dst, size_t n);
	void *ctx;
	struct pt_store *store; /* owned by the caller; NULL: the cache makes its own */
};

struct code_cache_counts {
	size_t nr_images;    /* images with code that was looked up */
	size_t nr_pages;     /* executed 4 KiB pages; counted only with `touch` */
	uint64_t kept_bytes; /* code bytes in the dump, of all images */
	size_t nr_kept;	     /* images with code in the dump */
};

/* `r`: the dump with the code pages; `p` must outlive the result. 0, -ENOMEM, ... */
int code_cache_new(struct reader *r, const struct process_history *p,
		   const struct code_cache_options *opt, struct code_cache **out, struct err *err);
void code_cache_free(struct code_cache *b);
void code_cache_counts(const struct code_cache *b, struct code_cache_counts *out);

/* Sets `find` and `touch` of *out, with the cache as their context: they look up the process of
 * `tid` at `ns` and its code. */
void code_cache_source(struct code_cache *b, struct pt_flow_source *out);
void code_cache_who(const struct code_cache *b, uint32_t tid, uint64_t ns, struct pt_flow_who *out);
/* Whether `address` is in a mapping with code, or in the kernel. */
bool code_cache_has(const struct code_cache *b, uint32_t tid, uint64_t ns, uint64_t address);

/* Writes the executed pages to SYMBOLS, except those written before; errors are in put->rc. */
void code_cache_put(struct code_cache *b, struct symbols_writer *put);
