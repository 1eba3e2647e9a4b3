// SPDX-License-Identifier: MIT
/* Symbols of a kernel from its list; see kallsyms.h. Called by whatever collects symbols. */
#include "dump/view/symbols/kallsyms.h"

#include "dump/view/symbols/symbol_table.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The end of a module's last function is unknown; addresses further away are not in it. */
#define MAX_BYTES	 (1u << 20)
#define MAX_MODULE_BYTES (64u << 10)
/* No kernel has that many. */
#define MAX_LINES 8000000

struct kallsyms {
	struct symbol_table *table; /* of a module "name\t[module]" */
	uint64_t text;		    /* address of _text */
};

/* ---- reading ---- */

static bool is_code(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* "NAME" or "NAME\t[MODULE]"; ignores what follows. */
static int take(struct kallsyms *k, uint64_t addr, char type, char *name)
{
	enum symbol_table_rank rank = tolower(type) == 'w' ? SYMTAB_WEAK
				      : isupper(type)	   ? SYMTAB_GLOBAL
							   : SYMTAB_LOCAL;

	name[strcspn(name, "\n")] = '\0';
	if (!*name || *name == '$')
		return 0;
	if (!k->text && !strcmp(name, "_text"))
		k->text = addr;
	return symbol_table_add(k->table, addr, 0, rank, name);
}

static int read_lines(struct kallsyms *k, FILE *in, bool *hidden)
{
	char *line = NULL, *end;
	size_t cap = 0;
	int rc = 0;

	*hidden = true;
	for (size_t n = 0; !rc && n < MAX_LINES && getline(&line, &cap, in) > 0; n++) {
		uint64_t addr = strtoull(line, &end, 16);

		if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
			continue;
		if (!addr)
			continue;
		*hidden = false;
		if (is_code(end[1]) && addr >> 63)
			rc = take(k, addr, end[1], end + 3);
	}
	free(line);
	return rc;
}

int kallsyms_read(FILE *in, struct kallsyms **out)
{
	struct kallsyms *k = calloc(1, sizeof(*k));
	bool hidden;
	int rc = -ENOMEM;

	if (k)
		k->table = symbol_table_new();
	if (k && k->table)
		rc = read_lines(k, in, &hidden);
	if (!rc && hidden)
		rc = -EACCES;
	if (rc) {
		kallsyms_free(k);
		return rc;
	}
	symbol_table_sort(k->table, UINT64_MAX);
	*out = k;
	return 0;
}

void kallsyms_free(struct kallsyms *k)
{
	if (!k)
		return;
	symbol_table_free(k->table);
	free(k);
}

/* ---- asking ---- */

bool kallsyms_find(const struct kallsyms *k, uint64_t addr, struct kallsyms_function *out)
{
	struct symbol_table_function f;
	const char *tab;
	uint64_t max;

	if (!symbol_table_find(k->table, addr, &f))
		return false;
	tab = strchr(f.name, '\t');
	max = tab ? MAX_MODULE_BYTES : MAX_BYTES;
	if (addr - f.start >= max)
		return false;
	*out = (struct kallsyms_function){
		.start = f.start,
		.bytes = f.bytes < max ? f.bytes : max,
		.name = f.name,
		.name_bytes = tab ? (size_t)(tab - f.name) : strlen(f.name),
		.module = tab ? tab + 1 : "",
	};
	return true;
}

uint64_t kallsyms_text(const struct kallsyms *k)
{
	return k->text;
}
