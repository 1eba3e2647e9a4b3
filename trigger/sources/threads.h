/* SPDX-License-Identifier: MIT */
/* The current threads of a process, for taps: new threads inherit the events. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct err;

/* The caller frees *out. -ESRCH: there is no such process. */
int threads_list(pid_t pid, pid_t **out, size_t *nr, struct err *err);
