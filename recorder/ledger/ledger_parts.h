/* SPDX-License-Identifier: MIT */
/*
 * What the ledger is made of; private to recorder/ledger*.c. Everything here is called with the
 * lock held, except in ledger.c and ledger_write.c, which take it.
 *
 *	tid hash ─▶ task (newest of its tid) ─older─▶ task ...
 *	             │ ├─ comm ─older─▶ comm ...     names over time
 *	             │ └─ spaces                     sets of namespaces over time
 *	             ▼
 *	            proc ─┬─ maps                    live; shared until a process changes its own
 *	                  ├─ ended ...               mappings of the past, one or a whole table
 *	                  └─ cgroups                 cgroup paths over time
 *
 * What is over (an exited task, a name that was replaced, an ended mapping, an unregistered kernel
 * symbol) stands in one list, `retired`, by the time it ended: expiring and evicting both take from
 * its front. A process's leader is retired when the last of its threads is gone, not before, since
 * the mappings are its.
 */
#pragma once

#include "recorder/ledger/ledger.h"
#include "recorder/ledger/path_table.h"

#include <pthread.h>

/* /proc says when a process began to a clock tick, rounded down. */
#define LEDGER_TICK_NS 10000000ull

enum retired_kind { RETIRED_TASK, RETIRED_COMM, RETIRED_MAPS, RETIRED_KSYM };

struct retired {
	struct retired *prev, *next; /* NULL: not in the list */
	uint64_t ns;
	enum retired_kind kind;
};

struct comm {
	struct retired r; /* once a newer one is there */
	struct task *task;
	struct comm *older, *newer;
	uint64_t ns;
	bool exec;
	bool scanned; /* `ns` is when a scan saw it: it may be older */
	char name[16];
};

/* What a task or process had from `ns` on: a set of namespaces, a cgroup. */
struct stay {
	uint64_t ns;
	struct path *what; /* counted */
	bool guess;	   /* its parent's when it was forked: until somebody knows */
	bool scanned;	   /* `ns` is when a scan saw it: it may be older */
};

/* Ascending. Nearly everybody has just one, which needs no memory of its own. */
struct stays {
	union {
		struct stay one;
		struct stay *v;
	};
	uint16_t nr;
	uint16_t cap; /* of v; 0: `one` is it, or there is none */
};

struct task {
	struct retired r;	    /* once it is a tombstone */
	struct task *hash_next;	    /* of the newest of a tid only */
	struct task *older, *newer; /* of the same tid */
	struct proc *proc;
	struct task *alive_prev, *alive_next; /* threads of proc that live */
	struct comm *comms;		      /* newest first */
	struct stays spaces;		      /* of a thread, none: its leader's */
	uint64_t start_ns;		      /* 0: unknown */
	uint64_t exit_ns;		      /* 0: alive */
	uint64_t known_ns;		      /* when it was first heard of */
	uint64_t touched_ns;		      /* ... last */
	uint32_t key;			      /* in the dump being written */
	uint32_t tid, ppid, uid;
	bool exact;   /* start_ns comes from a record */
	bool scanned; /* seen in /proc */
};

struct ledger_map {
	uint64_t start, end, pgoff;
	uint64_t ns;	  /* 0: before it was first seen */
	uint64_t seen_ns; /* the scan that brought it; 0: a record did */
	uint64_t ino, ino_generation;
	uint32_t maj, min, prot, flags;
	struct path *path;
};

/* Live mappings, ascending, without overlaps. Immutable while refs > 1 (but see maps_own()). */
struct maps {
	uint32_t refs;
	uint32_t nr, cap;
	bool whole; /* it is known from the beginning: by exec or by a scan */
	struct ledger_map *v;
};

struct ended {
	struct retired r;
	struct proc *proc;
	struct ended *prev, *next;
	struct maps *table; /* all of it ended at r.ns with an exec; NULL: one[0] did */
	struct ledger_map one[];
};

struct proc {
	struct task *leader; /* NULL: dropped already */
	struct task *alive;  /* its living threads */
	uint32_t pid;
	uint32_t nr_alive;
	uint32_t nr_tasks; /* with tombstones */
	struct maps *maps; /* NULL: none known */
	struct ended *ended;
	uint64_t exec_ns;      /* the last exec; 0: none seen */
	uint64_t maps_scan_ns; /* the last scan of its own mappings */
	uint64_t cmdline_ns;
	char *cmdline;
	size_t cmdline_bytes;
	struct stays cgroups;
	uint64_t wanted; /* ledger_write.c: number of the write that puts its mappings */
};

/* A kernel symbol that may go again; or a BPF program: `addr` is its id then, `name` its tag. */
struct ksym {
	struct retired r; /* once it is unregistered */
	struct ksym *next, *prev;
	bool program;
	uint64_t addr, ns, end_ns;
	uint32_t bytes;
	uint16_t type, flags;
	size_t name_len;
	char name[];
};

struct cgroup {
	struct cgroup *next;  /* in its bucket */
	struct cgroup *newer; /* in order of arrival */
	uint64_t id;
	size_t path_len;
	char path[];
};

#define KSYM_BUCKETS   256
#define CGROUP_BUCKETS 64
#define MAX_CGROUPS    4096

struct ledger {
	pthread_mutex_t lock;	   /* held for a moment only, never over a write to a file */
	bool writing;		   /* under `lock`: a dump is being written, nothing may change */
	pthread_cond_t written;	   /* it is no more */
	uint64_t bytes, max_bytes; /* bytes: without those of `paths` */
	uint64_t expired_ns;	   /* nobody asks for what ended before */
	struct paths paths;	   /* also of cgroups; and sets of namespaces, as in a dump */
	struct task **tasks;	   /* by tid */
	size_t nr_buckets, nr_tids;
	uint64_t nr_tasks, nr_tombstones, nr_maps, nr_evicted;
	struct retired retired; /* head of the list */
	struct ksym *ksyms[KSYM_BUCKETS];
	struct cgroup *cgroups[CGROUP_BUCKETS];
	struct cgroup *oldest_cgroup, *newest_cgroup;
	size_t nr_cgroups;
	uint64_t nr_writes;
	uint32_t nr_blocks; /* opened by all writes; path.block refers to it */
};

/* ---- ledger.c ---- */
/* Takes the lock when nothing is being written: for whoever changes something. */
void ledger_hold(struct ledger *l);

/* ---- ledger_memory.c ---- */
void *ledger_alloc(struct ledger *l, size_t n); /* zeroed; NULL: none */
void ledger_release(struct ledger *l, void *p, size_t n);
uint64_t ledger_bytes(const struct ledger *l);
/* Whether `n` more bytes stay within the bound; counted as evicted when they do not. */
bool ledger_admits(struct ledger *l, size_t n);
/* Evicts what ended first until a record's worth of memory is free. */
void ledger_make_room(struct ledger *l);
void retire(struct ledger *l, struct retired *r, enum retired_kind kind, uint64_t ns);
void unretire(struct retired *r);
/* Drops what ended before `ns`: the oldest of it, when it is so much that it would take long. */
void retired_expire(struct ledger *l, uint64_t ns);

/* ---- ledger_task.c ---- */
struct task *task_newest(const struct ledger *l, uint32_t tid);
/* The task of `tid` at `ns`: a tombstone has its tid until the next one takes it. */
struct task *task_at(const struct ledger *l, uint32_t tid, uint64_t ns);
/* The task a record of `ns` is about, made when it was not known; NULL: it says nothing. */
struct task *task_for(struct ledger *l, uint32_t pid, uint32_t tid, uint64_t ns);
/* A new task, the newest of its tid; the one before must have ended. Makes its process, or joins
 * it. */
struct task *task_add(struct ledger *l, uint32_t pid, uint32_t tid, uint64_t ns);
void task_touch(struct task *t, uint64_t ns);
void task_end(struct ledger *l, struct task *t, uint64_t ns);
void task_drop(struct ledger *l, struct task *t);
/* Ends the threads of a process that live, except one (NULL: none). */
void proc_end(struct ledger *l, struct proc *p, uint64_t ns, const struct task *except);
void proc_set_cmdline(struct ledger *l, struct proc *p, uint64_t ns, const char *s, size_t n);
void tasks_free(struct ledger *l);

/* ---- ledger_comm.c ---- */
/* From `ns` on the task had this name. */
void comm_add(struct ledger *l, struct task *t, uint64_t ns, const char name[16], bool exec);
/* It was forked at `ns` by one of this name. */
void comm_inherit(struct ledger *l, struct task *t, uint64_t ns, const char name[16]);
/* It was forked just before `ns` and had this name, not its parent's, from the beginning. */
void comm_born(struct task *t, uint64_t ns, const char name[16]);
/* A scan that looked at `ns` saw this name. */
void comm_seen(struct ledger *l, struct task *t, uint64_t ns, const char name[16]);
const struct comm *comm_at(const struct task *t, uint64_t ns);
/* comm.ns as it is to be told: 0 for a first one that a scan saw. */
uint64_t comm_since(const struct comm *c);
void comm_drop(struct ledger *l, struct comm *c);

/* ---- ledger_stay.c; none takes over the reference to `what` ---- */
/* It was forked at `ns` by one who had this. */
void stay_inherit(struct ledger *l, struct stays *s, uint64_t ns, struct path *what);
/* A record says that it has this from `ns` on. */
void stay_record(struct ledger *l, struct stays *s, uint64_t ns, struct path *what);
/* A scan that looked at `ns` saw this. */
void stay_seen(struct ledger *l, struct stays *s, uint64_t ns, struct path *what);
/* NULL: unknown. */
struct path *stay_at(const struct stays *s, uint64_t ns);
/* The i-th of s->nr as it is to be told: ns 0 for a first one that a scan saw. A guess that a scan
 * has corrected is false: it never was so. */
bool stay_nth(const struct stays *s, uint32_t i, struct stay *out);
void stays_drop(struct ledger *l, struct stays *s);
/* What the task's namespaces were; its leader's when it has none of its own. */
struct path *spaces_at(const struct task *t, uint64_t ns);
/* The inode of its mount namespace; 0: unknown. `t` may be NULL. */
uint64_t mount_of(const struct task *t, uint64_t ns);

/* ---- ledger_map.c ---- */
/* The process's mappings, to be changed: copied when others share them. NULL: no memory. */
struct maps *maps_own(struct ledger *l, struct proc *p);
/* The child gets what the parent has. */
void maps_inherit(struct ledger *l, struct proc *parent, struct proc *child);
void maps_exec(struct ledger *l, struct proc *p, uint64_t ns);
/* Maps `m` (ns or seen_ns set); takes over its reference to the path, also when it is refused. */
void maps_add(struct ledger *l, struct proc *p, struct ledger_map *m);
/* Ends live mapping `i` at `ns`; maps_own() must have been called. */
void maps_end(struct ledger *l, struct proc *p, uint32_t i, uint64_t ns);
/* First live mapping that ends above `addr`; nr when there is none. */
uint32_t maps_find(const struct maps *t, uint64_t addr);
void ended_drop(struct ledger *l, struct ended *e);
/* All of a process's mappings. */
void maps_drop(struct ledger *l, struct proc *p);

/* ---- ledger_sym.c ---- */
void ksym_record(struct ledger *l, uint64_t ns, struct bytes body);
void bpf_record(struct ledger *l, uint64_t ns, struct bytes body);
void ksym_drop(struct ledger *l, struct ksym *k);
void cgroup_record(struct ledger *l, struct bytes body);
void syms_free(struct ledger *l);

/* Text of a record: up to its NUL, padded with more of them. */
size_t record_text(struct bytes b);
