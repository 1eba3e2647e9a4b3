/* SPDX-License-Identifier: MIT */
/*
 * The only place that prints while running. Everything goes to stderr as "ringback: ..." lines; a
 * committed dump's path is the only thing record prints on stdout. On a
 * terminal one status line is kept at the bottom and rewritten around messages, and warnings and
 * errors are coloured unless NO_COLOR is set. Any thread may call.
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
/* "ringback: WHAT" and, where there is a hint, "  hint: HINT", whose further lines are aligned
 * below. */
void log_err(const struct err *err);
void log_warn_err(const struct err *err);

/* A line on stdout. */
void log_result(const char *text);

/* Sets the status line (terminal only; ignored otherwise); NULL takes it away. */
void log_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool log_is_terminal(void);
