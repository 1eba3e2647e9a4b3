/* SPDX-License-Identifier: MIT */
/*
 * Interned paths: each pair (text, file) is stored once and reference-counted. The text may be any
 * bytes, so sets of namespaces are stored here too. Used by the ledger, under its lock. An entry
 * stores the block that the dump writer last put it into and its id there, so that writing needs no
 * table of its own. The named file may be held open (pinned.h) as long as the entry exists.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pinned;
struct pinned_executable;

struct path {
	struct path *next;
	uint32_t hash;
	uint32_t refs;
	uint32_t block; /* ledger_write.c: number of the last block with it, and its id there */
	uint32_t id;
	uint32_t len;
	uint32_t maj, min;		/* device of the file, if `ino` is known */
	uint64_t ino;			/* 0: unknown, or the build-id identifies the file */
	struct pinned_executable *kept; /* NULL: the file is not held */
	bool tried;			/* pinned_want() has tried to open it */
	uint8_t build_id_bytes;		/* 0: unknown */
	uint8_t build_id[20];
	char text[]; /* NUL-terminated */
};

/* Zero-initialise; free with paths_free(). */
struct paths {
	struct path **buckets;
	size_t nr, nr_buckets;
	uint64_t bytes;	     /* memory held */
	struct pinned *keep; /* borrowed; NULL: files are not held */
};

/* Distinguishes files with the same path. Zero fields are unknown. */
struct path_file {
	uint64_t ino;
	uint32_t maj, min;
	uint8_t build_id_bytes;
	uint8_t build_id[20];
};

/* A new reference to the entry of text[0..len) and this file (NULL: unknown); NULL: no memory. */
struct path *paths_get(struct paths *p, const char *text, size_t len, const struct path_file *file);
static inline struct path *path_ref(struct path *e)
{
	e->refs++;
	return e;
}
/* Drops a reference; NULL is allowed. */
void paths_put(struct paths *p, struct path *e);
void paths_free(struct paths *p);
