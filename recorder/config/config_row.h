/* SPDX-License-Identifier: MIT */
/*
 * The options table of `record` and what its rows need. config.c holds the table, config_load.c
 * reads the command line with it, config_file.c looks up keys in it.
 */
#pragma once

#include "recorder/base/options.h"
#include "recorder/config/config.h"

#define CONFIG_DEFAULT_PATH RINGBACK_CONF

/* The command line replaces a whole group: a target there drops all targets of the file. */
enum row_group { GROUP_NONE, GROUP_TARGET, GROUP_WHAT, GROUP_RULES, GROUP_END };

/* The options of `record`. */
extern const struct option_row config_options[];

/* Sets the hint to the name in `names` (ended by NULL) nearest to `typed`, or else to
 * `otherwise`. */
void config_hint_names(struct err *err, const char *typed, const char *const *names,
		       const char *otherwise);
/* Drops all values of a group. */
void config_drop_group(struct config *c, enum row_group group);

int config_no_memory(struct err *err);
/* Appends ("a,b" from "a" and "b") to an owned text, or adds to an owned array. 0, or -ENOMEM with
 * `err` set. */
int config_join(char **list, const char *more, struct err *err);
/* Setters of rows: `config` is a struct config. For a channel as in config_channel_parse(), and for
 * "NAME=SIZE". */
int config_add_channel(void *config, const char *text, struct err *err);
int config_add_size(void *config, const char *text, struct err *err);
/* Whether rings can be sized for this time. 0, -ERANGE. */
int config_horizon_check(int64_t ns, struct err *err);

/* "none", "fp", "dwarf", "dwarf:SIZE". */
int config_stack_parse(const char *text, enum stack_kind *stack, uint32_t *bytes, struct err *err);
/* True for 1 to 31 letters, digits, '-' and '_'. */
bool config_name_ok(const char *name);

/*
 * Reads the configuration file into `c`. `path` NULL: /etc/ringback/ringback.conf, if it exists and
 * is readable. Errors name file and line.
 */
int config_file_read(struct config *c, const char *path, struct err *err);
