/* SPDX-License-Identifier: MIT */
/* The signals by which programs crash, and the words for signals and for what came with them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Those whose default action is to end the process with a core dump; ended by 0. */
extern const int signame_faults[];
bool signame_is_fault(int signo);

/* "SIGSEGV". */
const char *signame(int signo, char *out, size_t n);
/* si_code as sigaction(2) names it: "SEGV_MAPERR", "SI_KERNEL", "SI_TKILL"; else its number. */
const char *signame_code(int signo, int code, char *out, size_t n);
