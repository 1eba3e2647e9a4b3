// SPDX-License-Identifier: MIT
/*
 * Source places through libdw; see dwarf.h. Called by symbol_file.c.
 *
 *	address ──▶ unit whose ranges hold it ──▶ line table ──▶ file:line of the innermost
 *	                   └─▶ innermost scope, then outward: an inlined subroutine says where it
 *	                       was called, which is file:line of the next one out
 */
#include "dump/view/symbols/dwarf.h"

#include "dump/base/array.h"
#include "dump/base/elf_impl.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#define MAX_UNITS  (1u << 20)
#define MAX_RANGES (1u << 22)
#define MAX_SCOPES 256

/* Addresses of one unit. */
struct range {
	uint64_t start, end;
	Dwarf_Off unit; /* of its DIE */
};

struct dwarf {
	Dwarf *libdw;
	struct buf ranges; /* struct range[] by start */
};

/* ---- units ---- */

static bool add_ranges(struct dwarf *d, Dwarf_Die *unit)
{
	struct range r = {.unit = dwarf_dieoffset(unit)};
	ptrdiff_t at = 0;
	Dwarf_Addr base;

	while ((at = dwarf_ranges(unit, at, &base, &r.start, &r.end)) > 0) {
		if (r.start < r.end && buf_put(&d->ranges, &r, sizeof(r)))
			return false;
		if (d->ranges.len / sizeof(r) >= MAX_RANGES)
			return false;
	}
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Not .debug_aranges: not every compiler writes it. */
static void read_units(struct dwarf *d)
{
	Dwarf_Off off = 0, next;
	size_t head;

	for (size_t i = 0; i < MAX_UNITS; i++, off = next) {
		Dwarf_Die unit;

		if (dwarf_nextcu(d->libdw, off, &next, &head, NULL, NULL, NULL) || next <= off)
			break;
		if (dwarf_offdie(d->libdw, off + head, &unit) && !add_ranges(d, &unit))
			break;
	}
	if (d->ranges.len)
		qsort(d->ranges.p, d->ranges.len / sizeof(struct range), sizeof(struct range),
		      compare);
}

struct dwarf *dwarf_open(struct elf *e)
{
	struct dwarf *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->libdw = dwarf_begin_elf(e->libelf, DWARF_C_READ, NULL);
	if (d->libdw)
		read_units(d);
	if (d->ranges.len)
		return d;
	dwarf_close(d);
	return NULL;
}

void dwarf_close(struct dwarf *d)
{
	if (!d)
		return;
	if (d->libdw)
		dwarf_end(d->libdw);
	buf_free(&d->ranges);
	free(d);
}

static bool unit_of(const struct dwarf *d, uint64_t value, Dwarf_Die *unit)
{
	const struct range *v = (const struct range *)d->ranges.p;
	size_t nr = array_bisect(i, d->ranges.len / sizeof(*v), v[i].start <= value);

	return nr && value < v[nr - 1].end && dwarf_offdie(d->libdw, v[nr - 1].unit, unit);
}

/* ---- places ---- */

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &a) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		name = dwarf_formstring(&a);
	if (!name)
		name = dwarf_diename(die);
	return name ? name : "";
}

static const char *file_name(Dwarf_Die *unit, Dwarf_Word index)
{
	Dwarf_Files *files;
	size_t nr;
	const char *name;

	if (dwarf_getsrcfiles(unit, &files, &nr) || index >= nr)
		return "";
	name = dwarf_filesrc(files, index, NULL, NULL);
	return name ? name : "";
}

static Dwarf_Word number(Dwarf_Die *die, unsigned what)
{
	Dwarf_Attribute a;
	Dwarf_Word v = 0;

	return dwarf_attr(die, what, &a) && !dwarf_formudata(&a, &v) ? v : 0;
}

/* Sets file and line from the line table. */
static void set_line(Dwarf_Die *unit, uint64_t value, struct dwarf_place *p)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, value);
	const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int nr = 0;

	p->file = file ? file : "";
	if (line && !dwarf_lineno(line, &nr) && nr > 0)
		p->line = (uint32_t)nr;
}

/* The scopes around `value`, innermost first, by their nesting in the code, not in the source: the
 * scopes around an inlined function's definition are not relevant. */
static int scopes_at(Dwarf_Die *unit, uint64_t value, Dwarf_Die **scopes)
{
	Dwarf_Die innermost, *first = NULL;
	int nr = dwarf_getscopes(unit, value, &first);

	if (nr <= 0)
		return 0;
	innermost = first[0];
	free(first);
	*scopes = NULL;
	nr = dwarf_getscopes_die(&innermost, scopes);
	return nr < 0 ? 0 : nr;
}

size_t dwarf_places(struct dwarf *d, uint64_t value, struct dwarf_place *places, size_t max)
{
	struct dwarf_place p = {"", "", 0};
	Dwarf_Die unit, *scopes;
	size_t nr = 0;
	int nr_scopes;

	if (!max || !unit_of(d, value, &unit))
		return 0;
	set_line(&unit, value, &p);
	nr_scopes = scopes_at(&unit, value, &scopes);
	for (int i = 0; i < nr_scopes && i < MAX_SCOPES && nr < max; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram)
			continue;
		p.function = function_name(&scopes[i]);
		places[nr++] = p;
		if (tag == DW_TAG_subprogram)
			break;
		p = (struct dwarf_place){"", file_name(&unit, number(&scopes[i], DW_AT_call_file)),
					 (uint32_t)number(&scopes[i], DW_AT_call_line)};
	}
	if (nr_scopes)
		free(scopes);
	if (!nr && (p.line || *p.file))
		places[nr++] = p;
	return nr;
}
