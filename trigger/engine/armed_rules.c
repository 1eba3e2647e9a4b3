// SPDX-License-Identifier: MIT
/* A list of slots, and what becomes of it when the rules are read again; see armed_rules.h. */
#include "trigger/engine/armed_rules.h"

#include "dump/base/err.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Of many rules, which one: unless the error shows it already. */
static void name_rule(const char *text, struct err *err)
{
	if (err && !strstr(err->what, text) && !strstr(err->hint, text))
		err_prefix(err, "rule %s", text);
}

static int clash(const struct slots *list, const struct slot *s, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < list->nr; i++)
		rc = slot_clash(s, list->v[i], err);
	return rc;
}

/* Room for one more. */
static int grow(struct slots *list, struct err *err)
{
	struct slot **v = realloc(list->v, (list->nr + 1) * sizeof(*v));

	if (!v)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	list->v = v;
	return 0;
}

static int append(struct slots *list, struct slot *s, const struct slots_env *with, struct err *err)
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

/* `lenient`: also a rule that is about what has ended. */
static int add(struct slots *list, const char *text, const struct slots_env *with, bool lenient,
	       struct err *err)
{
	struct err why = ERR_INIT;
	struct slot *s;
	int rc = slot_parse(text, &s, err);

	if (rc) {
		name_rule(text, err);
		return rc;
	}
	rc = slot_open(s, with->env, &why);
	if ((rc == -ESRCH || rc == -EOPNOTSUPP) && lenient) {
		slot_off(s, 0, &why);
		rc = 0;
	} else if (rc) {
		name_rule(text, &why);
		if (err)
			*err = why;
	}
	if (!rc)
		rc = append(list, s, with, err);
	if (rc) {
		slot_free(s);
		return rc;
	}
	rc = slot_watch(s, with->epoll_fd, err);
	if (rc) {
		list->nr--;
		slot_free(s);
	}
	return rc;
}

int slots_add(struct slots *list, const char *text, const struct slots_env *with, struct err *err)
{
	return add(list, text, with, false, err);
}

bool slots_have(const struct slots *list, const struct slot *s)
{
	for (size_t i = 0; i < list->nr; i++)
		if (list->v[i] == s)
			return true;
	return false;
}

void slots_free(struct slots *list, const struct slots *but, int epoll_fd)
{
	for (size_t i = 0; i < list->nr; i++) {
		if (but && slots_have(but, list->v[i]))
			continue;
		slot_unwatch(list->v[i], epoll_fd);
		slot_free(list->v[i]);
	}
	free(list->v);
	*list = (struct slots){0};
}

static struct slot *find(const struct slots *list, const char *text)
{
	for (size_t i = 0; i < list->nr; i++)
		if (!strcmp(list->v[i]->rule->text, text))
			return list->v[i];
	return NULL;
}

/* What hindered it may be over; if not it stays off, for the reason that there is now. */
static void try_again(struct slot *s, const struct slots_env *with)
{
	struct err why = ERR_INIT;
	int rc;

	if (!s->ops || s->source || s->is_over)
		return;
	rc = slot_open(s, with->env, &why);
	if (!rc) {
		rc = slot_watch(s, with->epoll_fd, &why);
		if (rc)
			slot_disarm(s);
	}
	if (rc)
		slot_off(s, 0, &why);
}

static int keep(struct slots *next, struct slot *s, const struct slots_env *with, struct err *err)
{
	struct err why = ERR_INIT;

	if (slot_is_stale(s)) {
		if (!slots_add(next, s->rule->text, with, &why))
			return 0;
		slot_say(s, "it watches the file that was there before: ", &why);
	}
	return append(next, s, with, err);
}

int slots_renew(const struct slots *old, const char *const *rules, size_t nr,
		const struct slots_env *with, struct slots *next, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < nr; i++) {
		struct slot *same = find(old, rules[i]);

		rc = same ? keep(next, same, with, err) : add(next, rules[i], with, true, err);
	}
	if (rc) {
		slots_free(next, old, with->epoll_fd);
		return rc;
	}
	for (size_t i = 0; i < next->nr; i++)
		if (slots_have(old, next->v[i]))
			try_again(next->v[i], with);
	return 0;
}
