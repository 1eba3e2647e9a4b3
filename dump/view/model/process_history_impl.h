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

/* The namespace set or cgroup of a task from `ns` on. */
struct person_stay {
	uint32_t key;
	uint32_t what; /* index into sets or paths */
	uint64_t ns;
	uint32_t order; /* as in the file, to keep the sort stable */
};

/* A set of namespaces: a range of the namespace table. */
struct person_set {
	uint32_t from, nr;
};

/*
 * Mappings of one process are sorted by start address and used as a balanced tree: the middle of a
 * range is its root. Each root knows the address and time span of its range, so a search skips
 * ranges that cannot contain the wanted address or time.
 */
struct person_map {
	struct fmt_map f; /* end_ns 0 is replaced by UINT64_MAX, path by an index into paths */
	uint64_t max_end, min_ns, max_end_ns;
};

struct process_history {
	/* Filled while loading; the tables below point into them. */
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

/* The leader of the task's process at `ns`; NULL: unknown. `span`: see history_narrow(). */
const struct fmt_task *history_leader(const struct process_history *p, const struct fmt_task *t,
				      uint64_t ns, struct history_span *span);

/* Narrows *span, the time for which an answer holds, after a comparison with a time. `span` may be
 * NULL. */
static inline void history_narrow(struct history_span *span, uint64_t from_ns, uint64_t to_ns)
{
	if (!span)
		return;
	if (from_ns > span->from_ns)
		span->from_ns = from_ns;
	if (to_ns < span->to_ns)
		span->to_ns = to_ns;
}

/* Returns `ns` >= `at_ns` and narrows *span accordingly. */
static inline bool history_since(struct history_span *span, uint64_t ns, uint64_t at_ns)
{
	if (ns >= at_ns)
		history_narrow(span, at_ns, UINT64_MAX);
	else
		history_narrow(span, 0, at_ns - 1);
	return ns >= at_ns;
}

/* Fills the tables from the LEDGER blocks. */
int history_read(struct process_history *p, struct reader *r);
/* Sorts the tables and sets the pointers to them. */
void history_sort(struct process_history *p);
