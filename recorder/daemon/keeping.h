/* SPDX-License-Identifier: MIT */
/*
 * What a session takes from its keeper (recorder/keep) at start, and gives to it: rings, the
 * sideband's log, BPF programs. Without a keeper nothing is kept, and nothing costs.
 */
#pragma once

#include <stdbool.h>

struct err;
struct keeping;
struct kept;
struct kept_log;
struct session;

/* Connects to the keeper of the session's name, if there is one, and takes what it holds. What can't
 * be taken over is a warning. 0 or -ENOMEM. */
int keeping_open(const struct session *s, struct keeping **out, struct err *err);
void keeping_close(struct keeping *k);

/* NULL: there is nothing to take over. `k` may be NULL. */
struct kept *keeping_taken(struct keeping *k);
/* The sideband's log of the recorder before, or NULL. `k` may be NULL. */
struct kept_log *keeping_log(struct keeping *k);

/* Before the session's own BPF programs start: those of the recorder before write no more. */
void keeping_silence(struct keeping *k);
/* Gives the session's rings to the keeper: when recording has started, and each time rings were
 * opened or closed. Does not wait for the answer. A failure is logged. */
void keeping_give(struct session *s);
/* Readable when the keeper has answered or ended; -1: there is none. */
int keeping_fd(const struct keeping *k);
void keeping_hear(struct session *s);
/* Gives rings that have changed since the keeper was asked, or all to a keeper that was started
 * meanwhile; true: there is one. Without, it is an attempt to connect, some ten system calls. Warns once when the keeper does not answer. */
bool keeping_look(struct session *s);
