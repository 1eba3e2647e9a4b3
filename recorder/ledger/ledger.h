/* SPDX-License-Identifier: MIT */
/*
 * The recorder's model of processes: tasks, their names and namespaces over time, their executable
 * mappings and cgroups, built from /proc at start (proc_scan.c) and from sideband records since.
 *
 * No record says that a task was moved to another cgroup: a process has its parent's until a scan
 * looks, and a later move is seen at the next scan only. Exited tasks
 * stay as tombstones until ledger_expire() says that no ring refers to their time any more. Memory
 * is bounded: over the limit the oldest tombstones go first and are counted.
 *
 * Locked inside; any thread may call. While a dump is being written from it, which may wait for a
 * disk, nothing changes: whoever brings something waits too, or asks with ledger_begin() whether he
 * would have to. Times are CLOCK_MONOTONIC ns.
 */
#pragma once

#include "dump/format/format.h"
#include "dump/format/record.h"

/* In one set; kinds are enum fmt_namespace_kind. */
#define LEDGER_MAX_NAMESPACES 16

struct err;
struct pinned;
struct pinned_share;
struct ledger;
struct writer;

int ledger_new(size_t max_bytes, struct ledger **out, struct err *err);
void ledger_free(struct ledger *l);

/* From now on the files that it knows to be mapped are held, and let go with it. Borrowed; before
 * the first record or scan. */
void ledger_keep_files(struct ledger *l, struct pinned *k);
/* What is held, for a process that looks for names; pinned_share_close() is due in any case. */
int ledger_share_files(struct ledger *l, struct pinned_share *out);

/* One sideband record (MMAP2, COMM, FORK, EXIT, NAMESPACES, CGROUP, KSYMBOL, ..., and new_tasks.h's
 * samples; unknown ones are ignored). Records must be given in the order of time (sideband.c sorts
 * what it drains). */
void ledger_record(struct ledger *l, struct bytes rec, const struct record_layout *layout);

/*
 * The same for many at once: begin, take as many as there are, end; nothing else in between. False:
 * a dump is being written, come again when it is done.
 */
bool ledger_begin(struct ledger *l);
void ledger_take(struct ledger *l, struct bytes rec, const struct record_layout *layout);
void ledger_end(struct ledger *l);

/* ---- what a scan of /proc has seen, as of `ns`; the scan itself is proc_scan.c ---- */
struct ledger_seen_task {
	uint32_t tid, pid, ppid, uid;
	uint64_t start_ns; /* from /proc/PID/stat, to a clock tick */
	const char *comm;
	const char *cmdline; /* of the leader; NUL-separated */
	size_t cmdline_bytes;
	const char *cgroup; /* of the leader, as proc_file_cgroup() gives it; "" unknown */
	const struct fmt_namespace *namespaces; /* of the leader, ascending by kind */
	size_t nr_namespaces;			/* 0: unknown */
};
struct ledger_seen_map {
	uint64_t start, end, pgoff, ino;
	uint32_t maj, min, prot, flags;
	const char *path;
};
void ledger_seen_task(struct ledger *l, uint64_t ns, const struct ledger_seen_task *t);
/*
 * All executable mappings of a process, ascending by `start`. Those of a process whose mappings
 * were not known before get ns 0 (mapped before it was first seen) until a record says when; those
 * that a later scan finds get `ns`, and known ones that it does not find ended at `ns`.
 */
void ledger_seen_maps(struct ledger *l, uint64_t ns, uint32_t pid, const struct ledger_seen_map *m,
		      size_t nr);
/* A full scan that began at `ns` is over: tasks alive before it that it did not see are gone. */
void ledger_seen_all(struct ledger *l, uint64_t ns);

/*
 * A thread's last events come after its EXIT record (its last switch, as a zombie), so what ended
 * is kept that much longer than a ring's horizon says.
 */
#define LEDGER_GRACE_NS 1000000000ull

/* Nothing recorded before `ns` is in any ring: what ended LEDGER_GRACE_NS before that goes, a few
 * thousand at a time, so that it takes no more than about a millisecond. */
void ledger_expire(struct ledger *l, uint64_t ns);

/* The name of the task that had `tid` at `ns`; false when it is not known. */
bool ledger_comm(struct ledger *l, uint32_t tid, uint64_t ns, char comm[16]);
/* The path mapped at `addr` then in its process, cut at n - 1; false when none is known. */
bool ledger_path(struct ledger *l, uint32_t tid, uint64_t ns, uint64_t addr, char *path, size_t n);
/* The cgroup of its process, as far as it is known, cut at n - 1; false when it is not. */
bool ledger_cgroup(struct ledger *l, uint32_t tid, uint64_t ns, char *path, size_t n);
/* Its namespaces, ascending by kind; how many, 0 when they are not known. */
size_t ledger_namespaces(struct ledger *l, uint32_t tid, uint64_t ns,
			 struct fmt_namespace v[LEDGER_MAX_NAMESPACES]);

/* A set of tids, filled while frozen rings are walked; no allocation once made. Any number of
 * threads may add at once; whoever asks or clears comes after them. */
struct tidset;
int tidset_new(struct tidset **out, struct err *err); /* as large as kernel.pid_max can be */
void tidset_free(struct tidset *s);
void tidset_clear(struct tidset *s);
void tidset_add(struct tidset *s, uint32_t tid);
bool tidset_has(const struct tidset *s, uint32_t tid);

/*
 * Writes the LEDGER section: all tasks that lived within [from_ns, to_ns], and of the processes
 * with a thread in `sampled` (NULL: none) the mappings and arguments. A sampled task that ended
 * less than LEDGER_GRACE_NS before is written too. A PATH stands before the MAPs that refer to it,
 * in the same block. Allocates nothing.
 */
void ledger_write(struct ledger *l, struct writer *w, const struct tidset *sampled,
		  uint64_t from_ns, uint64_t to_ns);

struct ledger_stats {
	uint64_t bytes, max_bytes;
	uint64_t nr_tasks; /* alive and tombstones */
	uint64_t nr_tombstones;
	uint64_t nr_maps;	   /* mappings held; one that processes share counts once */
	uint64_t nr_evicted;	   /* dropped early or refused because of the bound */
	uint64_t nr_files;	   /* executables held, see pinned.h */
	uint64_t nr_files_dropped; /* ... let go early because of their bound */
};
void ledger_stats(struct ledger *l, struct ledger_stats *out);
