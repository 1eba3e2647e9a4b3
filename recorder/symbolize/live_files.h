/* SPDX-License-Identifier: MIT */
/*
 * The files that a dump's addresses lie in, on the machine that it was made on: the very file that
 * was mapped, or none. In this order: the mapping itself, which works for deleted and replaced
 * files; the path as the process sees it, which works in containers; the path as we see it, for
 * processes that are gone; what the recorder holds, for files that are gone with them. Whoever
 * calls may hang in a file system, and does it in a process of its own.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/view/model/addresses.h"

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct pinned_list;

/* A process that may still have it. */
struct live_file_process {
	pid_t pid;
	uint64_t start, end; /* of the mapping, as the ledger knows it */
};

/*
 * Opens the file of a FILE image: a descriptor, or -errno with the reason in `err`. -ESTALE: what
 * is there now is another file. `kept` NULL: nothing is held.
 */
int live_file_open(const struct addresses_image *image, const struct live_file_process *p,
		   size_t nr, const struct pinned_list *kept, struct err *err);

/* A copy of the vdso that this kernel maps into each process. */
int live_file_vdso(struct buf *out, struct err *err);

/* A process whose code names are looked for. */
struct live_file_jit {
	pid_t pid;
	bool alive;
	uint32_t uid;	  /* ~0: unknown */
	int64_t start_ns; /* in CLOCK_REALTIME; 0: unknown */
	int64_t exit_ns;
};

/*
 * Opens /tmp/perf-PID.map of a process, as it and its pid namespace call it; of one that has exited
 * ours, when its times fit. It must belong to the process's user or root. A descriptor, or -errno.
 */
int live_file_perfmap(const struct live_file_jit *j, struct err *err);
