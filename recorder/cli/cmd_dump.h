/* SPDX-License-Identifier: MIT */
/*
 * Opens a dump for the commands that read one. The intact blocks of a damaged dump are read, with a
 * warning on stderr.
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

/*
 * To be called before any dump is opened: confines this process (sandbox.h) to reading `dumps`, ended
 * by NULL, `also` (NULL: none) and, with `others`, the dumps beside the first one. Without a dump it
 * takes the newest (dump_dir.h) and prints its name. *path: the first dump. EXIT_FINE; EXIT_USAGE if
 * there is none. The pager and output files must be there already.
 */
struct command;
int cmd_dump_begin(const struct command *c, char **dumps, const char *also, bool others,
		   const char **path);
/* The newest dump (dump_dir.h), after printing its name; a confined process looks for it. EXIT_FINE;
 * EXIT_USAGE if there is none. */
int cmd_dump_newest(const struct command *c, const char **path);
/* Opens `path`. EXIT_FINE, or the exit code after the error was printed. */
int cmd_dump_open(const char *path, struct cmd_dump *d);
void cmd_dump_close(struct cmd_dump *d);

/*
 * The exit code of a command that printed the dump, after printing its error or warning. `rc`:
 * result of printing, with `err`; `nr_bad`: unreadable blocks. EPIPE is no error.
 */
struct err;
int cmd_dump_exit(const char *path, const struct cmd_dump *d, int rc, const struct err *err,
		  uint64_t nr_bad);

/*
 * For an output file. The job is a process of its own: it confines itself, while this one reads no dump
 * and gives the complete file its name (output_file.h). Returns the exit code.
 */
#define CMD_DUMP_DISCARD 64 /* in what write() returns: there is nothing to keep */
struct cmd_dump_job {
	const struct command *command;
	int (*write)(void *ctx, FILE *out); /* returns an exit code */
	/* What this process does in the meantime; NULL: nothing. */
	void (*serve)(void *ctx, FILE *out);
	void *ctx;
};
int cmd_dump_to_file(const char *path, bool force, const struct cmd_dump_job *job);

/* Whether to use colours: stdout is a terminal, not dumb, and NO_COLOR is not set. */
bool cmd_dump_color(void);

/* $COLUMNS, else the terminal's, else 100; from 80 to 200. */
unsigned cmd_dump_width(void);

/* A progress callback: shows progress on stderr if that is a terminal, and removes it at the end.
 * `ctx`: a struct cmd_progress. */
struct cmd_progress {
	const char *what; /* "report" */
	uint64_t told_ns;
};
void cmd_dump_progress(void *ctx, uint64_t done, uint64_t total);
