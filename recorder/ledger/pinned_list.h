/* SPDX-License-Identifier: MIT */
/*
 * The files that the recorder holds, as it hands them to the process that looks for names
 * (symbols_child.h): descriptors that are inherited, and a table in memory that says which is
 * which.
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
	const char *path; /* as it was when it was mapped */
};

/* ---- the recorder's side ---- */

struct pinned_share {
	int table_fd;	/* -1: nothing is held */
	struct buf fds; /* of int; close-on-exec */
	struct buf table;
};

/* Adds a file with a descriptor of its own. 0 or -errno. */
int pinned_share_add(struct pinned_share *s, const struct pinned_file *f);
/* Makes the table readable at table_fd. 0 or -errno. */
int pinned_share_seal(struct pinned_share *s);
void pinned_share_close(struct pinned_share *s);

/* ---- the other side ---- */

struct pinned_list;

/* Takes over `table_fd`. 0 or -errno. */
int pinned_list_read(int table_fd, struct pinned_list **out);
void pinned_list_free(struct pinned_list *k);
/*
 * The next that may be the file of `f` at `path`, from *i on (begin with 0); NULL: no more. By its
 * inode it is, by its name only its build-id can tell.
 */
const struct pinned_file *pinned_list_next(const struct pinned_list *k, const struct fmt_image *f,
					   const char *path, size_t *i);
