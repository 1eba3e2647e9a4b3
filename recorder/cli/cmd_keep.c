// SPDX-License-Identifier: MIT
/* `ringback keep`: the keeper in the foreground. */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "recorder/base/log.h"
#include "recorder/keep/keeper.h"

#include <stddef.h>

struct keep_options {
	const char *name;
};

static const struct option_row options[] = {
	{"name", 'n', "NAME", OPTION_WORD, offsetof(struct keep_options, name), .def = "default",
	 .help = "the recorder's name", .values = VALUES_RECORDER},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	struct keep_options o;
	struct err err = ERR_INIT;
	char **operands;
	int code = cmd_parse(&cmd_keep, &o, argc, argv, &operands);

	if (code)
		return code;
	if (keeper_run(o.name, &err)) {
		log_err(&err);
		return EXIT_FAILED;
	}
	return EXIT_FINE;
}

const struct command cmd_keep = {
	.name = "keep",
	.operands = "",
	.help = "hold a recorder's rings while it restarts",
	.notes = "Start it before the recorder. Recording of the whole system or of CPUs goes on "
		 "when the\n"
		 "recorder ends, also when it is killed, and the next recorder of this name takes "
		 "over.\n"
		 "When `ringback keep` ends, it lets go of the rings.\n",
	.run = run,
	.options = options,
};
