/* SPDX-License-Identifier: MIT */
/*
 * Shared by store.c and store_list.c: the store, and its list of the dumps in the directory, in the
 * order in which retention deletes them. The order is fair: rank 1 is the newest dump of a rule,
 * and the highest rank goes first, so the rule with most dumps loses its oldest one.
 */
#pragma once

#include "recorder/writer/dump_name.h"
#include "recorder/writer/store.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Entries that the list can gain while a dump is written. */
#define SPARE 64

/* In the order of deletion. */
enum stored_kind {
	LEFTOVER, /* .part without a lock */
	DUMP,
	BY_HAND, /* asked for with `ringback trigger` or SIGUSR2 */
	PINNED,	 /* this and the next are never deleted */
	BUSY,	 /* being written by another recorder, or can't be deleted */
};

#define UNSEEN UINT64_MAX

struct stored_dump {
	char name[DUMPNAME_BYTES + 8];
	char time[DUMPNAME_TIME_CHARS];
	char rule[DUMPNAME_RULE_BYTES];
	enum stored_kind kind;
	bool is_ahead;	/* its time is in the future: the clock was set back since */
	bool is_listed; /* the directory still has it */
	uint64_t order; /* by age; UNSEEN: not known yet */
	size_t rank;	/* 1: the newest of its rule */
	uint64_t bytes; /* length or disk use, the larger one */
};

struct store {
	unsigned min_free_percent;
	_Atomic uint64_t max_dumps, max_disk_bytes; /* set by the main loop */
	char *dir;
	DIR *scan;
	int dir_fd; /* of `scan` */
	char host[65];
	struct stored_dump *v; /* the existing dumps, in the order of deletion */
	size_t nr, cap;
	uint64_t next_order;
	_Atomic uint64_t nr_deleted;
	/* The dump being written; fd -1: none. */
	int fd;
	uint64_t real_ns;
	char trigger[64];
	char rule[DUMPNAME_RULE_BYTES]; /* as in the name */
	char name[DUMPNAME_BYTES];
	char part[DUMPNAME_BYTES + 8];
};

/* Makes room for `nr` entries. 0, -ENOMEM. */
int store_list_reserve(struct store *s, size_t nr, struct err *err);
/* Reads the directory again. Allocates only when the list is full. 0, -ENOMEM. */
int store_list_refresh(struct store *s, struct err *err);
/* Deletes the first `n` entries; those that can't be deleted move to the end of the list as BUSY. */
void store_list_delete_first(struct store *s, size_t n);
/* flock(2), not interrupted. 0 or a negative errno. */
int store_lock(int fd, int how);
