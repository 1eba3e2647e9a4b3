/* SPDX-License-Identifier: MIT */
/* The recorder's main loop; see daemon.c. */
#pragma once

struct err;
struct session;

/*
 * Runs until SIGINT, SIGTERM or the end of the command; dumps on the way. `argc` and `argv` are
 * read again on SIGHUP. *status: the command's exit status; without one 0, or 1 when the last dump
 * before leaving failed. 0, or what made it stop.
 */
int daemon_run(struct session *s, int argc, char **argv, int *status, struct err *err);
