// SPDX-License-Identifier: MIT
/*
 * Messages on stderr; see log.h. Each message is passed to async_output.c whole, under a lock, so
 * that lines of different threads do not mix. Control characters in the text are escaped, since
 * names in it come from other processes. On a terminal the status line is cleared before a message
 * and drawn again below it:
 *
 *	\r\033[K ringback: a message \n ringback: recording, 3 dumps (no newline; cut to the width)
 */
#include "recorder/base/log.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/base/async_output.h"
#include "recorder/base/journal.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

#define MAX_FIELDS 16 /* of an entry in the journal */

/* Priorities of syslog(3). */
enum { PRIORITY_ERR = 3, PRIORITY_WARNING, PRIORITY_INFO = 6, PRIORITY_DEBUG };

/* Each with an id made by systemd-id128 new, which never changes. */
static const struct {
	const char *id;
	int priority;
} events[LOG_NR_EVENTS] = {
	[LOG_RECORDING] = {"47c084a28cc142edab035e27556f1179", PRIORITY_INFO},
	[LOG_DUMP] = {"6d2b9c2037f748b5952485ce64a16060", PRIORITY_INFO},
	[LOG_NO_DUMP] = {"1ec9c35dcc1a4ddea12a54f27d9abb49", PRIORITY_INFO},
	[LOG_HIT] = {"aa3813081a3547f5ab5da5801cfb80dc", PRIORITY_DEBUG},
	[LOG_LOST] = {"ad6252e5c8164283b12579d05f9748b1", PRIORITY_WARNING},
	[LOG_RELOADED] = {"acae7440cff44903927e6f991ae090e2", PRIORITY_INFO},
};

/* The state of the terminal. Static: there is one stderr. */
static struct {
	pthread_mutex_t lock;
	enum log_level level;
	char status[512];    /* "": none */
	const char *journal; /* its socket; NULL: messages go to stderr */
} screen = {.lock = PTHREAD_MUTEX_INITIALIZER, .level = LOG_NORMAL};

bool log_is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && !(term && !strcmp(term, "dumb"));
}

void log_set_level(enum log_level level)
{
	pthread_mutex_lock(&screen.lock);
	screen.level = level;
	pthread_mutex_unlock(&screen.lock);
}

static enum log_level level_now(void)
{
	enum log_level level;

	pthread_mutex_lock(&screen.lock);
	level = screen.level;
	pthread_mutex_unlock(&screen.lock);
	return level;
}

static void put(struct buf *b, const char *text)
{
	buf_put(b, text, strlen(text));
}

static size_t width(void)
{
	struct winsize w;

	if (!ioctl(STDERR_FILENO, TIOCGWINSZ, &w) && w.ws_col)
		return w.ws_col;
	return 80;
}

/* Cuts the status to the width: a line that wraps could not be cleared. */
static void put_status(struct buf *b)
{
	size_t columns = width() - 1, len = 0;

	for (const char *p = screen.status; *p; p++, len++)
		if ((*p & 0xc0) != 0x80 && !columns--)
			break;
	buf_put(b, screen.status, len);
}

/* "PREFIX LINE\n"; further lines of `text` are indented by `indent`. */
static void put_lines(struct buf *b, const char *prefix, const char *indent, const char *text)
{
	char safe[2048];

	for (;;) {
		size_t n = strcspn(text, "\n");

		put(b, prefix);
		put(b, str_safe(safe, sizeof(safe), text, n));
		put(b, "\n");
		if (!text[n])
			break;
		text += n + 1;
		prefix = indent;
	}
}

/* Prints a message and redraws the status line. The lock is held. */
static void emit_text(int priority, const char *what, const char *hint)
{
	bool terminal = log_is_terminal();
	const char *no_colour = getenv("NO_COLOR");
	bool paint = terminal && priority <= PRIORITY_WARNING && !(no_colour && *no_colour);
	const char *colour = priority == PRIORITY_ERR ? "\033[31m" : "\033[33m";
	struct buf b = {0};
	char prefix[64], level[8] = "";

	if (terminal && *screen.status)
		put(&b, CLEAR_LINE);
	if (screen.journal)
		snprintf(level, sizeof(level), "<%d>", priority);
	snprintf(prefix, sizeof(prefix), "%s%sringback: %s%s", level, paint ? colour : "",
		 priority == PRIORITY_WARNING ? "warning: " : "", paint ? "\033[0m" : "");
	put_lines(&b, prefix, "          ", what);
	if (*hint)
		put_lines(&b, "  hint: ", "        ", hint);
	if (terminal && *screen.status)
		put_status(&b);
	output_put(STDERR_FILENO, b.p, b.len);
	buf_free(&b);
}

/* The message with its hint as an entry of the journal. The lock is held. */
static int emit_entry(int priority, const char *id, const char *const *fields, const char *what,
		      const char *hint)
{
	struct buf b = {0};
	char level[2] = {(char)('0' + priority), '\0'};
	struct journal_field f[MAX_FIELDS];
	size_t nr = 4;
	int rc;

	put_lines(&b, "", "", what);
	if (*hint)
		put_lines(&b, "hint: ", "      ", hint);
	if (!b.len)
		return -ENOMEM;
	b.p[b.len - 1] = '\0'; /* the last newline */
	f[0] = (struct journal_field){"MESSAGE", (const char *)b.p};
	f[1] = (struct journal_field){"PRIORITY", level};
	f[2] = (struct journal_field){"SYSLOG_IDENTIFIER", "ringback"};
	f[3] = (struct journal_field){"MESSAGE_ID", id};
	nr -= !id;
	for (; fields && *fields && nr < MAX_FIELDS; fields += 2)
		if (*fields[1])
			f[nr++] = (struct journal_field){fields[0], fields[1]};
	rc = journal_send(screen.journal, f, nr);
	buf_free(&b);
	return rc;
}

static void emit(int priority, const char *id, const char *const *fields, const char *what,
		 const char *hint)
{
	pthread_mutex_lock(&screen.lock);
	if (!screen.journal || emit_entry(priority, id, fields, what, hint))
		emit_text(priority, what, hint);
	pthread_mutex_unlock(&screen.lock);
}

static void emit_format(int priority, const char *id, const char *const *fields, const char *fmt,
			va_list ap)
{
	char text[2048];

	if (level_now() < (priority == PRIORITY_DEBUG  ? LOG_VERBOSE
			   : priority == PRIORITY_INFO ? LOG_NORMAL
						       : LOG_QUIET))
		return;
	vsnprintf(text, sizeof(text), fmt, ap);
	emit(priority, id, fields, text, "");
}

void log_to_journal(const char *socket)
{
	pthread_mutex_lock(&screen.lock);
	screen.journal = journal_has_stderr() ? socket : NULL;
	pthread_mutex_unlock(&screen.lock);
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit_format(PRIORITY_INFO, NULL, NULL, fmt, ap);
	va_end(ap);
}

void log_verbose(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit_format(PRIORITY_DEBUG, NULL, NULL, fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit_format(PRIORITY_WARNING, NULL, NULL, fmt, ap);
	va_end(ap);
}

void log_event(enum log_event event, const char *const *fields, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit_format(events[event].priority, events[event].id, fields, fmt, ap);
	va_end(ap);
}

void log_err(const struct err *err)
{
	emit(PRIORITY_ERR, NULL, NULL, err->what, err->hint);
}

void log_warn_err(const struct err *err)
{
	emit(PRIORITY_WARNING, NULL, NULL, err->what, err->hint);
}

void log_result(const char *text)
{
	struct buf b = {0};

	put(&b, text);
	put(&b, "\n");
	output_put(STDOUT_FILENO, b.p, b.len);
	buf_free(&b);
}

void log_status(const char *fmt, ...)
{
	struct buf b = {0};
	char text[sizeof(screen.status)] = "";
	va_list ap;

	if (!log_is_terminal())
		return;
	if (fmt) {
		va_start(ap, fmt);
		vsnprintf(text, sizeof(text), fmt, ap);
		va_end(ap);
	}
	pthread_mutex_lock(&screen.lock);
	if (screen.level > LOG_QUIET && (*text || *screen.status)) {
		str_safe(screen.status, sizeof(screen.status), text, strlen(text));
		put(&b, CLEAR_LINE);
		put_status(&b);
		output_put(STDERR_FILENO, b.p, b.len);
		buf_free(&b);
	}
	pthread_mutex_unlock(&screen.lock);
}
