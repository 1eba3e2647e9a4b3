// SPDX-License-Identifier: MIT
/*
 * Sources "runqueue>TIME" and "offcpu:COMM>TIME": a runnable thread waits too long for a CPU, or a
 * thread is off the CPU too long. BPF programs on the scheduler's tracepoints measure this
 * (wait.bpf.c).
 *
 *	                    woken          switched to        switched from
 *	    blocked ─────────────▶ runnable ──────────▶ running ────────────▶ blocked or runnable
 *	runqueue:                  └─────── timed ────┘
 *	offcpu:   └────────────── timed ──────────────┘
 *
 * A thread that is woken while it still runs does not wait; the next switch away from it drops or
 * replaces that note. The programs run inside the switch, on the CPU that the thread gets, while
 * the previous thread is still current. The hit names that thread too.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/engine/rule_check.h"
#include "trigger/bpf/bpf_latency.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM_BYTES 16

struct source {
	struct bpf_latency *watch;
	bool off_cpu;
	char comm[COMM_BYTES]; /* only threads of this name, with a * at its end; "": all */
	size_t comm_len;
};

/* ---- opening ---- */

static void wait_close(struct source *s)
{
	if (!s)
		return;
	bpf_latency_close(s->watch);
	free(s);
}

static int wait_open(const struct rule *r, bool off_cpu, const struct source_env *env,
		     struct source **out, struct err *err)
{
	struct bpf_latency_options o = {
		.rule = r, .nr_frames = 1, .waits = true, .params.off_cpu = off_cpu};
	struct source *s;
	int rc;

	if (strlen(r->arg) >= COMM_BYTES)
		return rule_err(r->text, r->arg_at, err,
				"the kernel keeps 15 bytes of a thread's name: cat /proc/PID/comm "
				"shows them");
	if (strcspn(r->arg, "*") + 1 < strlen(r->arg))
		return rule_err(r->text, r->arg_at, err,
				"* matches the rest of a name: it can only be the last character");
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->off_cpu = off_cpu;
	s->comm_len = strlen(r->arg);
	memcpy(s->comm, r->arg, s->comm_len);
	memcpy(o.params.comm, s->comm, COMM_BYTES);
	rc = bpf_latency_open(&o, env, &s->watch, err);
	if (!rc)
		rc = bpf_latency_attach(s->watch, "wait_switch", NULL, env, err);
	if (!rc && !off_cpu)
		rc = bpf_latency_attach(s->watch, "wait_wakeup", NULL, env, err);
	if (!rc && !off_cpu)
		rc = bpf_latency_attach(s->watch, "wait_wakeup_new", NULL, env, err);
	if (rc)
		wait_close(s);
	else
		*out = s;
	return rc;
}

static int runqueue_open(const struct rule *r, const struct source_env *env, struct source **out,
			 struct err *err)
{
	return wait_open(r, false, env, out, err);
}

static int offcpu_open(const struct rule *r, const struct source_env *env, struct source **out,
		       struct err *err)
{
	int rc = rule_check_arg(r, "the name of threads", "offcpu:redis-server>1s", err);

	return rc ? rc : wait_open(r, true, env, out, err);
}

/* ---- hits ---- */

static int wait_fd(const struct source *s, uint32_t *events)
{
	return bpf_latency_fd(s->watch);
}

static const char *state_name(uint64_t state)
{
	static const char *const names[] = {"S (sleeping)", "D (waits for a device)",
					    "T (stopped)",  "t (traced)",
					    "X (dead)",	    "Z (zombie)",
					    "P (parked)",   "I (idle)"};

	for (int i = 0; i < 8; i++)
		if (state & 1u << i)
			return names[i];
	return "R (runnable: preempted)";
}

/* Adds where a thread that is still off the CPU waits: the kernel function and the system call. */
static void add_where(struct sighting *what)
{
	static const char *const files[] = {"wchan", "syscall"};

	for (int i = 0; i < 2; i++) {
		char path[40], text[120] = "";
		ssize_t n = 0;
		int fd;

		snprintf(path, sizeof(path), "/proc/%u/%s", what->tid, files[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			n = read(fd, text, sizeof(text) - 1);
			close(fd);
		}
		text[n > 0 ? n : 0] = '\0';
		text[strcspn(text, i ? " \n" : "\n")] = '\0';
		if (n > 0 && strcmp(text, "0") && strcmp(text, "-1") && strcmp(text, "running"))
			sighting_add(what, i ? "syscall_nr=%s" : "%s=%s", i ? text : "waits_in",
				     text);
	}
}

static int wait_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct bpf_latency_record rec;
	int rc = bpf_latency_ready(s->watch, &rec, what, err);
	char before[COMM_BYTES + 1] = "", safe[64];

	if (rc != 1)
		return rc;
	str_safe(safe, sizeof(safe), what->comm, strlen(what->comm));
	sighting_add(what, "comm=%s", safe);
	if (s->off_cpu)
		sighting_add(what, "state=%s", state_name(rec.extra[0]));
	else
		sighting_add(what, "since=%s",
			     rec.extra[0] == WAIT_WOKEN ? "it was woken" : "it was preempted");
	if (!rec.ended_ns) {
		if (s->off_cpu)
			add_where(what);
		return 1;
	}
	memcpy(before, rec.extra + 2, COMM_BYTES);
	sighting_add(what, "ran_before=%s/%u",
		     rec.extra[1] ? str_safe(safe, sizeof(safe), before, strlen(before)) : "idle",
		     (unsigned)rec.extra[1]);
	sighting_add(what, "prio=%d", (int)rec.extra[4]);
	return 1;
}

static uint64_t wait_skip(struct source *s)
{
	return bpf_latency_skip(s->watch);
}

static int wait_cpu(struct source *s, int cpu, bool online, struct err *err)
{
	return bpf_latency_cpu(s->watch, cpu, online, err);
}

static void wait_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches),
		 s->off_cpu ? "how long threads%s%s are off the CPU, timed by a BPF program on "
			      "sched:sched_switch"
			    : "how long threads%s%s wait for a CPU, timed by BPF programs on "
			      "sched:sched_switch and sched_wakeup",
		 s->comm_len ? " named " : "", s->comm);
	snprintf(out->costs, sizeof(out->costs),
		 "less than 0.5 us each switch, no wake-up until a wait is too long");
	bpf_latency_costs(s->watch, out->costs, sizeof(out->costs));
}

static bool wait_trouble(const struct source *s, char *out, size_t n)
{
	return bpf_latency_trouble(s->watch, out, n);
}

const struct source_ops source_runqueue = {
	.name = "runqueue",
	.syntax = "runqueue[:COMM]>TIME",
	.help = "a thread waits longer for a CPU",
	.example = "runqueue>20ms",
	.capability = CAP_BPF,
	.open = runqueue_open,
	.fd = wait_fd,
	.ready = wait_ready,
	.skip = wait_skip,
	.cpu = wait_cpu,
	.plan = wait_plan,
	.trouble = wait_trouble,
	.close = wait_close,
};

const struct source_ops source_offcpu = {
	.name = "offcpu",
	.syntax = "offcpu:COMM>TIME",
	.help = "a thread of that name runs on no CPU for longer",
	.example = "offcpu:redis-server>1s",
	.capability = CAP_BPF,
	.open = offcpu_open,
	.fd = wait_fd,
	.ready = wait_ready,
	.skip = wait_skip,
	.cpu = wait_cpu,
	.plan = wait_plan,
	.trouble = wait_trouble,
	.close = wait_close,
};
