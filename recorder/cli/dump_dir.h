/* SPDX-License-Identifier: MIT */
/*
 * The dumps in a directory: every file named *.rbd or *.rbd.part, including renamed ones. (The
 * recorder's limits count only its own dumps, see store.h.)
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct sandbox;

struct dump_dir_entry {
	char *path;
	uint64_t real_ns; /* of the trigger, by file name or dump; else the file's mtime */
	uint64_t mtime_ns;
	uint64_t file_bytes;
	bool pinned;	    /* by `ringback pin` */
	bool part;	    /* named *.part: not finished */
	bool being_written; /* a recorder holds its lock */
};

/* Zero-initialise. */
struct dump_dir {
	struct dump_dir_entry *v; /* newest last, once sorted */
	size_t nr;
};

/* Opens no dump. 0 or -errno. */
int dump_dir_read(const char *dir, struct dump_dir *out, struct err *err);
void dump_dir_free(struct dump_dir *d);

/* Lets a sandbox read them. */
void dump_dir_allow(const struct dump_dir *d, struct sandbox *s);
/* Reads those whose names don't say when they were made: call it in a sandbox. */
void dump_dir_sort(struct dump_dir *d);
/* The newest complete dump, once sorted; NULL: none. */
const struct dump_dir_entry *dump_dir_newest(const struct dump_dir *d);

/*
 * The default directory: that of the running recorder (of several, "default" or the first), else
 * that of the configuration file, else the service's if it is the only one with dumps, else the
 * current one.
 */
void dump_dir_default(char dir[PATH_MAX]);
