/* SPDX-License-Identifier: MIT */
/*
 * Messages of `record` while it runs: its rules, the result of each hit, and each dump; with
 * --verbose also what is recorded and how long a dump took. Called by the daemon's thread.
 */
#pragma once

#include "trigger/engine/engine.h"

struct dumper_result;
struct rule;
struct session;
struct sighting;

/* At start: what is recorded, and problems of rules. */
void record_log_begin(const struct session *s);
/* Warns about rules that are not used, and about events that a rule can't see. */
void record_log_rules(const struct engine *e);
/* A hit and its result; the rings are `fill_percent` full. */
void record_log_hit(const struct session *s, const struct rule *rule, const struct sighting *what,
		    enum hit_do next, unsigned fill_percent);
/* Call before engine_done(): the cause is in the message. */
void record_log_committed(const struct session *s, const struct dumper_result *r);
/* The ledger forgets processes early, and which process takes most of it. False: it does not. */
bool record_log_evicted(const struct session *s);
/* Crashes that --crash-hold did not hold since the last call, if any. */
void record_log_unheld(const struct session *s);
