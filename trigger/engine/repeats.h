/* SPDX-License-Identifier: MIT */
/*
 * Counts repeated hits by signature: the rule, the thread name and the hash of the stack. "Seen 41
 * times, kept 3" means 41 such hits and 3 dumps made for one of them. Bounded: the least recently
 * seen signature is evicted, and counted. No clock.
 */
#pragma once

#include "trigger/engine/quota.h"

#include <stddef.h>

struct repeats;
struct rule;
struct sighting;

#define REPEATS_MAX 256

struct repeat {
	uint64_t id; /* of the signature; the same in every run */
	char rule[64], comm[16];
	uint64_t stack_hash;
	uint64_t nr_seen, nr_kept;
	uint64_t first_ns, last_ns;
	struct quota kept; /* dumps, for same= */
};

int repeats_new(struct repeats **out);
void repeats_free(struct repeats *r); /* NULL allowed */

/* The signature of a hit. */
uint64_t repeats_signature(const struct rule *rule, const struct sighting *what);
/* Counts a hit. The result is borrowed until the next call. */
struct repeat *repeats_note(struct repeats *r, const struct rule *rule,
			    const struct sighting *what);
/* The entry with that id; NULL: new or evicted. */
struct repeat *repeats_find(struct repeats *r, uint64_t id);
/* Notes that a dump was made for it. */
void repeat_kept(struct repeat *r, const struct rule *rule, uint64_t ns);
/* Time until which same= holds its hits; 0: not held. */
uint64_t repeat_blocked_until(const struct repeat *r, const struct rule *rule);
/* The same if a dump were made for it at `ns`. */
uint64_t repeat_blocked_after(struct repeat *r, const struct rule *rule, uint64_t ns);

/* For status; roughly in the order of first sight. */
size_t repeats_nr(const struct repeats *r);
const struct repeat *repeats_at(const struct repeats *r, size_t i);
uint64_t repeats_nr_forgotten(const struct repeats *r);
