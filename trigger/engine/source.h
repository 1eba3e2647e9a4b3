/* SPDX-License-Identifier: MIT */
/*
 * A kind of trigger as a table row: what it is called, how it is written, and how it turns a rule
 * into file descriptors that become readable when the rule is met. Adding a kind is one src_*.c and
 * one row in source.c.
 */
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

/* The details of a hit; the dump has them as "key=value" lines. */
struct sighting {
	uint64_t ns;	   /* CLOCK_MONOTONIC */
	uint64_t began_ns; /* start of what was measured, such as a slow call; 0: no duration */
	uint32_t pid, tid, uid; /* of the thread that caused it; 0: none */
	uint32_t nr_hits;	/* hits in this reading: one signal may stand for many */
	char comm[16];		/* of that thread; "": unknown */
	char reason[256];	/* from the program or user that triggered; "": none */
	char saw[16][192];	/* "key=value" */
	uint32_t nr_saw;
	uint64_t stack_hash;	   /* of where it happened, for counting repeats; 0: unknown */
	struct evidence *evidence; /* records that go into the dump; NULL: none. Owned */
};

/* Adds a "key=value" line to a sighting; silently full at its bound. */
void sighting_add(struct sighting *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Sets an empty `comm` from /proc. */
void sighting_name(struct sighting *s);
/* The name of a thread, from /proc; "": it has exited. */
void source_comm(uint32_t tid, char comm[16]);
/* The owner of a thread, from /proc; 0: root, not dumpable, or it has exited. */
uint32_t source_uid(uint32_t tid);
/* Waits for `fd` in the set *epoll_fd, which is created when it is -1; `what` is for the error. */
int source_wait(int *epoll_fd, int fd, const char *what, struct err *err);
/* A copy that shares the evidence, and the end of one. */
struct sighting sighting_share(const struct sighting *s);
void sighting_fini(struct sighting *s);

/* What a source may know of the recorder it serves; borrowed for as long as the engine lives. */
struct source_env {
	const struct caps *caps;   /* what kernel and user allow; NULL: all */
	int command_pid;	   /* of `-- COMMAND`; 0: none */
	struct app_socket *tell;   /* messages of programs; NULL: no socket */
	struct held_cores *parked; /* threads held by --crash-hold; NULL: not used */
	struct aux_pauses *brakes; /* pauses traces in the kernel; NULL: unavailable */
	int64_t post_ns;	   /* of rules without post= */
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
	/* Only the recorder's owner can meet it. Others get SLOT_MAX_DUMPS a day unless the rule
	 * says otherwise: nobody fills a disk by crashing in a loop. */
	bool owners;
	bool stacks; /* records stacks, so it takes the option stack= */
	/* What it watches is in the file at the path that its argument begins with: opened anew
	 * when rules are read again and another file is there. */
	bool in_file;
	/* Called when: once at start (and after SIGHUP). Checks arg, op and threshold, and says
	 * why when the rule can never be met on this kernel. 0 or -errno.
	 */
	int (*open)(const struct rule *r, const struct source_env *env, struct source **out,
		    struct err *err);
	/* The descriptor to wait on (POLLIN unless `events` says otherwise); -1: none, the engine
	 * wakes for it anyway (env->tell). */
	int (*fd)(const struct source *s, uint32_t *events);
	/* Called when: that descriptor woke the recorder, before ready(), with the epoll events.
	 * For descriptors that are readable once only and can't be asked again (PSI). NULL: no
	 * need. */
	void (*woken)(struct source *s, uint32_t events);
	/* Called when: the recorder was woken, maybe by another source; must not block. 1: the rule
	 * is met, *what filled in; 0: not (yet).
	 */
	int (*ready)(struct source *s, struct sighting *what, struct err *err);
	/* Called when: the hit that ready() told was dealt with; when it got a dump, the rings are
	 * frozen. For who waits for that. NULL: nobody. */
	void (*answered)(struct source *s);
	/* Called when: hits come faster than they are worth looking at, and none of them would get
	 * a dump. Takes all that are there and returns how many; cheap for each. NULL: ready() is
	 * called for each. */
	uint64_t (*skip)(struct source *s);
	/*
	 * The signals it waits on, added to `set`; NULL: none. The engine blocks them while the
	 * source is open and refuses two sources that wait on one signal, since only one of them
	 * would get it.
	 */
	void (*signals)(const struct source *s, sigset_t *set);
	/* Called when: the recorded command has ended; `status` as a shell has it, 128 + signal.
	 * NULL: of no interest. It becomes ready when that meets the rule. */
	void (*command_ended)(struct source *s, int status);
	/* Called when: none of its hits would get a dump for a while (off), and when one might
	 * again. NULL: it never stops a trace by itself. */
	void (*brake)(struct source *s, bool on);
	/* Called when: a CPU came online or went. NULL: of no interest. 0 or -errno. */
	int (*cpu)(struct source *s, int cpu, bool online, struct err *err);
	/* Called when: --dry-run or doctor asks. */
	void (*plan)(const struct source *s, struct source_plan *out);
	/* Called when: status is asked. What was missed or dropped since the start, as text such
	 * as "3 calls not timed: map full"; returns false (or NULL) when there is nothing to say.
	 */
	bool (*trouble)(const struct source *s, char *out, size_t n);
	/* Called when: the recorder stops. NULL and half-open allowed. */
	void (*close)(struct source *s);
};

/* All kinds, ended by NULL. */
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
/* The row of that name; NULL when this build has none. */
const struct source_ops *source_find(const char *name);
