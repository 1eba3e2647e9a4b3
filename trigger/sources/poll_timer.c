// SPDX-License-Identifier: MIT
/* Aligned timers; see poll_timer.h. */
#include "trigger/sources/poll_timer.h"

#include "dump/base/err.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int poll_timer_open(struct poll_timer *t, struct err *err)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return err_sys(err, -errno, "can't make a timer for a trigger");
	*t = (struct poll_timer){.fd = fd, .due_ns = UINT64_MAX};
	return 0;
}

void poll_timer_close(struct poll_timer *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

uint64_t poll_timer_now(void)
{
	return clock_ns();
}

/* Compares times, not the descriptor: another rule's timer of the same second may expire first. */
bool poll_timer_is_due(const struct poll_timer *t, uint64_t now_ns)
{
	return now_ns >= t->due_ns;
}

void poll_timer_at(struct poll_timer *t, uint64_t ns)
{
	/* All zero would stop the timer; a time in the past expires at once. */
	uint64_t at = ns == UINT64_MAX ? 0 : ns ? ns : 1;
	struct itimerspec spec = {
		.it_value = {.tv_sec = (time_t)(at / TICK_NS), .tv_nsec = (long)(at % TICK_NS)}};

	t->due_ns = ns;
	timerfd_settime(t->fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

void poll_timer_in(struct poll_timer *t, uint64_t now_ns, unsigned seconds)
{
	uint64_t step = seconds * TICK_NS;

	poll_timer_at(t, (now_ns / step + 1) * step);
}

unsigned poll_timer_seconds(double distance, double fastest, unsigned most)
{
	double s = fastest > 0 ? distance / fastest : 1;

	return s < 1 ? 1 : s >= most ? most : (unsigned)s;
}
