/* SPDX-License-Identifier: MIT */
/*
 * What the service manager is told: the states and status text of sd_notify(3), and the watchdog of
 * sd_watchdog_enabled(3). Does nothing without a service manager. Called by the daemon's thread.
 */
#pragma once

#include <stdbool.h>

struct err;
struct session;

/* Recording has started, or a reload has ended. */
void manager_ready(const struct session *s);
void manager_reloading(void);
/* After each dump. */
void manager_status(const struct session *s);
/* `writing`: a dump must be completed first, which may take longer than a stop usually may. */
void manager_stopping(bool writing);

/* *fd: a timer that expires each half of the watchdog's interval; -1: there is no watchdog. The
 * caller closes it. */
int manager_watchdog(int *fd, struct err *err);
/* The main loop still runs: it has read the timer. */
void manager_alive(int fd);
