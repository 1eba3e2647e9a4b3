/* SPDX-License-Identifier: MIT */
/* Setup and teardown of tests: *state is an engine without rules. */
#pragma once

#include "trigger/engine/engine.h"

#include <stddef.h>

static int setup(void **state)
{
	const struct engine_options opt = {0};
	struct engine *e;

	if (engine_new(&opt, &e, NULL))
		return -1;
	*state = e;
	return 0;
}

static int teardown(void **state)
{
	engine_free(*state);
	return 0;
}
