// SPDX-License-Identifier: MIT
/* ringback's front door: the table of commands, help, version. */
#include "recorder/cmd.h"

#include <stdarg.h>
#include <string.h>

static const struct command *const commands[] = {
	&cmd_record, &cmd_trigger, &cmd_status, &cmd_info, &cmd_script, &cmd_check, &cmd_doctor,
};

#define NR_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void help(FILE *out)
{
	fputs("ringback: an always-on flight recorder for Linux\n\n", out);
	for (size_t i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  ringback %-9s %s\n", commands[i]->name, commands[i]->help);
	fputs("\nringback COMMAND --help tells the options; man ringback tells all.\n"
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
	return NULL;
}

/* Output that could not be written (a full disk, a closed pipe's other end) is a failure. */
static int finish(int code)
{
	if (fflush(stdout) || ferror(stdout)) {
		if (code == EXIT_FINE)
			code = EXIT_FAILED;
	}
	return code;
}

int main(int argc, char **argv)
{
	const struct command *c;

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
		if (c)
			cmd_usage(c, stdout);
		else
			help(stdout);
		return finish(EXIT_FINE);
	}
	c = find(argv[1]);
	if (!c) {
		fprintf(stderr, "ringback: there is no command '%s'\n\n", argv[1]);
		help(stderr);
		return EXIT_USAGE;
	}
	for (int i = 2; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			cmd_usage(c, stdout);
			return finish(EXIT_FINE);
		}
	}
	return finish(c->run(argc - 1, argv + 1));
}
