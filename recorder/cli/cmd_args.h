/* SPDX-License-Identifier: MIT */
/*
 * What is typed after a command: options; where it reads a dump, --from and --to, the one DUMP.
 * Errors are printed as cmd_misuse() does.
 */
#pragma once

#include "recorder/cli/cmd.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

struct cmd_dump;
struct err;

/* A command's options, as getopt_long(3) has them; `val` tells them apart, long and short. */
struct cmd_args {
	const char *shorts; /* "o:"; NULL: none */
	const struct option *longs;
	/* Takes one; `arg` is argv's and may be cut into pieces. 0, or a negative errno with `err`
	 * set. */
	int (*take)(void *ctx, int val, char *arg, struct err *err);
};

/* Hands all options to args->take(ctx, ...); what is left is at argv[optind]. EXIT_FINE,
 * EXIT_USAGE. */
int cmd_args_take(const struct command *c, const struct cmd_args *args, void *ctx, int argc,
		  char **argv);
/* What is left must be one dump. */
int cmd_args_path(const struct command *c, int argc, char **argv, const char **path);
/* Both. */
int cmd_args_dump(const struct command *c, const struct cmd_args *args, void *ctx, int argc,
		  char **argv, const char **path);
/* Options, and nothing may be left. */
int cmd_args_none(const struct command *c, const struct cmd_args *args, void *ctx, int argc,
		  char **argv);

/* --from and --to as typed: relative to the trigger. */
struct cmd_span {
	bool has_from, has_to;
	int64_t from_ns, to_ns;
};

int cmd_span_from(struct cmd_span *s, const char *arg, struct err *err);
int cmd_span_to(struct cmd_span *s, const char *arg, struct err *err);
/* EXIT_FINE; EXIT_USAGE when --from is after --to. */
int cmd_span_check(const struct command *c, const struct cmd_span *s);
/* In the dump's clock; 0 and UINT64_MAX where nothing was said. EXIT_FINE; EXIT_USAGE, and it was
 * said, when --from is after all that the dump holds. */
int cmd_span_of(const struct cmd_span *s, const struct cmd_dump *d, uint64_t *from_ns,
		uint64_t *to_ns);
