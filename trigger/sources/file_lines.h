/* SPDX-License-Identifier: MIT */
/*
 * Bytes of a file that grows into lines of bounded length. Of a longer line the beginning counts;
 * the rest is passed over. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINES_MAX 4096

struct file_lines {
	char buf[LINES_MAX]; /* the line that has no end yet */
	size_t len;
	bool any; /* there is such a line, maybe an empty one */
};

/*
 * The next complete line of what came before and of `n` bytes at `*at`, which moves on; without its
 * end. False: all are taken in and no line is complete. Valid until the next call.
 */
bool file_lines_next(struct file_lines *l, const char **at, size_t *n, const char **line,
		     size_t *len);
/* The line that never got an end, as when the file is replaced; false: there is none. */
bool file_lines_rest(struct file_lines *l, const char **line, size_t *len);
