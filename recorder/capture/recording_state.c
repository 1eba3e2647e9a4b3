// SPDX-License-Identifier: MIT
/*
 * Time spans and fill levels of a recording's rings; see recording.h. Called for status and before
 * a dump; changes only the marks.
 */
#include "recorder/capture/recording_impl.h"

uint64_t recording_oldest(struct recording *r, uint64_t now_ns)
{
	uint64_t oldest = now_ns;

	for (size_t i = 0; i < r->nr_banks; i++) {
		uint64_t ns;

		banks_note(r->banks[i], now_ns);
		ns = banks_oldest(r->banks[i]);
		if (ns < oldest)
			oldest = ns;
	}
	return oldest;
}

static uint64_t older_bytes(const struct banks *b)
{
	uint64_t sum = 0;

	for (const struct bank *k = bank_before(b->active); k; k = bank_before(k))
		sum += bank_written(k) < k->ring.size ? bank_written(k) : k->ring.size;
	return sum;
}

static unsigned fill_percent(const struct recording *r, size_t channel)
{
	uint64_t written = 0, size = 0;

	for (size_t i = 0; i < r->nr_banks; i++) {
		const struct banks *b = r->banks[i];
		uint64_t w;

		if (b->channel != r->channels[channel] || b->offline)
			continue;
		w = banks_written(b) + older_bytes(b);
		size += b->active->ring.size;
		written += w < b->active->ring.size ? w : b->active->ring.size;
	}
	return size ? (unsigned)(written * 100 / size) : 0;
}

unsigned recording_fill_percent(const struct recording *r)
{
	unsigned least = 100;

	for (size_t i = 0; i < r->nr_channels; i++) {
		unsigned p;

		if (r->channels[i]->aux_bytes) /* an area's level is known only at a stop */
			continue;
		p = fill_percent(r, i);
		if (p < least)
			least = p;
	}
	return least;
}

uint64_t recording_channel_reach(const struct recording *r, size_t channel, uint64_t now_ns)
{
	uint64_t shortest = UINT64_MAX;

	for (size_t i = 0; i < r->nr_banks; i++) {
		const struct banks *b = r->banks[i];
		uint64_t reach;

		if (b->channel != r->channels[channel] || b->offline)
			continue;
		reach = banks_reach(b, now_ns);
		if (reach < shortest)
			shortest = reach;
	}
	return shortest == UINT64_MAX ? 0 : shortest;
}

void recording_channel_state(const struct recording *r, size_t channel, uint64_t now_ns,
			     uint64_t until_ns, uint64_t *horizon_ns, unsigned *percent,
			     uint64_t *written, size_t *nr_rings)
{
	uint64_t shortest = UINT64_MAX, sum = 0;
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_banks; i++) {
		const struct banks *b = r->banks[i];
		uint64_t h;

		if (b->channel != r->channels[channel])
			continue;
		nr++;
		sum += banks_written(b);
		h = b->offline ? UINT64_MAX : banks_horizon(b, now_ns, until_ns);
		if (h < shortest)
			shortest = h;
	}
	*horizon_ns = shortest == UINT64_MAX ? 0 : shortest;
	*percent = fill_percent(r, channel);
	*written = sum;
	*nr_rings = nr;
}

void recording_channel_aux(const struct recording *r, size_t channel, struct recording_aux *out)
{
	*out = r->aux ? r->aux[channel] : (struct recording_aux){0};
	out->area_bytes = r->channels[channel]->aux_bytes;
	out->nr_areas = 0;
	for (size_t i = 0; i < r->nr_banks; i++)
		if (r->banks[i]->channel == r->channels[channel] && r->banks[i]->aux)
			out->nr_areas++;
}
