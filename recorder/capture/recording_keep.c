// SPDX-License-Identifier: MIT
/*
 * Rings that outlive the recorder; see recording.h. What a keeper needs to hold them, and what was
 * taken over from it. Called by daemon/keeping.c.
 */
#include "recorder/capture/recording_impl.h"

#include "recorder/capture/manifest.h"
#include "recorder/capture/sideband_rings.h"
#include "trigger/bpf/compact.h"

#include <errno.h>

static bool can_be_kept(const struct recording *r, const struct banks *b)
{
	return !b->offline && b->cpu >= 0 && banks_signature(b->channel, r->target);
}

/* The number of the channel's programs among all that are kept, from 1. */
static uint32_t programs_nr(const struct recording *r, const struct channel *c)
{
	uint32_t nr = 0;

	if (!c->compact)
		return 0;
	for (size_t i = 0; i <= c->id; i++)
		nr += r->channels[i]->compact != NULL;
	return nr;
}

static int add_ring(const struct recording *r, struct banks *b, struct kept_ring *entry,
		    struct keep_set *set)
{
	int rc = 0;

	for (unsigned i = 0; i < b->nr_banks; i++)
		for (size_t k = 0; k < b->bank[i].nr_fds && !rc; k++)
			rc = keep_set_add(set, b->bank[i].fds[k],
					  k ? 0 : b->bank[i].ring.map_bytes);
	banks_keep(b, entry, banks_signature(b->channel, r->target), programs_nr(r, b->channel));
	return rc;
}

static int add_programs(const struct recording *r, struct keep_set *set)
{
	int fds[COMPACT_FDS], rc = 0;

	for (size_t i = 0; i < r->nr_channels; i++) {
		if (!r->channels[i]->compact)
			continue;
		compact_fds(r->channels[i]->programs, fds);
		for (int k = 0; k < COMPACT_FDS && !rc; k++)
			rc = keep_set_add(set, fds[k], 0);
	}
	return rc;
}

static int fill(struct recording *r, struct manifest *m, int log_fd, struct keep_set *set)
{
	size_t nr = 0, nr_sides;
	int rc = keep_set_add(set, manifest_fd(m), 0);

	rc = rc ? rc : keep_set_add(set, log_fd, 0);
	for (size_t i = 0; i < r->nr_banks && !rc; i++)
		if (can_be_kept(r, r->banks[i]))
			rc = add_ring(r, r->banks[i], manifest_ring(m, nr++), set);
	recording_sideband(r, &nr_sides);
	for (size_t i = 0; i < nr_sides && !rc; i++)
		rc = sideband_rings_keep(r->sides, i, manifest_side(m, i), set);
	return rc ? rc : add_programs(r, set);
}

int recording_keep(struct recording *r, int log_fd, struct keep_set *out)
{
	struct manifest *m;
	size_t nr = 0, nr_sides;
	int rc;

	*out = (struct keep_set){0};
	for (size_t i = 0; i < r->nr_banks; i++) {
		banks_keep(r->banks[i], NULL, 0, 0);
		nr += can_be_kept(r, r->banks[i]);
	}
	manifest_free(r->manifest);
	r->manifest = NULL;
	if (!nr)
		return 0;
	recording_sideband(r, &nr_sides);
	rc = manifest_new(nr, nr_sides, &m);
	if (rc)
		return rc;
	r->manifest = m;
	rc = fill(r, m, log_fd, out);
	if (rc)
		keep_set_free(out);
	return rc;
}

size_t recording_nr_taken(const struct recording *r, uint64_t *since_ns)
{
	size_t nr = 0;

	*since_ns = UINT64_MAX;
	for (size_t i = 0; i < r->nr_banks; i++) {
		if (!r->banks[i]->taken)
			continue;
		nr++;
		if (banks_oldest(r->banks[i]) < *since_ns)
			*since_ns = banks_oldest(r->banks[i]);
	}
	return nr;
}

bool recording_channel_taken(const struct recording *r, size_t channel)
{
	for (size_t i = 0; i < r->nr_banks; i++)
		if (r->banks[i]->taken && r->banks[i]->channel == r->channels[channel])
			return true;
	return false;
}

uint64_t recording_unfinished(const struct recording *r)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < r->nr_banks; i++) {
		const struct banks *b = r->banks[i];

		if (b->taken && b->frozen && b->last_paused_ns > ns)
			ns = b->last_paused_ns;
	}
	return ns;
}
