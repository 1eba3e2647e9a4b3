// SPDX-License-Identifier: MIT
/* The list of added rules and its renewal by a reload; see armed_rules.h. */
#include "trigger/engine/armed_rules.h"

#include "dump/base/array.h"
#include "dump/base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Adds the rule's text to the error, unless it is there already. */
static void name_rule(const char *text, struct err *err)
{
	if (err && !strstr(err->what, text) && !strstr(err->hint, text))
		err_prefix(err, "rule %s", text);
}

static int clash(const struct armed_rules *list, const struct armed_rule *s, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < list->nr; i++)
		rc = armed_rule_clash(s, list->v[i], err);
	return rc;
}

static int grow(struct armed_rules *list, struct err *err)
{
	return array_room(list->v, list->nr) ? 0
					     : err_set(err, -ENOMEM, "out of memory for a trigger");
}

static int append(struct armed_rules *list, struct armed_rule *s,
		  const struct armed_rules_env *with, struct err *err)
{
	int rc = clash(&with->others, s, err);

	if (!rc)
		rc = clash(list, s, err);
	if (!rc)
		rc = grow(list, err);
	if (!rc)
		list->v[list->nr++] = s;
	return rc;
}

/* `lenient`: accepts a rule whose target has ended. */
static int add(struct armed_rules *list, const char *text, const struct armed_rules_env *with,
	       bool lenient, struct err *err)
{
	struct err why = ERR_INIT;
	struct armed_rule *s;
	int rc = armed_rule_parse(text, &s, err);

	if (rc) {
		name_rule(text, err);
		return rc;
	}
	rc = armed_rule_open(s, with->env, &why);
	if ((rc == -ESRCH || rc == -EOPNOTSUPP) && lenient) {
		armed_rule_off(s, 0, &why);
		rc = 0;
	} else if (rc) {
		name_rule(text, &why);
		if (err)
			*err = why;
	}
	if (!rc)
		rc = append(list, s, with, err);
	if (rc) {
		armed_rule_free(s);
		return rc;
	}
	rc = armed_rule_watch(s, with->epoll_fd, err);
	if (rc) {
		list->nr--;
		armed_rule_free(s);
	}
	return rc;
}

int armed_rules_add(struct armed_rules *list, const char *text, const struct armed_rules_env *with,
		    struct err *err)
{
	return add(list, text, with, false, err);
}

bool armed_rules_have(const struct armed_rules *list, const struct armed_rule *s)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->v[i] == s)
			return true;
	return false;
}

void armed_rules_free(struct armed_rules *list, const struct armed_rules *but, int epoll_fd)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (but && armed_rules_have(but, list->v[i]))
			continue;
		armed_rule_unwatch(list->v[i], epoll_fd);
		armed_rule_free(list->v[i]);
	}
	free(list->v);
	*list = (struct armed_rules){0};
}

static struct armed_rule *find(const struct armed_rules *list, const char *text)
{
	for (size_t i = 0; i < list->nr; i++)
		if (!strcmp(list->v[i]->rule->text, text))
			return list->v[i];
	return NULL;
}

/* Opens a disarmed rule again; on failure it stays disarmed, with the new reason. */
static void try_again(struct armed_rule *s, const struct armed_rules_env *with)
{
	struct err why = ERR_INIT;
	int rc;

	if (!s->ops || s->source || s->is_over)
		return;
	rc = armed_rule_open(s, with->env, &why);
	if (!rc) {
		rc = armed_rule_watch(s, with->epoll_fd, &why);
		if (rc)
			armed_rule_disarm(s);
	}
	if (rc)
		armed_rule_off(s, 0, &why);
}

static int keep(struct armed_rules *next, struct armed_rule *s, const struct armed_rules_env *with,
		struct err *err)
{
	struct err why = ERR_INIT;

	if (armed_rule_is_stale(s)) {
		if (!armed_rules_add(next, s->rule->text, with, &why))
			return 0;
		armed_rule_say(s, "it still watches the file that was there before: ", &why);
	}
	return append(next, s, with, err);
}

int armed_rules_renew(const struct armed_rules *old, const char *const *rules, size_t nr,
		      const struct armed_rules_env *with, struct armed_rules *next, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < nr; i++) {
		struct armed_rule *same = find(old, rules[i]);

		rc = same ? keep(next, same, with, err) : add(next, rules[i], with, true, err);
	}
	if (rc) {
		armed_rules_free(next, old, with->epoll_fd);
		return rc;
	}
	for (size_t i = 0; i < next->nr; i++)
		if (armed_rules_have(old, next->v[i]))
			try_again(next->v[i], with);
	return 0;
}
