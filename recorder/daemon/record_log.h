/* SPDX-License-Identifier: MIT */
/*
 * What `record` tells while it runs: its rules, each hit's answer and each dump; with --verbose
 * also what is recorded and how long a dump took. Called by the daemon's thread.
 */
#pragma once

#include "trigger/engine/engine.h"

struct dumper_result;
struct rule;
struct session;
struct sighting;

/* Recording begins: what is recorded, and what is wrong with a rule. */
void record_log_begin(const struct session *s);
/* What the others are armed in spite of, and what one can not see. */
void record_log_rules(const struct engine *e);
/* A hit and its answer; the rings are `fill_percent` full. */
void record_log_hit(const struct session *s, const struct rule *rule, const struct sighting *what,
		    enum hit_do next, unsigned fill_percent);
void record_log_committed(const struct dumper_result *r);
