/* SPDX-License-Identifier: MIT */
/*
 * The signals by which programs crash, and what the kernel says with them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Those whose default action is to end the process with a core dump; ended by 0. */
extern const int crash_signals[];
bool crash_is_signal(int signo);

/* "SIGSEGV". */
const char *crash_signal_name(int signo, char *out, size_t n);
/* si_code as sigaction(2) names it: "SEGV_MAPERR", "SI_KERNEL", "SI_TKILL"; else its number. */
const char *crash_code_name(int signo, int code, char *out, size_t n);
