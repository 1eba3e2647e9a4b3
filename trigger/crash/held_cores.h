/* SPDX-License-Identifier: MIT */
/*
 * Crashed processes that --crash-hold has in its hands: what the worker that reads the core tells
 * of the threads becomes evidence of the crash that signal:signal_deliver told before. The recorder
 * makes the socket; several "crash" rules share one of these.
 */
#pragma once

#include "dump/base/bytes.h"

#include <sys/types.h>

struct evidence;
struct held_cores;

/* A message of a worker: this, and what belongs to it. SOCK_SEQPACKET keeps them apart. */
struct held_cores_message {
	uint32_t kind; /* PARKED_* */
	uint32_t pid;  /* in the initial namespace */
	uint32_t cpu;  /* of PARKED_THREAD */
	uint32_t reserved;
};
#define PARKED_THREAD 1u /* a record, crash_sample.h */
#define PARKED_SAY    2u /* "key=value" */
#define PARKED_END    3u /* there is no more */

/* Takes over `fd`, which does not block. 0 or -ENOMEM. */
int held_cores_new(int fd, struct held_cores **out);
void held_cores_free(struct held_cores *p); /* NULL allowed */
/* Readable when workers have told something. */
int held_cores_fd(const struct held_cores *p);

/* Of this process a core is coming: its threads are to go into this evidence, which is expected
 * from now on. Where that can't be, nothing happens. */
void held_cores_expect(struct held_cores *p, pid_t pid, struct evidence *e);
/* Takes in what was told; of a process that is not expected only when it was asked for a while: its
 * signal may not have been looked at. False: those who hold the cores are gone. */
bool held_cores_pump(struct held_cores *p);
