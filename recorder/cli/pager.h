/* SPDX-License-Identifier: MIT */
/*
 * On a terminal, output goes through a pager, as in git: $RINGBACK_PAGER, $PAGER, or `less` with
 * LESS=FRX unless LESS is set. None is used if stdout is no terminal, or the pager is "" or "cat".
 */
#pragma once

#include <stdbool.h>

/* --no-pager: pager_start() does nothing. */
void pager_off(void);
/* Called by a command after its argument errors: from here on stdout, and stderr if it is a
 * terminal, go to the pager. */
void pager_start(void);
/* Waits until the pager ends and restores stdout and stderr. True if there was a pager: then a
 * failed write is no error. */
bool pager_end(void);

/* The descriptor of the terminal, for colours and width. */
int pager_terminal(void);
