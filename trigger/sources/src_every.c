// SPDX-License-Identifier: MIT
/* Source "every:TIME": a dump at regular intervals, the first after one interval. */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule_check.h"
#include "trigger/sources/poll_timer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
	struct poll_timer tick;
	uint64_t interval_ns;
	char text[32]; /* as written */
};

static int check(const struct rule *r, int64_t *interval, struct err *err)
{
	int rc = rule_check_arg(r, "a time", "every:1h", err);

	if (!rc)
		rc = rule_check_no_op(r, err);
	if (!rc)
		rc = rule_check_moment(r, "a point of time", err);
	if (rc)
		return rc;
	if (str_time(r->arg, interval, NULL) || *interval < (int64_t)TICK_NS)
		return rule_err(r->text, r->arg_at, err,
				"expected a time of 1s or longer, such as 90s, 15m or 1h, found "
				"'%s'",
				r->arg);
	return 0;
}

static int every_open(const struct rule *r, const struct source_env *env, struct source **out,
		      struct err *err)
{
	struct source *s;
	int64_t interval;
	int rc = check(r, &interval, err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	/* Rounded up to whole seconds, like all timers of rules that poll. */
	s->interval_ns = ((uint64_t)interval + TICK_NS - 1) / TICK_NS * TICK_NS;
	snprintf(s->text, sizeof(s->text), "%s", r->arg);
	rc = poll_timer_open(&s->tick, err);
	if (rc) {
		free(s);
		return rc;
	}
	poll_timer_at(&s->tick, (poll_timer_now() / TICK_NS + 1) * TICK_NS + s->interval_ns);
	*out = s;
	return 0;
}

static int every_fd(const struct source *s, uint32_t *events)
{
	return s->tick.fd;
}

static int every_ready(struct source *s, struct sighting *what, struct err *err)
{
	uint64_t now = poll_timer_now(), missed;

	if (!poll_timer_is_due(&s->tick, now))
		return 0;
	missed = (now - s->tick.due_ns) / s->interval_ns;
	poll_timer_at(&s->tick, s->tick.due_ns + (missed + 1) * s->interval_ns);
	what->ns = now;
	sighting_add(what, "interval=%s", s->text);
	return 1;
}

static void every_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches), "the clock");
	snprintf(out->costs, sizeof(out->costs), "only a dump every %s", s->text);
}

static void every_close(struct source *s)
{
	if (!s)
		return;
	poll_timer_close(&s->tick);
	free(s);
}

const struct source_ops source_every = {
	.name = "every",
	.syntax = "every:TIME",
	.help = "at regular times, whatever happens",
	.example = "every:1h",
	.owners = true,
	.open = every_open,
	.fd = every_fd,
	.ready = every_ready,
	.plan = every_plan,
	.close = every_close,
};
