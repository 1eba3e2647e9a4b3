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
	const char *path; /* the same text is the same pointer */
	const uint8_t *build_id;
	uint8_t build_id_bytes;
};

/* From `ns` on the task had this name. */
struct history_comm {
	uint32_t key; /* fmt_task.key */
	bool exec;    /* it came with an exec */
	uint64_t ns;
	const char *comm;
};

struct history_counts {
	size_t nr_tasks, nr_processes, nr_comms, nr_maps;
	size_t nr_broken; /* blocks or items that could not be read */
};

/* A time during which an answer stays the same, ends included. */
struct history_span {
	uint64_t from_ns, to_ns;
};

/* Blocks that are damaged are counted in nr_broken, not fatal. 0, -ENOMEM, -E2BIG. */
int history_load(struct reader *r, struct process_history **out, struct err *err);
void history_free(struct process_history *p);

/*
 * The task that had `tid` at `ns`; NULL when the ledger has none. Between two tasks of one tid, and
 * up to 10 ms before the first, the nearest: an event can mention a thread before its FORK record's
 * time and after its EXIT's. tid 0 has one: "swapper".
 */
const struct fmt_task *history_task(const struct process_history *p, uint32_t tid, uint64_t ns);
/*
 * Its name at `ns`; NULL when unknown. A thread without a name of its own has its process's, a
 * process whose fork was seen its parent's. Text as in the file: not safe for a terminal yet.
 */
const char *history_comm(const struct process_history *p, uint32_t tid, uint64_t ns);
/*
 * The mapping of `tid`'s process that held `addr` at `ns`, the latest; false when there is none.
 * Just after an exec, while the new program does not run yet, also one that went with it.
 */
bool history_map(const struct process_history *p, uint32_t tid, uint64_t ns, uint64_t addr,
		 struct history_map *out);

/*
 * As history_task() and history_comm() (the result may be NULL), and as history_map(), for whoever
 * asks for the same again and again: *span becomes a time around `ns` for which the answer holds.
 */
const struct fmt_task *history_who(const struct process_history *p, uint32_t tid, uint64_t ns,
				   const char **comm, struct history_span *span);
bool history_where(const struct process_history *p, uint32_t tid, uint64_t ns, uint64_t addr,
		   struct history_map *out, struct history_span *span);

/* Code that the kernel had for a while: a BPF program, a trampoline. */
struct history_ksym {
	struct fmt_ksym f; /* end_ns UINT64_MAX: to the end */
	const char *name;  /* borrowed; as in the file */
};

/* What lay at a kernel address at `ns`, of what came and went; false: nothing that is known. As
 * history_where(), *span (not NULL) becomes a time for which the answer holds. */
bool history_ksym(const struct process_history *p, uint64_t ns, uint64_t addr,
		  struct history_ksym *out, struct history_span *span);

/*
 * The cgroup of the task's process at `ns`; NULL when unknown. A path of the unified hierarchy,
 * "/x", or of a v1 hierarchy with its controllers, "memory:/x". Known as of a look at /proc:
 * FORMAT.md says under fmt_stay what that means. Text as in the file.
 */
const char *history_cgroup(const struct process_history *p, const struct fmt_task *t, uint64_t ns);
/* The inode of the namespace of this kind (enum fmt_namespace_kind) that the task was in at `ns`,
 * as lsns(8) shows it; 0 when unknown. */
uint64_t history_namespace(const struct process_history *p, const struct fmt_task *t, uint64_t ns,
			   uint32_t kind);

/* Tasks by tid, then start. */
size_t history_nr_tasks(const struct process_history *p);
const struct fmt_task *history_nth(const struct process_history *p, size_t i);
/* Names by task and time, nr_comms; mappings by process and address, nr_maps: of one that is still
 * there, f.end_ns is UINT64_MAX. */
void history_nth_comm(const struct process_history *p, size_t i, struct history_comm *out);
void history_nth_map(const struct process_history *p, size_t i, struct history_map *out);
void history_counts(const struct process_history *p, struct history_counts *out);
