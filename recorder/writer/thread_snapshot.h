/* SPDX-License-Identifier: MIT */
/*
 * What all threads do at the freeze, for the THREADS section of a dump. A thread of its own reads
 * /proc while the dump's thread works:
 *
 *	main loop     freeze ── start
 *	                          │
 *	this thread               ▼ states ── memory ── other ends
 *	dump's thread             walk, write, release ............ write
 *
 * States change quickly, so they are read at once and at a high priority: the dump's thread has a low
 * one, and on a busy machine may get its first CPU time when the incident is over. The rings
 * are released without waiting for it, so it may allocate. It stops after LIMIT_CPU_NS of CPU time,
 * and after LIMIT_NS in any case.
 */
#pragma once

#include <stdint.h>

struct err;
struct ledger;
struct thread_snapshot;
struct writer;

int thread_snapshot_new(struct ledger *l, struct thread_snapshot **out, struct err *err);
void thread_snapshot_free(struct thread_snapshot *s);

/* Starts reading all living threads of the ledger: `tid` first (0: none), then its process `pid`,
 * then the others. Does not block; does nothing while the thread still reads for the last dump. */
void thread_snapshot_start(struct thread_snapshot *s, uint32_t pid, uint32_t tid);

/* Waits until they are read, at most for the rest of the time limit, and writes the section. */
void thread_snapshot_write(struct thread_snapshot *s, struct writer *w);
/* Forgets them. Call it once after each start. */
void thread_snapshot_end(struct thread_snapshot *s);
