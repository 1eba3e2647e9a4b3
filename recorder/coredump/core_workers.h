/* SPDX-License-Identifier: MIT */
/*
 * The workers of --crash-hold and whose crashes they serve. One user gets at most a quarter of
 * them, and all users but root three quarters, so that root's crashes always find one. Real user
 * ids count: a user may crash setuid programs. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct core_workers;

enum core_turn {
	CORE_HOLD,   /* tells the recorder of its threads, then hands the core on */
	CORE_DIRECT, /* no such worker is free: hands the core on only */
	CORE_REFUSE  /* neither is free */
};

/* For at most `max_held` workers that hold a process, and CORE_DIRECT_PER_HELD times as many that
 * don't. 0 or -ENOMEM. */
#define CORE_DIRECT_PER_HELD 4
int core_workers_new(size_t max_held, struct core_workers **out);
void core_workers_free(struct core_workers *w); /* NULL allowed */

/* What a crash of this user gets now. */
enum core_turn core_workers_turn(const struct core_workers *w, uint32_t uid);
/* `turn`: the last answer for `uid`, not CORE_REFUSE. */
void core_workers_add(struct core_workers *w, pid_t pid, uint32_t uid, enum core_turn turn);
/* A worker has ended; others are ignored. */
void core_workers_remove(struct core_workers *w, pid_t pid);
