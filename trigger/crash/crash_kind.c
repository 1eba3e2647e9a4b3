// SPDX-License-Identifier: MIT
/* The evidence kind of crashed threads' records (crash_sample.h). Separate from the code that makes
 * such records, which the crash library also uses. */
#include "trigger/crash/crash_sample.h"

#include "trigger/engine/evidence.h"

#include <string.h>

int crash_sample_kind(struct evidence *e, size_t *kind)
{
	struct evidence_kind k = {.name = CRASH_SAMPLE_NAME};

	for (size_t i = 0; i < evidence_nr_kinds(e); i++)
		if (!strcmp(evidence_kind_at(e, i)->name, CRASH_SAMPLE_NAME)) {
			*kind = i;
			return 0;
		}
	crash_sample_attr(&k.attr);
	return evidence_add_kind(e, &k, kind);
}
