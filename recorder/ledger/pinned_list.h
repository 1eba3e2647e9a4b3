/* SPDX-License-Identifier: MIT */
/*
 * The files that the recorder holds open, as passed to the symbolizer process (symbols_child.h):
 * inherited descriptors, and a table in a memory file that describes them.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/format.h"

struct pinned_file {
	int fd; /* O_PATH */
	uint32_t maj, min;
	uint64_t ino;
	uint8_t build_id_bytes; /* 0: unknown */
	uint8_t build_id[20];
	const char *path; /* its path when it was mapped */
};

/* ---- the recorder's side ---- */

struct pinned_share {
	int table_fd;	/* -1: there are no held files */
	struct buf fds; /* of int; close-on-exec */
	struct buf table;
};

/* Adds a file with a duplicate of its descriptor. 0 or -errno. */
int pinned_share_add(struct pinned_share *s, const struct pinned_file *f);
/* Writes the table to a memory file at table_fd. 0 or -errno. */
int pinned_share_seal(struct pinned_share *s);
void pinned_share_close(struct pinned_share *s);

/* ---- the symbolizer's side ---- */

struct pinned_list;

/* Takes over `table_fd`. 0 or -errno. */
int pinned_list_read(int table_fd, struct pinned_list **out);
void pinned_list_free(struct pinned_list *k);
/*
 * The next candidate for the file of `f` at `path`, from *i on (begin with 0); NULL: no more. A
 * matching inode is certain; a match by name only needs a comparison of build-ids.
 */
const struct pinned_file *pinned_list_next(const struct pinned_list *k, const struct fmt_image *f,
					   const char *path, size_t *i);
