/* SPDX-License-Identifier: MIT */
/*
 * The directory of dumps: names, limits, and the way a file appears there. A dump is written as
 * NAME.rbd.part (0600, O_EXCL, locked with flock while it is written) and renamed to NAME.rbd when it is
 * whole; directory fsynced. A .part without a lock is what a killed recorder left: it is reported at
 * start, can be salvaged, counts against the limits and is the first to be deleted.
 *
 * Limits: --max-dumps and --max-disk delete the oldest of this instance's own dumps (same host part is
 * not required; the name pattern ringback-*.rbd is); the file system never goes below 5 % free.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

struct store_options {
	const char *dir;
	uint64_t max_dumps;	 /* 0: no limit */
	uint64_t max_disk_bytes; /* 0: no limit */
	unsigned min_free_percent; /* 5 */
};

/* Opens (makes, 0700, when missing) the directory and checks that files can be made in it. */
int store_open(const struct store_options *opt, struct store **out, struct err *err);
void store_close(struct store *s);
void store_set_limits(struct store *s, uint64_t max_dumps, uint64_t max_disk_bytes);

/* Names of leftovers of a killed recorder, for a message at start; their number. */
size_t store_leftovers(struct store *s, char names[][256], size_t max);

/*
 * Begins a dump: refuses (-ENOSPC, with the numbers) when less than min_free_percent would stay free
 * for even an empty one; deletes the oldest dumps over max_dumps - 1. Makes the .part and returns its
 * descriptor, which stays the store's. `trigger` is the rule's name.
 */
int store_begin(struct store *s, uint64_t real_ns, const char *trigger, int *fd, struct err *err);

/* For writer_options.room: makes room within the limits for `bytes` more, deleting oldest dumps. -ENOSPC. */
int store_room(void *store, uint64_t file_bytes, uint64_t bytes, struct err *err);

/* fsync, rename, fsync of the directory. `path` gets the dump's path. */
int store_commit(struct store *s, char *path, size_t n, struct err *err);
/* Deletes the .part. */
void store_abort(struct store *s);

/* Dumps deleted to keep the limits since the store was opened. */
uint64_t store_nr_deleted(const struct store *s);
