/* SPDX-License-Identifier: MIT */
/* record --dry-run: what a recorder with this configuration would record, watch and cost. */
#pragma once

struct session;

/* On stdout; of a session that session_open() has tried without starting anything. */
void dryrun_print(const struct session *s);
