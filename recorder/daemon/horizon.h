/* SPDX-License-Identifier: MIT */
/*
 * Detects rules that need more history than the rings have: the last second does not explain a call
 * that took 3 s. The horizon is known once a dump found overwritten rings; no extra wake-ups are
 * needed for it. daemon.c reports each dump, status.c reads the result.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dumper_result;
struct rule;
struct session;

/* The history that the rule needs: of "latency:..>3s" 3 s, of "psi:..>150ms/1s" 1 s; 0: it has no
 * such time. */
uint64_t horizon_of_rule(const struct rule *r);

/* Writes a warning for rule `i`, based on the last dump that found overwritten rings. False: no
 * warning. */
bool horizon_says(const struct session *s, size_t i, char *out, size_t n);

/* Call for each committed dump: warns once about rules that need more history. */
void horizon_note(struct session *s, const struct dumper_result *r);
