/* SPDX-License-Identifier: MIT */
/*
 * Opens the mapped files that a dump's addresses are in, on the recorded machine: the very file
 * that was mapped, or none. Tries in this order: the mapping itself (works for deleted and replaced
 * files); the path as seen by the process (works in containers); the path as seen by us (for
 * processes that have exited); the recorder's held descriptors (for files deleted by then). A call
 * may hang in a file system, so it is made in a process of its own.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/view/model/addresses.h"

#include <stdbool.h>
#include <sys/types.h>

struct err;
struct pinned_list;

/* A process that may still map the file. */
struct live_file_process {
	pid_t pid;
	uint64_t start, end; /* of the mapping, according to the ledger */
};

/* Opens the file of a FILE image: a descriptor, or -errno with the reason in `err`. -ESTALE: the
 * path now has another file. `kept` NULL: no files are held. */
int live_file_open(const struct addresses_image *image, const struct live_file_process *p,
		   size_t nr, const struct pinned_list *kept, struct err *err);

/* A copy of the vdso that this kernel maps into each process. */
int live_file_vdso(struct buf *out, struct err *err);

/* A process with a perf map. */
struct live_file_jit {
	pid_t pid;
	bool alive;
	uint32_t uid;	  /* ~0: unknown */
	int64_t start_ns; /* in CLOCK_REALTIME; 0: unknown */
	int64_t exit_ns;
};

/*
 * Opens /tmp/perf-PID.map of a process, with the path and PID of its own namespaces. For an exited
 * process opens ours, if its times match. The file must belong to the process's user or root. A
 * descriptor, or -errno.
 */
int live_file_perfmap(const struct live_file_jit *j, struct err *err);
