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

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define CLEAR_LINE "\r\033[K"

/* The state of the terminal. Static: there is one stderr. */
static struct {
	pthread_mutex_t lock;
	enum log_level level;
	char status[512]; /* "": none */
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

/* Prints a message and redraws the status line. `kind` is "warning: ", "error: " or "". */
static void emit(const char *colour, const char *kind, const char *what, const char *hint)
{
	bool terminal = log_is_terminal();
	const char *no_colour = getenv("NO_COLOR");
	bool paint = terminal && *colour && !(no_colour && *no_colour);
	struct buf b = {0};
	char prefix[64];

	pthread_mutex_lock(&screen.lock);
	if (terminal && *screen.status)
		put(&b, CLEAR_LINE);
	snprintf(prefix, sizeof(prefix), "%sringback: %s%s", paint ? colour : "", kind,
		 paint ? "\033[0m" : "");
	put_lines(&b, prefix, "          ", what);
	if (*hint)
		put_lines(&b, "  hint: ", "        ", hint);
	if (terminal && *screen.status)
		put_status(&b);
	output_put(STDERR_FILENO, b.p, b.len);
	buf_free(&b);
	pthread_mutex_unlock(&screen.lock);
}

static void emit_format(const char *colour, const char *kind, const char *fmt, va_list ap)
{
	char text[2048];

	vsnprintf(text, sizeof(text), fmt, ap);
	emit(colour, kind, text, "");
}

void log_info(const char *fmt, ...)
{
	va_list ap;

	if (level_now() < LOG_NORMAL)
		return;
	va_start(ap, fmt);
	emit_format("", "", fmt, ap);
	va_end(ap);
}

void log_verbose(const char *fmt, ...)
{
	va_list ap;

	if (level_now() < LOG_VERBOSE)
		return;
	va_start(ap, fmt);
	emit_format("", "", fmt, ap);
	va_end(ap);
}

void log_warn(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	emit_format("\033[33m", "warning: ", fmt, ap);
	va_end(ap);
}

void log_err(const struct err *err)
{
	emit("\033[31m", "", err->what, err->hint);
}

void log_warn_err(const struct err *err)
{
	emit("\033[33m", "warning: ", err->what, err->hint);
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
