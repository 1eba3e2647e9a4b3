/* SPDX-License-Identifier: MIT */
/*
 * A thread pool. It starts jobs in the order in which they were put; the caller takes each back by
 * its address, usually in that order:
 *
 *	IDLE ──put──▶ QUEUED ──a thread──▶ RUNNING ──▶ DONE
 *	 ▲              │ take: false                   │ take, wait: true
 *	 └──────────────┴───────────────────────────────┘
 *
 * Or it calls one function for each index of a range, without locks and allocations:
 *
 *	expect() ── prepare ── start() ──────────────────▶ finish()
 *	   └─▶ awake, polling ────┴─▶ index 0, index 1, ...
 *
 * Idle threads sleep. All signals are blocked in the threads of a pool. Only one thread may call
 * these functions at a time, except thread_pool_each_tid() and thread_pool_cpu_ns(), which take no
 * lock.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct thread_pool;

enum pool_job_state { POOL_IDLE, POOL_QUEUED, POOL_RUNNING, POOL_DONE };

/* The first member of the job's parameters and result, which belong to the pool between
 * thread_pool_put() and thread_pool_take(). Zero-initialise. */
struct pool_job {
	enum pool_job_state state;
	struct pool_job *next;
};

struct thread_pool_options {
	unsigned nr_threads;
	const char *name;   /* of the threads; NULL: the caller's */
	size_t stack_bytes; /* 0: default */
	/* Runs a job on any thread; `mine` is from begin(), or NULL. NULL: only ranges. */
	void (*run)(void *mine, struct pool_job *job);
	/* Makes the data of one thread, on the caller's thread. 0, -errno. NULL: none. */
	int (*begin)(const void *ctx, void **mine);
	void (*end)(void *mine); /* frees it, on the caller's thread */
	const void *ctx;	 /* of begin() */
	void (*started)(void);	 /* on each thread before anything else; may be NULL */
};

/* Returns when the threads run; some may have failed to start, but not all. 0, or -errno of the
 * first failure. */
int thread_pool_new(const struct thread_pool_options *opt, struct thread_pool **out);
/* Drops queued jobs and waits for running ones. Not between start() and finish(). */
void thread_pool_free(struct thread_pool *pool);
unsigned thread_pool_size(const struct thread_pool *pool);

void thread_pool_put(struct thread_pool *pool, struct pool_job *job);
/* True: it is done. False: it was not put, or had not begun and is left to the caller. */
bool thread_pool_take(struct thread_pool *pool, struct pool_job *job);
/* The same, but waits for a queued job. False: it was not put. */
bool thread_pool_wait(struct thread_pool *pool, struct pool_job *job);

/* thread_pool_start() follows within a millisecond: the threads wake up and poll for it. */
void thread_pool_expect(struct thread_pool *pool);
/* Calls `work` on the threads for each index below `nr` (at least 1), in ascending order. */
void thread_pool_start(struct thread_pool *pool, void (*work)(void *ctx, size_t i), void *ctx,
		       size_t nr);
/* Waits for all calls; may be called by any thread, once after each thread_pool_start(). */
void thread_pool_finish(struct thread_pool *pool);

void thread_pool_each_tid(const struct thread_pool *pool, void (*fn)(void *ctx, pid_t tid),
			  void *ctx);
/* CPU time that the threads have used. */
uint64_t thread_pool_cpu_ns(const struct thread_pool *pool);

/* How many threads are useful beside the caller on the CPUs of this process, at most `max`; 0 with
 * one CPU. */
unsigned thread_pool_useful(unsigned max);
