/* SPDX-License-Identifier: MIT */
/* For tests of options: loads them from a text or reports the error. Include before other
 * headers. */
#pragma once

#include "recorder/config/config.h"

#include "dump/base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARGS_MAX 64

/* Loads "record ARGS", split at blanks ("+" stands for a blank inside a word). Reads no file unless
 * ARGS name one. */
static int load(struct config *c, struct err *err, const char *args)
{
	static char words[2048];
	char *argv[ARGS_MAX] = {"record", "--config=/dev/null"};
	int argc = 2;

	if (strstr(args, "--config"))
		argc = 1;
	snprintf(words, sizeof(words), "%s", args);
	for (char *w = strtok(words, " "); w && argc + 1 < ARGS_MAX; w = strtok(NULL, " ")) {
		for (char *p = w; (p = strchr(p, '+'));)
			*p = ' ';
		argv[argc++] = w;
	}
	argv[argc] = NULL;
	*err = (struct err)ERR_INIT;
	*c = (struct config){0};
	return config_load(c, argc, argv, err);
}

static void loads(struct config *c, const char *args)
{
	struct err err;
	int rc = load(c, &err, args);

	if (rc)
		fail_msg("'%s' gave %d: %s (%s)", args, rc, err.what, err.hint);
}

/* Both `what` and `hint` must hold the given parts. */
__attribute__((unused)) static void refuses(const char *args, const char *what, const char *hint)
{
	struct config c;
	struct err err;
	int rc = load(&c, &err, args);

	if (rc != -EINVAL)
		fail_msg("'%s' gave %d, not -EINVAL: %s", args, rc, err.what);
	if (!strstr(err.what, what))
		fail_msg("'%s': \"%s\" does not say \"%s\"", args, err.what, what);
	if (!strstr(err.hint, hint))
		fail_msg("'%s': hint \"%s\" does not say \"%s\"", args, err.hint, hint);
	assert_null(c.dir);
}

__attribute__((unused)) static struct config_channel *named(struct config_channel *v, size_t nr,
							    const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(v[i].name, name))
			return &v[i];
	fail_msg("no channel %s", name);
	return NULL;
}
