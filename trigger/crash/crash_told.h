/* SPDX-License-Identifier: MIT */
/*
 * Crashes reported by programs with libringback-crash.so, for a "crash" rule. The reported
 * registers and stack are trusted; no memory of the process is read.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct sighting;
struct app_socket;
struct told;

/* For crashes of process `pid` (0: any) or of threads whose name matches `comm` ("": any;
 * borrowed). 0 or -ENOMEM. */
int told_new(struct app_socket *tell, pid_t pid, const char *comm, struct told **out);
void told_free(struct told *t); /* NULL allowed */

/* True: a crash was reported, *what is filled in. Also adds late frames to the evidence of earlier
 * crashes. */
bool told_next(struct told *t, struct sighting *what);
/* Lets the program of the last crash continue. */
void told_answer(struct told *t);
/* Whether the process reported this crash itself before. */
bool told_is_same(const struct told *t, pid_t pid);
