/* SPDX-License-Identifier: MIT */
/*
 * Small facts about the running kernel and this process, read anew each time: sysctls, limits,
 * capabilities. For caps.c, event_strerror.c and doctor. Changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* /proc/sys/NAME ("kernel/perf_event_paranoid") as a number; false when it is not there. */
bool setting_number(const char *name, int64_t *v);
/* The first line of any file, without its newline; false when it can't be read. */
bool setting_line(const char *path, char *out, size_t n);
/* An effective capability (CAP_* of linux/capability.h) that counts in the initial user namespace:
 * root of a container with its own has none of these. */
bool setting_capable(unsigned cap);
/* Inode of /proc/self/ns/NAME ("pid", "user"); 0 when unknown. */
uint64_t setting_ns(const char *name);
/* Descriptors open in this process; works when no more can be opened. */
uint64_t setting_open_fds(void);
/* RLIMIT_NOFILE as far as this process may raise it for itself. */
uint64_t setting_max_fds(void);
unsigned setting_cpus_online(void);
bool setting_cpu_online(int cpu);
/* The path of this program, for commands to type; "ringback" when unknown. */
char *setting_program(char *out, size_t n);
