/* SPDX-License-Identifier: MIT */
/*
 * Two dumps in the same rows: how much of each thing there was, per second, in each of 16 slices of
 * either window, so that what is chance can be told from what is not. Rows are found by what is
 * the same in both: names, not addresses. Private to report_diff.c and report_delta.c.
 */
#pragma once

#include "dump/view/base/intern.h"
#include "dump/view/base/row_map.h"

struct report;

#define DELTA_SLICES 16

enum delta_kind {
	DELTA_RUN,     /* CPU time of a program; ns */
	DELTA_STACK,   /* of a function, called as it is, with what it calls; ns, from samples */
	DELTA_READY,   /* waiting for a CPU, by program; ns */
	DELTA_BLOCKED, /* uninterruptible, by program and function; ns */
	DELTA_SLEEP,   /* until another thread wakes it; ns */
	DELTA_EVENT,   /* number of events of a kind */
	NR_DELTA_KINDS
};

struct delta_row {
	uint64_t key;
	uint64_t parent;	 /* STACK: key of its caller's row; 0: none */
	uint64_t image;		 /* STACK: of images */
	const char *comm, *name; /* name: function or event; "" */
	uint32_t chain;		 /* STACK, BLOCKED, SLEEP: one of the second dump that has it */
	uint8_t kind;
	uint8_t depth;			/* STACK: frames of the chain from the outermost one on */
	double slices[2][DELTA_SLICES]; /* of the first and the second dump */
	double worst_ns[2];		/* longest single wait */
};

/* How a program's frames in one image are called, in either dump. */
struct delta_image {
	uint64_t key; /* of program and image; in delta_row.image, too */
	bool named[2], unnamed[2];
};

struct delta;

struct delta_counting {
	struct delta *d;
	unsigned which;
};

struct delta {
	struct map rows, images;
	struct intern names;
	double seconds[2][NR_DELTA_KINDS]; /* of the windows; 0: not recorded */
	double sample_ns[2];
	bool with_places; /* both dumps know where threads went to sleep */
	struct delta_counting counting[2];
};

/* Events are counted as they come: before the report is loaded. */
void delta_count_events(struct delta *d, struct report *rp, unsigned which);
/* Adds what a loaded report has, as its dump number `which`, 0 or 1. */
void delta_add(struct delta *d, struct report *rp, unsigned which);
