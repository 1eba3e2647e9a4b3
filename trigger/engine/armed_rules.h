/* SPDX-License-Identifier: MIT */
/*
 * The list of rules that were given, and its renewal when they are read again. Only the engine uses
 * it.
 */
#pragma once

#include "trigger/engine/armed_rule.h"

struct armed_rules {
	struct armed_rule **v;
	size_t nr;
};

/* What new rules are opened with, the set that they are watched in, and the rules besides those of
 * a list. */
struct armed_rules_env {
	const struct source_env *env;
	int epoll_fd;
	struct armed_rules others;
};

/* Parses, opens and watches a rule, and puts it at the end. Nothing has changed when it fails. */
int armed_rules_add(struct armed_rules *list, const char *text, const struct armed_rules_env *with,
		    struct err *err);
bool armed_rules_have(const struct armed_rules *list, const struct armed_rule *s);
/* Frees its slots, but those that `but` (NULL: none) has too. */
void armed_rules_free(struct armed_rules *list, const struct armed_rules *but, int epoll_fd);

/*
 * What `old` becomes with these rules, into the empty list `next`:
 *  - a rule whose text is in `old` is that slot itself, with all that it knows. When it was
 * disarmed it is tried again, but for one whose process has ended: another may have its pid. When
 * there is another file at its path it is a new one, or, if that can't be, the old one with `why`;
 *  - one that is about what is not there any more (-ESRCH) is there without a source, with `why`;
 *  - any other rule that can't be is an error: `next` is empty then, and `old` as it was.
 */
int armed_rules_renew(const struct armed_rules *old, const char *const *rules, size_t nr,
		      const struct armed_rules_env *with, struct armed_rules *next,
		      struct err *err);
