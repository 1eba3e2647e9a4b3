// SPDX-License-Identifier: MIT
/* `ringback trigger`: asks a running recorder for a dump, waits for it, prints its path. */
#include "recorder/cli/cmd_args.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/daemon/ctl.h"
#include "recorder/base/ctl_dir.h"
#include "recorder/base/log.h"

#include <errno.h>
#include <string.h>

#define REASON_MAX 255 /* what a dump keeps of it, struct sighting */

static const struct option long_options[] = {
	{"name", required_argument, NULL, 'n'},
	{"reason", required_argument, NULL, 'r'},
	{NULL, 0, NULL, 0},
};

static void options(FILE *out)
{
	fputs("  -n, --name NAME      of the recorder, as in record -n (default: default)\n"
	      "      --reason TEXT    why; kept in the dump\n",
	      out);
}

/* A reason may be any bytes; JSON wants UTF-8. */
static json_t *make_request(const char *reason)
{
	char safe[4 * REASON_MAX + 1];

	str_safe(safe, sizeof(safe), reason, strlen(reason));
	return json_pack("{s:s, s:s}", "cmd", "trigger", "reason", safe);
}

static int print_reply(const json_t *reply)
{
	const char *path = json_string_value(json_object_get(reply, "path"));
	struct err err = ERR_INIT;

	if (!path) {
		err_set(&err, -EBADMSG, "the recorder's answer names no dump");
		log_err(&err);
		return EXIT_FAILED;
	}
	if (json_is_true(json_object_get(reply, "merged")))
		log_info("a dump was being made already; it answers this trigger too");
	puts(path);
	return EXIT_FINE;
}

struct request {
	const char *name, *reason;
};

static int take(void *ctx, int c, char *arg, struct err *err)
{
	struct request *q = ctx;

	if (c == 'n') {
		q->name = arg;
		return 0;
	}
	q->reason = arg;
	if (strlen(arg) > REASON_MAX)
		return err_set(err, -E2BIG, "it has %zu bytes; at most %d are kept", strlen(arg),
			       REASON_MAX);
	return 0;
}

static int run(int argc, char **argv)
{
	static const struct cmd_args args = {.shorts = "n:", .longs = long_options, .take = take};
	struct request q = {"default", ""};
	struct err err = ERR_INIT;
	json_t *reply;
	int rc = cmd_args_none(&cmd_trigger, &args, &q, argc, argv);

	if (rc)
		return rc;
	if (ctl_name_check(q.name, &err)) {
		log_err(&err);
		return EXIT_USAGE;
	}
	rc = ctl_call(q.name, make_request(q.reason), -1, &reply, &err);
	if (rc) {
		log_err(&err);
		return EXIT_FAILED;
	}
	rc = print_reply(reply);
	json_decref(reply);
	return rc;
}

const struct command cmd_trigger = {
	.name = "trigger",
	.args = "[-n NAME] [--reason TEXT]",
	.help = "ask a running recorder for a dump, wait for it, print its path",
	.run = run,
	.options = options,
};
