/* SPDX-License-Identifier: MIT */
/*
 * Converts an event's text to a perf_event_attr and opens it. perf_event_open(2) is called only
 * here.
 *
 *	sched:sched_switch          tracepoint          sched:*      all of a system
 *	signal:signal_deliver[sig==11]                  with a kernel-side filter
 *	cpu-clock/freq=99/          software event      page-faults/period=1/   page-faults:u
 *	cycles  cycles:u            hardware event
 *	uprobe:PATH:SYMBOL[+OFF]    uretprobe:PATH:SYMBOL    (PATH may hold no ':' and no ',')
 *	uprobe:PATH:0xOFFSET        by the offset in the file, without a symbol
 *	intel_pt//u                 any PMU in sysfs as pmu/term=value,.../[uk]
 *
 * Lists are comma-separated; commas within [...] and /.../ do not separate.
 */
#pragma once

#include "dump/base/bytes.h"
#include "trigger/kernel/caps.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>

struct err;

enum event_kind { EVENT_TRACEPOINT, EVENT_SOFTWARE, EVENT_HARDWARE, EVENT_UPROBE, EVENT_PMU };

struct event {
	enum event_kind kind;
	char *name;   /* "sched:sched_switch", "cpu-clock", "uprobe:/bin/bash:readline" */
	char *filter; /* tracepoint filter or NULL; set after opening, PERF_EVENT_IOC_SET_FILTER */
	char *target; /* uprobes: PATH:SYMBOL+OFF, else NULL */
	char *uprobe_path; /* what attr.uprobe_path points to, else NULL */
	/*
	 * Sets type, config*, sample_period or sample_freq (+ freq), exclude_*. Fields that the
	 * channel decides (sample_type, stacks, clock, write_backward, ...) are 0. Tracepoints and
	 * uprobes have period 1; for the others see event_parse().
	 */
	struct perf_event_attr attr;
	bool sample_addr; /* PERF_SAMPLE_ADDR is meaningful (faults, breakpoints) */
	bool own_group;	  /* hardware: may not share a group with software events */
	bool has_aux;	  /* the PMU has an AUX area */
};

struct event_list {
	struct event **v; /* owned */
	size_t nr;
};

/*
 * Parses a comma-separated list and appends its events to `out`. Globs expand in the order of
 * tracefs' directory names. Without a freq or period term: software clocks freq=99, page-faults and
 * other software counters period=1, hardware events freq=99.
 *
 * -ENOENT: an event does not exist, or a glob matches nothing; the hint has the closest names.
 * -EACCES: tracefs can't be read. On failure `out` is unchanged.
 *
 * If `caps` (NULL: all is allowed) forbids the kernel side, exclude_kernel is set, as perf does.
 * Not for tracepoints and uprobes, which would never fire then: opening them reports what is
 * missing.
 */
int event_parse(const char *text, const struct caps *caps, struct event_list *out, struct err *err);
void event_list_free(struct event_list *l);

/* Appends `e` and takes ownership, also on failure. A duplicate event, as in
 * "sched:*,sched:sched_switch", is dropped. */
int event_list_add(struct event_list *l, struct event *e, struct err *err);
/* Appends all of `from` to `to`, or nothing. On success `from` is empty. */
int event_list_join(struct event_list *to, struct event_list *from, struct err *err);
void event_free(struct event *e);

/*
 * perf_event_open with PERF_FLAG_FD_CLOEXEC. `pid` may be a cgroup's descriptor with
 * PERF_FLAG_PID_CGROUP in `flags`. Returns a descriptor or -errno; event_strerror() has the text.
 */
int event_open(const struct perf_event_attr *attr, int pid, int cpu, int group_fd,
	       unsigned long flags);

/*
 * Explains a failed open (or mmap of its ring: `mmap_bytes` > 0) of `name` in one sentence, with
 * the value of the setting that prevents it; the hint has the command to type. Returns `code`. For
 * a cgroup's events `pid` is -1.
 */
int event_strerror(struct err *err, int code, const char *name, const struct perf_event_attr *attr,
		   int pid, int cpu, size_t mmap_bytes, const struct caps *caps);

/* attr.aux_action, a reserved field in headers before Linux 6.13: what a record of the event does
 * to the trace that leads its group. */
enum event_aux_action { EVENT_AUX_START_PAUSED = 1, EVENT_AUX_PAUSE = 2, EVENT_AUX_RESUME = 4 };
void event_set_aux_action(struct perf_event_attr *attr, enum event_aux_action action);
/* The sample of a record about such an action: u64 id, u64 time. */
#define EVENT_NOTE_SAMPLE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME)

/* Raises RLIMIT_NOFILE to its hard limit (root: to the system's limit). */
void event_raise_nofile(void);

/* PERF_SAMPLE_REGS_USER mask of this architecture for DWARF unwinding. */
uint64_t event_user_regs(void);
/* Frame of a thread, from the registers of a sample with that mask; false: too few bytes. */
struct event_frame {
	uint64_t ip, sp, fp;
};
bool event_user_frame(struct bytes regs, struct event_frame *out);
/* Call arguments at the first instruction of a function, or its result right after the return.
 * Integers and pointers only, by the calling convention. */
#define EVENT_ARGS 6
struct event_call {
	uint64_t arg[EVENT_ARGS], result;
};
bool event_user_call(struct bytes regs, struct event_call *out);
/*
 * Converts other register sets to the order of a sample: pr_reg of a core's NT_PRSTATUS (an
 * elf_gregset_t; false: too few bytes), and a signal handler's third argument (a ucontext_t;
 * async-signal-safe).
 */
#define EVENT_USER_REGS_MAX 64
bool event_regs_of_core(struct bytes pr_reg, uint64_t out[EVENT_USER_REGS_MAX]);
void event_regs_of_signal(const void *ucontext, uint64_t out[EVENT_USER_REGS_MAX]);
