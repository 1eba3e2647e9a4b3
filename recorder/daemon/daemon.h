/* SPDX-License-Identifier: MIT */
/* The recorder's main loop; see daemon.c. */
#pragma once

struct err;
struct session;

/*
 * Runs until SIGINT, SIGTERM or the end of the command, and dumps when a rule is met. Reads `argc`
 * and `argv` again on SIGHUP. *status: the command's exit status; without a command 0, or 1 when
 * the last dump at exit failed. 0, or the error that stopped it.
 */
int daemon_run(struct session *s, int argc, char **argv, int *status, struct err *err);
