/* SPDX-License-Identifier: MIT */
/*
 * Traces of all rings that their drivers have ended, and their new start (trace_watch.h has how they
 * are noticed). Called by daemon.c, in its thread.
 */
#pragma once

struct recording;

/*
 * Starts ended traces again, each at most ten times a second, and warns about them. Call it when a
 * descriptor of banks_watch_fd() wakes, and after a start of traces. Returns in how many
 * milliseconds to call it again; -1: it need not be.
 */
int traces_start_again(struct recording *r);
