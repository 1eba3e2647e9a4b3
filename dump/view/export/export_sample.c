// SPDX-License-Identifier: MIT
/* Samples of a profile; see export_sample.h. Called by export_folded.c and export_pprof.c. */
#include "dump/view/export/export_sample.h"

#include "dump/base/err.h"
#include "dump/base/str.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#define NS_PER_S 1000000000u

static bool is_time(const struct meta_event *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE && (e->attr.config == PERF_COUNT_SW_CPU_CLOCK ||
						      e->attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

/* Matches the whole name, or the part after the colon. */
static bool matches(const char *pattern, const char *name)
{
	const char *colon = strchr(name, ':');

	return !fnmatch(pattern, name, 0) || (colon && !fnmatch(pattern, colon + 1, 0));
}

bool export_is_sample(const struct export *x, const struct timeline_record *rec)
{
	const struct meta_event *e = rec->event;

	if (!e || !rec->s.have)
		return false;
	return x->opt->event ? matches(x->opt->event, e->name) : !e->f.tracepoint;
}

uint64_t export_sample_ns(const struct timeline_record *rec)
{
	const struct meta_event *e = rec->event;

	if (!is_time(e))
		return 0;
	if (rec->s.have & PERF_SAMPLE_PERIOD && rec->s.period)
		return rec->s.period;
	if (!e->attr.freq)
		return e->attr.sample_period;
	return e->attr.sample_freq ? NS_PER_S / e->attr.sample_freq : 0;
}

static bool has_stacks(const struct meta *m, const struct meta_event *e)
{
	uint64_t type = m->channels[e->f.channel].layout.sample_type;

	return type & (PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_IP);
}

int export_no_samples(const struct export *x, struct err *err)
{
	char names[400] = "", name[128];
	size_t len = 0;

	for (size_t i = 0; i < x->a.m->nr_events && len < sizeof(names) - sizeof(name); i++) {
		const struct meta_event *e = &x->a.m->events[i];

		if (!e->name[0] || !has_stacks(x->a.m, e))
			continue;
		str_safe(name, sizeof(name), e->name, strlen(e->name));
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s", len ? ", " : "",
					name);
	}
	err_set(err, -ENOTSUP, "no sample with a stack%s%s in this dump",
		x->opt->event ? " of " : "", x->opt->event ? x->opt->event : "");
	if (len)
		err_hint(err, "--event takes one of: %s", names);
	else
		err_hint(err, "record some: the default preset has them, and -g adds stacks to "
			      "events");
	return -ENOTSUP;
}
