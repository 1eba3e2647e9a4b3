/* SPDX-License-Identifier: MIT */
/*
 * The beginning of a core as the kernel sends it: ELF header, program headers, and the notes that
 * say of each thread where it was. Everything behind it is memory. Read from a stream, so of the
 * file only what has come; not trusted: whatever does not fit ends the reading.
 */
#pragma once

#include "dump/base/bytes.h"

#include <sys/types.h>

/* A thread. The kernel puts first the one that crashed. */
struct core_thread {
	pid_t own_tid;	   /* in its own pid namespace */
	struct bytes regs; /* pr_reg; borrowed from the bytes that were read */
};

struct core_head {
	struct core_thread *threads; /* owned */
	size_t nr_threads;
	int sig, code;
	uint64_t address; /* of the fault */
	bool has_address;
};

/*
 * How many bytes of the stream it takes to know more: *need. 1: `have` has all of the head; 0: read
 * up to *need and ask again; -ENOEXEC: this is no 64-bit core of this machine.
 */
int core_head_need(struct bytes have, size_t *need);
/* Of a head that is whole or was cut. 0, -ENOEXEC, -ENOMEM. core_head_free() is due on success. */
int core_head_read(struct bytes have, struct core_head *out);
void core_head_free(struct core_head *h);
