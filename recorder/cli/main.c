// SPDX-License-Identifier: MIT
/* The table of commands, help, version. */
#include "recorder/cli/cmd.h"

#include "dump/base/closest.h"
#include "dump/base/err.h"
#include "recorder/base/log.h"
#include "recorder/base/sandbox.h"
#include "recorder/cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

const struct command *const command_table[] = {
	&cmd_record, &cmd_trigger,  &cmd_status,	&cmd_list,    &cmd_show,
	&cmd_info,   &cmd_script,   &cmd_report,	&cmd_diff,    &cmd_why,
	&cmd_export, &cmd_symbols,  &cmd_check,		&cmd_pin,     &cmd_keep,
	&cmd_doctor, &cmd_complete, &cmd_crash_handler, &cmd_on_dump, NULL,
};

const struct command *cmd_find(const char *name)
{
	for (size_t i = 0; command_table[i]; i++)
		if (!strcmp(command_table[i]->name, name))
			return command_table[i];
	return NULL;
}

static void help(FILE *out)
{
	fputs("ringback: an always-on flight recorder for Linux\n\n", out);
	for (size_t i = 0; command_table[i]; i++)
		if (command_table[i]->options)
			fprintf(out, "  ringback %-9s %s\n", command_table[i]->name,
				command_table[i]->help);
	fputs("\n`ringback COMMAND --help` lists the options; `man ringback` is the manual.\n"
	      "`ringback --no-pager COMMAND` prints without a pager; `--no-sandbox` is for "
	      "debuggers.\n"
	      "To start: `ringback record -a -o /var/tmp`, and in another shell `ringback "
	      "trigger`.\n",
	      out);
}

static int unknown(const char *name)
{
	struct err err = ERR_INIT;
	struct closest near;
	char shown[64];

	closest_init(&near, name);
	for (size_t i = 0; command_table[i]; i++) {
		snprintf(shown, sizeof(shown), "'%s'", command_table[i]->name);
		if (command_table[i]->options)
			closest_add(&near, command_table[i]->name, shown);
	}
	err_set(&err, -EINVAL, "there is no command '%s'", name);
	closest_hint(&near, &err, "ringback --help lists the commands");
	log_err(&err);
	return EXIT_USAGE;
}

/* Unwritable output (a full disk, closed stdout) is a failure. It is reported unless the command
 * failed with a message already. A closed pipe (`| head`) is no failure. */
static int finish(int code)
{
	bool written;
	int why;

	errno = 0;
	written = !fflush(stdout) && !ferror(stdout);
	why = errno;
	if (pager_end() || written || code != EXIT_FINE || why == EPIPE)
		return code;
	fprintf(stderr, "ringback: the output can't be written%s%s\n", why ? ": " : "",
		why ? strerror(why) : "");
	return EXIT_FAILED;
}

/*
 * Opens descriptors 0 to 2 if they are closed, but with the wrong access mode, so that using them
 * still fails. Otherwise a ring or a dump could get such a number, and messages would be written
 * into it.
 */
static void take_standard(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 &&
		    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
			return;
}

int main(int argc, char **argv)
{
	const struct command *c;

	take_standard();
	for (; argc > 1; argc--, argv++) {
		if (!strcmp(argv[1], "--no-pager"))
			pager_off();
		else if (!strcmp(argv[1], "--no-sandbox"))
			sandbox_off();
		else
			break;
	}
	if (argc < 2) {
		help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		printf("ringback %s\n", RINGBACK_VERSION);
		return finish(EXIT_FINE);
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		c = argc > 2 ? cmd_find(argv[2]) : NULL;
		if (argc > 2 && (!c || !c->options))
			return unknown(argv[2]);
		if (c)
			cmd_usage(c, stdout);
		else
			help(stdout);
		return finish(EXIT_FINE);
	}
	c = cmd_find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	for (int i = 2; c->options && i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			cmd_usage(c, stdout);
			return finish(EXIT_FINE);
		}
	}
	return finish(c->run(argc - 1, argv + 1));
}
