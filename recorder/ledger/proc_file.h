/* SPDX-License-Identifier: MIT */
/*
 * Reads the files of a process in /proc for proc_scan.c. Buffers are reused: a result is valid
 * until the next call of the same function. For files that have vanished or may not be read the
 * result is false, NULL, "" or no entries.
 */
#pragma once

#include "recorder/ledger/ledger.h"

#include <dirent.h>

struct proc_file;

/* `proc_fd`: /proc; the caller keeps it. 0 or -ENOMEM. */
int proc_file_new(int proc_fd, struct proc_file **out);
void proc_file_free(struct proc_file *f);

struct proc_file_stat {
	char comm[16];
	uint32_t ppid;
	uint32_t nr_threads;
	uint64_t start_ns; /* CLOCK_MONOTONIC, with the precision of a clock tick */
	bool exited;	   /* this thread; the process may have other threads */
	bool gone;	   /* dead, or a zombie without other threads */
};

/* Of thread `tid`, or with tid 0 of the process. */
bool proc_file_stat(struct proc_file *f, uint32_t pid, uint32_t tid, struct proc_file_stat *out);
/* The same for given text. `boot_minus_clock`: ns between CLOCK_BOOTTIME and CLOCK_MONOTONIC. */
bool proc_file_parse_stat(const char *text, uint64_t boot_minus_clock, struct proc_file_stat *out);

bool proc_file_uid(struct proc_file *f, uint32_t pid, uint32_t *uid);
/* Cut at 4 KiB. Not NUL-terminated. */
const char *proc_file_cmdline(struct proc_file *f, uint32_t pid, size_t *bytes);
/*
 * The path in the unified hierarchy, "/system.slice/x.service". If there is none or it is the root,
 * the path in a v1 hierarchy with its controllers, "memory:/x": that of perf_event, else the first
 * that is not the root.
 */
const char *proc_file_cgroup(struct proc_file *f, uint32_t pid);
/* The same for given text, which is changed. The result points into it. */
const char *proc_file_parse_cgroup(char *text);
/* All namespaces of the kinds in this kernel, ascending by kind; *nr is 0 when they can't be
 * read. */
const struct fmt_namespace *proc_file_namespaces(struct proc_file *f, uint32_t pid, size_t *nr);
/* The directory of its threads; the caller closes it. */
DIR *proc_file_tasks(struct proc_file *f, uint32_t pid);
/* Reads the executable mappings. */
bool proc_file_maps(struct proc_file *f, uint32_t pid, const struct ledger_seen_map **maps,
		    size_t *nr);
/* The same for given text, which is changed; paths point into it. 0 or -ENOMEM. */
int proc_file_parse_maps(char *text, struct buf *maps);
