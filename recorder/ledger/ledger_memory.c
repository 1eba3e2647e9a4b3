// SPDX-License-Identifier: MIT
/*
 * The ledger's memory. All allocations are counted. Ended items are kept in one list by end time;
 * they are expired (no ring refers to them) or evicted (over the bound) from its front.
 */
#include "recorder/ledger/ledger_parts.h"

#include <stdlib.h>

#define ALLOC_OVERHEAD 16  /* malloc's own, so that the bound covers real memory */
#define RETIRED_BYTES  512 /* of an ended task or name without mappings: more than any */
/* How far a late item is moved back in the list; beyond that it only expires a little late. */
#define MAX_STEPS 64
/* Per ledger_expire(): more items than end between two calls, but too few to delay a trigger. */
#define MAX_EXPIRED 8192

void *ledger_alloc(struct ledger *l, size_t n)
{
	void *p = calloc(1, n);

	if (p)
		l->bytes += n + ALLOC_OVERHEAD;
	return p;
}

void ledger_release(struct ledger *l, void *p, size_t n)
{
	if (!p)
		return;
	free(p);
	l->bytes -= n + ALLOC_OVERHEAD;
}

uint64_t ledger_bytes(const struct ledger *l)
{
	return l->bytes + l->paths.bytes;
}

void unretire(struct ledger *l, struct retired *r)
{
	if (!r->next)
		return;
	r->prev->next = r->next;
	r->next->prev = r->prev;
	r->prev = r->next = NULL;
	l->nr_retired--;
}

void retire(struct ledger *l, struct retired *r, enum retired_kind kind, uint64_t ns)
{
	struct retired *after;

	unretire(l, r); /* first, since it may be the tail of the list */
	after = l->retired.prev;
	r->kind = kind;
	r->ns = ns;
	for (int i = 0; i < MAX_STEPS && after != &l->retired && after->ns > ns; i++)
		after = after->prev;
	r->prev = after;
	r->next = after->next;
	after->next->prev = r;
	after->next = r;
	l->nr_retired++;
}

static void drop(struct ledger *l, struct retired *r)
{
	unretire(l, r);
	switch (r->kind) {
	case RETIRED_TASK:
		task_drop(l, (struct task *)r);
		break;
	case RETIRED_COMM:
		comm_drop(l, (struct comm *)r);
		break;
	case RETIRED_MAPS:
		ended_drop(l, (struct ended *)r);
		break;
	case RETIRED_KSYM:
		ksym_drop(l, (struct ksym *)r);
		break;
	}
}

void retired_expire(struct ledger *l, uint64_t ns)
{
	for (int i = 0; i < MAX_EXPIRED; i++) {
		if (l->retired.next == &l->retired || l->retired.next->ns >= ns)
			break;
		drop(l, l->retired.next);
	}
}

/* The last eighth is for tasks and for the RETIRED_BYTES of those that ended last, so that a process
 * with very many mappings costs nobody a name. */
static uint64_t task_bytes(const struct ledger *l)
{
	return l->max_bytes / 8;
}

bool ledger_admits_map(struct ledger *l, size_t n)
{
	return ledger_admits(l, n + task_bytes(l));
}

bool ledger_admits(struct ledger *l, size_t n)
{
	if (ledger_bytes(l) + n + ALLOC_OVERHEAD <= l->max_bytes)
		return true;
	l->nr_evicted++;
	return false;
}

void ledger_make_room(struct ledger *l)
{
	uint64_t room = l->max_bytes / 16 < 65536 ? l->max_bytes / 16 : 65536;
	uint64_t nr_kept = task_bytes(l) / RETIRED_BYTES;

	while (l->nr_retired &&
	       ledger_bytes(l) >
		       l->max_bytes - room - (l->nr_retired > nr_kept ? task_bytes(l) : 0)) {
		drop(l, l->retired.next);
		l->nr_evicted++;
	}
}
