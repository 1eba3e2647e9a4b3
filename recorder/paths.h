/* SPDX-License-Identifier: MIT */
/*
 * Interned paths: each (text, build-id) is held once and counted. The text may be any bytes: a set
 * of namespaces is held here too. Used by the ledger, under its lock. An entry carries what the
 * writer of a dump needs to know about it (the block it was last put into and its id there), so
 * that writing needs no table of its own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct path {
	struct path *next;
	uint32_t hash;
	uint32_t refs;
	uint32_t block; /* ledger_write.c: number of the block that has it, and its id there */
	uint32_t id;
	uint32_t len;
	uint8_t build_id_bytes; /* 0: unknown */
	uint8_t build_id[20];
	char text[]; /* NUL-terminated */
};

/* Zero-initialise; paths_free() ends it. */
struct paths {
	struct path **buckets;
	size_t nr, nr_buckets;
	uint64_t bytes; /* memory held */
};

/* A reference to the entry of text[0..len) with this build-id (may be 0 bytes); NULL: no memory. */
struct path *paths_get(struct paths *p, const char *text, size_t len, const uint8_t *build_id,
		       uint8_t build_id_bytes);
static inline struct path *path_ref(struct path *e)
{
	e->refs++;
	return e;
}
/* Gives a reference back; NULL is allowed. */
void paths_put(struct paths *p, struct path *e);
void paths_free(struct paths *p);
