/* SPDX-License-Identifier: MIT */
/* What a system call's number means on the machine that a dump is from. */
#pragma once

#include <stdint.h>

struct meta;

/* "futex"; NULL when unknown. */
const char *syscall_name(const struct meta *m, uint64_t nr);
