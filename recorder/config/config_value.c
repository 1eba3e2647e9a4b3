// SPDX-License-Identifier: MIT
/* Checks and setters of values shared by several options and keys; see config_row.h. */
#include "recorder/config/config_row.h"

#include "dump/base/array.h"
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
		err_set(err, -EINVAL, "'%s' is not a kind of stack", text);
		err_hint(err, "use fp, dwarf, dwarf:SIZE or none");
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

/* Checks only the grammar, so that errors name the position; arguments are checked when armed. */
int config_add_rule(void *config, const char *text, struct err *err)
{
	struct config *c = config;
	struct rule *rule;
	int rc = rule_parse(text, &rule, err);

	if (rc)
		return rc;
	rule_free(rule);
	if (!array_room(c->rules, c->nr_rules) || !(c->rules[c->nr_rules] = strdup(text)))
		return config_no_memory(err);
	c->nr_rules++;
	return 0;
}

void config_hint_names(struct err *err, const char *typed, const char *const *names,
		       const char *otherwise)
{
	struct closest near;

	closest_init(&near, typed);
	for (; *names; names++)
		closest_add(&near, *names, NULL);
	closest_hint(&near, err, otherwise);
}
