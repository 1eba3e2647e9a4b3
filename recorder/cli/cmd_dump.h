/* SPDX-License-Identifier: MIT */
/*
 * Opening a dump for the commands that read one. Of a damaged dump the intact blocks are read, with
 * a warning on stderr.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct meta;
struct reader;

struct cmd_dump {
	struct reader *r;
	struct meta *m;
	bool damaged; /* not committed, or not intact */
};

/* The exit codes, for --help. */
#define CMD_DUMP_EXIT "Exit status: 0 success, 3 DUMP is damaged: its intact blocks were read.\n"

/* The dump that was named, else the newest (dump_dir.h), and prints which. EXIT_FINE; EXIT_USAGE if
 * there is none. */
struct command;
int cmd_dump_named(const struct command *c, char **operands, const char **path);
/* Opens `path`. EXIT_FINE, or the exit code after the error was printed. */
int cmd_dump_open(const char *path, struct cmd_dump *d);
void cmd_dump_close(struct cmd_dump *d);

/*
 * The exit code of a command that printed the dump: `rc` is what printing returned (its error in
 * `err`), `nr_bad` blocks could not be read. Prints what there is to say. A reader of stdout that
 * went away is none.
 */
struct err;
int cmd_dump_exit(const char *path, const struct cmd_dump *d, int rc, const struct err *err,
		  uint64_t nr_bad);

/*
 * For commands with an output file: `write(ctx, out)` writes it and returns an exit code. The file
 * gets its name when all of it is there (output_file.h). The exit code.
 */
int cmd_dump_to_file(const char *path, bool force, int (*write)(void *ctx, FILE *out), void *ctx);

/* Colours are wanted: stdout is a terminal, not a dumb one, and NO_COLOR isn't set. */
bool cmd_dump_color(void);

/* Columns of the terminal: COLUMNS where that is set, else what the terminal says; 100 when stdout
 * is none. At least 80, at most 200. */
unsigned cmd_dump_width(void);

/* For options that take such a function: tells the progress on stderr when that is a terminal, and
 * takes it away when all is done. `ctx`: a struct cmd_progress. */
struct cmd_progress {
	const char *what; /* "report" */
	uint64_t told_ns;
};
void cmd_dump_progress(void *ctx, uint64_t done, uint64_t total);
