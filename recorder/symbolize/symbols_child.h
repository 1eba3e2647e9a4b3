/* SPDX-License-Identifier: MIT */
/*
 * Collecting names in a process of its own: it may crash, hang or run out of memory over a file
 * that somebody made, and then what it has found until then is kept.
 *
 *	dump's thread   symbols_child_run() ── spawns ─▶ ringback symbols --collect=...
 *	                     ▲                           │ reads the dump, files, /proc
 *	                     └── pipe: u32 length, payload of a SYMBOLS block; 0: all told
 *
 * The process is at idle priority, bounded in memory, the first to go when memory is short, and
 * goes with the recorder.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct pinned_share;

struct symbols_child_options {
	int dump_fd; /* what is written so far can be read from it */
	uint64_t budget_ns;
	bool low_priority; /* until it gets too little of the CPU; see priority_can_return() */
	int stop_fd;	   /* readable: end it now; not read here */
	const struct pinned_share *files; /* that the recorder holds, for it to open */
	/* Called with each payload; not 0: end it. */
	int (*take)(void *ctx, struct bytes payload);
	void *ctx;
};

/* Returns when it is over, however: enum fmt_symbols_end. */
uint32_t symbols_child_run(const struct symbols_child_options *opt);

/* The other side: makes this process the child, and runs to its end. `text`: its argument. */
int symbols_child_main(const char *text);
