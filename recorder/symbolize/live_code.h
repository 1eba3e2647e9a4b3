/* SPDX-License-Identifier: MIT */
/*
 * Code that is in no file, as it is in memory now: what processes made, and the kernel's, which is
 * not as in its file either, since it changes itself while it boots and runs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct live_code;

/* Of processes that began by `until_ns` (CLOCK_MONOTONIC): one that has a PID later is another.
 * NULL: out of memory. */
struct live_code *live_code_new(uint64_t until_ns);
void live_code_free(struct live_code *l);

/* `n` bytes at `address` of a process, `pid` 0: of the kernel. Pages that are not there are zeros.
 * How many bytes; 0 when there is nothing, or it may not be read. */
size_t live_code_read(struct live_code *l, pid_t pid, uint64_t address, void *dst, size_t n);
