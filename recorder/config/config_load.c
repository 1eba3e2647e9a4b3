// SPDX-License-Identifier: MIT
/*
 * From argv and the configuration file to struct config. Called by `record` at start and again,
 * with the same argv, on SIGHUP.
 *
 *	defaults ─▶ file ─▶ groups that the command line names are dropped ─▶ command line ─▶ checks
 *
 * getopt_long's tables are made from config_rows, so an option can't be in one and not in the
 * other.
 */
#include "recorder/config/config.h"

#include "dump/base/err.h"
#include "recorder/config/config_row.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_BASE 256 /* what getopt_long returns for row i: LONG_BASE + i */
#define ROWS_MAX  64

/* An option as typed. */
struct given {
	const struct config_row *row;
	const char *text; /* NULL: without a value */
	bool is_short;
};

struct command_line {
	struct given *v; /* in the order typed */
	size_t nr;
	char **command;
	bool help;
};

/* ---- the command line ---- */

static size_t fill_getopt(struct option *longs, char *shorts)
{
	size_t nr = 0;

	*shorts++ = '+'; /* stop at the first word that is no option: what follows is a mistake */
	*shorts++ = ':'; /* tell a missing value from an unknown option */
	for (const struct config_row *r = config_rows; r->name && nr + 1 < ROWS_MAX; r++, nr++) {
		int has = !r->arg		       ? no_argument
			  : config_row_optional_arg(r) ? optional_argument
						       : required_argument;

		longs[nr] = (struct option){r->name, has, NULL, LONG_BASE + (int)nr};
		if (!r->letter)
			continue;
		*shorts++ = r->letter;
		for (int colons = has; colons > 0; colons--) /* one: required, two: optional */
			*shorts++ = ':';
	}
	longs[nr] = (struct option){0};
	*shorts = '\0';
	return nr;
}

static const struct config_row *row_of(int code)
{
	if (code >= LONG_BASE)
		return &config_rows[code - LONG_BASE];
	for (const struct config_row *r = config_rows; code && r->name; r++)
		if (r->letter == code)
			return r;
	return NULL;
}

/* "-e" or "--event", as it was typed. */
static const char *spelled(const struct given *g, char *out, size_t n)
{
	if (g->is_short)
		snprintf(out, n, "-%c", g->row->letter);
	else
		snprintf(out, n, "--%s", g->row->name);
	return out;
}

/* getopt said '?': an unknown or ambiguous option, or a value where none belongs. */
static int bad_option(const char *word, int code, struct err *err)
{
	const struct config_row *row = row_of(code);
	char name[64];

	if (row && code >= LONG_BASE) {
		err_set(err, -EINVAL, "--%s takes no value", row->name);
		return -EINVAL;
	}
	if (code) {
		err_set(err, -EINVAL, "there is no option -%c", code);
		err_hint(err, "ringback record --help lists the options");
		return -EINVAL;
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	err_set(err, -EINVAL, "there is no option --%s", name);
	config_hint_rows(err, name, false, "ringback record --help lists the options");
	return -EINVAL;
}

static int missing_value(int code, struct err *err)
{
	const struct config_row *row = row_of(code);
	struct given g = {row, NULL, code < LONG_BASE};
	char name[64];

	return err_set(err, -EINVAL, "%s needs a value: %s", spelled(&g, name, sizeof(name)),
		       row->arg);
}

static int stray_word(const struct command_line *l, const char *word, struct err *err)
{
	const struct given *last = l->nr ? &l->v[l->nr - 1] : NULL;
	char name[64];

	err_set(err, -EINVAL, "'%s' is not an option", word);
	if (last && config_row_optional_arg(last->row) && !last->text)
		err_hint(err,
			 "if it belongs to the option before, write %s=%s; a command goes after --",
			 spelled(last, name, sizeof(name)), word);
	else
		err_hint(err,
			 "if it is the command to record, write: ringback record [OPTION]... -- %s",
			 word);
	return -EINVAL;
}

/* After the last option: nothing, or "--" and the command. `end` is where the options ended. */
static int take_command(struct command_line *l, int argc, char **argv, int end, struct err *err)
{
	bool dashes = optind == end + 1 && !strcmp(argv[end], "--");

	if (!dashes)
		return optind < argc ? stray_word(l, argv[optind], err) : 0;
	if (optind == argc) {
		err_set(err, -EINVAL, "there is no command after --");
		err_hint(err, "write: ringback record [OPTION]... -- COMMAND [ARG]...");
		return -EINVAL;
	}
	l->command = argv + optind;
	return 0;
}

static int read_command_line(struct command_line *l, int argc, char **argv, struct err *err)
{
	struct option longs[ROWS_MAX];
	char shorts[3 * ROWS_MAX + 3];
	int code, end, word;

	fill_getopt(longs, shorts);
	l->v = calloc((size_t)argc * 2 + 1, sizeof(*l->v));
	if (!l->v)
		return config_no_memory(err);
	/* 0, not 1: glibc starts anew, also after another scan that stopped within a word. */
	optind = 0;
	opterr = 0;
	for (end = word = 1; (code = getopt_long(argc, argv, shorts, longs, NULL)) != -1;
	     end = optind) {
		struct given g = {row_of(code), optarg, code < LONG_BASE};

		word = end;
		if (code == '?')
			return bad_option(argv[word], optopt, err);
		if (code == ':')
			return missing_value(optopt, err);
		if (g.row->kind == ROW_HELP) {
			l->help = true;
			return 0;
		}
		/* -g=fp: getopt hands out all that follows the letter. */
		if (g.is_short && config_row_optional_arg(g.row) && optarg && optarg[0] == '=')
			g.text++;
		if (l->nr < (size_t)argc * 2)
			l->v[l->nr++] = g;
	}
	return take_command(l, argc, argv, end, err);
}

/* ---- putting it together ---- */

static int apply_defaults(struct config *c, struct err *err)
{
	for (const struct config_row *r = config_rows; r->name; r++) {
		int rc = r->def ? config_row_set(r, c, r->def, err) : 0;

		if (rc)
			return rc;
	}
	return 0;
}

static int apply_command_line(struct config *c, const struct command_line *l, struct err *err)
{
	bool named[GROUP_END] = {false};
	char name[64];

	for (size_t i = 0; i < l->nr; i++)
		named[l->v[i].row->group] = true;
	named[GROUP_TARGET] |= l->command != NULL;
	for (int g = GROUP_NONE + 1; g < GROUP_END; g++)
		if (named[g])
			config_drop_group(c, (enum row_group)g);
	for (size_t i = 0; i < l->nr; i++) {
		int rc = config_row_set(l->v[i].row, c, l->v[i].text, err);

		if (rc) {
			err_prefix(err, "%s", spelled(&l->v[i], name, sizeof(name)));
			return rc;
		}
	}
	c->command = l->command;
	c->rules_typed = named[GROUP_RULES];
	return 0;
}

static const char *config_option(const struct command_line *l)
{
	const char *path = NULL;

	for (size_t i = 0; i < l->nr; i++)
		if (!strcmp(l->v[i].row->name, "config"))
			path = l->v[i].text;
	return path;
}

/* ---- contradictions ---- */

static int both(struct err *err, const char *a, const char *b, const char *hint)
{
	err_set(err, -EINVAL, "%s and %s contradict each other", a, b);
	err_hint(err, "%s", hint);
	return -EINVAL;
}

/* Names of those targets that exclude each other. */
static int check_targets(const struct config *c, struct err *err)
{
	const struct {
		bool given;
		const char *name;
	} targets[] = {
		{c->all_cpus, "-a"},
		{c->nr_pids > 0, "-p"},
		{c->nr_tids > 0, "-t"},
		{c->cgroup != NULL, "--cgroup"},
	};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (!targets[i].given)
			continue;
		if (first)
			return both(err, first, targets[i].name,
				    "name one target: -a, -p PID, -t TID, --cgroup PATH; "
				    "-C CPUS may go with each");
		first = targets[i].name;
	}
	if (c->command && (c->nr_pids || c->nr_tids))
		return both(err, c->nr_pids ? "-p" : "-t", "-- COMMAND",
			    "record either what runs already or a command that is started");
	return 0;
}

/* Nothing named: the system for root, as perf does; others may not, so they are asked. */
static int default_target(struct config *c, struct err *err)
{
	if (c->all_cpus || c->nr_cpus || c->nr_pids || c->nr_tids || c->cgroup || c->command)
		return 0;
	if (geteuid() == 0) {
		c->all_cpus = true;
		return 0;
	}
	err_set(err, -EINVAL, "nothing is named to be recorded");
	err_hint(err, "-p PID records a process of yours, -- COMMAND starts one; "
		      "for the whole system: sudo ringback record -a");
	return -EINVAL;
}

static int check_channels(struct config *c, struct err *err)
{
	struct config_channel *channels;
	size_t nr;
	int rc;

	if (!c->events && !c->preset && !c->nr_channels) {
		rc = config_row_set(config_row_find("preset"), c, "default", err);
		if (rc)
			return rc;
	}
	rc = config_channels(c, &channels, &nr, err);
	if (!rc)
		config_channels_free(channels, nr);
	return rc;
}

static int check(struct config *c, struct err *err)
{
	int rc;

	if (c->quiet && c->verbose)
		return both(err, "-q", "-v", "give one of them");
	rc = check_targets(c, err);
	if (!rc)
		rc = default_target(c, err);
	if (!rc)
		rc = check_channels(c, err);
	return rc;
}

int config_load(struct config *out, int argc, char **argv, struct err *err)
{
	struct command_line l = {0};
	struct config c = {0};
	int rc;

	rc = read_command_line(&l, argc, argv, err);
	if (!rc && l.help)
		rc = 1;
	if (!rc)
		rc = apply_defaults(&c, err);
	if (!rc)
		rc = config_file_read(&c, config_option(&l), err);
	if (!rc)
		rc = apply_command_line(&c, &l, err);
	if (!rc)
		rc = check(&c, err);
	free(l.v);
	if (rc) {
		config_free(&c);
		return rc < 0 && rc != -ENOMEM ? -EINVAL : rc;
	}
	*out = c;
	return 0;
}
