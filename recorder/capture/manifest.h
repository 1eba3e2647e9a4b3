/* SPDX-License-Identifier: MIT */
/*
 * What a recorder must know to take over another's rings: the manifest, in shared memory that the
 * keeper holds (recorder/keep). The recorder writes a ring's entry at each step of its banks, so
 * the entry is right whenever the recorder is killed.
 *
 * The keeper's set has, in this order: the manifest, the log of the sideband (kept_log.h), the
 * events of each ring (bank A's, then bank B's, in the order of the channel), the events of each
 * sideband ring, and others: the programs of compact channels (compact_fds()), then what only has to
 * stay open.
 */
#pragma once

#include "recorder/keep/keep_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct kept_bank {
	uint64_t armed_head, armed_ns, paused_ns;
	uint32_t state; /* enum bank_state */
	uint32_t reserved;
};

struct kept_ring {
	uint64_t signature; /* of the channel: another value, another recording */
	int32_t cpu;
	uint32_t nr_banks, nr_events; /* events: of one bank */
	uint32_t ring_pages;	      /* of each bank's ring */
	uint32_t
		programs; /* of a compact channel: the number of its set among the others, from 1 */
	uint32_t reserved;
	uint64_t prev_paused_ns;
	struct kept_bank bank[2];
};

struct kept_side {
	uint64_t signature;
	int32_t cpu;
	uint32_t nr_events;
};

struct manifest;

/* ---- the recorder that gives ---- */

/* 0 or -errno. */
int manifest_new(size_t nr_rings, size_t nr_sides, struct manifest **out);
void manifest_free(struct manifest *m);
/* Entries are written in place. */
struct kept_ring *manifest_ring(struct manifest *m, size_t i);
struct kept_side *manifest_side(struct manifest *m, size_t i);
int manifest_fd(const struct manifest *m);

/* ---- the recorder that takes ---- */

struct kept;

/*
 * Reads the manifest of a set and takes its descriptors. -EPROTO: it comes from a version with
 * another layout; -EBADMSG: it is damaged. On failure the set stays the caller's.
 */
int kept_open(struct keep_set *set, struct kept **out, struct err *err);
/* Closes what was not taken. NULL allowed. */
void kept_close(struct kept *k);

/* The log of the sideband; borrowed. */
int kept_log_of(const struct kept *k);
/* The descriptors after those of the rings and of `skipped` others, as far as `max`; borrowed.
 * Returns their number. */
size_t kept_others(const struct kept *k, size_t skipped, int *fds, size_t max);
/*
 * The ring of a channel with this signature on a CPU, and its descriptors, 2 * nr_events with two
 * banks, which are the caller's; NULL: there is none. Each is given once. `k` may be NULL.
 */
const struct kept_ring *kept_take_ring(struct kept *k, uint64_t signature, int cpu, int *fds,
				       size_t nr_fds);
/* Sets of programs of compact channels. */
size_t kept_nr_programs(const struct kept *k);
/* The entry of a channel with this signature; NULL: there is none. `k` may be NULL. */
const struct kept_ring *kept_find(const struct kept *k, uint64_t signature);
/* False: there is none. */
bool kept_take_side(struct kept *k, uint64_t signature, int cpu, int *fds, size_t nr_fds);
