// SPDX-License-Identifier: MIT
/* Temporary kernel code in the ledger of a dump; see process_history.h. Called by symbols.c. */
#include "dump/view/model/process_history_impl.h"

#include "dump/base/array.h"

/* Limit on the entries to check that begin before an address and end before it: programs loaded
 * repeatedly at one place. */
#define MAX_BACK 64

/* The number of entries that begin at or before `addr`. */
static size_t until(const struct process_history *p, uint64_t addr)
{
	return array_bisect(i, p->nr_ksyms, p->ksym[i].f.addr <= addr);
}

bool history_ksym(const struct process_history *p, uint64_t ns, uint64_t addr,
		  struct history_ksym *out, struct history_span *span)
{
	size_t i = until(p, addr);

	*span = (struct history_span){0, UINT64_MAX};
	for (int n = 0; n < MAX_BACK && i--; n++) {
		const struct history_ksym *k = &p->ksym[i];

		if (addr - k->f.addr >= k->f.bytes || !history_since(span, ns, k->f.ns) ||
		    history_since(span, ns, k->f.end_ns))
			continue;
		*out = *k;
		return true;
	}
	return false;
}
