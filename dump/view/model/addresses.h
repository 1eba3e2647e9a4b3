/* SPDX-License-Identifier: MIT */
/*
 * The code addresses in a dump, each once, by image: only these need names. One pass over the
 * records collects them; addresses_add_user() adds those of unwound stacks. Memory is bounded:
 * addresses over the limit are counted, not kept.
 */
#pragma once

#include "dump/view/model/process_history.h"

struct err;
struct addresses;
struct meta;
struct reader;
struct timeline_record;

/* One address, and one of the records that have it. */
struct addresses_place {
	uint64_t at; /* as SYMBOLS count it: an offset in a file, or an address */
	uint64_t addr, ns;
	uint32_t tid;
	uint32_t image;
	uint64_t nr; /* how often it was seen */
};

/* A mapping, for whoever looks for the file in a process that still has it. */
struct addresses_mapping {
	uint32_t key; /* of the process */
	uint64_t start, end;
};

#define HITS_MAX_MAPPINGS 8

/* FILE: with one identity, as the ledger knows it; KERNEL: all of it; TASK: of one process. */
struct addresses_image {
	struct fmt_image f; /* id: its index here */
	const char *path;   /* borrowed from people; "[kernel.kallsyms]"; of a TASK "" */
	struct addresses_mapping mappings[HITS_MAX_MAPPINGS];
	uint32_t nr_mappings;
	size_t first, nr; /* its places, once sorted */
	uint64_t nr_hits;
};

/* Places by default; the memory they take is 56 bytes each and as much again while growing. */
#define HITS_MAX_PLACES (1u << 20)

/* `p` must outlive the result. 0 or -ENOMEM. */
int addresses_new(const struct process_history *p, size_t max_places, struct addresses **out,
		  struct err *err);
void addresses_free(struct addresses *h);

/* All records of the dump. 0, -ENOMEM. */
int addresses_read(struct addresses *h, struct reader *r, const struct meta *m, struct err *err);
/* An address to look up: of a return address the byte before it. */
void addresses_add_user(struct addresses *h, uint32_t tid, uint64_t ns, uint64_t addr);
void addresses_add_kernel(struct addresses *h, uint64_t ns, uint64_t addr);

/* Whether a mapping's path is a file's (or the vdso's): code in others was made by whoever runs it.
 */
bool addresses_is_file(const char *path);

/* After the last was added: images by how often they were hit, places by image and `at`. */
void addresses_sort(struct addresses *h);
size_t addresses_nr_images(const struct addresses *h);
const struct addresses_image *addresses_image(const struct addresses *h, size_t i);
/* The first of its places; there are image->nr. */
const struct addresses_place *addresses_places(const struct addresses *h,
					       const struct addresses_image *image);
/* Hits that were not kept: too many, or no memory. */
uint64_t addresses_nr_dropped(const struct addresses *h);
