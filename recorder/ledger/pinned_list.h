/* SPDX-License-Identifier: MIT */
/*
 * The files that the recorder holds, as it hands them to the process that looks for names
 * (symbols_child.h): descriptors that are inherited, and a table in memory that says which is
 * which.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct kept_file {
	int fd; /* O_PATH */
	uint32_t maj, min;
	uint64_t ino;
	uint8_t build_id_bytes; /* 0: unknown */
	uint8_t build_id[20];
	const char *path; /* as it was when it was mapped */
};

/* ---- the recorder's side ---- */

struct keepshare {
	int table_fd;	/* -1: nothing is held */
	struct buf fds; /* of int; close-on-exec */
	struct buf table;
};

/* Adds a file with a descriptor of its own. 0 or -errno. */
int keepshare_add(struct keepshare *s, const struct kept_file *f);
/* Makes the table readable at table_fd. 0 or -errno. */
int keepshare_seal(struct keepshare *s);
void keepshare_close(struct keepshare *s);

/* ---- the other side ---- */

struct keptlist;

/* Takes over `table_fd`. 0 or -errno. */
int keptlist_read(int table_fd, struct keptlist **out);
void keptlist_free(struct keptlist *k);
/*
 * The next that may be the file of `f` at `path`, from *i on (begin with 0); NULL: no more. By its
 * inode it is, by its name only its build-id can tell.
 */
const struct kept_file *keptlist_next(const struct keptlist *k, const struct fmt_image *f,
				      const char *path, size_t *i);
