/* SPDX-License-Identifier: MIT */
/* Names of system calls on the architecture of a dump. */
#pragma once

#include <stdint.h>

struct meta;

/* "futex"; NULL when unknown. */
const char *syscall_name(const struct meta *m, uint64_t nr);
