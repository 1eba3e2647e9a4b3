// SPDX-License-Identifier: MIT
/* Tables on stdout; see table.h. */
#include "recorder/base/table.h"

#include "dump/base/array.h"
#include "dump/base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct table {
	const char *columns;
	size_t nr_columns;
	char **cells;
	size_t nr_cells;
	int failed;
};

struct table *table_new(const char *columns)
{
	struct table *t = calloc(1, sizeof(*t));

	if (t) {
		t->columns = columns;
		t->nr_columns = strlen(columns);
	}
	return t;
}

void table_free(struct table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->nr_cells; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}

static char *format(const char *fmt, va_list ap)
{
	char *text, *safe;
	size_t n;

	if (vasprintf(&text, fmt, ap) < 0)
		return NULL;
	n = strlen(text);
	safe = malloc(4 * n + 1);
	if (safe)
		str_safe(safe, 4 * n + 1, text, n);
	free(text);
	return safe;
}

void table_cell(struct table *t, const char *fmt, ...)
{
	va_list ap;
	char *cell;

	if (!t || t->failed)
		return;
	if (!array_room(t->cells, t->nr_cells)) {
		t->failed = -ENOMEM;
		return;
	}
	va_start(ap, fmt);
	cell = format(fmt, ap);
	va_end(ap);
	if (cell)
		t->cells[t->nr_cells++] = cell;
	else
		t->failed = -ENOMEM;
}

/* In characters, not bytes. */
static int width(const char *cell)
{
	int n = 0;

	for (; *cell; cell++)
		n += (*cell & 0xc0) != 0x80;
	return n;
}

static int column_width(const struct table *t, size_t column)
{
	int widest = 0;

	for (size_t i = column; i < t->nr_cells; i += t->nr_columns)
		widest = width(t->cells[i]) > widest ? width(t->cells[i]) : widest;
	return widest;
}

int table_print(const struct table *t, int indent, FILE *out)
{
	if (!t || t->failed)
		return -ENOMEM;
	for (size_t i = 0; i < t->nr_cells; i++) {
		size_t column = i % t->nr_columns;
		int pad = column_width(t, column) - width(t->cells[i]);
		bool last = column + 1 == t->nr_columns || i + 1 == t->nr_cells;

		if (!column)
			fprintf(out, "%*s", indent, "");
		if (t->columns[column] == 'r')
			fprintf(out, "%*s%s", pad, "", t->cells[i]);
		else
			fprintf(out, "%s%*s", t->cells[i], last ? 0 : pad, "");
		fputs(last ? "\n" : "  ", out);
	}
	return 0;
}
