/* SPDX-License-Identifier: MIT */
/* Sorted tables of a ledger; private to process_history*.c. process_history_load.c fills them. */
#pragma once

#include "dump/base/bytes.h"
#include "dump/view/base/intern.h"
#include "dump/view/model/process_history.h"

struct person_comm {
	uint32_t key;
	uint32_t order; /* as in the file, to keep the sort stable */
	uint64_t ns;
	bool exec;
	char comm[17];
};

struct person_path {
	const char *text;
	uint8_t build_id_bytes;
	uint8_t build_id[20];
};

/* Where a task was from `ns` on. */
struct person_stay {
	uint32_t key;
	uint32_t what; /* index into sets or paths */
	uint64_t ns;
	uint32_t order; /* as in the file, to keep the sort stable */
};

/* A set of namespaces: some of people.namespace. */
struct person_set {
	uint32_t from, nr;
};

/*
 * Mappings of one process are sorted by start address and seen as a balanced tree: the middle of a
 * range is its root. Each root knows what its whole range spans, so that a search leaves out what
 * can't hold the address or the time.
 */
struct person_map {
	struct fmt_map f; /* end_ns 0 has become UINT64_MAX, path an index into paths */
	uint64_t max_end, min_ns, max_end_ns;
};

struct process_history {
	/* While loading; the tables are in them. */
	struct buf tasks, comms, maps, paths, sets, namespaces, spaces, cgroups, ksyms;
	const struct fmt_task *task;	/* by tid, start */
	const struct person_comm *comm; /* by key, time */
	struct person_map *map;		/* by key, start */
	const struct person_path *path;
	const struct person_set *set;
	const struct fmt_namespace *namespace;
	const struct person_stay *space, *cgroup; /* by key, time */
	const struct history_ksym *ksym;	  /* by address, time */
	size_t nr_spaces, nr_cgroups, nr_ksyms;
	struct intern texts;
	struct history_counts nr;
};

/* The leader of the task's process at `ns`; NULL: unknown. `span` as history_narrow() takes it. */
const struct fmt_task *history_leader(const struct process_history *p, const struct fmt_task *t,
				      uint64_t ns, struct history_span *span);

/*
 * Whoever compares a time with another cuts *span, in which the answer holds, to the side that it
 * found itself on; NULL: nobody wants to know.
 */
static inline void history_narrow(struct history_span *span, uint64_t from_ns, uint64_t to_ns)
{
	if (!span)
		return;
	if (from_ns > span->from_ns)
		span->from_ns = from_ns;
	if (to_ns < span->to_ns)
		span->to_ns = to_ns;
}

/* `ns` >= `at_ns` was asked; the answer is returned. */
static inline bool history_since(struct history_span *span, uint64_t ns, uint64_t at_ns)
{
	if (ns >= at_ns)
		history_narrow(span, at_ns, UINT64_MAX);
	else
		history_narrow(span, 0, at_ns - 1);
	return ns >= at_ns;
}

/* Fills everything above from the LEDGER blocks. */
int history_read(struct process_history *p, struct reader *r);
/* Sorts them, and makes the pointers to them. */
void history_sort(struct process_history *p);
