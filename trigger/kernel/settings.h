/* SPDX-License-Identifier: MIT */
/* Settings of the running kernel and this process, read on each call: sysctls, limits,
 * capabilities. For caps.c, event_strerror.c and doctor. Changes nothing. */
#pragma once

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Missing in the headers of older C libraries. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

/* /proc/sys/NAME ("kernel/perf_event_paranoid") as a number; false: it does not exist. */
bool setting_number(const char *name, int64_t *v);
/* The first line of any file, without its newline; false: it can't be read. */
bool setting_line(const char *path, char *out, size_t n);
/* Whether an effective capability (CAP_* of linux/capability.h) is valid in the initial user
 * namespace. Root of a container with its own user namespace has none. */
bool setting_capable(unsigned cap);
/* The name of a capability that a recorder may hold, such as "CAP_BPF". */
const char *setting_capability(unsigned cap);
/* Inode of /proc/self/ns/NAME ("pid", "user"); 0: unknown. */
uint64_t setting_ns(const char *name);
/* The number of open descriptors of this process; works even at the limit. */
uint64_t setting_open_fds(void);
/* The largest RLIMIT_NOFILE that this process may set for itself. */
uint64_t setting_max_fds(void);
unsigned setting_cpus_online(void);
bool setting_cpu_online(int cpu);
/* The path of this program, for commands in hints; "ringback" when unknown. */
char *setting_program(char *out, size_t n);
