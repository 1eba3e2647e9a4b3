// SPDX-License-Identifier: MIT
/* The content of dumps on this machine, and its settings for crashes; see doctor.h. */
#include "recorder/coredump/core_state.h"
#include "recorder/cli/doctor.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "recorder/base/sandbox.h"
#include "trigger/bpf/compact.h"
#include "trigger/kernel/settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GROUP	"content of dumps"
#define CRASHES "crashes"

static void check_clock(struct doctor *d)
{
	/* Other clock sources cost a microsecond or more per event. */
	static const char *const fast[] = {
		"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource", "xen", NULL};
	bool quick = false;

	for (int i = 0; fast[i]; i++)
		quick |= !strncmp(d->clocksource, fast[i], strlen(fast[i]));
	if (!d->caps.clockid)
		doctor_add(d, GROUP, "clock", DOCTOR_NO, false,
			   "CLOCK_MONOTONIC could not be tested: recording is not allowed");
	else
		doctor_add(d, GROUP, "clock", quick ? DOCTOR_OK : DOCTOR_LIMITED, false,
			   "CLOCK_MONOTONIC, from %s%s", d->clocksource,
			   quick ? "" : ", which is slow: each event costs more");
}

static void check_threads(struct doctor *d)
{
	if (d->caps.initial_pidns)
		doctor_add(d, GROUP, "thread ids", DOCTOR_OK, false,
			   "from tracepoints: this is the initial pid namespace");
	else
		doctor_add(d, GROUP, "thread ids", DOCTOR_LIMITED, false,
			   "not the initial pid namespace: each event needs 8 more bytes for the "
			   "thread "
			   "id");
}

/* A feature that older kernels lack. */
static void feature(struct doctor *d, const char *name, bool has, const char *what,
		    const char *since)
{
	if (has)
		doctor_add(d, GROUP, name, DOCTOR_OK, false, "%s", what);
	else
		doctor_add(d, GROUP, name, DOCTOR_NO, false, "%s: needs Linux %s", what, since);
}

static void check_sideband(struct doctor *d)
{
	const struct caps *c = &d->caps;
	struct doctor_line *l;

	feature(d, "build-ids", c->build_id, "by the kernel, for each mapping", "5.12");
	feature(d, "cgroup names", c->cgroup_sideband,
		"of new cgroups; a process has its parent's until /proc is read again", "5.7");
	feature(d, "BPF and ksymbols", c->ksymbol,
		"programs and trampolines, from when they are loaded", "5.1");
	if (c->namespaces) {
		doctor_add(d, GROUP, "namespaces", DOCTOR_OK, false,
			   "of each thread, with every fork, unshare and setns");
		return;
	}
	l = doctor_add(d, GROUP, "namespaces", DOCTOR_LIMITED, !c->perfmon,
		       "from /proc, and inherited; changes %s",
		       c->perfmon ? "can't be recorded by this kernel" : "need CAP_PERFMON");
	if (!c->perfmon)
		doctor_allow_setcap(l);
}

/* /proc/kallsyms shows zeros instead of hidden addresses. */
static bool sees_kallsyms(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	char line[512];
	bool seen = false;

	if (!f)
		return false;
	for (int i = 0; i < 64 && !seen && fgets(line, sizeof(line), f); i++)
		seen = strtoull(line, NULL, 16) != 0;
	fclose(f);
	return seen;
}

static void check_kernel_symbols(struct doctor *d)
{
	const struct caps *c = &d->caps;
	struct doctor_line *l;

	if (sees_kallsyms()) {
		doctor_add(d, GROUP, "kernel symbols", DOCTOR_OK, true,
			   "/proc/kallsyms shows addresses (kernel.kptr_restrict=%d)",
			   c->kptr_restrict);
		return;
	}
	l = doctor_add(d, GROUP, "kernel symbols", DOCTOR_NO, true,
		       "/proc/kallsyms hides addresses: kernel.kptr_restrict=%d, "
		       "kernel.perf_event_paranoid=%d",
		       c->kptr_restrict, c->paranoid);
	/* The kernel's kallsyms_show_value(): 0 shows them to users who may sample the kernel. */
	if (c->kptr_restrict)
		doctor_allow_sysctl(l, "kernel.kptr_restrict", 0);
	else
		doctor_allow_sysctl(l, "kernel.perf_event_paranoid", 1);
}

static void check_freeze(struct doctor *d)
{
	if (d->caps.membarrier)
		doctor_add(d, GROUP, "freeze", DOCTOR_OK, false,
			   "membarrier(2) waits until no writer is left in a ring");
	else
		doctor_add(d, GROUP, "freeze", DOCTOR_LIMITED, false,
			   "membarrier(2) has no GLOBAL command here: the kernel was booted with "
			   "nohz_full, or a container hides it");
}

static void check_btf(struct doctor *d)
{
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		doctor_add(d, GROUP, "BTF", DOCTOR_NO, false,
			   "no /sys/kernel/btf/vmlinux (CONFIG_DEBUG_INFO_BTF): no rules runqueue "
			   "and offcpu, and preset waits records a stack at each switch");
	else
		doctor_add(d, GROUP, "BTF", DOCTOR_OK, false,
			   "rules runqueue and offcpu, and selected stacks in preset waits");
}

static void check_compact(struct doctor *d)
{
	struct err err = ERR_INIT;
	int rc = compact_try(&err);

	if (rc)
		doctor_add(d, GROUP, "compact", DOCTOR_LIMITED, false,
			   "records of the scheduler take 70 to 90 bytes instead of 8: %s",
			   err.what);
	else
		doctor_add(d, GROUP, "compact", DOCTOR_OK, false,
			   "BPF programs write records of the scheduler in 8 bytes each");
}

static void tell_lockdown(struct doctor *d)
{
	char text[128];

	if (!setting_line("/sys/kernel/security/lockdown", text, sizeof(text)) ||
	    strstr(text, "[none]"))
		return;
	doctor_add(d, GROUP, "lockdown", DOCTOR_LIMITED, false,
		   "%s: 'confidentiality' denies tracefs and kernel-side samples", text);
}

static void check_sandbox(struct doctor *d)
{
	int landlock = sandbox_landlock_version();
	bool seccomp = sandbox_has_seccomp();

	if (seccomp && landlock)
		doctor_add(d, GROUP, "sandbox", DOCTOR_OK, false,
			   "seccomp and Landlock, version %d, confine what reads dumps and symbols",
			   landlock);
	else if (seccomp)
		doctor_add(
			d, GROUP, "sandbox", DOCTOR_LIMITED, false,
			"no Landlock (Linux 5.13, lsm=landlock): what reads dumps and symbols can "
			"open all files of its user; seccomp denies the rest");
	else
		doctor_add(
			d, GROUP, "sandbox", DOCTOR_NO, false,
			"no seccomp filters (CONFIG_SECCOMP_FILTER), or a container forbids them: "
			"read dumps and record programs that you trust only");
}

static void tell_rlimit(struct doctor *d)
{
	struct rlimit r;
	char size[32];

	if (getrlimit(RLIMIT_CORE, &r))
		return;
	doctor_add(d, CRASHES, "core size", DOCTOR_FACT, false, "RLIMIT_CORE=%s%s",
		   r.rlim_cur == RLIM_INFINITY ? "unlimited"
					       : str_fmt_size(size, sizeof(size), r.rlim_cur),
		   r.rlim_cur
			   ? ""
			   : ": this shell's programs write no core files (ringback needs none)");
}

/* With a core_pattern left by a killed recorder (--crash-hold), all core dumps are lost. */
static bool tell_left_over(struct doctor *d, const char *pattern)
{
	char former[CORE_PATTERN_BYTES];
	struct doctor_line *l;
	enum core_left left;

	if (core_state_left(false, &left, former, NULL) || left == CORE_LEFT_NONE)
		return false;
	if (left == CORE_LEFT_IN_USE) {
		doctor_add(
			d, CRASHES, "core pattern", DOCTOR_OK, false,
			"kernel.core_pattern=%s: a running recorder (--crash-hold), which passes "
			"cores on",
			pattern);
		return true;
	}
	l = doctor_add(d, CRASHES, "core pattern", DOCTOR_NO, true,
		       "kernel.core_pattern=%s: left by a killed recorder; core dumps are "
		       "lost%s%s%s",
		       pattern, *former ? "; it was '" : "", former, *former ? "'" : "");
	doctor_allow(l, *former ? "sudo ringback doctor --repair"
				: "sudo sysctl -w kernel.core_pattern=core");
	return true;
}

static void tell_crashes(struct doctor *d)
{
	char text[256];
	int64_t v;

	if (setting_line("/proc/sys/kernel/core_pattern", text, sizeof(text)) &&
	    !tell_left_over(d, text))
		doctor_add(d, CRASHES, "core pattern", DOCTOR_FACT, false,
			   "kernel.core_pattern=%s%s", text,
			   text[0] == '|'   ? " (a program receives cores)"
			   : text[0] == '@' ? " (a socket receives cores)"
					    : "");
	tell_rlimit(d);
	if (setting_number("fs/suid_dumpable", &v))
		doctor_add(d, CRASHES, "setuid programs", DOCTOR_FACT, false,
			   "fs.suid_dumpable=%" PRId64, v);
}

void doctor_content(struct doctor *d)
{
	check_clock(d);
	check_threads(d);
	check_sideband(d);
	check_btf(d);
	check_compact(d);
	check_kernel_symbols(d);
	check_freeze(d);
	tell_lockdown(d);
	check_sandbox(d);
	tell_crashes(d);
}
