/* SPDX-License-Identifier: MIT */
/*
 * Two dumps in the same rows: an amount per second for each row, in each of 16 slices of both
 * windows; the scatter between slices shows which differences may be chance. Rows are matched by
 * names, since addresses differ between dumps. Private to report_diff.c and report_delta.c.
 */
#pragma once

#include "dump/view/base/intern.h"
#include "dump/view/base/row_map.h"

struct report;

#define DELTA_SLICES 16

enum delta_kind {
	DELTA_RUN,     /* CPU time of a program; ns */
	DELTA_STACK,   /* of a function with its callees, by call path; ns, from samples */
	DELTA_READY,   /* waiting for a CPU, by program; ns */
	DELTA_BLOCKED, /* uninterruptible, by program and function; ns */
	DELTA_SLEEP,   /* sleeping until another thread wakes it; ns */
	DELTA_EVENT,   /* number of events of a kind */
	NR_DELTA_KINDS
};

struct delta_row {
	uint64_t key;
	uint64_t parent;	 /* STACK: key of its caller's row; 0: none */
	uint64_t image;		 /* STACK: of images */
	const char *comm, *name; /* name: function or event; "" */
	uint32_t chain;		 /* STACK, BLOCKED, SLEEP: an example in the second dump */
	uint8_t kind;
	uint8_t depth; /* STACK: outermost frames of the chain that the row stands for */
	double slices[2][DELTA_SLICES]; /* of the first and the second dump */
	double worst_ns[2];		/* longest single wait */
};

/* Whether the frames of a program in one image have names, in each dump. */
struct delta_image {
	uint64_t key; /* of program and image; equals delta_row.image */
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
	bool with_places; /* both dumps show where threads went to sleep */
	struct delta_counting counting[2];
};

/* Counts events as they are read; call before report_load(). */
void delta_count_events(struct delta *d, struct report *rp, unsigned which);
/* Adds the data of a loaded report; `which` is 0 or 1 for the first or second dump. */
void delta_add(struct delta *d, struct report *rp, unsigned which);
