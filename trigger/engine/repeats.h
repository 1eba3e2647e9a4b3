/* SPDX-License-Identifier: MIT */
/*
 * The same thing again: hits by their signature, which is the rule, the name of the thread and the
 * hash of where it happened. "Seen 41 times, kept 3" says that 41 such hits came and 3 dumps were
 * made for one. Bounded: the signature not seen for longest is forgotten, and counted. No clock.
 */
#pragma once

#include "trigger/engine/quota.h"

#include <stddef.h>

struct repeats;
struct rule;
struct sighting;

#define REPEATS_MAX 256

struct repeat {
	uint64_t id; /* of the signature, the same in every run */
	char rule[64], comm[16];
	uint64_t stack_hash;
	uint64_t nr_seen, nr_kept;
	uint64_t first_ns, last_ns;
	struct quota kept; /* for same= */
};

int repeats_new(struct repeats **out);
void repeats_free(struct repeats *r); /* NULL allowed */

/* The id of a hit. */
uint64_t repeats_signature(const struct rule *rule, const struct sighting *what);
/* Counts a hit. Borrowed until the next call. */
struct repeat *repeats_note(struct repeats *r, const struct rule *rule,
			    const struct sighting *what);
/* The one with that id; NULL: new or forgotten. */
struct repeat *repeats_find(struct repeats *r, uint64_t id);
/* A dump was made for it. */
void repeat_kept(struct repeat *r, const struct rule *rule, uint64_t ns);
/* Until when same= holds hits of it; 0: not at all. */
uint64_t repeat_blocked_until(const struct repeat *r, const struct rule *rule);
/* The same if a dump were made for it at `ns`. */
uint64_t repeat_blocked_after(struct repeat *r, const struct rule *rule, uint64_t ns);

/* For status, in the order in which they were first seen, about. */
size_t repeats_nr(const struct repeats *r);
const struct repeat *repeats_at(const struct repeats *r, size_t i);
uint64_t repeats_nr_forgotten(const struct repeats *r);
