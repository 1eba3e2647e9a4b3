/* SPDX-License-Identifier: MIT */
/*
 * Sends output on a terminal through a pager, like git: $RINGBACK_PAGER, $PAGER, or `less` with
 * LESS=FRX unless LESS is set. No pager is used if stdout is not a terminal, or the pager is "" or
 * "cat".
 */
#pragma once

#include <stdbool.h>

/* For --no-pager: pager_start() then does nothing. */
void pager_off(void);
/* Call after the arguments were checked: from then on stdout, and stderr if it is a terminal, go to
 * the pager. */
void pager_start(void);
/* Waits for the end of the pager and restores stdout and stderr. True if there was a pager: a
 * failed write is then no error. */
bool pager_end(void);

/* The descriptor of the terminal, for colours and width. */
int pager_terminal(void);
