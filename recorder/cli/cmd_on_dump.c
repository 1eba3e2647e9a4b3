// SPDX-License-Identifier: MIT
/* `ringback on-dump UID GID COMMAND`: started by the recorder for --on-dump. Hidden: not in the
 * help. */
#include "recorder/cli/cmd.h"

#include "recorder/daemon/on_dump.h"

const struct command cmd_on_dump = {
	.name = "on-dump",
	.operands = "UID GID COMMAND",
	.help = "",
	.run = on_dump_child,
};
