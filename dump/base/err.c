// SPDX-License-Identifier: MIT
/* Errors with hints; see err.h. Nothing here allocates, so it is safe when memory is short. */
#include "dump/base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	err->hint[0] = '\0';
	return code;
}

int err_sys(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;
	size_t n;

	if (!err)
		return code;
	va_start(ap, fmt);
	vsnprintf(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	n = strlen(err->what);
	snprintf(err->what + n, sizeof(err->what) - n, ": %s", strerror(-code));
	err->hint[0] = '\0';
	return code;
}

void err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return;
	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
}

void err_prefix(struct err *err, const char *fmt, ...)
{
	char was[sizeof(err->what)];
	va_list ap;
	size_t n;

	if (!err)
		return;
	memcpy(was, err->what, sizeof(was));
	va_start(ap, fmt);
	vsnprintf(err->what, sizeof(err->what), fmt, ap);
	va_end(ap);
	n = strlen(err->what);
	snprintf(err->what + n, sizeof(err->what) - n, ": %.*s", (int)(sizeof(was) - n - 3), was);
}
