/* SPDX-License-Identifier: MIT */
/* Finds the process that wrote a line to a file; src_file.c calls this for a matching line. */
#pragma once

#include <regex.h>

struct sighting;

/*
 * Searches /proc for the process that has the file of `fd` open for writing. Sets pid, tid, uid and
 * "writer=NAME (PID)"; if several have it open, only the lines "writer=", since any of them may
 * have written. It reads only /proc, so no file system can block it.
 */
void file_owner_writer(int fd, struct sighting *what);

/* The process with the pid in the line: the text that matches the first parenthesized group of
 * `re`, else the whole match. Sets pid, tid, uid and name, or "pid=N (no such process)". */
void file_owner_from_line(const regex_t *re, const char *line, size_t len, struct sighting *what);
