/* SPDX-License-Identifier: MIT */
/*
 * Opening a dump for the commands that print one (info, script): what is damaged is read as far as
 * it is whole, and said so on stderr.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct meta;
struct reader;

struct cmd_dump {
	struct reader *r;
	struct meta *m;
	bool damaged; /* not a committed, whole file */
};

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

/* The moment of the dump's clock that is `rel_ns` from its trigger at `zero_ns`; what lies before
 * the clock's beginning or after its end is there. */
uint64_t cmd_dump_moment(uint64_t zero_ns, int64_t rel_ns);

/* Colours are wanted: stdout is a terminal and NO_COLOR isn't set. */
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
