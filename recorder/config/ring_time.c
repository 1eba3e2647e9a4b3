// SPDX-License-Identifier: MIT
/* Ring sizes from a time; see ring_time.h. */
#include "recorder/config/ring_time.h"

#define MAX_BYTES (1ull << 30)

/* The smallest ring for the horizon and half of it at this rate. */
static uint64_t fitting(double bytes_per_ns, int64_t horizon_ns)
{
	double bytes = bytes_per_ns * (double)horizon_ns * 1.5;
	uint64_t size = RING_TIME_MIN_BYTES;

	while ((double)size < bytes && size < MAX_BYTES)
		size *= 2;
	return size;
}

uint64_t ring_time_bytes(uint64_t bytes_per_second, int64_t horizon_ns)
{
	return fitting((double)bytes_per_second / 1e9, horizon_ns);
}

static double rate(uint64_t bytes, uint64_t ns)
{
	return (double)bytes / (double)(ns ? ns : 1);
}

uint64_t ring_time_rate(const struct ring_load *l)
{
	bool some = l->written < l->size / 4;

	return (uint64_t)(1e9 * (some ? rate(l->written, l->since_ns)
				      : rate(l->size / 4, l->quarter_ns)));
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

static uint64_t grown(const struct ring_load *l, int64_t horizon_ns)
{
	uint64_t quarter = l->size / 4;
	uint64_t need = fitting(
		greater(rate(quarter, l->quarter_ns), rate(3 * quarter, l->most_ns)), horizon_ns);

	return need > 2 * l->size ? need : 2 * l->size;
}

static uint64_t shrunk(const struct ring_load *l, int64_t horizon_ns)
{
	bool full = l->written >= l->size;
	uint64_t ns = full ? l->all_ns : l->since_ns, need;
	double most;

	if (ns < 4 * (uint64_t)horizon_ns)
		return l->size;
	most = rate(full ? l->size : l->written, ns);
	if (l->written >= l->size / 4)
		most = greater(most, rate(l->size / 4, l->quarter_ns));
	need = fitting(most, horizon_ns);
	return need <= l->size / 4 ? need : l->size;
}

uint64_t ring_time_need(const struct ring_load *l, int64_t horizon_ns)
{
	if (l->written >= l->size / 4 * 3 && l->most_ns < (uint64_t)horizon_ns)
		return grown(l, horizon_ns);
	return shrunk(l, horizon_ns);
}

/* ---- the budget ---- */

static uint64_t cost(const struct ring_want *w)
{
	return w->size * w->nr_banks;
}

static void set_shares(struct ring_want *v, size_t nr, size_t nr_channels, uint64_t budget)
{
	for (size_t i = 0; i < nr; i++) {
		size_t nr_rings = 0;

		for (size_t k = 0; k < nr; k++)
			nr_rings += v[k].channel == v[i].channel;
		v[i].share = budget / nr_channels / nr_rings;
	}
}

/* The largest of the rings above their share, `growing` or not. NULL: there is none. */
static struct ring_want *above_share(struct ring_want *v, size_t nr, bool growing)
{
	struct ring_want *most = NULL;

	for (size_t i = 0; i < nr; i++)
		if ((v[i].size > v[i].now) == growing && v[i].size > RING_TIME_MIN_BYTES &&
		    cost(&v[i]) > v[i].share && (!most || cost(&v[i]) > cost(most)))
			most = &v[i];
	return most;
}

static uint64_t total(const struct ring_want *v, size_t nr)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < nr; i++)
		sum += cost(&v[i]);
	return sum;
}

void ring_time_fit(struct ring_want *v, size_t nr, size_t nr_channels, uint64_t budget)
{
	for (size_t i = 0; i < nr; i++)
		v[i].size = v[i].need < v[i].now * RING_TIME_MAX_GROWTH
				    ? v[i].need
				    : v[i].now * RING_TIME_MAX_GROWTH;
	set_shares(v, nr, nr_channels, budget);
	while (total(v, nr) > budget) {
		struct ring_want *w = above_share(v, nr, true);

		/* What grows within its share takes from those that have more. */
		w = w ? w : above_share(v, nr, false);
		if (!w)
			break;
		w->size /= 2;
	}
}
