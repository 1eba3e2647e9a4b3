// SPDX-License-Identifier: MIT
/* Opens and closes the parts of an analysis; see analysis.h. */
#include "dump/view/analysis/analysis.h"

#include <string.h>

int analysis_open(struct analysis *a, unsigned parts, struct err *err)
{
	int rc = 0;

	if (parts & ANALYSIS_SCHEDULE)
		parts |= ANALYSIS_CHAINS | ANALYSIS_FIELDS;
	if (parts & ANALYSIS_CHAINS)
		parts |= ANALYSIS_STACKS;
	if (parts & ANALYSIS_STACKS)
		parts |= ANALYSIS_SYMBOLS;
	if (parts & ANALYSIS_SYMBOLS)
		parts |= ANALYSIS_HISTORY;
	if (parts & ANALYSIS_HISTORY && !a->history)
		rc = history_load(a->r, &a->history, err);
	if (!rc && parts & ANALYSIS_FIELDS && !a->fields)
		rc = fields_new(a->m, &a->fields, err);
	if (!rc && parts & ANALYSIS_SYMBOLS && !a->symbols)
		rc = symbols_load(a->r, a->history, &a->symbols, err);
	if (!rc && parts & ANALYSIS_STACKS && !a->stacks)
		rc = stacks_new(a->m, a->history, a->symbols, &a->stacks, err);
	if (!rc && parts & ANALYSIS_CHAINS && !a->chains)
		rc = call_chains_new(a->stacks, &a->chains, err);
	if (!rc && parts & ANALYSIS_SCHEDULE && !a->sched)
		rc = schedule_new(a->m, a->fields, a->history, a->chains, &a->sched, err);
	return rc;
}

void analysis_close(struct analysis *a)
{
	schedule_free(a->sched);
	call_chains_free(a->chains);
	stacks_free(a->stacks);
	symbols_free(a->symbols);
	fields_free(a->fields);
	history_free(a->history);
}

uint64_t analysis_nr_broken(const struct analysis *a)
{
	struct history_counts history = {0};
	struct symbols_counts symbols = {0};

	if (a->history)
		history_counts(a->history, &history);
	if (a->symbols)
		symbols_counts(a->symbols, &symbols);
	return history.nr_broken + symbols.nr_broken;
}

const char *analysis_event(const struct analysis *a, const struct meta_event *e)
{
	return fields_name(a->fields, (uint32_t)e->attr.config);
}

const struct field *analysis_field(const struct analysis *a, const struct meta_event *e,
				   const char *name)
{
	const struct tpfields *tp = fields_tracepoint(a->fields, (uint32_t)e->attr.config);

	return tp ? tpfields_find(tp, name, strlen(name)) : NULL;
}

uint64_t analysis_number(const struct analysis *a, const struct timeline_record *rec,
			 const char *name)
{
	const struct field *f = analysis_field(a, rec->event, name);

	return f ? field_number(f, rec->s.raw) : 0;
}
