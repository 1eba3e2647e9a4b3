/* SPDX-License-Identifier: MIT */
/* The list of added rules, and its renewal by a reload. Only the engine uses it. */
#pragma once

#include "trigger/engine/armed_rule.h"

struct armed_rules {
	struct armed_rule **v;
	size_t nr;
};

/* The environment of new rules, their epoll set, and the rules outside the list. */
struct armed_rules_env {
	const struct source_env *env;
	int epoll_fd;
	struct armed_rules others;
};

/* Parses, opens and watches a rule, and appends it. On failure nothing changed. */
int armed_rules_add(struct armed_rules *list, const char *text, const struct armed_rules_env *with,
		    struct err *err);
bool armed_rules_have(const struct armed_rules *list, const struct armed_rule *s);
/* Frees the slots of the list, except those that are also in `but` (NULL: none). */
void armed_rules_free(struct armed_rules *list, const struct armed_rules *but, int epoll_fd);

/*
 * Builds `next`, an empty list, from `rules`; `old` holds the present rules.
 *
 * - A rule whose text is in `old` reuses that slot, with its state. If the slot was disarmed it is
 *   opened again, except when its process has ended: another process may have the same pid. If the
 *   file at its path was replaced the slot is new; if opening the new file fails, the old slot
 *   stays, with `why`.
 * - A rule whose target does not exist any more (-ESRCH) is added without a source, with `why`.
 * - Any other failure is an error: then `next` is empty and `old` is unchanged.
 */
int armed_rules_renew(const struct armed_rules *old, const char *const *rules, size_t nr,
		      const struct armed_rules_env *with, struct armed_rules *next,
		      struct err *err);
