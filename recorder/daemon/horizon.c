// SPDX-License-Identifier: MIT
/* Compares the history that rules need with the rings' horizon; see horizon.h. */
#include "recorder/daemon/horizon.h"

#include "dump/base/str.h"
#include "recorder/base/log.h"
#include "recorder/daemon/session.h"

#include <string.h>

uint64_t horizon_of_rule(const struct rule *r)
{
	const char *text = r->threshold ? r->threshold : "", *slash = strchr(text, '/');
	int64_t ns;

	if (r->op != RULE_OP_ABOVE || str_time(slash ? slash + 1 : text, &ns, NULL))
		return 0;
	return ns > 0 ? (uint64_t)ns : 0;
}

bool horizon_says(const struct session *s, size_t i, char *out, size_t n)
{
	const struct rule *r = engine_rule(s->engine, i);
	uint64_t needs = r ? horizon_of_rule(r) : 0;
	char want[32], have[32];

	if (!s->reach_ns || needs <= s->reach_ns)
		return false;
	snprintf(out, n,
		 "needs %s of history, but in the last dump channel %s reached back %s: make its "
		 "rings larger with --memory or --size %s=SIZE",
		 str_fmt_time(want, sizeof(want), (int64_t)needs), s->reach_channel,
		 str_fmt_time(have, sizeof(have), (int64_t)s->reach_ns), s->reach_channel);
	return true;
}

void horizon_note(struct session *s, const struct dumper_result *r)
{
	bool first = !s->reach_ns;
	char text[256];

	if (!r->reach_ns)
		return;
	s->reach_ns = r->reach_ns;
	s->reach_channel = r->reach_channel;
	for (size_t i = 0; first && i < engine_nr_rules(s->engine); i++)
		if (horizon_says(s, i, text, sizeof(text)))
			log_warn("rule %s: %s", engine_rule(s->engine, i)->text, text);
}
