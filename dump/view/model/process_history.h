/* SPDX-License-Identifier: MIT */
/*
 * Tasks, names and mappings over time: the ledger of a dump. Lookups take a tid and a time, because
 * tids are reused and processes exec. They take O(log n), also in a hostile ledger. Returned
 * pointers are borrowed until history_free(). Read-only once loaded, so threads may share it.
 */
#pragma once

#include "dump/format/format.h"

#include <stdbool.h>
#include <stddef.h>

struct err;
struct reader;
struct process_history;

struct history_map {
	struct fmt_map f;
	const char *path; /* equal texts are the same pointer */
	const uint8_t *build_id;
	uint8_t build_id_bytes;
};

/* The task has this name from `ns` on. */
struct history_comm {
	uint32_t key; /* fmt_task.key */
	bool exec;    /* an exec set it */
	uint64_t ns;
	const char *comm;
};

struct history_counts {
	size_t nr_tasks, nr_processes, nr_comms, nr_maps;
	size_t nr_broken; /* unreadable blocks or items */
};

/* A time for which an answer holds, both ends included. */
struct history_span {
	uint64_t from_ns, to_ns;
};

/* Damaged blocks are counted in nr_broken and skipped. 0, -ENOMEM, -E2BIG. */
int history_load(struct reader *r, struct process_history **out, struct err *err);
void history_free(struct process_history *p);

/*
 * The task with `tid` at `ns`; NULL when the ledger has none. Between two tasks with the same tid,
 * and up to 10 ms before the first, returns the nearest: an event can name a thread before the time
 * of its FORK record and after that of its EXIT record. tid 0 always has a task: "swapper".
 */
const struct fmt_task *history_task(const struct process_history *p, uint32_t tid, uint64_t ns);
/*
 * The thread's name at `ns`; NULL when unknown. A thread without its own name has its process's
 * name; a process with a known fork has its parent's. Text as in the file: not escaped for a
 * terminal.
 */
const char *history_comm(const struct process_history *p, uint32_t tid, uint64_t ns);
/* The latest mapping of `tid`'s process that held `addr` at `ns`; false: none. Just after an exec,
 * before the new program runs, this includes the mappings that the exec removed. */
bool history_map(const struct process_history *p, uint32_t tid, uint64_t ns, uint64_t addr,
		 struct history_map *out);

/* As history_task(), history_comm() (the result may be NULL) and history_map(), for callers that
 * cache the answer: *span becomes a time around `ns` for which it holds. */
const struct fmt_task *history_who(const struct process_history *p, uint32_t tid, uint64_t ns,
				   const char **comm, struct history_span *span);
bool history_where(const struct process_history *p, uint32_t tid, uint64_t ns, uint64_t addr,
		   struct history_map *out, struct history_span *span);

/* Kernel code that existed for a limited time: a BPF program, a trampoline. */
struct history_ksym {
	struct fmt_ksym f; /* end_ns UINT64_MAX: until the end */
	const char *name;  /* borrowed; as in the file */
};

/* The temporary kernel code at an address at `ns`; false: none known. As in history_where(), *span
 * (not NULL) becomes a time for which the answer holds. */
bool history_ksym(const struct process_history *p, uint64_t ns, uint64_t addr,
		  struct history_ksym *out, struct history_span *span);

/*
 * The cgroup of the task's process at `ns`; NULL when unknown. A path of the unified hierarchy,
 * "/x", or of a v1 hierarchy with its controllers, "memory:/x". As exact as the reads of /proc
 * were: see fmt_stay in FORMAT.md. Text as in the file.
 */
const char *history_cgroup(const struct process_history *p, const struct fmt_task *t, uint64_t ns);
/* The same of the task with `tid` at `ns`, for callers that cache the answer; see history_who().
 * Equal texts are the same pointer. */
const char *history_cgroup_of(const struct process_history *p, uint32_t tid, uint64_t ns,
			      struct history_span *span);
/* The inode of the namespace of this kind (enum fmt_namespace_kind) that the task was in at `ns`,
 * as lsns(8) shows it; 0 when unknown. */
uint64_t history_namespace(const struct process_history *p, const struct fmt_task *t, uint64_t ns,
			   uint32_t kind);

/* Tasks by tid, then start. */
size_t history_nr_tasks(const struct process_history *p);
const struct fmt_task *history_nth(const struct process_history *p, size_t i);
/* Names by task and time, nr_comms; mappings by process and address, nr_maps. A mapping that still
 * exists has f.end_ns UINT64_MAX. */
void history_nth_comm(const struct process_history *p, size_t i, struct history_comm *out);
void history_nth_map(const struct process_history *p, size_t i, struct history_map *out);
void history_counts(const struct process_history *p, struct history_counts *out);
