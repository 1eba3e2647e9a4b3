/* SPDX-License-Identifier: MIT */
/*
 * The recorder's model of processes: tasks, their names and namespaces over time, their executable
 * mappings and cgroups. It is built from /proc at start (proc_scan.c) and from sideband records.
 *
 * There is no record for moving a task to another cgroup. A process has its parent's cgroup until a
 * scan or a dump reads its own; only a scan finds a later move. Exited tasks stay as tombstones until
 * ledger_expire() says that no ring holds events of their time. Memory is bounded: over the limit
 * the oldest tombstones are evicted and counted. What still doesn't fit is refused and counted.
 *
 * Thread-safe. The ledger does not change while a dump is written from it, which may block on a
 * disk. Calls that change it block until then; ledger_begin() fails instead. Times are
 * CLOCK_MONOTONIC ns.
 */
#pragma once

#include "dump/format/format.h"
#include "dump/format/record.h"

/* Size of one set; kinds are enum fmt_namespace_kind. */
#define LEDGER_MAX_NAMESPACES 16

struct err;
struct pinned;
struct pinned_share;
struct ledger;
struct writer;

int ledger_new(size_t max_bytes, struct ledger **out, struct err *err);
void ledger_free(struct ledger *l);

/* From now on `k` holds a descriptor of each mapped file until the ledger forgets the file.
 * Borrowed. Call it before the first record or scan. */
void ledger_keep_files(struct ledger *l, struct pinned *k);
/* Shares the held files with the symbolizer process. Call pinned_share_close() in any case. */
int ledger_share_files(struct ledger *l, struct pinned_share *out);

/* Takes one sideband record: MMAP2, COMM, FORK, EXIT, NAMESPACES, CGROUP, KSYMBOL, ..., and the
 * samples of new_tasks.h. Unknown records are ignored. Records must come in the order of time;
 * sideband.c sorts them. */
void ledger_record(struct ledger *l, struct bytes rec, const struct record_layout *layout);

/*
 * The same for a batch: ledger_begin(), any number of ledger_take(), ledger_end(); the lock is held
 * in between, so make no other ledger call. ledger_begin() returns false while a dump is being
 * written.
 */
bool ledger_begin(struct ledger *l);
void ledger_take(struct ledger *l, struct bytes rec, const struct record_layout *layout);
void ledger_end(struct ledger *l);

/*
 * Appends to `out` records (as sideband_attr() asks for them) that tell another ledger the names of
 * the living task `tid` and, for a leader, its mappings; nothing when all that is known of it came
 * from records of `since_ns` or later. 0 or -ENOMEM.
 */
int ledger_retell(struct ledger *l, uint32_t tid, uint64_t since_ns, struct buf *out);

/* ---- results of a /proc scan, as of `ns`; the scan itself is proc_scan.c ---- */
struct ledger_seen_task {
	uint32_t tid, pid, ppid, uid;
	uint64_t start_ns; /* from /proc/PID/stat, with the precision of a clock tick */
	const char *comm;
	const char *cmdline; /* leaders only; NUL-separated */
	size_t cmdline_bytes;
	const char *cgroup; /* leaders only; see proc_file_cgroup(); "": unknown */
	const struct fmt_namespace *namespaces; /* leaders only; ascending by kind */
	size_t nr_namespaces;			/* 0: unknown */
};
struct ledger_seen_map {
	uint64_t start, end, pgoff, ino;
	uint32_t maj, min, prot, flags;
	const char *path;
};
void ledger_seen_task(struct ledger *l, uint64_t ns, const struct ledger_seen_task *t);
/*
 * All executable mappings of a process, ascending by `start`. If none were known before, they get
 * ns 0 (mapped before the process was first seen) until a record gives the time. In a later scan,
 * new mappings start at `ns` and known mappings that are missing end at `ns`.
 */
void ledger_seen_maps(struct ledger *l, uint64_t ns, uint32_t pid, const struct ledger_seen_map *m,
		      size_t nr);
/* The cgroup of a living process, read at `ns`. */
void ledger_seen_cgroup(struct ledger *l, uint64_t ns, uint32_t pid, const char *cgroup);
/* A full scan that began at `ns` is complete: ends older tasks that it did not see. */
void ledger_seen_all(struct ledger *l, uint64_t ns);

/*
 * A thread has events after its EXIT record (its last switch, as a zombie), so ended items are kept
 * this long beyond the rings' horizon.
 */
#define LEDGER_GRACE_NS 1000000000ull

/* The rings hold nothing from before `ns`: drops what ended LEDGER_GRACE_NS before. Drops a few
 * thousand items per call, to stay below about a millisecond. */
void ledger_expire(struct ledger *l, uint64_t ns);

/* The name of task `tid` at `ns`; false: unknown. */
bool ledger_comm(struct ledger *l, uint32_t tid, uint64_t ns, char comm[16]);
/* A name, and the time within which the thread had it. */
struct ledger_name {
	char comm[16];
	uint64_t from_ns, until_ns; /* [from, until) */
};

/* As ledger_comm(). */
bool ledger_name_at(struct ledger *l, uint32_t tid, uint64_t ns, struct ledger_name *out);
/* The path mapped at `addr` in the process of `tid` at `ns`, cut at n - 1 bytes; false: unknown. */
bool ledger_path(struct ledger *l, uint32_t tid, uint64_t ns, uint64_t addr, char *path, size_t n);
/* The cgroup of the process of `tid` at `ns`, cut at n - 1 bytes; false: unknown. */
bool ledger_cgroup(struct ledger *l, uint32_t tid, uint64_t ns, char *path, size_t n);
/* The namespaces of `tid` at `ns`, ascending by kind. Returns their number; 0: unknown. */
size_t ledger_namespaces(struct ledger *l, uint32_t tid, uint64_t ns,
			 struct fmt_namespace v[LEDGER_MAX_NAMESPACES]);

struct ledger_thread {
	uint32_t pid, tid;
	bool kernel;	     /* a kernel thread */
	bool guessed_cgroup; /* a leader, for whose process the parent's cgroup was assumed */
};
/* Adds all living threads to `out`, struct ledger_thread[], by process and thread. 0 or -ENOMEM. */
int ledger_living(struct ledger *l, struct buf *out);

/* A set of tids, filled while frozen rings are read. Allocates only in tidset_new(). Any number of
 * threads may add at once, but tidset_has() and tidset_clear() must not run at the same time. */
struct tidset;
int tidset_new(struct tidset **out, struct err *err); /* sized for the maximum of pid_max */
void tidset_free(struct tidset *s);
void tidset_clear(struct tidset *s);
void tidset_add(struct tidset *s, uint32_t tid);
bool tidset_has(const struct tidset *s, uint32_t tid);

/*
 * Writes the LEDGER section: all tasks that lived within [from_ns, to_ns]; mappings and arguments
 * only of processes with a thread in `sampled` (NULL: none). A sampled task that ended less than
 * LEDGER_GRACE_NS before from_ns is written too. A PATH precedes the MAPs that refer to it, in the
 * same block. Allocates nothing.
 */
void ledger_write(struct ledger *l, struct writer *w, const struct tidset *sampled,
		  uint64_t from_ns, uint64_t to_ns);

struct ledger_stats {
	uint64_t bytes, max_bytes;
	uint64_t nr_tasks; /* living ones and tombstones */
	uint64_t nr_tombstones;
	uint64_t nr_maps;	   /* a mapping shared by processes counts once */
	uint64_t nr_evicted;	   /* dropped early or refused because of the bound */
	uint64_t nr_files;	   /* executables held, see pinned.h */
	uint64_t nr_files_dropped; /* ... closed early because of their bound */
};
void ledger_stats(struct ledger *l, struct ledger_stats *out);

/* The living process that takes most of the memory, for the user who wonders where it went. */
struct ledger_largest {
	uint32_t pid;
	char comm[16];		      /* "": unknown */
	uint64_t nr_maps, nr_threads; /* including those that have ended */
};
/* False: there is none. Looks at all tasks. */
bool ledger_largest(struct ledger *l, struct ledger_largest *out);
