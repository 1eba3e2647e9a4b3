/* SPDX-License-Identifier: MIT */
/*
 * Interned paths: each (text, build-id) is held once and counted. The text may be any bytes: a set
 * of namespaces is held here too. Used by the ledger, under its lock. An entry carries what the
 * writer of a dump needs to know about it (the block it was last put into and its id there), so
 * that writing needs no table of its own. The file that it names may be held (pinned.h) as long
 * as the entry lives.
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
	uint32_t block; /* ledger_write.c: number of the block that has it, and its id there */
	uint32_t id;
	uint32_t len;
	uint32_t maj, min;		/* of the file, where `ino` is known */
	uint64_t ino;			/* 0: not known, or told apart by the build-id */
	struct pinned_executable *kept; /* NULL: the file is not held */
	bool tried;			/* it was seen whether it can be */
	uint8_t build_id_bytes;		/* 0: unknown */
	uint8_t build_id[20];
	char text[]; /* NUL-terminated */
};

/* Zero-initialise; paths_free() ends it. */
struct paths {
	struct path **buckets;
	size_t nr, nr_buckets;
	uint64_t bytes;	     /* memory held */
	struct pinned *keep; /* borrowed; NULL: no files are held */
};

/* What tells files of one path apart: either may be unknown, zero. */
struct path_file {
	uint64_t ino;
	uint32_t maj, min;
	uint8_t build_id_bytes;
	uint8_t build_id[20];
};

/* A reference to the entry of text[0..len) for this file (NULL: none); NULL: no memory. */
struct path *paths_get(struct paths *p, const char *text, size_t len, const struct path_file *file);
static inline struct path *path_ref(struct path *e)
{
	e->refs++;
	return e;
}
/* Gives a reference back; NULL is allowed. */
void paths_put(struct paths *p, struct path *e);
void paths_free(struct paths *p);
