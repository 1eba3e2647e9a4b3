// SPDX-License-Identifier: MIT
/*
 * Rings that outlive the recorder: their entries in the manifest, and taking them over; see banks.h.
 * Called by recording.c and recording_keep.c; banks.c calls banks_save() at each step.
 */
#include "recorder/capture/banks_impl.h"

#include "dump/base/err.h"
#include "dump/base/hash.h"
#include "recorder/capture/target.h"
#include "trigger/bpf/compact.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- giving ---- */

/* The numbers first: a bank whose entry says ACTIVE or FROZEN has them. */
void banks_save(const struct banks *b)
{
	struct kept_ring *k = b->kept;

	if (!k)
		return;
	k->prev_paused_ns = b->prev_paused_ns;
	for (unsigned i = 0; i < b->nr_banks; i++) {
		const struct bank *bank = &b->bank[i];

		k->bank[i].armed_head = bank->ring.armed_head;
		k->bank[i].armed_ns = bank->armed_ns;
		k->bank[i].paused_ns = bank->paused_ns;
	}
	for (unsigned i = 0; i < b->nr_banks; i++)
		__atomic_store_n(&k->bank[i].state, b->bank[i].state, __ATOMIC_RELEASE);
}

void banks_unkeep(struct banks *b)
{
	for (unsigned i = 0; b->kept && i < b->nr_banks; i++)
		__atomic_store_n(&b->kept->bank[i].state, BANK_SPARE, __ATOMIC_RELEASE);
	b->kept = NULL;
}

static uint64_t page_bytes(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Descriptors of a bank. */
static size_t nr_fds(const struct channel *c)
{
	return c->compact ? 1 : c->events.nr;
}

void banks_keep(struct banks *b, struct kept_ring *entry, uint64_t signature, uint32_t programs)
{
	b->kept = entry;
	if (!entry)
		return;
	*entry = (struct kept_ring){.signature = signature,
				    .cpu = b->cpu,
				    .nr_banks = b->nr_banks,
				    .ring_pages = (uint32_t)(b->bank[0].ring.size / page_bytes()),
				    .nr_events = (uint32_t)nr_fds(b->channel),
				    .programs = programs};
	banks_save(b);
}

uint64_t banks_signature(const struct channel *c, const struct target *t)
{
	/* Rings that are resized are taken over in any size. */
	uint64_t h = hash_mix(hash_mix(c->compact ? 2 : 1, c->horizon_ns ? 0 : c->ring_bytes),
			      c->nr_banks);

	if (!t->system || c->aux_bytes)
		return 0;
	h = hash_bytes(h, c->name, strlen(c->name));
	for (size_t i = 0; i < c->events.nr; i++) {
		const struct event *e = c->events.v[i];
		struct perf_event_attr attr;

		if (e->kind == EVENT_UPROBE) /* its file may have been replaced */
			return 0;
		channel_attr(c, i, t, channel_leads(c, i), &attr);
		h = hash_bytes(h, &attr, sizeof(attr));
		h = hash_bytes(h, e->name, strlen(e->name));
		if (e->filter)
			h = hash_bytes(h, e->filter, strlen(e->filter));
	}
	return h ? h : 1;
}

/* ---- taking ---- */

static int take_bank(struct bank *b, const struct channel *c, const int *fds,
		     const struct kept_bank *from)
{
	int rc = 0;

	for (size_t i = 0; i < nr_fds(c); i++) {
		b->fds[b->nr_fds] = fds[i];
		b->event[b->nr_fds++] = (uint32_t)i;
		if (!c->compact && channel_leads(c, i))
			b->leaders[b->nr_leaders++] = fds[i];
	}
	if (!c->compact)
		rc = ring_map(&b->ring, fds[0], b->ring_bytes, true);
	b->ring.armed_head = from->armed_head;
	b->armed_ns = from->armed_ns;
	b->paused_ns = from->paused_ns;
	b->state = from->state;
	return rc;
}

/* A bank whose dump was not finished; its pause may be missing. */
static void stay_frozen(struct banks *b, struct bank *f)
{
	bank_pause_ring(f, true);
	if (f->paused_ns < f->armed_ns)
		f->paused_ns = clock_ns();
	f->state = BANK_FROZEN;
	b->frozen = f;
	b->last_paused_ns = f->paused_ns;
	b->frozen_oldest_ns = f->armed_ns;
}

/* The programs say which bank records. The other one was marked ACTIVE, if it had been turned away
 * from it; if it had not been turned to it yet, it is the later one. */
static bool settle_compact(struct banks *b)
{
	struct bank *a = &b->bank[compact_bank(b->channel->programs)];
	struct bank *z = a == &b->bank[0] ? &b->bank[1] : &b->bank[0];

	b->last_paused_ns = b->prev_paused_ns;
	b->active = a;
	if (a->state == BANK_SPARE)
		return false;
	a->state = BANK_ACTIVE;
	if (z->state != BANK_SPARE && z->armed_ns < a->armed_ns)
		stay_frozen(b, z);
	else
		z->state = BANK_SPARE;
	return true;
}

void banks_join_unfinished(struct banks *b, uint64_t paused_ns)
{
	struct bank *f = b->active == &b->bank[0] ? &b->bank[1] : &b->bank[0];

	f->armed_ns = paused_ns;
	stay_frozen(b, f);
}

int banks_take_programs(const struct channel *c, const struct target *t, const struct kept *from,
			struct compact **out)
{
	const struct kept_ring *k = kept_find(from, banks_signature(c, t));
	int fds[COMPACT_FDS];

	if (!k || !k->programs ||
	    kept_others(from, (k->programs - 1) * COMPACT_FDS, fds, COMPACT_FDS) != COMPACT_FDS)
		return -ENOENT;
	return compact_take(fds, c->ring_bytes, out);
}

/* The recorder may have been killed at any step: both banks may be ACTIVE, and a SPARE one may be
 * enabled. False: no bank records. */
static bool settle_states(struct banks *b)
{
	struct bank *a = &b->bank[0], *z = &b->bank[1];

	if (b->channel->compact)
		return settle_compact(b);
	b->last_paused_ns = b->prev_paused_ns;
	if (b->nr_banks == 1) {
		if (a->state == BANK_FROZEN)
			stay_frozen(b, a);
		return a->state != BANK_SPARE;
	}
	if (z->state == BANK_ACTIVE && (a->state != BANK_ACTIVE || z->armed_ns > a->armed_ns)) {
		a = z;
		z = &b->bank[0];
	}
	if (a->state != BANK_ACTIVE)
		return false;
	b->active = a;
	if (z->state != BANK_SPARE) {
		stay_frozen(b, z);
		return true;
	}
	bank_leaders_ioctl(z, PERF_EVENT_IOC_DISABLE);
	bank_pause_ring(z, false);
	return true;
}

int banks_take_over(const struct channel *c, const struct target *t, struct kept *from, int cpu,
		    struct banks **out, struct err *err)
{
	size_t nr = nr_fds(c), nr_all = nr * c->nr_banks;
	uint64_t signature = banks_signature(c, t);
	const struct kept_ring *k = NULL;
	struct banks *b = banks_new(c, t, cpu, -1);
	int *fds = calloc(nr_all, sizeof(*fds)), rc = b && fds ? 0 : -ENOMEM;

	for (unsigned i = 0; i < c->nr_banks && !rc; i++)
		rc = bank_room(&b->bank[i], nr);
	if (!rc && signature)
		k = kept_take_ring(from, signature, cpu, fds, nr_all);
	if (!rc && !k)
		rc = -ENOENT;
	if (!rc && c->compact)
		rc = bank_map_compact(b, fds[0]);
	if (!rc && k && c->horizon_ns)
		rc = banks_room(b, k->ring_pages * page_bytes());
	for (unsigned i = 0; k && i < c->nr_banks; i++) {
		int mapped;

		if (c->horizon_ns)
			b->bank[i].ring_bytes = k->ring_pages * page_bytes();
		mapped = take_bank(&b->bank[i], c, fds + i * nr, &k->bank[i]);

		rc = rc ? rc : mapped;
	}
	free(fds);
	if (!rc) {
		b->taken = true;
		b->prev_paused_ns = k->prev_paused_ns;
		rc = settle_states(b) ? 0 : -ENOENT;
	}
	if (!rc)
		*out = b;
	else
		banks_close(b);
	return rc && rc != -ENOENT
		       ? err_sys(err, rc, "can't take over a ring of channel %s", c->name)
		       : rc;
}
