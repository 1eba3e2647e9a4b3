/* SPDX-License-Identifier: MIT */
/* What kernel, user and machine allow. Probed once at start, shown by `doctor`, stored in every
 * dump. Reads settings and opens (and closes) events; changes nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct caps {
	int paranoid;		/* kernel.perf_event_paranoid; 3 on kernels without it */
	uint64_t mlock_kb;	/* kernel.perf_event_mlock_kb */
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK */
	uint64_t nofile;	/* RLIMIT_NOFILE, after raising it to what is allowed */
	int kptr_restrict;
	bool root;     /* euid 0 */
	bool perfmon;  /* CAP_PERFMON or CAP_SYS_ADMIN: system-wide, tracepoints, kernel side */
	bool ipc_lock; /* CAP_IPC_LOCK: no mlock limit */
	bool initial_pidns;
	bool perf_event;	   /* perf_event_open exists at all */
	bool write_backward;	   /* Linux 4.7 */
	bool clockid;		   /* use_clockid */
	bool kernel_samples;	   /* exclude_kernel = 0 is allowed for own processes */
	bool system_wide;	   /* pid -1 is allowed */
	bool tracepoints;	   /* raw tracepoint data may be read */
	bool tracefs;		   /* the events directory can be read */
	bool build_id;		   /* attr.build_id, Linux 5.12 */
	bool cgroup_sideband;	   /* attr.cgroup, Linux 5.7 */
	bool ksymbol;		   /* attr.ksymbol and bpf_event, Linux 5.1 */
	bool namespaces;	   /* attr.namespaces */
	bool aux_pause;		   /* attr.aux_action, Linux 6.13: an event pauses a trace */
	bool membarrier;	   /* MEMBARRIER_CMD_GLOBAL */
	bool hw_cycles;		   /* a hardware PMU counts */
	bool uprobes;		   /* the uprobe PMU */
	bool breakpoints;	   /* a hardware breakpoint fires; see breakpoint.h */
	bool cgroup_v1, cgroup_v2; /* perf_event hierarchy, unified hierarchy mounted */
	char cgroup_v1_mount[256], cgroup_v2_mount[256];
};

void caps_probe(struct caps *c);

/* Formats at most `max` "name=value" lines for the dump and returns their number. */
size_t caps_lines(const struct caps *c, char lines[][96], size_t max);
