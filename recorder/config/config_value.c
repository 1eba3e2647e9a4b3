// SPDX-License-Identifier: MIT
/*
 * What the rows of the options table do with a value: check it and put it into struct config; and
 * the guess at what was meant by a name that is not there. See config_row.h.
 */
#include "recorder/config/config_row.h"

#include "dump/base/closest.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES    31
#define STACK_DEFAULT 8192
#define STACK_MAX     65528 /* perf's sample_stack_user: 16 bits, a multiple of 8 */

int config_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

bool config_name_ok(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_')
			return false;
	return n > 0 && n <= NAME_BYTES;
}

int config_stack_parse(const char *text, enum stack_kind *stack, uint32_t *bytes, struct err *err)
{
	uint64_t size = STACK_DEFAULT;

	if (!strcmp(text, "none") || !strcmp(text, "fp")) {
		*stack = text[0] == 'f' ? STACK_FP : STACK_NONE;
		*bytes = 0;
		return 0;
	}
	if (strncmp(text, "dwarf", 5) || (text[5] && text[5] != ':')) {
		err_set(err, -EINVAL, "'%s' is no way to record stacks", text);
		err_hint(err, "fp, dwarf, dwarf:SIZE or none is possible");
		return -EINVAL;
	}
	if (text[5]) {
		int rc = str_size(text + 6, &size, err);

		if (rc)
			return rc;
	}
	if (size < 8 || size > STACK_MAX) {
		err_set(err, -ERANGE, "a copy of %s of stack is out of range", text + 6);
		err_hint(err, "the kernel copies from 8 to %d bytes, such as dwarf:16K", STACK_MAX);
		return -ERANGE;
	}
	*stack = STACK_DWARF;
	*bytes = (uint32_t)((size + 7) / 8 * 8);
	return 0;
}

static int set_flag(bool *flag, const char *text, struct err *err)
{
	static const char *const yes[] = {"yes", "true", "on", "1"};
	static const char *const no[] = {"no", "false", "off", "0"};

	if (!text) {
		*flag = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*flag = !strcasecmp(text, yes[i]);
			return 0;
		}
	}
	return err_set(err, -EINVAL, "'%s' is neither yes nor no", text);
}

static int set_text(char **field, const char *text, struct err *err)
{
	char *copy;

	if (!*text)
		return err_set(err, -EINVAL, "the value is empty");
	copy = strdup(text);
	if (!copy)
		return config_no_memory(err);
	free(*field);
	*field = copy;
	return 0;
}

static int out_of_range(const struct config_row *row, const char *text, struct err *err)
{
	char min[32], max[32];

	if (row->kind == ROW_SIZE) {
		str_fmt_size(min, sizeof(min), row->min);
		str_fmt_size(max, sizeof(max), row->max);
	} else {
		str_fmt_count(min, sizeof(min), row->min);
		str_fmt_count(max, sizeof(max), row->max);
	}
	err_set(err, -ERANGE, "%s is out of range", text);
	err_hint(err, "from %s to %s is possible", min, max);
	return -ERANGE;
}

static int set_number(const struct config_row *row, void *field, const char *text, struct err *err)
{
	uint64_t v;
	int rc;

	rc = row->kind == ROW_SIZE ? str_size(text, &v, err) : str_u64(text, &v, err);
	if (rc)
		return rc;
	if (v < row->min || (row->max && v > row->max))
		return out_of_range(row, text, err);
	if (row->kind == ROW_UINT)
		*(unsigned *)field = (unsigned)v;
	else
		*(uint64_t *)field = v;
	return 0;
}

static int set_time(int64_t *field, const char *text, struct err *err)
{
	int64_t v;
	int rc = str_time(text, &v, err);

	if (rc)
		return rc;
	if (v < 0)
		return err_set(err, -ERANGE, "%s is negative", text);
	*field = v;
	return 0;
}

int config_row_set(const struct config_row *row, struct config *c, const char *text,
		   struct err *err)
{
	void *field = (char *)c + row->offset;

	switch (row->kind) {
	case ROW_FLAG:
		return set_flag(field, text, err);
	case ROW_TEXT:
		return set_text(field, text, err);
	case ROW_SIZE:
	case ROW_COUNT:
	case ROW_UINT:
		return set_number(row, field, text, err);
	case ROW_TIME:
		return set_time(field, text, err);
	case ROW_OWN:
		return row->set(c, text, err);
	case ROW_HELP:
		break;
	}
	return 0;
}

int config_join(char **list, const char *more, struct err *err)
{
	size_t have = *list ? strlen(*list) : 0;
	char *grown = realloc(*list, have + strlen(more) + 2);

	if (!grown)
		return config_no_memory(err);
	if (have)
		grown[have++] = ',';
	strcpy(grown + have, more);
	*list = grown;
	return 0;
}

/* The grammar is checked here, where the position is known; what an argument means, when it is
 * armed. */
int config_add_rule(struct config *c, const char *text, struct err *err)
{
	struct rule *rule;
	char **grown, *copy;
	int rc = rule_parse(text, &rule, err);

	if (rc)
		return rc;
	rule_free(rule);
	grown = realloc(c->rules, (c->nr_rules + 1) * sizeof(*grown));
	if (!grown)
		return config_no_memory(err);
	c->rules = grown;
	copy = strdup(text);
	if (!copy)
		return config_no_memory(err);
	c->rules[c->nr_rules++] = copy;
	return 0;
}

/* ---- what was meant ---- */

void config_hint_names(struct err *err, const char *typed, const char *const *names,
		       const char *otherwise)
{
	struct closest near;

	closest_init(&near, typed);
	for (; *names; names++)
		closest_add(&near, *names, NULL);
	closest_hint(&near, err, otherwise);
}

void config_hint_rows(struct err *err, const char *typed, bool in_file, const char *otherwise)
{
	struct closest near;
	char shown[64];

	closest_init(&near, typed);
	for (const struct config_row *r = config_rows; r->name; r++) {
		snprintf(shown, sizeof(shown), "%s%s", in_file ? "" : "--", r->name);
		if (r->in_file || !in_file)
			closest_add(&near, r->name, shown);
	}
	closest_hint(&near, err, otherwise);
}
