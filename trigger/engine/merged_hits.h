/* SPDX-License-Identifier: MIT */
/* Counts of hits that got no dump of their own, by rule name. Bounded: further names are counted as
 * "other". Only the engine uses it. */
#pragma once

#include "trigger/engine/engine.h"

struct merged_hits {
	struct engine_merged v[ENGINE_MERGED_MAX];
	size_t nr;
};

void merged_hits_add(struct merged_hits *h, const struct engine_merged *add);
void merged_hits_note(struct merged_hits *h, const struct rule *rule, const struct sighting *what);
uint64_t merged_hits_sum(const struct merged_hits *h);
/* The number of hits that one sighting stands for. */
uint64_t merged_hits_of(const struct sighting *what);
