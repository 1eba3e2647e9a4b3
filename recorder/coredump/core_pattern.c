// SPDX-License-Identifier: MIT
/* Expands the kernel's core_pattern for one crash; see core_pattern.h. */
#include "recorder/coredump/core_pattern.h"

#include "dump/base/bytes.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum core_kind core_pattern_kind(const char *pattern)
{
	return *pattern == '|' ? CORE_PIPE : *pattern == '@' ? CORE_SOCKET : CORE_FILE;
}

static int put(struct buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int put(struct buf *out, const char *fmt, ...)
{
	char text[32];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return buf_put(out, text, (size_t)n);
}

/* Appends untrusted text as one component of a path: "!" replaces "/", an empty text, and the first
 * character of "." and "..". */
static int put_safe(struct buf *out, const char *text)
{
	size_t from = out->len, n = strlen(text);
	int rc = n ? buf_put(out, text, n) : buf_put(out, "!", 1);

	if (rc || !n)
		return rc;
	if (!strcmp(text, ".") || !strcmp(text, ".."))
		out->p[from] = '!';
	for (size_t i = from; i < out->len; i++)
		if (out->p[i] == '/')
			out->p[i] = '!';
	return 0;
}

static int put_exe(struct buf *out, const struct core_names *n, bool name_only)
{
	static const char deleted[] = " (deleted)";
	char text[sizeof(n->exe)];
	const char *slash;
	size_t len;

	if (!*n->exe) {
		snprintf(text, sizeof(text), "%s (path unknown)", n->comm);
		return put_safe(out, text);
	}
	snprintf(text, sizeof(text), "%s", n->exe);
	if (!name_only)
		return put_safe(out, text);
	len = strlen(text);
	if (len > sizeof(deleted) && !strcmp(text + len - sizeof(deleted) + 1, deleted))
		text[len - sizeof(deleted) + 1] = '\0';
	slash = strrchr(text, '/');
	return put_safe(out, slash ? slash + 1 : text);
}

/* Unknown letters expand to nothing. */
static int put_letter(struct buf *out, char letter, const struct core_names *n, bool pipe)
{
	switch (letter) {
	case '%':
		return put(out, "%%");
	case 'p':
		return put(out, "%d", (int)n->own_pid);
	case 'P':
		return put(out, "%d", (int)n->pid);
	case 'i':
		return put(out, "%d", (int)n->own_tid);
	case 'I':
		return put(out, "%d", (int)n->tid);
	case 'u':
		return put(out, "%u", n->uid);
	case 'g':
		return put(out, "%u", n->gid);
	case 'd':
		return put(out, "%d", n->dumpable);
	case 's':
		return put(out, "%d", n->sig);
	case 't':
		return put(out, "%lld", (long long)n->real_s);
	case 'h':
		return put_safe(out, n->host);
	case 'e':
		return put_safe(out, n->comm);
	case 'f':
		return put_exe(out, n, true);
	case 'E':
		return put_exe(out, n, false);
	case 'c':
		return put(out, "%llu", (unsigned long long)n->core_limit);
	case 'C':
		return put(out, "%d", n->cpu);
	case 'F':
		return pipe ? put(out, "%d", CORE_PIDFD) : 0;
	default:
		return 0;
	}
}

/* Splits arguments before the letters are expanded, so that a name with blanks stays one
 * argument. */
static bool next_arg(const char *p, size_t from, bool *blank, const struct buf *out)
{
	if (isspace((unsigned char)*p)) {
		*blank = out->len > from;
		return false;
	}
	return true;
}

int core_pattern_expand(const char *pattern, const struct core_names *n, bool uses_pid,
			struct buf *out, size_t args[CORE_PATTERN_ARGS], size_t *nr)
{
	bool pipe = core_pattern_kind(pattern) == CORE_PIPE, blank = false, has_pid = false;
	size_t from = out->len;
	int rc = 0;

	*nr = 0;
	args[(*nr)++] = from;
	for (const char *p = pattern + pipe; *p && !rc; p++) {
		if (pipe && !next_arg(p, from, &blank, out))
			continue;
		if (blank) {
			blank = false;
			rc = buf_put(out, "", 1);
			if (rc || *nr == CORE_PATTERN_ARGS)
				return rc ? rc : -EINVAL;
			args[(*nr)++] = out->len;
		}
		if (*p != '%') {
			rc = buf_put(out, p, 1);
			continue;
		}
		if (!*++p)
			break;
		has_pid |= *p == 'p';
		rc = put_letter(out, *p, n, pipe);
	}
	if (!rc && !pipe && !has_pid && uses_pid)
		rc = put(out, ".%d", (int)n->own_pid);
	if (!rc && out->len == from)
		rc = -EINVAL;
	return rc ? rc : buf_put(out, "", 1);
}
