// SPDX-License-Identifier: MIT
/*
 * `ringback complete WORD...`: completions of the last word, for the shell
 * (recorder/dist/ringback.bash); hidden. The words are split as in bash, also at ':' and '='. Each
 * candidate is a line that replaces the last word. For files and commands, which the shell
 * completes itself, the output is one line ":file", ":dump", ":directory" or ":command" with the
 * typed part; a second line is a prefix for each candidate.
 */
#include "recorder/cli/cmd.h"

#include "dump/base/bytes.h"
#include "recorder/daemon/ctl.h"
#include "trigger/engine/source.h"
#include "trigger/kernel/caps.h"
#include "trigger/kernel/event_names.h"
#include "trigger/kernel/tracefs.h"

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES    4096
#define MAX_WORDS     256
#define MAX_RECORDERS 64

struct completion {
	char words[MAX_WORDS][WORD_BYTES]; /* joined again; the last one is to be completed */
	size_t nr;
	size_t kept; /* bytes of the last word that the shell keeps, so they are not printed */
};

static char *last_word(struct completion *c)
{
	return c->words[c->nr - 1];
}

/* `value` is the part of the last word that `candidate` replaces. */
static void offer(struct completion *c, const char *value, const char *candidate)
{
	const char *word = last_word(c);
	int before = (int)(value - word) - (int)c->kept;

	if (strncmp(candidate, value, strlen(value)))
		return;
	if (before >= 0)
		printf("%.*s%s\n", before, word + c->kept, candidate);
	else
		puts(candidate - before);
}

static void leave_to_shell(struct completion *c, const char *value, const char *what)
{
	const char *word = last_word(c);
	int before = (int)(value - word) - (int)c->kept;

	printf(":%s %s\n%.*s\n", what, value, before > 0 ? before : 0, word + c->kept);
}

/* ---- values ---- */

/* Completes the last event of a list. */
static void offer_events(struct completion *c, const char *value)
{
	const char *comma = strrchr(value, ','), *name;
	struct buf events = {0};
	char *save = NULL;

	value = comma ? comma + 1 : value;
	for (size_t i = 0; (name = event_name_software(i)); i++)
		offer(c, value, name);
	if (!tracefs_read("available_events", &events, NULL))
		for (char *s = strtok_r((char *)events.p, "\n", &save); s;
		     s = strtok_r(NULL, "\n", &save))
			offer(c, value, s);
	buf_free(&events);
}

/* Offers the entries of a directory: "/proc/[0-9]*". */
static void offer_glob(struct completion *c, const char *value, const char *pattern, size_t cut)
{
	glob_t found;

	if (glob(pattern, GLOB_ONLYDIR, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		offer(c, value, found.gl_pathv[i] + cut);
	globfree(&found);
}

static void offer_cgroups(struct completion *c, const char *value)
{
	char pattern[WORD_BYTES + 300];
	struct caps caps;
	size_t cut = 0;

	if (*value != '/') {
		caps_probe(&caps);
		cut = strlen(caps.cgroup_v2_mount) + 1;
	}
	snprintf(pattern, sizeof(pattern), "%s%s%s*", cut ? caps.cgroup_v2_mount : "",
		 cut ? "/" : "", value);
	offer_glob(c, value, pattern, cut);
}

static void offer_recorders(struct completion *c, const char *value)
{
	char names[MAX_RECORDERS][CTL_NAME_BYTES];
	size_t nr = ctl_running(names, MAX_RECORDERS);

	for (size_t i = 0; i < nr; i++)
		offer(c, value, names[i]);
}

/* Offers kinds of rules with their syntax: "oom", "rss:", or both. */
static void offer_rule_kinds(struct completion *c, const char *value)
{
	char name[64];

	for (const struct source_ops *const *s = source_table; *s; s++) {
		const char *after = (*s)->syntax + strlen((*s)->name);

		if (*after != ':')
			offer(c, value, (*s)->name);
		snprintf(name, sizeof(name), "%s:", (*s)->name);
		if (*after == ':' || !strncmp(after, "[:", 2))
			offer(c, value, name);
	}
}

static void offer_rules(struct completion *c, const char *value)
{
	static const char *const pressures[] = {"memory:some", "memory:full", "io:some",
						"io:full",     "cpu:some",    "irq:full"};
	const char *arg = strchr(value, ':'), *syntax;
	const struct source_ops *source;
	char kind[64];

	if (!arg) {
		offer_rule_kinds(c, value);
		return;
	}
	snprintf(kind, sizeof(kind), "%.*s", (int)(arg++ - value), value);
	source = source_find(kind);
	if (!source)
		return;
	syntax = source->syntax + strlen(kind) + 1;
	if (!strncmp(syntax, "EVENT", 5))
		offer_events(c, arg);
	else if (!strncmp(syntax, "PATH", 4))
		leave_to_shell(c, arg, "file");
	else if (!strncmp(syntax, "PID", 3))
		offer_glob(c, arg, "/proc/[0-9]*", strlen("/proc/"));
	for (size_t i = 0; i < 6 && source == &source_psi; i++)
		offer(c, arg, pressures[i]);
	for (int i = 1; source == &source_signal && sigabbrev_np(i); i++)
		offer(c, arg, sigabbrev_np(i));
}

static void offer_value(struct completion *c, const struct option_row *row, const char *value)
{
	const char *name, *help;
	char word[64];

	for (size_t i = 0; row->choices && row->choices(i, &name, &help); i++)
		offer(c, value, name);
	for (size_t i = 0; option_choice(row, i, word, sizeof(word)); i++)
		if (!isupper((unsigned char)*word) && !strchr(row->arg, ';'))
			offer(c, value, word);
	if (row->values == VALUES_FILE)
		leave_to_shell(c, value, "file");
	else if (row->values == VALUES_DIRECTORY)
		leave_to_shell(c, value, "directory");
	else if (row->values == VALUES_EVENT)
		offer_events(c, value);
	else if (row->values == VALUES_RULE)
		offer_rules(c, value);
	else if (row->values == VALUES_PID)
		offer_glob(c, value, "/proc/[0-9]*", strlen("/proc/"));
	else if (row->values == VALUES_CGROUP)
		offer_cgroups(c, value);
	else if (row->values == VALUES_RECORDER)
		offer_recorders(c, value);
}

/* ---- words ---- */

static bool parts(char a)
{
	return a == ':' || a == '=';
}

/* Joins words that bash split: "sched:sched_switch" arrives as three. */
static void join_words(struct completion *c, int argc, char **argv)
{
	bool joined = false;
	char *word;

	for (int i = 1; i < argc; i++) {
		bool goes_on =
			i > 1 && (parts(*argv[i]) ||
				  (*argv[i - 1] && parts(argv[i - 1][strlen(argv[i - 1]) - 1])));

		if (goes_on && c->nr) {
			word = last_word(c);
			snprintf(word + strlen(word), WORD_BYTES - strlen(word), "%s", argv[i]);
		} else if (c->nr < MAX_WORDS) {
			snprintf(c->words[c->nr++], WORD_BYTES, "%s", argv[i]);
		}
		joined = goes_on;
	}
	word = last_word(c);
	if (*word == '\'' || *word == '"')
		memmove(word, word + 1, strlen(word));
	/* Bash replaces only the part after the last separator. */
	for (size_t i = 0; joined && word[i]; i++)
		if (parts(word[i]))
			c->kept = i + 1;
}

static void offer_commands(struct completion *c, bool all)
{
	static const char *const others[] = {"help",	     "version", "--no-pager",
					     "--no-sandbox", "--help",	"--version"};

	for (size_t i = 0; command_table[i]; i++)
		if (command_table[i]->options)
			offer(c, last_word(c), command_table[i]->name);
	for (size_t i = 0; all && i < sizeof(others) / sizeof(*others); i++)
		offer(c, last_word(c), others[i]);
}

static const struct option_row *option_of(const struct option_row *rows, const char *word, size_t n)
{
	for (; rows->name; rows++)
		if ((n == 2 && word[0] == '-' && word[1] == rows->letter) ||
		    (n > 2 && !strncmp(word, "--", 2) && strlen(rows->name) == n - 2 &&
		     !strncmp(word + 2, rows->name, n - 2)))
			return rows;
	return NULL;
}

static void offer_options(struct completion *c, const struct option_row *rows)
{
	char name[64];

	for (; rows->name; rows++) {
		snprintf(name, sizeof(name), "--%s", rows->name);
		offer(c, last_word(c), name);
	}
	offer(c, last_word(c), "--help");
}

static void offer_arguments(struct completion *c, const struct command *command)
{
	const char *word = last_word(c), *before = c->words[c->nr - 2], *equals = strchr(word, '=');
	const struct option_row *row = option_of(command->options, before, strlen(before));

	for (size_t i = 1; i + 1 < c->nr; i++)
		if (!strcmp(c->words[i], "--")) {
			leave_to_shell(c, word, "command");
			return;
		}
	if (row && row->arg && !option_takes_optional(row)) {
		offer_value(c, row, word);
		return;
	}
	row = equals ? option_of(command->options, word, (size_t)(equals - word)) : NULL;
	if (row)
		offer_value(c, row, equals + 1);
	else if (*word == '-')
		offer_options(c, command->options);
	else if (strstr(command->operands, "DUMP"))
		leave_to_shell(c, word, "dump");
	else if (strstr(command->operands, "DIR"))
		leave_to_shell(c, word, "directory");
}

static int run(int argc, char **argv)
{
	const struct command *command;
	struct completion *c = calloc(1, sizeof(*c));
	char empty[] = "", *none[] = {argv[0], empty, NULL};

	if (!c)
		return EXIT_FAILED;
	while (argc > 2 && (!strcmp(argv[1], "--no-pager") || !strcmp(argv[1], "--no-sandbox"))) {
		argc--;
		argv++;
	}
	join_words(c, argc > 1 ? argc : 2, argc > 1 ? argv : none);
	command = cmd_find(c->words[0]);
	if (c->nr == 1)
		offer_commands(c, true);
	else if (!strcmp(c->words[0], "help"))
		offer_commands(c, false);
	else if (command && command->options)
		offer_arguments(c, command);
	free(c);
	return EXIT_FINE;
}

const struct command cmd_complete = {
	.name = "complete",
	.run = run,
};
