// SPDX-License-Identifier: MIT
/*
 * The namespaces of a task and the cgroup of a process over time. There are three sources: the
 * parent's value at fork (a guess: the child may have been created elsewhere, or moved at once), a
 * record (right about its time), and a scan of /proc (right about the time of the read). Around a
 * scan these come in any order, and the result must be the same.
 *
 *	[guess A @fork, scanned B @scan]    B since the fork: a service manager moves the child
 *	                                    before anything else happens in it
 *	[guess A @fork] + record B          B since the fork: the kernel writes the child's
 *	                                    namespaces right after its FORK record
 */
#include "recorder/ledger/ledger_parts.h"

#include <string.h>

/* A scan takes the time before it reads; the read may happen this much later. */
#define READ_DELAY_NS 1000000000ull
/* Bounds threads that change their namespaces all the time. */
#define MAX_STAYS 64

static struct stay *all(struct stays *s)
{
	return s->cap ? s->v : &s->one;
}

/* The index of the first entry after `ns`. */
static uint32_t first_after(const struct stays *s, uint64_t ns)
{
	const struct stay *v = all((struct stays *)s);
	uint32_t i = s->nr;

	while (i && v[i - 1].ns > ns)
		i--;
	return i;
}

static void remove_at(struct ledger *l, struct stays *s, uint32_t i)
{
	struct stay *v = all(s);

	paths_put(&l->paths, v[i].what);
	memmove(v + i, v + i + 1, (s->nr - i - 1) * sizeof(*v));
	s->nr--;
}

/* Makes room for one more entry. */
static bool reserve(struct ledger *l, struct stays *s)
{
	uint16_t cap = s->cap ? s->cap * 2 : 4;
	struct stay *v;

	if (s->nr < (s->cap ? s->cap : 1))
		return true;
	if (!ledger_admits(l, cap * sizeof(*v)))
		return false;
	v = ledger_alloc(l, cap * sizeof(*v));
	if (!v)
		return false;
	memcpy(v, all(s), s->nr * sizeof(*v));
	if (s->cap)
		ledger_release(l, s->v, s->cap * sizeof(*v));
	s->v = v;
	s->cap = cap;
	return true;
}

/* Drops the entries from before expired_ns, and one more when there are too many. Returns how
 * many. */
static uint32_t prune(struct ledger *l, struct stays *s)
{
	uint32_t nr = 0;

	while (s->nr > 1 && all(s)[1].ns < l->expired_ns) {
		remove_at(l, s, 0);
		nr++;
	}
	if (s->nr < MAX_STAYS)
		return nr;
	remove_at(l, s, 0);
	l->nr_evicted++;
	return nr + 1;
}

static void insert_at(struct ledger *l, struct stays *s, uint32_t i, const struct stay *new)
{
	uint32_t nr_gone = prune(l, s);
	struct stay *v;

	if (i < nr_gone || !reserve(l, s))
		return;
	i -= nr_gone;
	v = all(s);
	memmove(v + i + 1, v + i, (s->nr - i) * sizeof(*v));
	v[i] = *new;
	path_ref(new->what);
	s->nr++;
}

void stay_inherit(struct ledger *l, struct stays *s, uint64_t ns, struct path *what)
{
	const struct stay new = {.ns = ns, .what = what, .guess = true};
	struct stay *first = all(s);

	if (s->nr && first->ns <= ns)
		return;
	if (!s->nr || first->what != what) {
		insert_at(l, s, 0, &new);
		return;
	}
	first->ns = ns;
	first->scanned = false;
}

void stay_record(struct ledger *l, struct stays *s, uint64_t ns, struct path *what)
{
	const struct stay new = {.ns = ns, .what = what};
	uint32_t i = first_after(s, ns);
	struct stay *v = all(s), *older = i ? &v[i - 1] : NULL, *newer = i < s->nr ? &v[i] : NULL;
	bool found = newer && newer->scanned && newer->what == what;

	if (older && older->guess) {
		path_ref(what);
		paths_put(&l->paths, older->what);
		older->what = what;
		older->guess = false;
		if (found)
			remove_at(l, s, i);
	} else if (older && older->what == what) {
		/* A scan saw this change; the record gives its exact time. */
		if (older->scanned && i > 1 && ns - older->ns < READ_DELAY_NS) {
			older->ns = ns;
			older->scanned = false;
		}
	} else if (found) {
		newer->ns = ns;
		newer->scanned = false;
	} else {
		insert_at(l, s, i, &new);
	}
}

void stay_seen(struct ledger *l, struct stays *s, uint64_t ns, struct path *what)
{
	const struct stay new = {.ns = ns, .what = what, .scanned = true};
	uint32_t i = first_after(s, ns);
	struct stay *v = all(s);

	if (i && v[i - 1].what == what)
		v[i - 1].guess = false;
	else if (i == s->nr || v[i].what != what || v[i].ns - ns >= READ_DELAY_NS)
		insert_at(l, s, i, &new);
}

/* Whether entry `i` is a guess that a scan has refuted. */
static bool corrected(const struct stays *s, uint32_t i)
{
	const struct stay *v = all((struct stays *)s);

	return v[i].guess && i + 1u < s->nr;
}

bool stay_nth(const struct stays *s, uint32_t i, struct stay *out)
{
	const struct stay *v = all((struct stays *)s);

	if (corrected(s, i))
		return false;
	*out = v[i];
	if (i && corrected(s, i - 1))
		out->ns = v[i - 1].ns;
	else if (!i && v[i].scanned)
		out->ns = 0;
	return true;
}

bool stay_is_guess(const struct stays *s)
{
	return s->nr && all((struct stays *)s)[s->nr - 1].guess;
}

struct path *stay_at(const struct stays *s, uint64_t ns)
{
	struct path *found = NULL;
	struct stay stay;

	for (uint32_t i = 0; i < s->nr; i++) {
		if (stay_nth(s, i, &stay) && stay.ns <= ns)
			found = stay.what;
	}
	return found;
}

void stays_drop(struct ledger *l, struct stays *s)
{
	while (s->nr)
		remove_at(l, s, s->nr - 1);
	if (s->cap)
		ledger_release(l, s->v, s->cap * sizeof(*s->v));
	*s = (struct stays){0};
}

struct path *spaces_at(const struct task *t, uint64_t ns)
{
	const struct task *leader = t->proc->leader;
	struct path *own = stay_at(&t->spaces, ns);

	return own || t == leader || !leader ? own : stay_at(&leader->spaces, ns);
}

uint64_t mount_of(const struct task *t, uint64_t ns)
{
	const struct path *set = t ? spaces_at(t, ns) : NULL;
	struct fmt_namespace one;

	for (size_t at = 0; set && at + sizeof(one) <= set->len; at += sizeof(one)) {
		memcpy(&one, set->text + at, sizeof(one));
		if (one.kind == FMT_NS_MNT)
			return one.ino;
	}
	return 0;
}
