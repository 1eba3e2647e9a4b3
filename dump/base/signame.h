/* SPDX-License-Identifier: MIT */
/* Names of signals and of their codes, and the list of signals that dump core. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Signals with a core dump as their default action; ended by 0. */
extern const int signame_faults[];
bool signame_is_fault(int signo);

/* "SIGSEGV". */
const char *signame(int signo, char *out, size_t n);
/* si_code as sigaction(2) names it: "SEGV_MAPERR", "SI_KERNEL", "SI_TKILL"; else its number. */
const char *signame_code(int signo, int code, char *out, size_t n);
