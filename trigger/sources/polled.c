// SPDX-License-Identifier: MIT
/* Polls a value and compares it with a threshold; see polled.h. */
#include "trigger/sources/polled.h"

#include "dump/base/err.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LONGEST_STEP 10 /* s */

int polled_new(const struct polled_ops *ops, const struct rule *r, struct source **out,
	       struct err *err)
{
	struct source *s = calloc(1, ops->bytes);

	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->ops = ops;
	s->fd = s->tick.fd = s->process.pidfd = s->process.dir_fd = -1;
	snprintf(s->threshold, sizeof(s->threshold), "%s", r->threshold);
	*out = s;
	return 0;
}

int polled_start(struct source *s, int rc, struct source **out, struct err *err)
{
	if (!rc)
		rc = poll_timer_open(&s->tick, err);
	if (rc) {
		polled_close(s);
		return rc;
	}
	poll_timer_in(&s->tick, poll_timer_now(), 1);
	*out = s;
	return 0;
}

void polled_close(struct source *s)
{
	if (!s)
		return;
	poll_timer_close(&s->tick);
	process_close(&s->process);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

int polled_fd(const struct source *s, uint32_t *events)
{
	return s->tick.fd;
}

int polled_ready(struct source *s, struct sighting *what, struct err *err)
{
	uint64_t now = poll_timer_now(), began_ns = 0;
	unsigned step = s->step_s;
	char text[64];
	double value = 0;
	bool hit;
	int rc;

	if (!poll_timer_is_due(&s->tick, now))
		return 0;
	rc = s->ops->look(s, now, &value, &began_ns, err);
	if (rc < 0)
		return rc;
	hit = rc && threshold_feed(&s->level, value, now);
	if (!step)
		step = poll_timer_seconds(threshold_distance(&s->level, value), s->fastest,
					  LONGEST_STEP);
	poll_timer_in(&s->tick, now, step);
	if (!hit)
		return 0;
	what->ns = now;
	what->began_ns = s->level.for_ns ? s->level.began_ns : began_ns;
	s->ops->value_text(s, value, text, sizeof(text));
	sighting_add(what, "value=%s", text);
	sighting_add(what, "threshold=%s", s->threshold);
	if (s->ops->more)
		s->ops->more(s, what);
	if (s->process.pid)
		process_who(&s->process, what);
	return 1;
}

void polled_costs(const struct source *s, struct source_plan *out)
{
	if (s->step_s)
		snprintf(out->costs, sizeof(out->costs),
			 "one read every %u s, at the same time as other rules that poll",
			 s->step_s);
	else
		snprintf(out->costs, sizeof(out->costs),
			 "one read every second near the threshold, every %d s far from it, at the "
			 "same time as other rules that poll",
			 LONGEST_STEP);
}

int polled_read(const struct source *s, char *buf, size_t n)
{
	ssize_t got = pread(s->fd, buf, n - 1, 0);

	if (got < 0)
		return -errno;
	buf[got] = '\0';
	return 0;
}
