// SPDX-License-Identifier: MIT
/* ringback record: opens a session, runs the main loop, closes it. */
#include "recorder/cli/cmd.h"
#include "recorder/config/config_row.h"
#include "recorder/daemon/daemon.h"
#include "recorder/daemon/dry_run.h"
#include "recorder/base/log.h"
#include "recorder/base/async_output.h"
#include "recorder/base/journal.h"
#include "recorder/daemon/session.h"

static int record(int argc, char **argv)
{
	struct session s;
	struct err err = ERR_INIT;
	bool usage = false;
	int status = 0, rc;

	log_to_journal(JOURNAL_SOCKET);
	rc = session_open(&s, argc, argv, &usage, &err);
	if (!rc && s.config.dry_run)
		dryrun_print(&s);
	else if (!rc)
		rc = output_start(&err);
	if (!rc && !s.config.dry_run)
		rc = daemon_run(&s, argc, argv, &status, &err);
	if (rc)
		log_err(&err);
	else if (s.config.command && !s.config.dry_run && !s.nr_dumps)
		log_info("no trigger fired, so no dump was written; --dump-on-exit writes one when "
			 "the "
			 "command ends");
	session_close(&s);
	output_stop();
	if (rc)
		return usage ? EXIT_USAGE : EXIT_FAILED;
	return status;
}

const struct command cmd_record = {
	.name = "record",
	.operands = "[-- COMMAND [ARG]...]",
	.help = "record into memory; write a dump file at each trigger",
	.notes = "Sizes are written 64K, 8M, 1G; times 250us, 10ms, 2s, 1h. Lists (events, "
		 "targets, rules) given\n"
		 "here replace those of the configuration file.\n",
	.run = record,
	.options = config_options,
};
