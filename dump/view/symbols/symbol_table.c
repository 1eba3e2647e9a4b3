// SPDX-License-Identifier: MIT
/* Names of code, sorted by address; see symbol_table.h. Called by symbol_file.c and kallsyms.c. */
#include "dump/view/symbols/symbol_table.h"

#include "dump/base/bytes.h"
#include "dump/base/elf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limit on nested functions to search; real code does not nest deeper. */
#define MAX_BACK 64
/* Longer names are cut: C++ names can have many KiB. */
#define MAX_NAME 4096

struct symbol_entry {
	uint64_t start, end; /* end 0: not known yet */
	uint64_t max_end;    /* of this entry and all before it */
	uint32_t name;	     /* offset in `names` */
	uint8_t rank;
	bool sized;
};

struct symbol_table {
	struct buf entries, names;
	size_t nr;
};

struct symbol_table *symbol_table_new(void)
{
	return calloc(1, sizeof(struct symbol_table));
}

void symbol_table_free(struct symbol_table *t)
{
	if (!t)
		return;
	buf_free(&t->entries);
	buf_free(&t->names);
	free(t);
}

static const char *name_of(const struct symbol_table *t, const struct symbol_entry *e)
{
	return (const char *)t->names.p + e->name;
}

/* ---- filling ---- */

static int add(struct symbol_table *t, struct symbol_entry *e, const char *name, size_t len,
	       const char *more)
{
	if (len > MAX_NAME)
		len = MAX_NAME;
	if (t->names.len > UINT32_MAX - 2 * MAX_NAME)
		return -ENOMEM;
	e->name = (uint32_t)t->names.len;
	if (buf_put(&t->names, name, len) || buf_put(&t->names, more, strlen(more) + 1) ||
	    buf_put(&t->entries, e, sizeof(*e)))
		return -ENOMEM;
	t->nr++;
	return 0;
}

static struct symbol_entry entry_of(uint64_t start, uint64_t bytes, enum symbol_table_rank rank)
{
	bool sized = bytes && bytes <= UINT64_MAX - start;

	return (struct symbol_entry){
		.start = start, .end = sized ? start + bytes : 0, .rank = rank, .sized = sized};
}

int symbol_table_add(struct symbol_table *t, uint64_t start, uint64_t bytes,
		     enum symbol_table_rank rank, const char *name)
{
	struct symbol_entry e = entry_of(start, bytes, rank);

	return add(t, &e, name, strlen(name), "");
}

static int take_code(void *ctx, const struct elf_code *c)
{
	enum symbol_table_rank rank = !c->function   ? SYMTAB_LABEL
				      : c->bind == 2 ? SYMTAB_WEAK
				      : c->bind	     ? SYMTAB_GLOBAL
						     : SYMTAB_LOCAL;
	struct symbol_entry e = entry_of(c->value, c->bytes, rank);
	size_t len = strcspn(c->name, "@");

	return add(ctx, &e, c->name, len ? len : strlen(c->name), "");
}

int symbol_table_add_elf(struct symbol_table *t, struct elf *e)
{
	return elf_each_code(e, take_code, t);
}

static int take_stub(void *ctx, const struct elf_code *c)
{
	struct symbol_entry e = entry_of(c->value, c->bytes, SYMTAB_LOCAL);

	return add(ctx, &e, c->name, strcspn(c->name, "@"), "@plt");
}

int symbol_table_add_stubs(struct symbol_table *t, struct elf *e)
{
	return elf_each_stub(e, take_stub, t);
}

/* ---- order ---- */

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* Negative: x is the better name of their place. */
static int compare_names(const struct symbol_table *t, const struct symbol_entry *x,
			 const struct symbol_entry *y)
{
	const char *a = name_of(t, x), *b = name_of(t, y);
	size_t na, nb;

	if ((x->rank == SYMTAB_LABEL) != (y->rank == SYMTAB_LABEL))
		return x->rank == SYMTAB_LABEL ? 1 : -1;
	if (x->sized != y->sized)
		return x->sized ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	na = underscores(a);
	nb = underscores(b);
	if (na != nb)
		return na < nb ? -1 : 1;
	na = strlen(a);
	nb = strlen(b);
	if (na != nb)
		return na > nb ? -1 : 1;
	return strcmp(a, b);
}

static int compare(const void *a, const void *b, void *ctx)
{
	const struct symbol_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return compare_names(ctx, x, y);
}

/* Keeps the best name of each place, and drops labels within a function. */
static void keep_best(struct symbol_table *t)
{
	struct symbol_entry *v = (struct symbol_entry *)t->entries.p;
	uint64_t covered = 0;
	size_t nr = 0;

	for (size_t i = 0; i < t->nr; i++) {
		if (nr && v[nr - 1].start == v[i].start)
			continue;
		if (v[i].rank == SYMTAB_LABEL && v[i].start < covered)
			continue;
		if (v[i].rank != SYMTAB_LABEL && v[i].end > covered)
			covered = v[i].end;
		v[nr++] = v[i];
	}
	t->nr = nr;
}

void symbol_table_sort(struct symbol_table *t, uint64_t end)
{
	struct symbol_entry *v = (struct symbol_entry *)t->entries.p;
	uint64_t max = 0;

	if (!t->nr)
		return;
	qsort_r(v, t->nr, sizeof(*v), compare, t);
	keep_best(t);
	for (size_t i = 0; i < t->nr; i++) {
		if (!v[i].sized)
			v[i].end = i + 1 < t->nr ? v[i + 1].start : end;
		if (v[i].end > max)
			max = v[i].end;
		v[i].max_end = max;
	}
}

/* ---- asking ---- */

/* The number of entries that begin at or before `value`. */
static size_t until(const struct symbol_table *t, uint64_t value)
{
	const struct symbol_entry *v = (const struct symbol_entry *)t->entries.p;
	size_t from = 0, to = t->nr;

	while (from < to) {
		size_t mid = from + (to - from) / 2;

		if (v[mid].start <= value)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

bool symbol_table_find(const struct symbol_table *t, uint64_t value,
		       struct symbol_table_function *out)
{
	const struct symbol_entry *v = (const struct symbol_entry *)t->entries.p;
	size_t i = until(t, value);

	for (int n = 0; n < MAX_BACK && i-- && v[i].max_end > value; n++) {
		if (v[i].end <= value)
			continue;
		*out = (struct symbol_table_function){v[i].start, v[i].end - v[i].start,
						      name_of(t, &v[i])};
		return true;
	}
	return false;
}
