/* SPDX-License-Identifier: MIT */
/*
 * Crashes that programs with libringback-crash.so tell of by themselves, for a "crash" rule. What
 * they say of their registers is believed, their stack is read from them while they wait, and what
 * is kept of it was there: its first bytes are also in the message.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct sighting;
struct app_socket;
struct told;

/* For crashes of that process (0: any) or of threads with such names ("": any). `comm` is borrowed.
 * 0 or -ENOMEM. */
int told_new(struct app_socket *tell, pid_t pid, const char *comm, struct told **out);
void told_free(struct told *t); /* NULL allowed */

/* True: one was told, *what filled in. Frames of those before go into their evidence. */
bool told_next(struct told *t, struct sighting *what);
/* Lets the program go on that told the last. */
void told_answer(struct told *t);
/* Whether this crash of a process was told by itself before: it is the same. */
bool told_is_same(const struct told *t, pid_t pid);
