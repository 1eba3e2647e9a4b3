/* SPDX-License-Identifier: MIT */
/* Prints what a configuration records, its rules and its cost, for --dry-run and --verbose. */
#pragma once

#include <stdio.h>

struct session;

/* `what`: "would record". */
void plan_print(const struct session *s, const char *what, FILE *out);

/* Prints to stdout, for a session that session_open() has checked without starting anything. */
void dryrun_print(const struct session *s);
