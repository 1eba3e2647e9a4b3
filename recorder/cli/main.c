// SPDX-License-Identifier: MIT
/* ringback's front door: the table of commands, help, version. */
#include "recorder/cli/cmd.h"

#include "dump/base/closest.h"
#include "recorder/cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const struct command *const commands[] = {
	&cmd_record, &cmd_trigger, &cmd_status, &cmd_list,    &cmd_info,  &cmd_script, &cmd_report,
	&cmd_diff,   &cmd_why,	   &cmd_export, &cmd_symbols, &cmd_check, &cmd_doctor,
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* For the kernel, not for people. */
static const struct command *const hidden[] = {&cmd_crash_handler};

static void help(FILE *out)
{
	fputs("ringback: an always-on flight recorder for Linux\n\n", out);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  ringback %-9s %s\n", commands[i]->name, commands[i]->help);
	fputs("\nringback COMMAND --help tells the options; man ringback tells all.\n"
	      "ringback --no-pager COMMAND prints straight to the terminal.\n"
	      "Start with: ringback record -a -o /var/tmp    and in another shell: ringback "
	      "trigger\n",
	      out);
}

void cmd_usage(const struct command *c, FILE *out)
{
	fprintf(out, "usage: ringback %s %s\n\n%s\n", c->name, c->args, c->help);
	if (c->options) {
		fputc('\n', out);
		c->options(out);
	}
}

int cmd_misuse(const struct command *c, const char *fmt, ...)
{
	va_list ap;

	fputs("ringback: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, "\nusage: ringback %s %s\n  hint: ringback %s --help tells the options\n",
		c->name, c->args, c->name);
	return EXIT_USAGE;
}

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	for (size_t i = 0; i < sizeof(hidden) / sizeof(*hidden); i++)
		if (!strcmp(hidden[i]->name, name))
			return hidden[i];
	return NULL;
}

/* No command has that name; which may have been meant. */
static int unknown(const char *name)
{
	const struct command *near = NULL;
	unsigned least = 3;

	for (size_t i = 0; i < NR_COMMANDS; i++) {
		unsigned d = closest_distance(name, commands[i]->name, least);

		if (d < least && 2 * d < strlen(commands[i]->name)) {
			least = d;
			near = commands[i];
		}
	}
	fprintf(stderr, "ringback: there is no command '%s'\n", name);
	if (near)
		fprintf(stderr, "  hint: did you mean '%s'?\n", near->name);
	else
		fputs("  hint: ringback --help lists the commands\n", stderr);
	return EXIT_USAGE;
}

/*
 * Output that could not be written (a full disk, no stdout at all) is a failure, and said unless
 * the command failed and has said why. A reader that has had enough (`| head`) is none.
 */
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
 * Descriptors 0 to 2 that whoever started us has closed are taken, the wrong way round, so that
 * using them fails as before: else a ring or a dump would get the number, and a message into it.
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
	if (argc > 1 && !strcmp(argv[1], "--no-pager")) {
		pager_off();
		argc--;
		argv++;
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
		c = argc > 2 ? find(argv[2]) : NULL;
		if (argc > 2 && !c)
			return unknown(argv[2]);
		if (c)
			cmd_usage(c, stdout);
		else
			help(stdout);
		return finish(EXIT_FINE);
	}
	c = find(argv[1]);
	if (!c)
		return unknown(argv[1]);
	for (int i = 2; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			cmd_usage(c, stdout);
			return finish(EXIT_FINE);
		}
	}
	return finish(c->run(argc - 1, argv + 1));
}
