/* SPDX-License-Identifier: MIT */
/*
 * The code that processes of a dump ran, for whoever follows a hardware's trace through it: from
 * the pages that the dump has of it, else from files, which must be of the build that was mapped.
 * What is read is kept once for all processes, in pieces, when it is first met. Any number of
 * threads may ask.
 *
 *	thread, time, address ── people_where() ──▶ mapping ──▶ image ──▶ piece of it ──▶ store
 */
#pragma once

#include "dump/view/model/addresses.h"
#include "dump/view/pt/pt_flow.h"

struct codebook;
struct elf;
struct symput;

struct codebook_options {
	/* Opens the file of an image, which is mapped as mappings[0] says. NULL: the file of its
	 * path, if its build-id is that of the image. */
	int (*open)(void *ctx, const struct hits_image *image, struct elf **e);
	/* Reads code that is in no file: of the process `key`, 0: the kernel's. How many bytes;
	 * NULL: there is none. */
	size_t (*read)(void *ctx, uint32_t key, uint64_t address, void *dst, size_t n);
	void *ctx;
	struct ptstore *store; /* whose it stays; NULL: one of its own */
};

struct codebook_counts {
	size_t nr_images;    /* that code was asked of */
	size_t nr_pages;     /* 4 KiB of them that the flow was in; only with the `touch` */
	uint64_t kept_bytes; /* that the dump has, of all images */
	size_t nr_kept;	     /* images of which it has some */
};

/* `r` for the pages that the dump has; `p` must outlive it. 0, -ENOMEM, ... */
int codebook_new(struct reader *r, const struct people *p, const struct codebook_options *opt,
		 struct codebook **out, struct err *err);
void codebook_free(struct codebook *b);
void codebook_counts(const struct codebook *b, struct codebook_counts *out);

/* Who `tid` is at `ns`, and where its code is: `find` and `touch` of *out are set, with the book
 * as their context. */
void codebook_source(struct codebook *b, struct ptflow_source *out);
void codebook_who(const struct codebook *b, uint32_t tid, uint64_t ns, struct ptflow_who *out);
/* There is a mapping with code at `address`, or it is the kernel's. */
bool codebook_has(const struct codebook *b, uint32_t tid, uint64_t ns, uint64_t address);

/* The pages that the flow was in, into SYMBOLS, but for those that were put before; errors are in
 * put->rc. */
void codebook_put(struct codebook *b, struct symput *put);
