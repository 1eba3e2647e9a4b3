/* SPDX-License-Identifier: MIT */
/*
 * All messages of a running recorder. They go to stderr as "ringback: ..." lines; `record` prints
 * only the paths of committed dumps to stdout. On a terminal a status line stays at the bottom and
 * is redrawn after each message, and warnings and errors are coloured unless NO_COLOR is set. Any
 * thread may call.
 */
#pragma once

#include <stdbool.h>

struct err;

/* QUIET: warnings and errors only. */
enum log_level { LOG_QUIET, LOG_NORMAL, LOG_VERBOSE };

void log_set_level(enum log_level level);
void log_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Prints "ringback: WHAT" and, if there is a hint, "  hint: HINT" with aligned further lines. */
void log_err(const struct err *err);
void log_warn_err(const struct err *err);

/* Prints a line to stdout. */
void log_result(const char *text);

/* Sets the status line, on a terminal only. NULL removes it. */
void log_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool log_is_terminal(void);
