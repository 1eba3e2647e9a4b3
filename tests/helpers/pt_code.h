/* SPDX-License-Identifier: MIT */
/*
 * The code that a program ran (pt_step.h), in the form the decoder takes.
 */
#pragma once

#include "tests/helpers/pt_memory.h"
#include "tests/helpers/pt_step.h"

/* Adjacent pages become one piece. */
static inline struct pt_memory *pt_code(const struct pt_page *pages, size_t nr)
{
	struct pt_memory *m = pt_memory_new();
	size_t first = 0;
	int rc = 0;

	for (size_t i = 0; i < nr; i++) {
		struct buf b = {0};

		if (i + 1 < nr && pages[i + 1].address == pages[i].address + PT_PAGE)
			continue;
		for (size_t k = first; k <= i && !rc; k++)
			rc = buf_put(&b, pages[k].code, PT_PAGE);
		assert(!rc);
		pt_memory_add(m, pages[first].address, (struct bytes){b.p, b.len});
		buf_free(&b);
		first = i + 1;
	}
	return m;
}
