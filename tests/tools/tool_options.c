/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* Prints the options table of `record` and its presets, for tests/lint/lint_docs.sh. */
#include "recorder/config/config.h"

#include <string.h>

int main(int argc, char **argv)
{
	const char *name, *help;

	if (argc == 2 && !strcmp(argv[1], "presets")) {
		for (size_t i = 0; preset_nth(i, &name, &help); i++)
			puts(name);
		return 0;
	}
	config_list(stdout);
	return 0;
}
