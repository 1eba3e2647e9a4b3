// SPDX-License-Identifier: MIT
/* Probes capabilities; see caps.h. Each probe opens a disabled event and closes it. Where a probe
 * would have side effects, the kernel's own rule is evaluated instead; a comment names it. */
#include "trigger/kernel/caps.h"

#include "trigger/kernel/breakpoint.h"
#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "trigger/kernel/event.h"
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/settings.h"
#include "trigger/kernel/tracefs.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Fixed by the kernel (include/linux/proc_ns.h, PROC_PID_INIT_INO). */
#define INITIAL_PIDNS 0xEFFFFFFCu

static bool opens(const struct perf_event_attr *attr, int pid, int cpu)
{
	int fd = event_open(attr, pid, cpu, -1, 0);

	if (fd < 0)
		return false;
	close(fd);
	return true;
}

/* Needs the least permission: user side, own thread, disabled. */
static struct perf_event_attr modest(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

static void probe_settings(struct caps *c)
{
	struct rlimit r;
	int64_t v;

	c->paranoid = setting_number("kernel/perf_event_paranoid", &v) ? (int)v : 3;
	c->mlock_kb = setting_number("kernel/perf_event_mlock_kb", &v) ? (uint64_t)v : 0;
	c->kptr_restrict = setting_number("kernel/kptr_restrict", &v) ? (int)v : 0;
	if (!getrlimit(RLIMIT_MEMLOCK, &r))
		c->memlock_bytes = r.rlim_cur;
	c->nofile = setting_max_fds();
	c->root = geteuid() == 0;
	c->perfmon = setting_capable(CAP_PERFMON) || setting_capable(CAP_SYS_ADMIN);
	c->ipc_lock = setting_capable(CAP_IPC_LOCK);
	c->initial_pidns = setting_ns("pid") == INITIAL_PIDNS;
}

/* For a reserved field that is not 0, older kernels return EINVAL. Kernels that know
 * attr.aux_action return EOPNOTSUPP if this PMU lacks it. */
static bool probe_aux_pause(void)
{
	struct perf_event_attr a = modest();
	int fd;

	event_set_aux_action(&a, EVENT_AUX_START_PAUSED);
	fd = event_open(&a, 0, -1, -1, 0);
	if (fd >= 0)
		close(fd);
	return fd == -EOPNOTSUPP;
}

static void probe_features(struct caps *c)
{
	struct perf_event_attr a = modest();
	int fd = event_open(&a, 0, -1, -1, 0);

	c->perf_event = fd != -ENOSYS;
	if (fd >= 0)
		close(fd);

	a = modest();
	a.write_backward = 1;
	c->write_backward = opens(&a, 0, -1);

	a = modest();
	a.use_clockid = 1;
	a.clockid = CLOCK_MONOTONIC;
	c->clockid = opens(&a, 0, -1);

	a = modest();
	a.mmap = a.mmap2 = a.build_id = 1;
	c->build_id = opens(&a, 0, -1);

	a = modest();
	a.cgroup = 1;
	c->cgroup_sideband = opens(&a, 0, -1);

	a = modest();
	a.ksymbol = a.bpf_event = 1;
	c->ksymbol = opens(&a, 0, -1);

	a = modest();
	a.namespaces = 1;
	c->namespaces = opens(&a, 0, -1);

	c->aux_pause = probe_aux_pause();
}

static void probe_reach(struct caps *c)
{
	struct perf_event_attr a = modest();
	int cpu = sched_getcpu();

	a.exclude_kernel = a.exclude_hv = 0;
	c->kernel_samples = opens(&a, 0, -1);

	a = modest();
	c->system_wide = opens(&a, -1, cpu < 0 ? 0 : cpu);

	a = modest();
	a.type = PERF_TYPE_HARDWARE;
	a.config = PERF_COUNT_HW_CPU_CYCLES;
	c->hw_cycles = opens(&a, 0, -1);
}

/* The kernel checks the permission before it looks up the file (perf_uprobe_event_init). So a
 * nonexistent path shows whether a probe is allowed, without placing one. */
static bool probe_uprobes(void)
{
	struct perf_event_attr a = modest();

	if (!pmu_type("uprobe", &a.type))
		return false;
	a.config = 0;
	a.uprobe_path = (uintptr_t) "/proc/self/no such file";
	return event_open(&a, 0, -1, -1, 0) == -ENOENT;
}

static void probe_tracepoints(struct caps *c)
{
	struct perf_event_attr a = modest();
	struct buf id = {0};

	a.type = PERF_TYPE_TRACEPOINT;
	a.sample_type = PERF_SAMPLE_RAW;
	a.exclude_kernel = a.exclude_hv = 0;
	c->tracefs = tracefs_read("events/sched/sched_switch/id", &id, NULL) == 0;
	if (c->tracefs) {
		a.config = strtoull((char *)id.p, NULL, 10);
		c->tracepoints = opens(&a, 0, -1);
	} else {
		/* The rule of perf_allow_tracepoint() in the kernel. */
		c->tracepoints = c->perfmon || c->paranoid < 0;
	}
	buf_free(&id);
}

static bool has_option(const char *options, const char *option)
{
	size_t n = strlen(option);

	for (const char *p = options; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		if (!strncmp(p, option, n) && (p[n] == '\0' || p[n] == ',' || p[n] == '\n'))
			return true;
	return false;
}

/* Decodes \ooo: mountinfo escapes space, tab, newline and backslash. */
static void unescape(char *s)
{
	char *to = s;

	while (*s) {
		if (s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' && s[2] <= '7' &&
		    s[3] >= '0' && s[3] <= '7') {
			*to++ = (char)((s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0'));
			s += 4;
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

/* Line format: ID PARENT MAJ:MIN ROOT MOUNTPOINT OPTIONS [TAGS..] - TYPE SOURCE SUPER_OPTIONS */
static void note_mount(struct caps *c, char *line)
{
	char *dash = strstr(line, " - "), *at, type[16], super[512];
	char point[256];

	if (!dash || sscanf(line, "%*s %*s %*s %*s %255s", point) != 1 ||
	    sscanf(dash + 3, "%15s %*s %511s", type, super) != 2)
		return;
	at = point;
	unescape(at);
	if (!c->cgroup_v2 && !strcmp(type, "cgroup2")) {
		c->cgroup_v2 = true;
		snprintf(c->cgroup_v2_mount, sizeof(c->cgroup_v2_mount), "%s", at);
	} else if (!c->cgroup_v1 && !strcmp(type, "cgroup") && has_option(super, "perf_event")) {
		c->cgroup_v1 = true;
		snprintf(c->cgroup_v1_mount, sizeof(c->cgroup_v1_mount), "%s", at);
	}
}

static void probe_cgroups(struct caps *c)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t n = 0;

	if (!f)
		return;
	while (getline(&line, &n, f) > 0)
		note_mount(c, line);
	free(line);
	fclose(f);
}

static bool probe_membarrier(void)
{
	long known = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return known > 0 && (known & MEMBARRIER_CMD_GLOBAL);
}

void caps_probe(struct caps *c)
{
	*c = (struct caps){0};
	probe_settings(c);
	probe_features(c);
	if (c->perf_event) {
		probe_reach(c);
		c->uprobes = probe_uprobes();
		c->breakpoints = !breakpoint_check(NULL);
	}
	probe_tracepoints(c);
	c->membarrier = probe_membarrier();
	probe_cgroups(c);
}

size_t caps_lines(const struct caps *c, char lines[][96], size_t max)
{
	const struct {
		const char *name;
		int64_t v;
	} rows[] = {
		{"perf_event_paranoid", c->paranoid},
		{"perf_event_mlock_kb", (int64_t)c->mlock_kb},
		{"kptr_restrict", c->kptr_restrict},
		{"root", c->root},
		{"perfmon", c->perfmon},
		{"ipc_lock", c->ipc_lock},
		{"initial_pidns", c->initial_pidns},
		{"perf_event", c->perf_event},
		{"write_backward", c->write_backward},
		{"clockid", c->clockid},
		{"kernel_samples", c->kernel_samples},
		{"system_wide", c->system_wide},
		{"tracepoints", c->tracepoints},
		{"tracefs", c->tracefs},
		{"build_id", c->build_id},
		{"cgroup_sideband", c->cgroup_sideband},
		{"ksymbol", c->ksymbol},
		{"namespaces", c->namespaces},
		{"aux_pause", c->aux_pause},
		{"membarrier", c->membarrier},
		{"hw_cycles", c->hw_cycles},
		{"uprobes", c->uprobes},
		{"breakpoints", c->breakpoints},
		{"cgroup_v1", c->cgroup_v1},
		{"cgroup_v2", c->cgroup_v2},
	};
	size_t nr = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && nr < max; i++)
		snprintf(lines[nr++], sizeof(lines[0]), "%s=%" PRId64, rows[i].name, rows[i].v);
	if (nr < max)
		snprintf(lines[nr++], sizeof(lines[0]), "nofile=%" PRIu64, c->nofile);
	if (nr < max && c->memlock_bytes == RLIM_INFINITY)
		snprintf(lines[nr++], sizeof(lines[0]), "memlock_bytes=unlimited");
	else if (nr < max)
		snprintf(lines[nr++], sizeof(lines[0]), "memlock_bytes=%" PRIu64, c->memlock_bytes);
	return nr;
}
