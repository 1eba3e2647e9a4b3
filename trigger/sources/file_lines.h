/* SPDX-License-Identifier: MIT */
/* Splits the bytes of a growing file into lines of at most LINES_MAX bytes; the rest of a longer
 * line is skipped. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINES_MAX 4096

struct file_lines {
	char buf[LINES_MAX]; /* an incomplete line */
	size_t len;
	bool any; /* there is an incomplete line, maybe an empty one */
};

/* The next complete line of earlier input and the `n` bytes at `*at`, without its newline; advances
 * both. Valid until the next call. False: all input is consumed and no line is complete. */
bool file_lines_next(struct file_lines *l, const char **at, size_t *n, const char **line,
		     size_t *len);
/* The incomplete line, for a file that has been replaced; false: there is none. */
bool file_lines_rest(struct file_lines *l, const char **line, size_t *len);
