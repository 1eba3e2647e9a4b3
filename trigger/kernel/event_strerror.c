// SPDX-License-Identifier: MIT
/*
 * Explains why an event could not be opened or its ring not be mapped, with a command to type; see
 * event.h. The setting at fault is found by the checks of sys_perf_event_open() and perf_mmap()
 * (kernel/events/core.c):
 *
 *	perf_event_paranoid	 what it refuses without CAP_PERFMON
 *		> 2		 everything (Debian and others add this)
 *		> 1		 the kernel side
 *		> 0		 all tasks of a CPU
 *		> -1		 raw tracepoint data; rings above the mlock limit
 *	uprobes need CAP_PERFMON at any level
 */
#include "trigger/kernel/event.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The capabilities for all functions without root; see permissions in the README. */
#define PROGRAM_CAPS "cap_perfmon,cap_ipc_lock,cap_sys_ptrace,cap_dac_read_search=ep"

struct failure {
	struct err *err;
	int code;
	const char *name;
	const struct perf_event_attr *attr;
	int pid, cpu;
	size_t mmap_bytes;
	const struct caps *caps;
};

static int64_t setting_or(const char *name, int64_t otherwise)
{
	int64_t v;

	return setting_number(name, &v) ? v : otherwise;
}

/* ---- permission ---- */

struct need {
	int paranoid; /* the highest level that allows it */
	const char *what;
};

/* The strictest requirement of this event. */
static struct need need_of(const struct failure *f)
{
	if (f->attr->type == PERF_TYPE_TRACEPOINT)
		return (struct need){-1, "the data of tracepoints"};
	if (f->pid < 0)
		return (struct need){0, "recording of whole CPUs"};
	if (!f->attr->exclude_kernel)
		return (struct need){1, "recording of the kernel side"};
	return (struct need){2, "recording"};
}

static int denied_by_paranoid(const struct failure *f, const struct need *n)
{
	char program[200];

	err_set(f->err, f->code, "can't open %s: %s is refused by kernel.perf_event_paranoid=%d",
		f->name, n->what, f->caps->paranoid);
	err_hint(f->err,
		 "run as root, or: sudo sysctl kernel.perf_event_paranoid=%d, or for this program "
		 "alone: sudo setcap " PROGRAM_CAPS " %s%s",
		 n->paranoid, setting_program(program, sizeof(program)),
		 n->paranoid == 1 ? "; the user side alone is allowed: append :u to the event"
				  : "");
	return f->code;
}

static bool is_uprobe(const struct perf_event_attr *a)
{
	__u32 type;

	return pmu_type("uprobe", &type) && a->type == type;
}

static int denied_uprobe(const struct failure *f)
{
	char program[200];

	err_set(f->err, f->code,
		"can't open %s: uprobes need CAP_PERFMON, which no setting of "
		"kernel.perf_event_paranoid (now %d) replaces",
		f->name, f->caps->paranoid);
	err_hint(f->err, "run as root, or: sudo setcap " PROGRAM_CAPS " %s",
		 setting_program(program, sizeof(program)));
	return f->code;
}

static bool exists(int pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", pid);
	return access(path, F_OK) == 0;
}

static int denied(const struct failure *f)
{
	struct need n = need_of(f);

	if (!f->caps->perfmon && is_uprobe(f->attr))
		return denied_uprobe(f);
	if (!f->caps->perfmon && f->caps->paranoid > n.paranoid)
		return denied_by_paranoid(f, &n);
	if (!f->caps->perfmon && f->pid > 0 && exists(f->pid)) {
		err_set(f->err, f->code, "can't open %s: no permission to trace process %d",
			f->name, f->pid);
		err_hint(f->err,
			 "run as root or as its user (kernel.perf_event_paranoid=%d does "
			 "not matter here)",
			 f->caps->paranoid);
		return f->code;
	}
	err_set(f->err, f->code,
		"can't open %s: refused although kernel.perf_event_paranoid=%d %s it: a container, "
		"seccomp or a security module says no",
		f->name, f->caps->paranoid, f->caps->perfmon ? "does not forbid" : "allows");
	err_hint(f->err,
		 "in a container: --cap-add PERFMON --security-opt seccomp=unconfined; "
		 "else see: cat /sys/kernel/security/lockdown; journalctl -k | grep -i denied");
	return f->code;
}

/* ---- limits ---- */

static int too_many_files(const struct failure *f)
{
	struct rlimit r = {0};
	uint64_t open = setting_open_fds();

	if (f->code == -ENFILE) {
		err_set(f->err, f->code,
			"can't open %s: the machine's limit of open files is "
			"reached, fs.file-max=%" PRId64,
			f->name, setting_or("fs/file-max", -1));
		err_hint(f->err, "sudo sysctl fs.file-max=%" PRId64,
			 2 * setting_or("fs/file-max", 500000));
		return f->code;
	}
	getrlimit(RLIMIT_NOFILE, &r);
	err_set(f->err, f->code,
		"can't open %s: %" PRIu64 " descriptors are open and RLIMIT_NOFILE is %" PRIu64,
		f->name, open, (uint64_t)r.rlim_cur);
	err_hint(f->err,
		 "ulimit -n %" PRIu64 " (hard limit: %" PRIu64 "; as a service: LimitNOFILE=), or "
		 "record fewer events: each takes one per CPU and bank",
		 (uint64_t)r.rlim_cur * 4, (uint64_t)r.rlim_max);
	return f->code;
}

static int bad_frequency(const struct failure *f, int64_t max)
{
	err_set(f->err, f->code,
		"can't open %s: %llu Hz is above "
		"kernel.perf_event_max_sample_rate=%" PRId64,
		f->name, (unsigned long long)f->attr->sample_freq, max);
	err_hint(f->err,
		 "ask for freq=%" PRId64 " or less, or: sudo sysctl "
		 "kernel.perf_event_max_sample_rate=%llu",
		 max, (unsigned long long)f->attr->sample_freq);
	return f->code;
}

static bool is_hardware(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE ||
	       a->type == PERF_TYPE_RAW;
}

static int bad_place(const struct failure *f)
{
	err_set(f->err, f->code, "can't open %s: offset %#llx is not in its file", f->name,
		(unsigned long long)f->attr->probe_offset);
	err_hint(f->err, "give a function's name, or an offset in the file (not an address) of its "
			 "code: readelf -lW shows the segments");
	return f->code;
}

static int invalid(const struct failure *f)
{
	const struct perf_event_attr *a = f->attr;
	int64_t max = setting_or("kernel/perf_event_max_sample_rate", INT64_MAX);

	if (a->freq && (int64_t)a->sample_freq > max)
		return bad_frequency(f, max);
	if (a->write_backward && !f->caps->write_backward) {
		err_set(f->err, f->code, "can't open %s: this kernel has no backward rings",
			f->name);
		err_hint(f->err, "they came with Linux 4.7; ringback is made for 5.10 and newer");
		return f->code;
	}
	if (is_uprobe(a))
		return bad_place(f);
	err_set(f->err, f->code, "can't open %s: the kernel does not accept it as it is", f->name);
	if (is_hardware(a) || a->type >= PERF_TYPE_MAX)
		err_hint(f->err,
			 "the PMU may only count and not sample, or want other terms; %s"
			 "sudo dmesg | tail may say more",
			 a->precise_ip ? "without :p it may work; " : "");
	else if (a->type == PERF_TYPE_TRACEPOINT)
		err_hint(f->err,
			 "this tracepoint can't be opened through perf; leave it out (events "
			 "of the system 'ftrace' are such)");
	else
		err_hint(f->err, "ringback doctor shows what this kernel can do");
	return f->code;
}

static int stack_too_deep(const struct failure *f)
{
	int64_t max = setting_or("kernel/perf_event_max_stack", 127);

	err_set(f->err, f->code,
		"can't open %s: a stack of %u entries is above "
		"kernel.perf_event_max_stack=%" PRId64,
		f->name, f->attr->sample_max_stack, max);
	err_hint(f->err, "sudo sysctl kernel.perf_event_max_stack=%u  (while nothing records)",
		 f->attr->sample_max_stack);
	return f->code;
}

/* ---- missing support ---- */

static int no_device(const struct failure *f)
{
	if (f->cpu >= 0 && !setting_cpu_online(f->cpu)) {
		err_set(f->err, f->code, "can't open %s: CPU %d is not online", f->name, f->cpu);
		err_hint(f->err, "cat /sys/devices/system/cpu/online shows those that are");
		return f->code;
	}
	err_set(f->err, f->code, "can't open %s: the hardware does not have it", f->name);
	err_hint(f->err,
		 "use cpu-clock, which needs no hardware; virtual machines often have no "
		 "counters (perf_event_paranoid=%d does not matter here)",
		 f->caps->paranoid);
	return f->code;
}

static int no_such_event(const struct failure *f)
{
	if (f->attr->type == PERF_TYPE_TRACEPOINT) {
		err_set(f->err, f->code, "can't open %s: tracepoint %llu is no longer there",
			f->name, (unsigned long long)f->attr->config);
		err_hint(f->err, "its kernel module may just have been unloaded; try again");
		return f->code;
	}
	if (is_hardware(f->attr)) {
		err_set(f->err, f->code,
			"can't open %s: this processor, or virtual machine, does not have it",
			f->name);
		err_hint(f->err, "use cpu-clock, which needs no hardware counter");
		return f->code;
	}
	if (is_uprobe(f->attr)) {
		err_set(f->err, f->code, "can't open %s: its file is no longer there", f->name);
		err_hint(f->err, "give a path that exists: ls -l shows it");
		return f->code;
	}
	err_set(f->err, f->code, "can't open %s: the kernel does not know it", f->name);
	err_hint(f->err, "perf list shows what this kernel has");
	return f->code;
}

static int busy(const struct failure *f)
{
	int64_t watchdog = setting_or("kernel/nmi_watchdog", 0);

	if (is_hardware(f->attr) && watchdog) {
		err_set(f->err, f->code,
			"can't open %s: its hardware counter is taken, and "
			"kernel.nmi_watchdog=%" PRId64 " holds one",
			f->name, watchdog);
		err_hint(f->err, "sudo sysctl kernel.nmi_watchdog=0");
		return f->code;
	}
	err_set(f->err, f->code, "can't open %s: another program uses it, and only one can",
		f->name);
	err_hint(f->err, "sudo sh -c 'ls -l /proc/[0-9]*/fd' 2>/dev/null | grep perf_event  shows "
			 "who holds events; stop the other one");
	return f->code;
}

static int not_supported(const struct failure *f)
{
	if (f->attr->precise_ip) {
		err_set(f->err, f->code,
			"can't open %s: precise addresses (:p, level %u) are not "
			"supported by this hardware",
			f->name, f->attr->precise_ip);
		err_hint(f->err, "leave out the :p");
		return f->code;
	}
	err_set(f->err, f->code, "can't open %s: its PMU can count but not sample", f->name);
	err_hint(f->err, "use an event that can, such as cpu-clock; a virtual machine without a "
			 "counter interrupt is a common reason");
	return f->code;
}

static int no_process(const struct failure *f)
{
	err_set(f->err, f->code, "can't open %s: there is no process or thread %d (any more)",
		f->name, f->pid);
	err_hint(f->err, "ps -p %d shows whether it runs", f->pid);
	return f->code;
}

static int no_memory(const struct failure *f)
{
	char size[32];

	if (f->mmap_bytes)
		err_set(f->err, f->code,
			"can't map a ring of %s for %s: the kernel has no memory "
			"for it",
			str_fmt_size(size, sizeof(size), f->mmap_bytes), f->name);
	else
		err_set(f->err, f->code, "can't open %s: the kernel has no memory for it", f->name);
	err_hint(f->err, "use smaller rings (-m, now shown by free -m what is left), --banks 1 or "
			 "fewer events");
	return f->code;
}

static int no_space(const struct failure *f)
{
	err_set(f->err, f->code, "can't open %s: all slots of its kind are taken", f->name);
	err_hint(f->err, "hardware breakpoints and some PMUs have only a few for each CPU: record "
			 "fewer of these, or end the debugger or tracer that holds them");
	return f->code;
}

static int too_big(const struct failure *f)
{
	err_set(f->err, f->code, "can't open %s: it uses something that this kernel is too old for",
		f->name);
	err_hint(f->err,
		 "ringback doctor shows what this kernel (uname -r) can do; 5.10 or newer is "
		 "needed");
	return f->code;
}

static int no_syscall(const struct failure *f)
{
	err_set(f->err, f->code, "can't open %s: this kernel has no perf_event_open", f->name);
	err_hint(f->err,
		 "use a kernel with CONFIG_PERF_EVENTS; in a container, seccomp may hide it");
	return f->code;
}

/* ---- mmap ---- */

static int over_mlock(const struct failure *f)
{
	char ring[32], limit[32];
	unsigned cpus = setting_cpus_online();
	int64_t kb = setting_or("kernel/perf_event_mlock_kb", (int64_t)f->caps->mlock_kb);
	struct rlimit r = {0};

	getrlimit(RLIMIT_MEMLOCK, &r);
	err_set(f->err, f->code,
		"can't map a ring of %s for %s: all rings of a user may take "
		"kernel.perf_event_mlock_kb=%" PRId64 " for each of %u CPUs and RLIMIT_MEMLOCK=%s",
		str_fmt_size(ring, sizeof(ring), f->mmap_bytes), f->name, kb, cpus,
		r.rlim_cur == RLIM_INFINITY ? "unlimited"
					    : str_fmt_size(limit, sizeof(limit), r.rlim_cur));
	err_hint(f->err,
		 "use smaller rings (-m), or: sudo sysctl kernel.perf_event_mlock_kb=%" PRId64
		 ", or: ulimit -l unlimited",
		 kb + (int64_t)(f->mmap_bytes / 1024) * 8);
	return f->code;
}

static int mmap_failed(const struct failure *f)
{
	char ring[32];

	if (f->code == -EPERM)
		return over_mlock(f);
	if (f->code == -ENOMEM)
		return no_memory(f);
	return err_sys(f->err, f->code, "can't map a ring of %s for %s",
		       str_fmt_size(ring, sizeof(ring), f->mmap_bytes), f->name);
}

int event_strerror(struct err *err, int code, const char *name, const struct perf_event_attr *attr,
		   int pid, int cpu, size_t mmap_bytes, const struct caps *caps)
{
	static const struct {
		int code;
		int (*explain)(const struct failure *f);
	} rows[] = {
		{EACCES, denied},
		{EPERM, denied},
		{EMFILE, too_many_files},
		{ENFILE, too_many_files},
		{EINVAL, invalid},
		{ENODEV, no_device},
		{ENXIO, no_device},
		{ENOENT, no_such_event},
		{EBUSY, busy},
		{EOPNOTSUPP, not_supported},
		{ESRCH, no_process},
		{ENOMEM, no_memory},
		{ENOSPC, no_space},
		{E2BIG, too_big},
		{EOVERFLOW, stack_too_deep},
		{ENOSYS, no_syscall},
	};
	struct failure f = {err, code, name, attr, pid, cpu, mmap_bytes, caps};

	if (mmap_bytes)
		return mmap_failed(&f);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].code == -code)
			return rows[i].explain(&f);
	return err_sys(err, code, "can't open %s", name);
}
