/* SPDX-License-Identifier: MIT */
/*
 * The head of a core as the kernel sends it: ELF header, program headers, and notes with the
 * registers of each thread. Memory contents follow it. It is read from a stream and may be
 * incomplete. It is not trusted: parsing ends at the first inconsistency.
 */
#pragma once

#include "dump/base/bytes.h"

#include <sys/types.h>

/* A thread. The kernel writes the one that crashed first. */
struct core_thread {
	pid_t own_tid;	   /* in its own pid namespace */
	struct bytes regs; /* pr_reg; borrowed from the bytes that were parsed */
};

struct core_head {
	struct core_thread *threads; /* owned */
	size_t nr_threads;
	int sig, code;
	uint64_t address; /* fault address */
	bool has_address;
};

/*
 * Sets *need to the number of bytes needed. 1: `have` contains the whole head; 0: read up to *need
 * bytes and call again; -ENOEXEC: not a 64-bit core of this machine.
 */
int core_head_need(struct bytes have, size_t *need);
/* Parses a head, which may be truncated. 0, -ENOEXEC, -ENOMEM. On success call core_head_free(). */
int core_head_read(struct bytes have, struct core_head *out);
void core_head_free(struct core_head *h);
