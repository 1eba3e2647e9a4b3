/* SPDX-License-Identifier: MIT */
/*
 * The files of a process in /proc as proc_scan.c wants them. One buffer is used again and again:
 * everything returned is borrowed until the next call of the same function. What has vanished or
 * may not be read gives false, NULL or "".
 */
#pragma once

#include "recorder/ledger/ledger.h"

#include <dirent.h>

struct proc_file;

/* `proc_fd`: /proc, which stays the caller's. 0 or -ENOMEM. */
int proc_file_new(int proc_fd, struct proc_file **out);
void proc_file_free(struct proc_file *f);

struct proc_file_stat {
	char comm[16];
	uint32_t ppid;
	uint32_t nr_threads;
	uint64_t start_ns; /* CLOCK_MONOTONIC, to a clock tick */
	bool exited;	   /* itself: its process may have further threads */
	bool gone;	   /* a zombie without further threads, or dead */
};

/* Of a thread, or with tid 0 of the process. */
bool proc_file_stat(struct proc_file *f, uint32_t pid, uint32_t tid, struct proc_file_stat *out);
/* As proc_file_stat on bytes; `boot_minus_clock`: ns between CLOCK_BOOTTIME and CLOCK_MONOTONIC. */
bool proc_file_parse_stat(const char *text, uint64_t boot_minus_clock, struct proc_file_stat *out);

bool proc_file_uid(struct proc_file *f, uint32_t pid, uint32_t *uid);
/* Cut at 4 KiB. */
const char *proc_file_cmdline(struct proc_file *f, uint32_t pid, size_t *bytes);
/*
 * The path in the unified hierarchy, "/system.slice/x.service". Where that is none or its root, a
 * v1 hierarchy's with its controllers, "memory:/x": perf_event's, else the first that says more.
 */
const char *proc_file_cgroup(struct proc_file *f, uint32_t pid);
/* As proc_file_cgroup on text, which is changed: what is returned points into it. */
const char *proc_file_parse_cgroup(char *text);
/* All namespaces that this kernel has, ascending by kind, as a record has them; or *nr 0. */
const struct fmt_namespace *proc_file_namespaces(struct proc_file *f, uint32_t pid, size_t *nr);
/* The directory of its threads; the caller's to close. */
DIR *proc_file_tasks(struct proc_file *f, uint32_t pid);
/* The executable mappings. */
bool proc_file_maps(struct proc_file *f, uint32_t pid, const struct ledger_seen_map **maps,
		    size_t *nr);
/* As proc_file_maps on text, which is changed: paths point into it. 0 or -ENOMEM. */
int proc_file_parse_maps(char *text, struct buf *maps);
