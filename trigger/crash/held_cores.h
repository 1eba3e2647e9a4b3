/* SPDX-License-Identifier: MIT */
/*
 * Crashed processes held by --crash-hold. The worker that reads the core sends the state of the
 * threads; it becomes evidence of the crash that signal:signal_deliver reported before. The
 * recorder creates the socket; all "crash" rules share one instance.
 */
#pragma once

#include "dump/base/bytes.h"

#include <sys/types.h>

struct evidence;
struct held_cores;

/* A worker's message: this header and its payload. SOCK_SEQPACKET keeps messages apart. */
struct held_cores_message {
	uint32_t kind; /* PARKED_* */
	uint32_t pid;  /* in the initial namespace */
	uint32_t cpu;  /* of PARKED_THREAD */
	uint32_t reserved;
};
#define PARKED_THREAD 1u /* a record, crash_sample.h */
#define PARKED_SAY    2u /* "key=value" */
#define PARKED_END    3u /* the last message */
#define PARKED_UNHELD 4u /* struct held_cores_unheld, from the guard; pid is 0 */

/* Crashes of one burst that found no worker to hold them. */
struct held_cores_unheld {
	uint32_t nr;
	uint32_t nr_refused; /* of them without a core: there was no process to hand it on */
};

/* Takes ownership of `fd`, which is non-blocking. 0 or -ENOMEM. */
int held_cores_new(int fd, struct held_cores **out);
void held_cores_free(struct held_cores *p); /* NULL allowed */
/* Readable when messages have arrived. */
int held_cores_fd(const struct held_cores *p);

/* A core of this process is coming: adds its threads to this evidence, which is expected from now
 * on. Does nothing on failure. */
void held_cores_expect(struct held_cores *p, pid_t pid, struct evidence *e);
/* Reads pending messages. Messages of an unknown process are kept for a few passes, since the rule
 * may not have been polled yet. False: the workers' end of the socket is closed. */
bool held_cores_pump(struct held_cores *p);
/* Bursts told of since the last call, summed up. False: none. */
bool held_cores_take_unheld(struct held_cores *p, struct held_cores_unheld *out);
