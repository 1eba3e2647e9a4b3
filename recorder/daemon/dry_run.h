/* SPDX-License-Identifier: MIT */
/* What a recorder with this configuration records, watches and costs: for --dry-run and --verbose.
 */
#pragma once

#include <stdio.h>

struct session;

/* `what`: "would record". */
void plan_print(const struct session *s, const char *what, FILE *out);

/* On stdout; of a session that session_open() has tried without starting anything. */
void dryrun_print(const struct session *s);
