/* SPDX-License-Identifier: MIT */
/*
 * The code that a program ran (pt_step.h), as the decoder takes it.
 */
#pragma once

#include "dump/view/ptflow.h"
#include "tests/pt_step.h"

/* One piece for pages that lie one behind the other. */
static inline struct ptcode *pt_code(const struct pt_page *pages, size_t nr)
{
	struct ptcode *c;
	size_t first = 0;
	int rc = ptcode_new(&c, NULL);

	for (size_t i = 0; i < nr && !rc; i++) {
		struct buf b = {0};

		if (i + 1 < nr && pages[i + 1].address == pages[i].address + PT_PAGE)
			continue;
		for (size_t k = first; k <= i && !rc; k++)
			rc = buf_put(&b, pages[k].code, PT_PAGE);
		if (!rc)
			rc = ptcode_add(c, pages[first].address, (struct bytes){b.p, b.len}, NULL);
		buf_free(&b);
		first = i + 1;
	}
	if (!rc)
		rc = ptcode_seal(c, NULL);
	assert(!rc);
	return c;
}
