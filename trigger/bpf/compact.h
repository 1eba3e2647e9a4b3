/* SPDX-License-Identifier: MIT */
/*
 * The programs of a compact channel: scheduler events in records of eight bytes (compact_shared.h),
 * where a perf ring takes 70 to 90. Each CPU has a map in which both banks lie; no event of perf is
 * open, nothing is woken, and nothing has to be enabled or paused.
 *
 *	sched_switch ──▶ program ──▶ rings[CPU] ──▶ bank[turn & 1]
 *	                                              ▲
 *	compact_turn(): one store, all CPUs write to the other bank
 *
 * Needs CAP_BPF and CAP_PERFMON, BTF of the kernel (/sys/kernel/btf/vmlinux) and Linux 5.18, where
 * sched_switch tells the state of the thread that leaves.
 *
 * recording.c owns it. The kernel detaches the programs when the last process ends that holds their
 * descriptors: the recorder, or its keeper.
 */
#pragma once

#include "trigger/kernel/ring.h"

#include <stdbool.h>
#include <stdint.h>

struct compact;
struct err;

/* The kind (compact_shared.h) of an event by its name, such as sched:sched_switch; 0: none. */
unsigned compact_kind(const char *event);

/* Loads the programs of the `kinds` (bits 1 << kind), without attaching them. 0, or -EOPNOTSUPP with
 * the reason. */
int compact_open(uint64_t ring_bytes, unsigned kinds, struct compact **out, struct err *err);
void compact_close(struct compact *c);
/* Whether compact_open() works here: 0, or -EOPNOTSUPP with the reason. */
int compact_try(struct err *err);

/* Makes the memory of a CPU, from which on its events are recorded: `map_fd` is the caller's, see
 * compact_map(). 0 or -errno. */
int compact_add(struct compact *c, int cpu, int *map_fd);
/* The CPU's events are recorded no more, unless another map has taken the place of `map_fd`. */
void compact_drop(struct compact *c, int cpu, int map_fd);
/* Maps both banks read-only. ring_unmap() of the first unmaps both. 0 or -errno. */
int compact_map(const struct compact *c, int map_fd, struct ring banks[2]);

/* Attaches the programs, unless they run already. 0 or -errno. */
int compact_start(struct compact *c, struct err *err);
/* The other bank records from now on. */
void compact_turn(struct compact *c);
/* The bank that records. */
unsigned compact_bank(const struct compact *c);
/* Events that came while the same program ran on their CPU, since the last call; at first since the
 * programs began, also under another recorder. */
uint64_t compact_missed(struct compact *c);

/* The descriptors that another recorder needs to go on with these programs: COMPACT_FDS of them. */
#define COMPACT_FDS 12
void compact_fds(const struct compact *c, int fds[COMPACT_FDS]);
/* Takes over programs that run; the descriptors stay the caller's. 0 or -errno. */
int compact_take(const int fds[COMPACT_FDS], uint64_t ring_bytes, struct compact **out);
