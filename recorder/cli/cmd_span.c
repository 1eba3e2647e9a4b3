// SPDX-License-Identifier: MIT
/* --from and --to; see cmd_span.h. */
#include "recorder/cli/cmd_span.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/file/meta.h"
#include "recorder/cli/cmd_dump.h"

int cmd_span_from(void *span, const char *arg, struct err *err)
{
	struct cmd_span *s = span;

	s->has_from = true;
	return str_time(arg, &s->from_ns, err);
}

int cmd_span_to(void *span, const char *arg, struct err *err)
{
	struct cmd_span *s = span;

	s->has_to = true;
	return str_time(arg, &s->to_ns, err);
}

int cmd_span_check(const struct command *c, const struct cmd_span *s)
{
	if (s->has_from && s->has_to && s->from_ns > s->to_ns)
		return cmd_misuse(c, "--from is after --to");
	return EXIT_FINE;
}

/* Clamped to the clock's range. */
static uint64_t moment(uint64_t zero_ns, int64_t rel_ns)
{
	uint64_t back = -(uint64_t)rel_ns;

	if (rel_ns < 0)
		return zero_ns > back ? zero_ns - back : 0;
	return (uint64_t)rel_ns > UINT64_MAX - zero_ns ? UINT64_MAX : zero_ns + (uint64_t)rel_ns;
}

/* The time when the last ring stopped. */
static uint64_t end_of(const struct meta *m)
{
	uint64_t end_ns = m->trigger.freeze_ns;

	for (size_t i = 0; i < m->nr_windows; i++) {
		const struct fmt_window *w = &m->windows[i];

		if (meta_is_ring(w) && w->paused_ns > end_ns)
			end_ns = w->paused_ns;
	}
	return end_ns;
}

int cmd_span_of(const struct cmd_span *s, const struct cmd_dump *d, uint64_t *from_ns,
		uint64_t *to_ns)
{
	uint64_t zero_ns = d->m->trigger.hit_ns;

	if (s->has_from && s->from_ns > 0 && moment(zero_ns, s->from_ns) > end_of(d->m)) {
		char at[32];

		str_fmt_time(at, sizeof(at), s->from_ns);
		fprintf(stderr,
			"ringback: --from +%s is after the end of the dump\n  hint: times are "
			"relative to the trigger, and negative before it: --from -200ms\n",
			at);
		return EXIT_USAGE;
	}
	*from_ns = s->has_from ? moment(zero_ns, s->from_ns) : 0;
	*to_ns = s->has_to ? moment(zero_ns, s->to_ns) : UINT64_MAX;
	return EXIT_FINE;
}
