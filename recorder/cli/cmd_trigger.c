// SPDX-License-Identifier: MIT
/* `ringback trigger`: asks a running recorder for a dump, waits for it, prints its path. */
#include "recorder/cli/cmd.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/daemon/ctl.h"
#include "recorder/base/ctl_dir.h"
#include "recorder/base/log.h"

#include <errno.h>
#include <string.h>

#define REASON_MAX 255 /* as stored in a dump, struct sighting */

struct trigger_args {
	const char *name, *reason, *comm;
	uint32_t pid;
};

/* The reason, and whom it is about in words that `ringback why` understands. False: too long. */
static bool make_reason(const struct trigger_args *q, char *out, size_t n)
{
	int len = snprintf(out, n, "%s", q->reason);

	if (q->comm && len >= 0 && (size_t)len < n)
		len += snprintf(out + len, n - (size_t)len, "%s(%s)", len ? " " : "", q->comm);
	if (q->pid && len >= 0 && (size_t)len < n)
		len += snprintf(out + len, n - (size_t)len, "%s(pid %u)", len ? " " : "", q->pid);
	return len >= 0 && (size_t)len < n;
}

/* The reason may be any bytes; JSON needs UTF-8. */
static json_t *make_request(const char *reason)
{
	char safe[4 * REASON_MAX + 1];

	str_safe(safe, sizeof(safe), reason, strlen(reason));
	return json_pack("{s:s, s:s}", "cmd", "trigger", "reason", safe);
}

static int print_reply(const json_t *reply)
{
	const char *path = json_string_value(json_object_get(reply, "path"));
	const char *incomplete = json_string_value(json_object_get(reply, "incomplete"));
	struct err err = ERR_INIT;
	char safe[1024];

	if (!path) {
		err_set(&err, -EBADMSG, "the recorder's answer names no dump");
		log_err(&err);
		return EXIT_FAILED;
	}
	if (json_is_true(json_object_get(reply, "merged")))
		log_info("this trigger was merged with a dump that was already being written");
	puts(path);
	if (!incomplete)
		return EXIT_FINE;
	log_warn("the dump is incomplete: %s",
		 str_safe(safe, sizeof(safe), incomplete, strlen(incomplete)));
	return EXIT_DAMAGED;
}

static const struct option_row options[] = {
	{"name", 'n', "NAME", OPTION_WORD, offsetof(struct trigger_args, name), .def = "default",
	 .values = VALUES_RECORDER, .help = "the recorder's name, as given to record -n"},
	{"reason", 0, "TEXT", OPTION_WORD, offsetof(struct trigger_args, reason),
	 .help = "why; stored in the dump, and names in it tell ringback why whom it is about"},
	{"pid", 0, "N", OPTION_UINT, offsetof(struct trigger_args, pid), .min = 1,
	 .max = UINT32_MAX - 1, .help = "the dump is about this process"},
	{"comm", 0, "NAME", OPTION_WORD, offsetof(struct trigger_args, comm),
	 .help = "the dump is about the threads with this name"},
	{.name = NULL},
};

static int run(int argc, char **argv)
{
	struct trigger_args q = {.reason = ""};
	char reason[REASON_MAX + 1];
	struct err err = ERR_INIT;
	char **operands;
	json_t *reply;
	int rc = cmd_parse(&cmd_trigger, &q, argc, argv, &operands);

	if (rc)
		return rc;
	if (strlen(q.reason) > REASON_MAX)
		return cmd_misuse(&cmd_trigger, "--reason: it has %zu bytes; at most %d are stored",
				  strlen(q.reason), REASON_MAX);
	if (!make_reason(&q, reason, sizeof(reason)))
		return cmd_misuse(&cmd_trigger,
				  "--reason: with --comm and --pid at most %d bytes are stored",
				  REASON_MAX);
	if (ctl_name_check(q.name, &err)) {
		log_err(&err);
		return EXIT_USAGE;
	}
	rc = ctl_call(q.name, make_request(reason), -1, &reply, &err);
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
	.operands = "",
	.notes = "Exit status: 0 the dump was made, 3 it is incomplete, 1 there is none.\n",
	.help = "ask a running recorder for a dump, wait for it, print its path",
	.run = run,
	.options = options,
};
