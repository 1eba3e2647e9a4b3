/* SPDX-License-Identifier: MIT */
/* A kind of trigger as a table row: its name, its syntax, and how it turns a rule into descriptors
 * that become readable on a hit. To add a kind, add one src_*.c and one row in source.c. */
#pragma once

#include "trigger/engine/rule.h"

#include <signal.h>

struct aux_pauses;
struct caps;
struct err;
struct evidence;
struct held_cores;
struct app_socket;
struct source; /* an armed rule; each kind defines its own */

/* The details of a hit; stored in the dump as "key=value" lines. */
struct sighting {
	uint64_t ns;	   /* CLOCK_MONOTONIC */
	uint64_t began_ns; /* start of the measured interval, such as a slow call; 0: no duration */
	uint32_t pid, tid, uid; /* of the thread that caused it; 0: none */
	uint32_t nr_hits;	/* hits in this reading: one signal may stand for many */
	char comm[16];		/* of that thread; "": unknown */
	char reason[256];	/* from the program or user that triggered; "": none */
	char saw[16][192];	/* "key=value" */
	uint32_t nr_saw;
	uint64_t stack_hash;	   /* of where it happened, for counting repeats; 0: unknown */
	struct evidence *evidence; /* records for the dump; NULL: none. Owned */
};

/* Adds a "key=value" line; ignored when all lines are used. */
void sighting_add(struct sighting *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets an empty `comm` from /proc. */
void sighting_name(struct sighting *s);
/* The name of a thread, from /proc; "": it has exited. */
void source_comm(uint32_t tid, char comm[16]);
/* The owner of a thread, from /proc; 0: root, not dumpable, or it has exited. */
uint32_t source_uid(uint32_t tid);
/* Adds `fd` to the epoll set *epoll_fd, created when it is -1; `what` is for the error. */
int source_wait(int *epoll_fd, int fd, const char *what, struct err *err);
/* A copy that shares the evidence; sighting_fini() releases it. */
struct sighting sighting_share(const struct sighting *s);
void sighting_fini(struct sighting *s);

/* The recorder's environment, as sources see it; borrowed for the life of the engine. */
struct source_env {
	const struct caps *caps;   /* what kernel and user allow; NULL: everything */
	int command_pid;	   /* of `-- COMMAND`; 0: none */
	struct app_socket *tell;   /* messages of programs; NULL: no socket */
	struct held_cores *parked; /* threads held by --crash-hold; NULL: not used */
	struct aux_pauses *brakes; /* pauses traces in the kernel; NULL: unavailable */
	int64_t post_ns;	   /* of rules without post= */
	uint64_t dropped;	   /* capabilities that the recorder gave up: 1 << CAP_* */
};

/* What an armed rule watches and costs, for --dry-run. */
struct source_plan {
	char watches[320]; /* "the kernel's own PSI trigger on /proc/pressure/memory" */
	char costs[320];   /* "nothing until it fires" */
	bool brakes;	   /* its hits pause traces in the kernel */
};

struct source_ops {
	const char *name;    /* before the ':' */
	const char *syntax;  /* "signal:NAME", for --help and RULES.md */
	const char *help;    /* one line */
	const char *example; /* a rule that works on most machines */
	/* Only the recorder's owner can hit it. Rules that others can hit get SLOT_MAX_DUMPS a day
	 * unless the rule has max=, so that a crash loop can't fill the disk. */
	bool owners;
	/* Time that a rule without cooldown= holds its hits after its dump, beside --cooldown; for
	 * hits whose rate a program sets. 0: none. */
	int64_t cooldown_ns;
	bool stacks; /* records stacks, so it takes the option stack= */
	/* The path at the start of its argument names the file that is watched. A reload opens it
	 * again when the file was replaced. */
	bool in_file;
	/* The capability (CAP_*) that its rules take besides those of every recorder; 0: none. */
	unsigned capability;
	/* Called once at start (and after SIGHUP). Checks arg, op and threshold, and says why when
	 * this kernel can never meet the rule. 0 or -errno. */
	int (*open)(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err);
	/* The descriptor to wait on (POLLIN unless `events` is set); -1: none, the engine wakes for
	 * env->tell anyway. */
	int (*fd)(const struct source *s, uint32_t *events);
	/*
	 * Called when that descriptor woke the recorder, before ready(), with the epoll events. For
	 * descriptors whose event is reported only once and can't be queried (PSI). NULL: not
	 * needed.
	 */
	void (*woken)(struct source *s, uint32_t events);
	/* Called when the recorder was woken, maybe by another source; must not block. 1: a hit,
	 * *what is filled in; 0: no hit (yet). */
	int (*ready)(struct source *s, struct sighting *what, struct err *err);
	/* Called after the hit of ready() was handled; if it got a dump, the rings are frozen.
	 * Releases what waits for that. NULL: nothing waits. */
	void (*answered)(struct source *s);
	/* Called during a storm of hits none of which would get a dump. Takes all pending hits and
	 * returns their number; must be cheap per hit. NULL: ready() is called for each. */
	uint64_t (*skip)(struct source *s);
	/*
	 * Adds the signals that it waits on to `set`; NULL: none. The engine blocks them while the
	 * source is open. It refuses two sources that wait on one signal, since only one would get
	 * it.
	 */
	void (*signals)(const struct source *s, sigset_t *set);
	/* Called when the recorded command has ended; `status` as in a shell: 128 + signal. The
	 * source becomes ready if that meets the rule. NULL: ignored. */
	void (*command_ended)(struct source *s, int status);
	/* Called with false when no hit would get a dump for a while, and with true when one might
	 * again. NULL: its hits never pause a trace. */
	void (*brake)(struct source *s, bool on);
	/* Called when a CPU came online or went offline. NULL: ignored. 0 or -errno. */
	int (*cpu)(struct source *s, int cpu, bool online, struct err *err);
	/* Called by --dry-run and doctor. */
	void (*plan)(const struct source *s, struct source_plan *out);
	/* Called by status. Describes what was missed or dropped since the start, such as "3 calls
	 * not timed: map full"; false (or NULL): nothing. */
	bool (*trouble)(const struct source *s, char *out, size_t n);
	/* Called when the recorder stops. NULL and half-open sources allowed. */
	void (*close)(struct source *s);
};

/* All kinds, terminated by NULL. */
extern const struct source_ops *const source_table[];
extern const struct source_ops source_cpu;
extern const struct source_ops source_crash;
extern const struct source_ops source_event;
extern const struct source_ops source_every;
extern const struct source_ops source_exit;
extern const struct source_ops source_file;
extern const struct source_ops source_latency;
extern const struct source_ops source_load;
extern const struct source_ops source_mem;
extern const struct source_ops source_offcpu;
extern const struct source_ops source_oom;
extern const struct source_ops source_program;
extern const struct source_ops source_psi;
extern const struct source_ops source_rate;
extern const struct source_ops source_rss;
extern const struct source_ops source_runqueue;
extern const struct source_ops source_signal;
extern const struct source_ops source_stall;
extern const struct source_ops source_syscall;
extern const struct source_ops source_uprobe;
extern const struct source_ops source_uretprobe;
extern const struct source_ops source_watch;
/* The row with that name; NULL: this build has none. */
const struct source_ops *source_find(const char *name);
