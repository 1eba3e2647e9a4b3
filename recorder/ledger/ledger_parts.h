/* SPDX-License-Identifier: MIT */
/*
 * The ledger's data structures; private to recorder/ledger/ledger*.c. Call all functions here with
 * the lock held. Only ledger.c, ledger_scan.c and ledger_write.c take it.
 *
 *	tid hash ─▶ task (newest of its tid) ─older─▶ task ...
 *	             │ ├─ comm ─older─▶ comm ...     names over time
 *	             │ └─ spaces                     sets of namespaces over time
 *	             ▼
 *	            proc ─┬─ maps                    live; shared until a process changes its own
 *	                  ├─ ended ...               ended mappings, single or a whole table
 *	                  └─ cgroups                 cgroup paths over time
 *
 * Everything that has ended (an exited task, a replaced name, an ended mapping, an unregistered
 * kernel symbol) is in one list, `retired`, in the order of end times. Expiry and eviction both
 * take from its front. A leader is retired with the last thread of its process, since the process
 * owns the mappings.
 */
#pragma once

#include "recorder/ledger/ledger.h"
#include "recorder/ledger/path_table.h"

#include <pthread.h>

/* /proc rounds the start time of a process down to a clock tick. */
#define LEDGER_TICK_NS 10000000ull

enum retired_kind { RETIRED_TASK, RETIRED_COMM, RETIRED_MAPS, RETIRED_KSYM };

struct retired {
	struct retired *prev, *next; /* NULL: not in the list */
	uint64_t ns;
	enum retired_kind kind;
};

struct comm {
	struct retired r; /* in the list once there is a newer one */
	struct task *task;
	struct comm *older, *newer;
	uint64_t ns;
	bool exec;
	bool scanned; /* `ns` is the time of a scan: the name may be older */
	char name[16];
};

/* A set of namespaces or a cgroup that a task or process had from `ns` on. */
struct stay {
	uint64_t ns;
	struct path *what; /* holds a reference */
	bool guess;   /* inherited from the parent at fork, not confirmed by a record or scan */
	bool scanned; /* `ns` is the time of a scan: it may have begun earlier */
};

/* Ascending by `ns`. Most have one entry, which needs no allocation. */
struct stays {
	union {
		struct stay one;
		struct stay *v;
	};
	uint16_t nr;
	uint16_t cap; /* of v; 0: `one` is used, or nr is 0 */
};

struct task {
	struct retired r;	    /* in the list once it is a tombstone */
	struct task *hash_next;	    /* set in the newest of a tid only */
	struct task *older, *newer; /* of the same tid */
	struct proc *proc;
	struct task *alive_prev, *alive_next; /* living threads of proc */
	struct comm *comms;		      /* newest first */
	struct stays spaces;		      /* a thread without entries has its leader's */
	uint64_t start_ns;		      /* 0: unknown */
	uint64_t exit_ns;		      /* 0: alive */
	uint64_t known_ns;		      /* time of the first record or scan about it */
	uint64_t touched_ns;		      /* ... of the last */
	uint32_t key;			      /* its key in the dump being written */
	uint32_t tid, ppid, uid;
	bool exact;   /* start_ns comes from a record */
	bool scanned; /* seen in /proc */
};

struct ledger_map {
	uint64_t start, end, pgoff;
	uint64_t ns;	  /* 0: mapped before the process was first seen */
	uint64_t seen_ns; /* time of the scan that added it; 0: a record added it */
	uint64_t ino, ino_generation;
	uint32_t maj, min, prot, flags;
	struct path *path;
};

/* Live mappings, ascending, without overlaps. Change them only through maps_own(), which copies a
 * shared table; ledger_seen_maps() has an exception. */
struct maps {
	uint32_t refs;
	uint32_t nr, cap;
	bool whole;	       /* complete since the exec or a scan */
	struct ledger_map **v; /* pointers, since new mappings mostly go to the front */
};

struct ended {
	struct retired r;
	struct proc *proc;
	struct ended *prev, *next;
	struct maps *table; /* a whole table ended at r.ns with an exec; NULL: one[0] ended */
	struct ledger_map one[];
};

struct proc {
	struct task *leader; /* NULL: already dropped */
	struct task *alive;  /* its living threads */
	uint32_t pid;
	uint32_t nr_alive;
	uint32_t nr_tasks; /* including tombstones */
	struct maps *maps; /* NULL: none known */
	struct ended *ended;
	uint64_t exec_ns;      /* the last exec; 0: none seen */
	uint64_t maps_scan_ns; /* the last scan of its own mappings */
	uint64_t cmdline_ns;
	char *cmdline;
	size_t cmdline_bytes;
	struct stays cgroups;
	uint64_t wanted; /* ledger_write.c: number of the last write that includes its mappings */
};

/* A kernel symbol that can be unregistered, or a BPF program (`addr`: its id, `name`: its tag). */
struct ksym {
	struct retired r; /* in the list once it is unregistered */
	struct ksym *next, *prev;
	bool program;
	uint64_t addr, ns, end_ns;
	uint32_t bytes;
	uint16_t type, flags;
	size_t name_len;
	char name[];
};

struct cgroup {
	struct cgroup *next;  /* in the hash bucket */
	struct cgroup *newer; /* next in the order of arrival */
	uint64_t id;
	size_t path_len;
	char path[];
};

#define KSYM_BUCKETS   256
#define CGROUP_BUCKETS 64
#define MAX_CGROUPS    4096

struct ledger {
	pthread_mutex_t lock;	   /* held briefly, never during a write to a file */
	bool writing;		   /* under `lock`: a dump is being written, no changes allowed */
	pthread_cond_t written;	   /* signalled when `writing` becomes false */
	uint64_t bytes, max_bytes; /* `bytes` excludes the memory of `paths` */
	uint64_t expired_ns;	   /* no query refers to what ended before */
	struct paths paths;	   /* of files and cgroups; also namespace sets, as in a dump */
	struct task **tasks;	   /* by tid */
	size_t nr_buckets, nr_tids;
	uint64_t nr_tasks, nr_tombstones, nr_maps, nr_evicted;
	struct retired retired; /* head of the list */
	uint64_t nr_retired;	/* in the list */
	struct ksym *ksyms[KSYM_BUCKETS];
	struct cgroup *cgroups[CGROUP_BUCKETS];
	struct cgroup *oldest_cgroup, *newest_cgroup;
	size_t nr_cgroups;
	uint64_t nr_writes;
	uint32_t nr_blocks; /* blocks opened by all writes so far; path.block refers to it */
};

/* ---- ledger.c ---- */
/* Takes the lock once no dump is being written. Use it for changes. */
void ledger_hold(struct ledger *l);

/* ---- ledger_memory.c ---- */
void *ledger_alloc(struct ledger *l, size_t n); /* zeroed; NULL: no memory */
void ledger_release(struct ledger *l, void *p, size_t n);
uint64_t ledger_bytes(const struct ledger *l);
/* Whether `n` more bytes stay within the bound. If not, counts an eviction. */
bool ledger_admits(struct ledger *l, size_t n);
/* The same for what may not take the room of living tasks. */
bool ledger_admits_map(struct ledger *l, size_t n);
/* Evicts from the front of `retired` until one record surely fits. */
void ledger_make_room(struct ledger *l);
void retire(struct ledger *l, struct retired *r, enum retired_kind kind, uint64_t ns);
void unretire(struct ledger *l, struct retired *r);
/* Drops what ended before `ns`, oldest first, up to a maximum per call. */
void retired_expire(struct ledger *l, uint64_t ns);

/* ---- ledger_task.c ---- */
struct task *task_newest(const struct ledger *l, uint32_t tid);
/* The task of `tid` at `ns`. A tombstone keeps its tid until the next task takes it. */
struct task *task_at(const struct ledger *l, uint32_t tid, uint64_t ns);
/* The task that a record of time `ns` is about, created if unknown; NULL: none can be told. */
struct task *task_for(struct ledger *l, uint32_t pid, uint32_t tid, uint64_t ns);
/* Adds the newest task of a tid; the previous one must have ended. Creates its process or joins
 * it. */
struct task *task_add(struct ledger *l, uint32_t pid, uint32_t tid, uint64_t ns);
void task_touch(struct task *t, uint64_t ns);
void task_end(struct ledger *l, struct task *t, uint64_t ns);
void task_drop(struct ledger *l, struct task *t);
/* Ends all living threads of a process except `except` (NULL: none). */
void proc_end(struct ledger *l, struct proc *p, uint64_t ns, const struct task *except);
void proc_set_cmdline(struct ledger *l, struct proc *p, uint64_t ns, const char *s, size_t n);
void tasks_free(struct ledger *l);

/* ---- ledger_comm.c ---- */
/* The task has this name from `ns` on. */
void comm_add(struct ledger *l, struct task *t, uint64_t ns, const char name[16], bool exec);
/* The task was forked at `ns` by a parent with this name. */
void comm_inherit(struct ledger *l, struct task *t, uint64_t ns, const char name[16]);
/* The task was forked just before `ns` with this name instead of its parent's. */
void comm_born(struct task *t, uint64_t ns, const char name[16]);
/* A scan at `ns` read this name. */
void comm_seen(struct ledger *l, struct task *t, uint64_t ns, const char name[16]);
const struct comm *comm_at(const struct task *t, uint64_t ns);
/* comm.ns for output: 0 for a first name that came from a scan. */
uint64_t comm_since(const struct comm *c);
void comm_drop(struct ledger *l, struct comm *c);

/* ---- ledger_stay.c; callers keep their reference to `what` ---- */
/* The task was forked at `ns` by a parent with this. */
void stay_inherit(struct ledger *l, struct stays *s, uint64_t ns, struct path *what);
/* According to a record it has this from `ns` on. */
void stay_record(struct ledger *l, struct stays *s, uint64_t ns, struct path *what);
/* A scan at `ns` read this. */
void stay_seen(struct ledger *l, struct stays *s, uint64_t ns, struct path *what);
/* NULL: unknown. */
struct path *stay_at(const struct stays *s, uint64_t ns);
/* The i-th of s->nr for output: ns 0 for a first one that came from a scan. False for a guess that
 * a scan has refuted. */
bool stay_nth(const struct stays *s, uint32_t i, struct stay *out);
/* Whether the newest one is a guess. */
bool stay_is_guess(const struct stays *s);
void stays_drop(struct ledger *l, struct stays *s);
/* The task's namespaces, or its leader's when it has none of its own. */
struct path *spaces_at(const struct task *t, uint64_t ns);
/* The inode of its mount namespace; 0: unknown. `t` may be NULL. */
uint64_t mount_of(const struct task *t, uint64_t ns);

/* ---- ledger_map.c ---- */
/* The process's table for changes: a shared one is copied first. NULL: no memory. */
struct maps *maps_own(struct ledger *l, struct proc *p);
/* Shares the parent's table with the child. */
void maps_inherit(struct ledger *l, struct proc *parent, struct proc *child);
void maps_exec(struct ledger *l, struct proc *p, uint64_t ns);
/* Adds `m` (set ns or seen_ns). Takes over its path reference, also on failure. */
void maps_add(struct ledger *l, struct proc *p, struct ledger_map *m);
/* Ends live mapping `i` at `ns`. Call maps_own() before. */
void maps_end(struct ledger *l, struct proc *p, uint32_t i, uint64_t ns);
/* Index of the first live mapping that ends above `addr`; nr: none. */
uint32_t maps_find(const struct maps *t, uint64_t addr);
void ended_drop(struct ledger *l, struct ended *e);
/* Drops the live and ended mappings of a process. */
void maps_drop(struct ledger *l, struct proc *p);

/* ---- ledger_sym.c ---- */
void ksym_record(struct ledger *l, uint64_t ns, struct bytes body);
void bpf_record(struct ledger *l, uint64_t ns, struct bytes body);
void ksym_drop(struct ledger *l, struct ksym *k);
void cgroup_record(struct ledger *l, struct bytes body);
void syms_free(struct ledger *l);

/* Length of the text in a record, which is padded with NULs. */
size_t record_text(struct bytes b);
