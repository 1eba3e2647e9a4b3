// SPDX-License-Identifier: MIT
/*
 * The names of a task over time, newest first. Records come in order. A scan of /proc adds the name
 * as of the scan, and older records may be processed after it.
 */
#include "recorder/ledger/ledger_parts.h"

#include <string.h>

/* A scan takes the time before it reads; the read may happen this much later. */
#define READ_DELAY_NS 1000000000ull
#define KTHREADD      2 /* its pid */

static const char kthreadd[16] = "kthreadd";

const struct comm *comm_at(const struct task *t, uint64_t ns)
{
	const struct comm *c = t->comms;

	while (c && comm_since(c) > ns)
		c = c->older;
	return c;
}

uint64_t comm_since(const struct comm *c)
{
	return c->scanned && !c->older ? 0 : c->ns;
}

void comm_drop(struct ledger *l, struct comm *c)
{
	unretire(l, &c->r);
	if (c->newer)
		c->newer->older = c->older;
	else
		c->task->comms = c->older;
	if (c->older)
		c->older->newer = c->newer;
	ledger_release(l, c, sizeof(*c));
}

static struct comm *comm_new(struct ledger *l, struct task *t, uint64_t ns, const char name[16])
{
	struct comm *c = ledger_alloc(l, sizeof(*c));

	if (!c)
		return NULL;
	c->task = t;
	c->ns = ns;
	memcpy(c->name, name, sizeof(c->name));
	return c;
}

/* Links `c` between `older` and `newer`. A name that is not the newest is retired at the time of
 * its successor. */
static void comm_link(struct ledger *l, struct comm *c, struct comm *older, struct comm *newer)
{
	c->older = older;
	c->newer = newer;
	if (older)
		older->newer = c;
	if (newer) {
		newer->older = c;
		retire(l, &c->r, RETIRED_COMM, newer->ns);
		if (older)
			retire(l, &older->r, RETIRED_COMM, c->ns);
		return;
	}
	c->task->comms = c;
	if (older)
		retire(l, &older->r, RETIRED_COMM, c->ns);
}

/* The last name at or before `ns`, and in *newer the first after it. */
static struct comm *around(struct task *t, uint64_t ns, struct comm **newer)
{
	struct comm *c = t->comms;

	*newer = NULL;
	while (c && c->ns > ns) {
		*newer = c;
		c = c->older;
	}
	return c;
}

static bool is_name(const struct comm *c, const char name[16])
{
	return c && !memcmp(c->name, name, sizeof(c->name));
}

/*
 * A kernel thread is forked from kthreadd and does not keep that name. Since Linux 6.4 it has its
 * own name at birth. Before, it was renamed after it had started to run, so it has switches under
 * its new name from before the COMM record. Its first own name therefore counts from its birth.
 */
static bool is_nameless(const struct task *t, const struct comm *c)
{
	return c && !c->older && t->ppid == KTHREADD && is_name(c, kthreadd);
}

void comm_add(struct ledger *l, struct task *t, uint64_t ns, const char name[16], bool exec)
{
	struct comm *newer, *older = around(t, ns, &newer), *c;

	if (is_name(older, name)) {
		if (older->scanned && older->older && ns - older->ns < READ_DELAY_NS) {
			/* A scan saw this change; the record gives its exact time. */
			older->ns = ns;
			older->scanned = false;
			older->exec = exec;
			retire(l, &older->older->r, RETIRED_COMM, ns);
			return;
		}
		if (!exec || (older->exec && older->ns == ns))
			return;
	}
	if (is_nameless(t, older) && !exec) {
		memcpy(older->name, name, sizeof(older->name));
		return;
	}
	c = comm_new(l, t, ns, name);
	if (!c)
		return;
	c->exec = exec;
	if (newer && newer->scanned && is_name(newer, name)) {
		struct comm *after = newer->newer;

		comm_drop(l, newer);
		newer = after;
	}
	comm_link(l, c, older, newer);
}

void comm_inherit(struct ledger *l, struct task *t, uint64_t ns, const char name[16])
{
	struct comm *newer, *c;

	comm_add(l, t, ns, name, false);
	c = around(t, ns, &newer);
	if (newer && newer->scanned && is_nameless(t, c))
		memcpy(c->name, newer->name, sizeof(c->name));
}

void comm_born(struct task *t, uint64_t ns, const char name[16])
{
	struct comm *newer, *c = around(t, ns, &newer);

	if (c && !c->older && t->exact && c->ns == t->start_ns)
		memcpy(c->name, name, sizeof(c->name));
}

void comm_seen(struct ledger *l, struct task *t, uint64_t ns, const char name[16])
{
	struct comm *newer, *older = around(t, ns, &newer), *c;

	if (is_name(older, name))
		return;
	if (is_name(newer, name) && newer->ns - ns < READ_DELAY_NS)
		return;
	if (is_nameless(t, older)) {
		memcpy(older->name, name, sizeof(older->name));
		return;
	}
	c = comm_new(l, t, ns, name);
	if (!c)
		return;
	c->scanned = true;
	comm_link(l, c, older, newer);
}
