/* SPDX-License-Identifier: MIT */
/*
 * Collects names in a separate process. It may crash, hang or run out of memory because of a file
 * made by another user; the names found before that are kept.
 *
 *	dump's thread   symbols_child_run() ── spawns ─▶ ringback symbols --collect=...
 *	                     ▲                           │ reads the dump, files, /proc
 *	                     └── pipe: u32 length, u32 section, payload of its block; 0, 0: end
 *
 * The process confines itself (sandbox.h), runs at idle priority with a memory limit, is the first choice of the OOM killer, and
 * exits with the recorder. If it hangs in the kernel, where SIGKILL does not end it, it is left
 * behind. There is at most one such process: while it exists, no other is started.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

#include <sys/types.h>

struct pinned_share;

struct symbols_child_options {
	int dump_fd; /* for reading what is written so far */
	uint64_t budget_ns;
	bool low_priority; /* until it gets too little CPU time; see priority_can_return() */
	int stop_fd;	   /* readable: stop now; never read here */
	const struct pinned_share *files; /* held by the recorder, for the child to open */
	/* Called with each payload, of SYMBOLS or CGROUPS; a result other than 0 ends the search. */
	int (*take)(void *ctx, uint16_t section, struct bytes payload);
	void *ctx;
	pid_t *hung; /* the process left behind, kept from call to call; 0: none */
};

/* Returns when the process has ended, for any reason, or was left behind: enum fmt_symbols_end. */
uint32_t symbols_child_run(const struct symbols_child_options *opt);

/* Runs the child, to its end. `text`: its argument. */
int symbols_child_main(const char *text);
