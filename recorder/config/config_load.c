// SPDX-License-Identifier: MIT
/*
 * Builds struct config from argv and the configuration file. Called by `record` at start, and again
 * with the same argv on SIGHUP.
 *
 *	defaults ─▶ file ─▶ drop the groups that the command line names ─▶ command line ─▶ checks
 */
#include "recorder/config/config.h"

#include "dump/base/err.h"
#include "recorder/config/config_row.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LONG_BASE 256 /* what getopt_long returns for row i: LONG_BASE + i */
#define ROWS_MAX  64

#define HELP_HINT "ringback record --help lists the options"

/* ---- the command line ---- */

static int stray_word(const struct options_given *g, struct err *err)
{
	const struct option_given *last = g->nr ? &g->v[g->nr - 1] : NULL;
	const char *word = g->operands[0];
	char name[64];

	err_set(err, -EINVAL, "'%s' is not an option", word);
	if (last && option_takes_optional(last->row) && !last->text)
		err_hint(err,
			 "as the value of the option before it: %s=%s; a command goes after --",
			 option_spelled(last, name, sizeof(name)), word);
	else
		err_hint(err, "as the command to record: ringback record [OPTION]... -- %s", word);
	return -EINVAL;
}

static int read_command_line(struct options_given *g, int argc, char **argv, struct err *err)
{
	int rc = options_read(config_options, true, argc, argv, g, err);

	if (rc) {
		if (rc == -EINVAL && !*err->hint)
			err_hint(err, HELP_HINT);
		return rc;
	}
	if (g->after_dashes && !g->operands[0]) {
		err_set(err, -EINVAL, "there is no command after --");
		err_hint(err, "write: ringback record [OPTION]... -- COMMAND [ARG]...");
		return -EINVAL;
	}
	return g->operands[0] && !g->after_dashes ? stray_word(g, err) : 0;
}

/* ---- combining ---- */

static int apply_command_line(struct config *c, const struct options_given *g, struct err *err)
{
	bool named[GROUP_END] = {false};

	for (size_t i = 0; i < g->nr; i++)
		named[g->v[i].row->group] = true;
	named[GROUP_TARGET] |= g->after_dashes;
	for (int group = GROUP_NONE + 1; group < GROUP_END; group++)
		if (named[group])
			config_drop_group(c, (enum row_group)group);
	c->command = g->after_dashes ? g->operands : NULL;
	c->rules_typed = named[GROUP_RULES];
	return options_set(g, c, err);
}

static const char *config_option(const struct options_given *l)
{
	const char *path = NULL;

	for (size_t i = 0; i < l->nr; i++)
		if (!strcmp(l->v[i].row->name, "config"))
			path = l->v[i].text;
	return path;
}

/* ---- conflicting options ---- */

static int both(struct err *err, const char *a, const char *b, const char *hint)
{
	err_set(err, -EINVAL, "%s and %s contradict each other", a, b);
	err_hint(err, "%s", hint);
	return -EINVAL;
}

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
				    "give one target: -a, -p PID, -t TID or --cgroup PATH; "
				    "-C CPUS may be combined with each");
		first = targets[i].name;
	}
	if (c->command && (c->nr_pids || c->nr_tids))
		return both(err, c->nr_pids ? "-p" : "-t", "-- COMMAND",
			    "record either running processes or a command");
	return 0;
}

/* Without a target: the whole system for root. An error for others, who are not permitted to record
 * it. */
static int default_target(struct config *c, struct err *err)
{
	if (c->all_cpus || c->nr_cpus || c->nr_pids || c->nr_tids || c->cgroup || c->command)
		return 0;
	if (geteuid() == 0) {
		c->all_cpus = true;
		return 0;
	}
	err_set(err, -EINVAL, "there is no target to record");
	err_hint(err, "-p PID records one of your processes, -- COMMAND starts one; "
		      "for the whole system: sudo ringback record -a");
	return -EINVAL;
}

static int check_channels(struct config *c, struct err *err)
{
	struct config_channel *channels;
	size_t nr;
	int rc;

	if (!c->events && !c->preset && !c->nr_channels) {
		rc = option_set(option_find(config_options, "preset"), c, "default", err);
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
		return both(err, "-q", "-v", "give only one of them");
	rc = check_targets(c, err);
	if (!rc)
		rc = default_target(c, err);
	if (!rc)
		rc = check_channels(c, err);
	return rc;
}

int config_load(struct config *out, int argc, char **argv, struct err *err)
{
	struct options_given l = {0};
	struct config c = {0};
	int rc;

	rc = read_command_line(&l, argc, argv, err);
	if (!rc)
		rc = options_defaults(config_options, &c, err);
	if (!rc)
		rc = config_file_read(&c, config_option(&l), err);
	if (!rc)
		rc = apply_command_line(&c, &l, err);
	if (!rc)
		rc = check(&c, err);
	options_free(&l);
	if (rc) {
		config_free(&c);
		return rc == -ENOMEM ? rc : -EINVAL;
	}
	*out = c;
	return 0;
}
