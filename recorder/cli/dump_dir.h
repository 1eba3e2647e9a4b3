/* SPDX-License-Identifier: MIT */
/*
 * The dumps in a directory, for commands that read: which there are, and which is the newest. It
 * takes every file named *.rbd or *.rbd.part, also renamed ones; the recorder's own limits count
 * only what store.h says.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct dump_dir_entry {
	char *path;
	uint64_t real_ns; /* of the trigger: as the name has it, or the dump; else of the file */
	uint64_t file_bytes;
	bool part;	    /* named *.part: not finished, */
	bool being_written; /* and somebody is about to */
};

/* Zero-initialise. */
struct dump_dir {
	struct dump_dir_entry *v; /* newest last */
	size_t nr;
};

/* 0 or -errno. */
int dump_dir_read(const char *dir, struct dump_dir *out, struct err *err);
void dump_dir_free(struct dump_dir *d);

/* The newest that is finished; NULL: none. */
const struct dump_dir_entry *dump_dir_newest(const struct dump_dir *d);

/*
 * The directory where dumps are looked for when none is named: that of the running recorder (of
 * several the one named "default", or the first), else what the configuration file says, else the
 * current one, else the service's; the last two where there are dumps.
 */
void dump_dir_default(char dir[PATH_MAX]);
