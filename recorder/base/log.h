/* SPDX-License-Identifier: MIT */
/*
 * All messages of a running recorder. They go to stderr as "ringback: ..." lines; `record` prints
 * only the paths of committed dumps to stdout. On a terminal a status line stays at the bottom and
 * is redrawn after each message, and warnings and errors are coloured unless NO_COLOR is set. In a
 * service whose stderr is the journal, each message is an entry with a priority and fields instead.
 * Any thread may call.
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

/* Messages with an id (MESSAGE_ID) in the journal; ringback-record(1) lists them. */
enum log_event {
	LOG_RECORDING,
	LOG_DUMP,
	LOG_NO_DUMP,
	LOG_HIT, /* printed with LOG_VERBOSE */
	LOG_LOST,
	LOG_RELOADED,
	LOG_NR_EVENTS
};

/* `fields`: for the journal only: "NAME", "value", ..., NULL; a field with an empty value is left
 * out. NULL: none. */
void log_event(enum log_event event, const char *const *fields, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Later messages go to the journal at `socket` (JOURNAL_SOCKET) if stderr is a stream of it. A
 * message that the journal does not take at once goes to stderr, as "<priority>ringback: ...". */
void log_to_journal(const char *socket);

/* Prints a line to stdout. */
void log_result(const char *text);

/* Sets the status line, on a terminal only. NULL removes it. */
void log_status(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool log_is_terminal(void);
