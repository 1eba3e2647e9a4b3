/* SPDX-License-Identifier: MIT */
/*
 * The directory of dumps: names, limits, and the way a file appears there. A dump is written as
 * NAME.rbd.part (0600, O_EXCL, locked with flock while it is written) and renamed to NAME.rbd when
 * it is whole; directory fsynced. A .part without a lock is what a killed recorder left: it is
 * reported at start, can be salvaged, counts against the limits and is the first to be deleted.
 *
 * Limits: --max-dumps and --max-disk delete the oldest dumps there: regular files of our own user
 * whose name has exactly the form of dump_name.h, whatever host it names. The file system never
 * goes below 5 % free; for that nothing is deleted, since something else filled it: the dump is
 * refused.
 *
 * From store_begin() to its end one thread calls; store_set_limits() and store_nr_deleted() may be
 * called from another one meanwhile.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct store;

struct store_options {
	const char *dir;
	uint64_t max_dumps;	   /* 0: no limit */
	uint64_t max_disk_bytes;   /* 0: no limit */
	unsigned min_free_percent; /* 5 */
};

/* Opens (makes, 0700, when missing) the directory and checks that files can be made in it. */
int store_open(const struct store_options *opt, struct store **out, struct err *err);
void store_close(struct store *s);
void store_set_limits(struct store *s, uint64_t max_dumps, uint64_t max_disk_bytes);

/* Where dumps go, as an absolute path. */
void store_dir(const struct store *s, char dir[PATH_MAX]);

/* Names of leftovers of a killed recorder, for a message at start; how many it stored. */
size_t store_leftovers(struct store *s, char names[][256], size_t max);

/*
 * Begins a dump: refuses (-ENOSPC, with the numbers) when less than min_free_percent would stay
 * free for even an empty one. Makes the .part and returns its descriptor, which stays the store's.
 * `trigger` is the rule's name. Ended by store_commit() or store_abort().
 */
int store_begin(struct store *s, uint64_t real_ns, const char *trigger, int *fd, struct err *err);

/* For writer_options.room: makes room under --max-disk for `bytes` more, deleting the oldest dumps;
 * counts what is written by whole blocks. -ENOSPC, with nothing deleted, when that is not enough.
 */
int store_room(void *store, uint64_t file_bytes, uint64_t bytes, struct err *err);

/*
 * fsync, delete the oldest dumps over max_dumps - 1, rename (never over another file), fsync of the
 * directory. `path` gets the dump's absolute path. After a failure call store_abort().
 */
int store_commit(struct store *s, char *path, size_t n, struct err *err);
/* Deletes the .part; nothing to do when no dump was begun. */
void store_abort(struct store *s);

/* Dumps deleted to keep the limits since the store was opened. */
uint64_t store_nr_deleted(const struct store *s);
