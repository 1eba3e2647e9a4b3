// SPDX-License-Identifier: MIT
/*
 * A ring's turn to banks of another size, without a gap; see banks_impl.h. What recorded until then
 * stays readable as the new bank's `older`, until that has recorded for the channel's horizon. Called
 * by resize.c.
 *
 *	  left     ────────────── ACTIVE ──────────────┤ OLDER
 *	  fresh                       ├──────────────── ACTIVE
 *	                              ▲ begin          ▲ end: what both recorded, window.c leaves out
 */
#include "recorder/capture/banks_impl.h"

#include "dump/base/err.h"
#include "trigger/kernel/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

void banks_close_older(struct bank *older)
{
	while (older) {
		struct bank *next = older->older;

		bank_close(older);
		free(older);
		older = next;
	}
}

int banks_change_open(struct banks_change *c, const struct target *t, const struct caps *caps,
		      struct err *err)
{
	int rc = 0;

	c->left = calloc(1, sizeof(*c->left));
	c->spare = c->nr_banks == 2 ? calloc(1, sizeof(*c->spare)) : NULL;
	if (!c->left || (c->nr_banks == 2 && !c->spare))
		rc = err_set(err, -ENOMEM, "out of memory");
	for (unsigned i = 0; i < c->nr_banks && !rc; i++) {
		c->fresh[i].ring_bytes = c->ring_bytes;
		rc = bank_open(&c->fresh[i], c->channel, t, caps, c->cpu, -1, err);
	}
	return rc;
}

void banks_change_drop(struct banks_change *c)
{
	bank_close(&c->fresh[0]);
	bank_close(&c->fresh[1]);
	free(c->left);
	free(c->spare);
	*c = (struct banks_change){0};
}

static int room_for_all(struct banks *b, uint64_t bytes)
{
	for (const struct bank *k = b->active; k; k = k->older)
		bytes += k->ring.size + BANKS_MIN_RUN_BYTES;
	return banks_room(b, bytes);
}

int banks_change_begin(struct banks_change *c)
{
	struct banks *b = c->of;
	struct bank *active = b->active, *spare = active == b->bank ? &b->bank[1] : &b->bank[0];
	uint64_t now = clock_ns();

	assert(!b->always_on && !b->aux && !b->frozen && active->state == BANK_ACTIVE);
	if (room_for_all(b, c->ring_bytes))
		return -ENOMEM;
	active->oldest_ns = banks_oldest(b);
	active->reach_ns = now - banks_time_back(b, now, active->ring.size);
	banks_unkeep(b);
	bank_activate(b, &c->fresh[0]);
	*c->left = *active;
	if (c->spare)
		*c->spare = *spare;
	b->bank[0] = c->fresh[0];
	b->bank[1] = c->fresh[1];
	b->active = &b->bank[0];
	b->active->older = c->left;
	b->nr_marks = 0;
	c->fresh[0] = c->fresh[1] = (struct bank){0};
	return 0;
}

void banks_change_end(struct banks_change *c)
{
	c->left->paused_ns = clock_ns();
	bank_pause_ring(c->left, true);
	c->left->state = BANK_OLDER;
}

struct bank *banks_take_outlived(struct banks *b, uint64_t now_ns)
{
	uint64_t horizon_ns = (uint64_t)b->channel->horizon_ns;
	struct bank *older;

	for (unsigned i = 0; i < b->nr_banks; i++) {
		struct bank *k = &b->bank[i];

		if (k->state == BANK_FROZEN)
			continue;
		while (k->older && k->state != BANK_SPARE && bank_before(k) &&
		       now_ns - k->armed_ns < horizon_ns)
			k = k->older;
		if (k->older) {
			older = k->older;
			k->older = NULL;
			k->is_first = k->state != BANK_SPARE;
			return older;
		}
	}
	return NULL;
}

uint64_t banks_outlived_ns(const struct banks *b)
{
	uint64_t ns = 0;

	/* The oldest goes first. */
	for (const struct bank *k = b->active; k->older; k = k->older)
		ns = k->armed_ns + (uint64_t)b->channel->horizon_ns;
	return ns;
}

uint64_t banks_bytes(const struct banks *b)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < b->nr_banks; i++)
		for (const struct bank *k = &b->bank[i]; k; k = k->older)
			sum += k->ring.map_bytes;
	return sum;
}

void banks_load(const struct banks *b, uint64_t now_ns, struct ring_load *out)
{
	uint64_t size = b->active->ring.size;

	*out = (struct ring_load){
		.size = size,
		.written = banks_written(b),
		.since_ns = now_ns - b->active->armed_ns,
		.quarter_ns = banks_time_back(b, now_ns, size / 4),
		.most_ns = banks_time_back(b, now_ns, size / 4 * 3),
		.all_ns = banks_time_back(b, now_ns, size),
	};
}
