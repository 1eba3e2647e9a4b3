/* SPDX-License-Identifier: MIT */
/*
 * The directory of dumps: names, limits, and atomic creation of files. A dump is written as
 * NAME.rbd.part (0600, O_EXCL, locked with flock while it is written). When complete it is renamed
 * to NAME.rbd and the directory is fsynced. A .part without a lock was left by a killed recorder:
 * it is reported at start, can be salvaged, counts against the limits and is deleted first.
 *
 * Limits: --max-dumps and --max-disk delete the oldest dump of the rule with most dumps, those asked
 * for by hand last, pinned ones never: regular files of our own user with a name of the form in
 * dump_name.h, with any host in it. Age is the order in which dumps came while the store is open,
 * so that a clock that jumps does no harm. At least 5 % of the file system stays free.
 * Nothing is deleted for that, since other files filled it: the dump is refused.
 *
 * From store_begin() to its end only one thread may call; store_set_limits() and store_nr_deleted()
 * may be called by another one in the meantime.
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

/* Opens the directory (makes it with 0700 if missing) and checks that files can be made in it. */
int store_open(const struct store_options *opt, struct store **out, struct err *err);
void store_close(struct store *s);
void store_set_limits(struct store *s, uint64_t max_dumps, uint64_t max_disk_bytes);

/* The absolute path of the directory. */
void store_dir(const struct store *s, char dir[PATH_MAX]);

/* Names of files left by a killed recorder, for a message at start. Returns the number stored. */
size_t store_leftovers(struct store *s, char names[][256], size_t max);

/*
 * Begins a dump: makes the .part and returns its descriptor, which the store owns. -ENOSPC, with
 * the numbers, when less than min_free_percent would stay free even for an empty dump, or when
 * pinned dumps alone reach a limit. `trigger` is the rule's name. Ended by store_commit() or store_abort().
 */
int store_begin(struct store *s, uint64_t real_ns, const char *trigger, int *fd, struct err *err);

/*
 * For writer_options.room: frees space for `bytes` more under --max-disk by deleting dumps;
 * sizes are counted in whole blocks. -ENOSPC, with nothing deleted, when that is not enough.
 */
int store_room(void *store, uint64_t file_bytes, uint64_t bytes, struct err *err);

/*
 * Deletes dumps beyond max_dumps - 1, renames the file, which the caller has synced (never over
 * another file), and fsyncs the directory; that this failed is only logged. A file that can't be
 * renamed is left as .part. `path` gets the dump's absolute path. After a failure call store_abort().
 */
int store_commit(struct store *s, char *path, size_t n, struct err *err);
/* Deletes the .part. Does nothing when no dump was begun. */
void store_abort(struct store *s);

/* Dumps deleted because of the limits since the store was opened. */
uint64_t store_nr_deleted(const struct store *s);
