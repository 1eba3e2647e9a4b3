/* SPDX-License-Identifier: MIT */
/* Whose line it is that was written to a file: called by src_file.c when a line matches. */
#pragma once

#include <regex.h>

struct sighting;

/*
 * The process that has the file behind `fd` open for writing, as far as /proc shows it: sets pid,
 * tid, uid and "writer=NAME (PID)"; of several only the lines "writer=", since any of them may have
 * written. Reads links in /proc only, so it waits for no file system.
 */
void file_owner_writer(int fd, struct sighting *what);

/*
 * The process whose pid is in the line: what the first parenthesized group of `re`, else the whole
 * match, matches. Sets the same, or "pid=N (no such process)".
 */
void file_owner_from_line(const regex_t *re, const char *line, size_t len, struct sighting *what);
