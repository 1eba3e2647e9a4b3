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

/* One address, and one of the records that contain it. */
struct addresses_place {
	uint64_t at; /* as in SYMBOLS: an offset in a file, or an address */
	uint64_t addr, ns;
	uint32_t tid;
	uint32_t image;
	uint64_t nr; /* number of hits */
};

/* A mapping, to find the file in a process that still has it mapped. */
struct addresses_mapping {
	uint32_t key; /* fmt_task.key of the process */
	uint64_t start, end;
};

#define HITS_MAX_MAPPINGS 8

/* FILE: one file identity in the ledger; KERNEL: the whole kernel; TASK: one process. */
struct addresses_image {
	struct fmt_image f; /* id: index in the images */
	const char *path;   /* borrowed; "[kernel.kallsyms]"; "" for TASK */
	struct addresses_mapping mappings[HITS_MAX_MAPPINGS];
	uint32_t nr_mappings;
	size_t first, nr; /* its places, after addresses_sort() */
	uint64_t nr_hits;
};

/* Default limit. A place takes 56 bytes, and as much again while the array grows. */
#define HITS_MAX_PLACES (1u << 20)

/* `p` must outlive the result. 0 or -ENOMEM. */
int addresses_new(const struct process_history *p, size_t max_places, struct addresses **out,
		  struct err *err);
void addresses_free(struct addresses *h);

/* Reads all records of the dump. 0, -ENOMEM. */
int addresses_read(struct addresses *h, struct reader *r, const struct meta *m, struct err *err);
/* An address to look up: for a return address, the byte before it. */
void addresses_add_user(struct addresses *h, uint32_t tid, uint64_t ns, uint64_t addr);
void addresses_add_kernel(struct addresses *h, uint64_t ns, uint64_t addr);

/* Whether a mapping's path is a file's (or the vdso's); code in other mappings was generated at run
 * time. */
bool addresses_is_file(const char *path);

/* Call after the last address: sorts images by hits, places by image and `at`. */
void addresses_sort(struct addresses *h);
size_t addresses_nr_images(const struct addresses *h);
const struct addresses_image *addresses_image(const struct addresses *h, size_t i);
/* The first of the image's places; there are image->nr. */
const struct addresses_place *addresses_places(const struct addresses *h,
					       const struct addresses_image *image);
/* Hits that were dropped: over the limit, or no memory. */
uint64_t addresses_nr_dropped(const struct addresses *h);
