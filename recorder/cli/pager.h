/* SPDX-License-Identifier: MIT */
/*
 * On a terminal what a command prints goes through a pager, as in git: $RINGBACK_PAGER, $PAGER, or
 * `less` with LESS=FRX unless LESS is set, which ends by itself where all fits on the screen. There
 * is none where stdout is no terminal, or the pager's name is empty or "cat".
 */
#pragma once

#include <stdbool.h>

/* --no-pager: pager_start() does nothing. */
void pager_off(void);
/* Called by a command when all that can be wrong with its arguments was told: from here on stdout,
 * and stderr where that is a terminal, go to the pager. */
void pager_start(void);
/* Waits until the reader has had enough; stdout and stderr are what they were. True when there was
 * a pager: then what could not be written was not wanted. */
bool pager_end(void);

/* The descriptor that tells what stdout is for people: colours, width. */
int pager_terminal(void);
