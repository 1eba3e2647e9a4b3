// SPDX-License-Identifier: MIT
/*
 * `ringback symbols`.
 */
#include "recorder/cmd.h"

#include "recorder/symchild.h"

#include <string.h>

static int run(int argc, char **argv)
{
	if (argc == 2 && !strncmp(argv[1], "--collect=", 10))
		return symchild_main(argv[1] + 10);
	return EXIT_USAGE;
}

const struct command cmd_symbols = {
	.name = "symbols",
	.args = "DUMP",
	.help = "names",
	.run = run,
};
