/* SPDX-License-Identifier: MIT */
/*
 * The latest sideband records in shared memory (a memfd), so that they outlive the recorder. A
 * circular buffer of whole perf records: new ones overwrite the oldest. The recorder may be killed
 * between any two stores; what kept_log_next() returns is whole all the same.
 *
 *	──┬──────┬──────┬─────┬──────
 *	  tail: oldest        head: the next record goes here	both count on, modulo size
 */
#pragma once

#include "dump/base/bytes.h"

struct kept_log;

/* A new one of `bytes` (a power of two of pages), or the one behind `fd`, which stays the caller's.
 * -EBADMSG: the memory is no log. */
int kept_log_new(uint64_t bytes, struct kept_log **out);
int kept_log_adopt(int fd, struct kept_log **out);
void kept_log_free(struct kept_log *l);
int kept_log_fd(const struct kept_log *l);

/* Appends a record; its header has its length. */
void kept_log_put(struct kept_log *l, struct bytes rec);
/* Records from the oldest on; *pos is 0 at first. `scratch`: 64 KiB, for one that wraps. False: at
 * the end. */
bool kept_log_next(const struct kept_log *l, uint64_t *pos, void *scratch, struct bytes *rec);
