/* SPDX-License-Identifier: MIT */
/*
 * Reads the memory of other processes, in a process of its own: the kernel may have to read the page
 * from a file system that does not answer, and a process that waits for that can't be killed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct memory_reader;

int memory_reader_open(struct memory_reader **out, struct err *err);
/* NULL allowed. Does not wait for the process; it ends by itself, as soon as it hangs no more. */
void memory_reader_close(struct memory_reader *r);

#define MEMORY_READER_MAX 12
/* Reads `n` bytes, at most MEMORY_READER_MAX. False: the memory can't be read, or not within 100 ms;
 * until it has been, nothing else can be read. For one thread at a time. */
bool memory_reader_read(struct memory_reader *r, pid_t pid, uint64_t addr, void *out, size_t n);
bool memory_reader_hangs(const struct memory_reader *r); /* NULL allowed */
/* Whether a process is such a reader, of any recorder: it maps what this program maps. */
bool memory_reader_is(pid_t pid);
