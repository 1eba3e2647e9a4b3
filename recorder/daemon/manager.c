// SPDX-License-Identifier: MIT
/* Messages to the service manager; see manager.h. Called by daemon.c. */
#include "recorder/daemon/manager.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/base/notify.h"
#include "recorder/daemon/session.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* Enough for a large dump on a slow disk, bounded since a disk may hang for ever. */
#define STOP_USEC 300000000ul

/* `state`, and "recording default: 12 rules, horizon 34 s; 3 dumps, last PATH" */
static void tell(const char *state, const struct session *s)
{
	char text[sizeof(s->last_dump) * 4 + 512], time[32];
	size_t nr = engine_nr_rules(s->engine);
	int n = snprintf(text, sizeof(text), "%sSTATUS=recording %s: %zu rule%s", state,
			 s->config.name, nr, str_plural(nr));

	if (s->reach_ns)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", horizon %s",
			      str_fmt_time(time, sizeof(time), (int64_t)s->reach_ns));
	n += snprintf(text + n, sizeof(text) - (size_t)n, "; %lu dump%s", s->nr_dumps,
		      str_plural(s->nr_dumps));
	if (s->nr_refused)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", %lu failed", s->nr_refused);
	if (*s->last_dump) {
		n += snprintf(text + n, sizeof(text) - (size_t)n, ", last ");
		str_safe(text + n, sizeof(text) - (size_t)n, s->last_dump, strlen(s->last_dump));
	}
	notify_manager(text);
}

void manager_ready(const struct session *s)
{
	tell("READY=1\n", s);
}

void manager_status(const struct session *s)
{
	tell("", s);
}

void manager_reloading(void)
{
	char text[64];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lu", clock_ns() / 1000);
	notify_manager(text);
}

void manager_stopping(bool writing)
{
	char text[128];

	if (!writing) {
		notify_manager("STOPPING=1");
		return;
	}
	snprintf(text, sizeof(text),
		 "STOPPING=1\nEXTEND_TIMEOUT_USEC=%lu\nSTATUS=stopping when the dump is written",
		 STOP_USEC);
	notify_manager(text);
}

/* The interval that the manager expects of this process, in us; 0: none. */
static uint64_t interval_us(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t n;

	if (!us || str_u64(us, &n, NULL))
		return 0;
	/* The variables may be inherited from a service that started the recorder. */
	if (pid && strtol(pid, NULL, 10) != getpid())
		return 0;
	return n;
}

int manager_watchdog(int *fd, struct err *err)
{
	uint64_t half_us = interval_us() / 2;
	struct timespec t = {.tv_sec = (time_t)(half_us / 1000000),
			     .tv_nsec = (long)(half_us % 1000000 * 1000)};
	struct itimerspec each = {t, t};

	*fd = -1;
	if (!half_us)
		return 0;
	*fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*fd < 0 || timerfd_settime(*fd, 0, &each, NULL))
		return err_sys(err, -errno, "can't set up the watchdog's timer");
	return 0;
}

void manager_alive(int fd)
{
	uint64_t n;

	if (read(fd, &n, sizeof(n)) == sizeof(n))
		notify_manager("WATCHDOG=1");
}
