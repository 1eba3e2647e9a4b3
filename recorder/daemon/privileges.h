/* SPDX-License-Identifier: MIT */
/*
 * What root's recorder may do: it starts with all capabilities and goes on with those that its
 * configuration needs, without the system calls that no recorder makes. A command (-- COMMAND) and what
 * serves --crash-hold are started before, with all of them. A recorder without root keeps the few it has;
 * with --no-sandbox nothing is given up.
 */
#pragma once

#include <jansson.h>

struct session;

/* Before the first thread: capabilities belong to threads. Sets s->kept and the environment of rules. */
void privileges_drop(struct session *s);
/* When recording has started. */
void privileges_filter(const struct session *s);
/* [{"capability": "CAP_KILL", "why": "..."}]; NULL: none were given up. Owned by the caller. */
json_t *privileges_json(const struct session *s);
