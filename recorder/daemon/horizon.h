/* SPDX-License-Identifier: MIT */
/*
 * Rules that need more history than the rings have: a call that took 3 s is not explained by the
 * last second. How far rings reach back is known once a dump found them overwritten; nobody wakes
 * to find it out before. daemon.c tells of each dump, status.c asks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dumper_result;
struct rule;
struct session;

/* How far back what meets the rule goes: of "latency:..>3s" 3 s, of "psi:..>150ms/1s" 1 s; 0: it
 * has no such time. */
uint64_t horizon_of_rule(const struct rule *r);

/* Puts what there is to say of rule `i` by the last dump that found rings overwritten; false:
 * nothing. */
bool horizon_says(const struct session *s, size_t i, char *out, size_t n);

/* A dump was committed: warns, once, of rules that need more. */
void horizon_note(struct session *s, const struct dumper_result *r);
