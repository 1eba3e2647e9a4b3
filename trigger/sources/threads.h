/* SPDX-License-Identifier: MIT */
/* The threads of a process, as many as there are now; for taps, whose events inherit those that
 * come. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct err;

/* *out is the caller's to free. -ESRCH: there is no such process. */
int threads_list(pid_t pid, pid_t **out, size_t *nr, struct err *err);
