// SPDX-License-Identifier: MIT
/* See dump_waiters.h. */
#include "recorder/daemon/dump_waiters.h"

#include "dump/base/str.h"

#include <assert.h>
#include <string.h>

void dump_waiters_wait(struct dump_waiters *p, struct ctl_client *client, bool later, bool merged)
{
	assert(p->nr_waiters < PENDING_MAX_WAITERS);
	p->waiters[p->nr_waiters++] =
		(struct pending_waiter){.client = client, .merged = merged, .later = later};
}

void dump_waiters_answer(struct dump_waiters *p, struct ctl *ctl, const struct dumper_result *r)
{
	char path[sizeof(r->path) * 4];
	size_t left = 0;

	str_safe(path, sizeof(path), r->path, strlen(r->path));
	for (size_t i = 0; i < p->nr_waiters; i++) {
		struct pending_waiter *w = &p->waiters[i];

		if (w->later) {
			p->waiters[left] = *w;
			p->waiters[left++].later = false;
		} else if (r->rc) {
			ctl_reply_err(ctl, w->client, &r->err);
		} else {
			ctl_reply(ctl, w->client,
				  json_pack("{s:b, s:s, s:b}", "ok", 1, "path", path, "merged",
					    (int)w->merged));
		}
	}
	p->nr_waiters = left;
}

bool dump_waiters_keep(struct dump_waiters *p, const struct rule *rule, const struct sighting *what)
{
	for (size_t i = 0; i < p->nr_hits; i++)
		if (p->hits[i].rule == rule)
			return false;
	if (p->nr_hits == PENDING_MAX_HITS)
		return false;
	p->hits[p->nr_hits++] = (struct dump_waiters_hit){rule, sighting_share(what)};
	return true;
}

bool dump_waiters_take(struct dump_waiters *p, struct dump_waiters_hit *out)
{
	if (!p->nr_hits)
		return false;
	*out = p->hits[0];
	memmove(p->hits, p->hits + 1, --p->nr_hits * sizeof(p->hits[0]));
	return true;
}

void dump_waiters_merge(struct dump_waiters *p)
{
	for (size_t i = 0; i < p->nr_waiters; i++) {
		p->waiters[i].merged |= p->waiters[i].later;
		p->waiters[i].later = false;
	}
}
