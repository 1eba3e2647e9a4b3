// SPDX-License-Identifier: MIT
/* What kernel.perf_event_paranoid and capabilities permit to record; see doctor.h. */
#include "recorder/cli/doctor.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/settings.h"
#include "trigger/kernel/tracefs.h"

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#define GROUP	 "what can be recorded"
#define PARANOID "kernel.perf_event_paranoid"

/* A check that perf_event_paranoid controls: ok, or the value that permits it. */
static void guarded(struct doctor *d, const char *name, bool ok, int needs, const char *what)
{
	const struct caps *c = &d->caps;
	struct doctor_line *l;

	if (ok) {
		doctor_add(d, GROUP, name, DOCTOR_OK, true, "%s", what);
	} else if (!c->perfmon && c->paranoid > needs) {
		l = doctor_add(d, GROUP, name, DOCTOR_NO, true,
			       "%s: " PARANOID "=%d; without CAP_PERFMON it must be %d or less",
			       what, c->paranoid, needs);
		doctor_allow_sysctl(l, PARANOID, needs);
	} else {
		l = doctor_add(d, GROUP, name, DOCTOR_NO, true,
			       "%s: refused, although " PARANOID
			       "=%d allows it: by a container, seccomp or a security module",
			       what, c->paranoid);
		doctor_allow(l, "docker run --cap-add PERFMON --security-opt seccomp=unconfined");
	}
}

static void check_perf(struct doctor *d)
{
	struct doctor_line *l;

	if (!d->caps.perf_event) {
		l = doctor_add(d, GROUP, "perf events", DOCTOR_NO, true,
			       "this kernel has no perf_event_open (CONFIG_PERF_EVENTS), or a "
			       "container hides it");
		doctor_allow(l, "docker run --cap-add PERFMON --security-opt seccomp=unconfined");
		return;
	}
	guarded(d, "own processes", d->caps.clockid, 2, "the user side of your processes");
	if (d->caps.clockid && !d->caps.write_backward)
		doctor_add(
			d, GROUP, "backward rings", DOCTOR_NO, true,
			"missing in Linux %s, and ringback can't record without: use 5.10 or newer",
			d->release);
	guarded(d, "kernel side", d->caps.kernel_samples, 1, "samples and stacks in the kernel");
	guarded(d, "whole machine", d->caps.system_wide, 0, "all CPUs: -a, -C, --cgroup");
}

static void check_others(struct doctor *d)
{
	struct doctor_line *l;

	if (d->caps.perfmon && setting_capable(CAP_SYS_PTRACE)) {
		doctor_add(d, GROUP, "other users", DOCTOR_OK, true, "-p and -t for any process");
		return;
	}
	l = doctor_add(
		d, GROUP, "other users", DOCTOR_LIMITED, true,
		"-p and -t for your own processes only: others need CAP_PERFMON and, for their "
		"mappings, CAP_SYS_PTRACE");
	doctor_allow_setcap(l);
}

static void check_tracepoints(struct doctor *d)
{
	struct err err = ERR_INIT;
	struct doctor_line *l;
	const char *command;

	guarded(d, "tracepoint data", d->caps.tracepoints, -1, "the fields of tracepoints");
	if (d->caps.tracefs) {
		doctor_add(d, GROUP, "tracepoint names", DOCTOR_OK, true, "tracefs is readable");
		return;
	}
	tracefs_dir(&err);
	l = doctor_add(d, GROUP, "tracepoint names", DOCTOR_NO, true, "%s",
		       err.what[0] ? err.what : "tracefs has no tracepoints");
	/* The hint is a sentence that contains one command. */
	command = strstr(err.hint, "sudo ");
	if (command)
		doctor_allow(l, "%.*s", (int)strcspn(command, "("), command);
}

static void check_hardware(struct doctor *d)
{
	if (d->caps.hw_cycles)
		doctor_add(d, GROUP, "hardware counters", DOCTOR_OK, false,
			   "cycles can be sampled");
	else
		doctor_add(d, GROUP, "hardware counters", DOCTOR_NO, false,
			   "none that can sample, as on many virtual machines; cpu-clock works "
			   "without");
}

static void check_breakpoints(struct doctor *d)
{
	if (d->caps.breakpoints)
		doctor_add(d, GROUP, "breakpoints", DOCTOR_OK, false, "watch: rules");
	else
		doctor_add(
			d, GROUP, "breakpoints", DOCTOR_NO, false,
			"hardware breakpoints never fire on this machine: its hypervisor does not "
			"pass debug registers to guests; watch: rules are refused");
}

static void check_uprobes(struct doctor *d)
{
	struct doctor_line *l;
	__u32 type;

	if (d->caps.uprobes) {
		doctor_add(d, GROUP, "uprobes", DOCTOR_OK, true,
			   "functions of programs and libraries");
	} else if (!pmu_type("uprobe", &type)) {
		doctor_add(d, GROUP, "uprobes", DOCTOR_NO, false,
			   "this kernel has no uprobe PMU (CONFIG_UPROBE_EVENTS)");
	} else {
		l = doctor_add(d, GROUP, "uprobes", DOCTOR_NO, true,
			       "they need CAP_PERFMON; " PARANOID " (%d) can't allow them",
			       d->caps.paranoid);
		doctor_allow_setcap(l);
	}
}

#define MAX_AUX_LINES 6 /* some processors have one PMU for each core type */

struct aux_pmus {
	struct doctor *d;
	unsigned nr;
};

/* "; caps: mtc=1 psb_cyc=1 ...", as many as fit. */
static void caps_text(const char *pmu, char *out, size_t n)
{
	struct buf files = {0};
	size_t used = 0;

	*out = '\0';
	if (pmu_files(pmu, &files))
		n = 0;
	for (size_t at = 0; at < files.len;) {
		const char *path = (char *)files.p + at, *value = path + strlen(path) + 1;

		at += strlen(path) + strlen(value) + 2;
		if (strncmp(path, "caps/", 5) || used + strlen(path) + strlen(value) + 16 > n)
			continue;
		used += (size_t)snprintf(out + used, n - used, "%s%s=%s",
					 used ? " " : "; caps: ", path + 5, value);
	}
	buf_free(&files);
}

static void note_aux(void *ctx, const char *pmu, __u32 type)
{
	struct aux_pmus *a = ctx;
	char caps[320];

	if (type < PERF_TYPE_MAX || a->nr == MAX_AUX_LINES || !pmu_has_aux(pmu))
		return;
	caps_text(pmu, caps, sizeof(caps));
	doctor_add(a->d, GROUP, "hardware trace", DOCTOR_OK, false,
		   "%s has AUX areas: --channel 'trace:%s//u'%s", pmu, pmu, caps);
	a->nr++;
}

static void check_aux(struct doctor *d)
{
	struct aux_pmus a = {.d = d};

	pmu_each(note_aux, &a);
	if (!a.nr)
		doctor_add(
			d, GROUP, "hardware trace", DOCTOR_NO, false,
			"no PMU with an AUX area (intel_pt, cs_etm, arm_spe) can be opened here");
	else if (!d->caps.aux_pause)
		doctor_add(
			d, GROUP, "pause of traces", DOCTOR_NO, false,
			"an event can't stop a trace in the kernel (aux_action, Linux 6.13): the "
			"recorder stops it when it wakes");
	else
		doctor_add(d, GROUP, "pause of traces", DOCTOR_OK, false,
			   "an event that meets a rule can stop a CPU's trace in the kernel, if "
			   "its PMU supports it: see --dry-run");
}

static void check_cgroups(struct doctor *d)
{
	const struct caps *c = &d->caps;
	struct doctor_line *l;

	if (c->cgroup_v1) {
		doctor_add(d, GROUP, "cgroups", DOCTOR_OK, true,
			   "--cgroup takes paths below %s (v1, perf_event)", c->cgroup_v1_mount);
		return;
	}
	if (c->cgroup_v2) {
		doctor_add(d, GROUP, "cgroups", DOCTOR_OK, true,
			   "--cgroup takes paths below %s (v2)", c->cgroup_v2_mount);
		return;
	}
	l = doctor_add(
		d, GROUP, "cgroups", DOCTOR_LIMITED, true,
		"--cgroup needs a v2 hierarchy or a v1 hierarchy with perf_event, and none is "
		"mounted");
	doctor_allow(l, "sudo mount -t cgroup2 none /sys/fs/cgroup");
}

void doctor_reach(struct doctor *d)
{
	check_perf(d);
	if (!d->caps.perf_event)
		return;
	check_others(d);
	check_tracepoints(d);
	check_uprobes(d);
	check_breakpoints(d);
	check_cgroups(d);
	check_hardware(d);
	check_aux(d);
}
