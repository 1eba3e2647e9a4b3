// SPDX-License-Identifier: MIT
/*
 * Source "syscall:NAME>TIME": a system call takes longer than TIME. BPF programs on the tracepoints
 * syscalls:sys_enter_NAME and sys_exit_NAME measure it. They cost other system calls least, because
 * the kernel checks a bitmap before it runs a program. A number instead of a NAME works on kernels
 * without these tracepoints: programs on raw_syscalls:sys_enter and sys_exit compare the number
 * themselves.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/events/event_field.h"
#include "trigger/kernel/tracefs.h"
#include "trigger/kernel/settings.h"
#include "trigger/engine/rule_check.h"
#include "trigger/bpf/bpf_latency.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STACK_BYTES 16384

struct source {
	struct bpf_latency *watch;
	char name[48];
	int number; /* -1: by name */
	struct event_field args[BPF_LATENCY_ARGS];
	unsigned nr_args;
	/* Fields of raw_syscalls (number) and of the exit tracepoint. */
	struct event_field enter_id, result;
};

/* ---- fields ---- */

static int by_number(struct source *s, struct err *err)
{
	struct event_field all;
	int rc = event_field_find("raw_syscalls/sys_enter", "id", &s->enter_id, err);

	if (!rc)
		rc = event_field_find("raw_syscalls/sys_enter", "args", &all, err);
	if (!rc)
		rc = event_field_find("raw_syscalls/sys_exit", "ret", &s->result, err);
	for (unsigned i = 0; !rc && i < BPF_LATENCY_ARGS; i++) {
		snprintf(s->args[i].name, sizeof(s->args[i].name), "arg%u", i);
		s->args[i].offset = all.offset + i * 8;
		s->nr_args++;
	}
	return rc;
}

static int by_name(struct source *s, struct err *err)
{
	char event[100];
	struct event_field v[BPF_LATENCY_ARGS + 1];
	unsigned nr = 0;
	int rc;

	snprintf(event, sizeof(event), "syscalls/sys_exit_%s", s->name);
	rc = event_field_find(event, "ret", &s->result, err);
	if (rc)
		return rc;
	snprintf(event, sizeof(event), "syscalls/sys_enter_%s", s->name);
	rc = event_field_list(event, v, BPF_LATENCY_ARGS + 1, &nr, err);
	/* The first field is the number; the arguments are registers, 8 bytes each. */
	for (unsigned i = 1; !rc && i < nr; i++)
		if (v[i].bytes == 8 && s->nr_args < BPF_LATENCY_ARGS)
			s->args[s->nr_args++] = v[i];
	return rc;
}

/* Checks the name with event_parse(), which suggests similar names. */
static int check_name(const struct source *s, const struct source_env *env, struct err *err)
{
	struct event_list l = {0};
	struct buf b = {0};
	char text[100];
	int rc;

	if (tracefs_read("events/syscalls/enable", &b, NULL) == -ENOENT) {
		err_set(err, -ENOENT, "this kernel has no tracepoints for single system calls");
		err_hint(err,
			 "give the number instead of '%s', such as syscall:74>100ms; "
			 "ausyscall %s, or <asm/unistd.h>, tells it",
			 s->name, s->name);
		return -ENOENT;
	}
	buf_free(&b);
	snprintf(text, sizeof(text), "syscalls:sys_enter_%s", s->name);
	rc = event_parse(text, env ? env->caps : NULL, &l, err);
	event_list_free(&l);
	return rc;
}

static int resolve(struct source *s, const struct rule *r, const struct source_env *env,
		   struct err *err)
{
	uint64_t number;
	int rc;

	snprintf(s->name, sizeof(s->name), "%s", r->arg);
	for (const char *p = r->arg; *p; p++)
		if (strlen(r->arg) >= sizeof(s->name) || !(isalnum((unsigned char)*p) || *p == '_'))
			return rule_err(r->text, r->arg_at, err,
					"expected the name of a system call, such as fsync, or its "
					"number");
	s->number = str_u64(r->arg, &number, NULL) || number > INT32_MAX ? -1 : (int)number;
	if (s->number >= 0)
		return by_number(s, err);
	rc = check_name(s, env, err);
	return rc ? rc : by_name(s, err);
}

/* ---- the source ---- */

static int attach(struct source *s, bool on_exit, const struct source_env *env, struct err *err)
{
	const char *end = on_exit ? "exit" : "enter";
	char text[100];

	if (s->number >= 0)
		snprintf(text, sizeof(text), "raw_syscalls:sys_%s", end);
	else
		snprintf(text, sizeof(text), "syscalls:sys_%s_%s", end, s->name);
	return bpf_latency_attach(s->watch, on_exit ? "latency_exit" : "latency_enter", text, env,
				  err);
}

static void syscall_close(struct source *s)
{
	if (!s)
		return;
	bpf_latency_close(s->watch);
	free(s);
}

static int syscall_open(const struct rule *r, const struct source_env *env, struct source **out,
			struct err *err)
{
	struct bpf_latency_options o = {.rule = r,
					.nr_frames = 1,
					.nr_extra = BPF_LATENCY_ARGS,
					.stack_bytes = STACK_BYTES};
	struct source *s;
	int rc = rule_check_arg(r, "the name of a system call", "syscall:fsync>100ms", err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	rc = resolve(s, r, env, err);
	o.params.number = s->number;
	o.params.number_at = s->enter_id.offset;
	o.params.args_at = s->args[0].offset;
	o.params.nr_args = s->nr_args;
	o.params.result_at = s->result.offset;
	if (!rc)
		rc = bpf_latency_open(&o, env, &s->watch, err);
	if (!rc)
		rc = attach(s, true, env, err);
	/* own_exec is not set: exec does not end its own system call. */
	if (!rc)
		rc = bpf_latency_attach_ends(s->watch, err);
	if (!rc)
		rc = attach(s, false, env, err);
	if (rc)
		syscall_close(s);
	else
		*out = s;
	return rc;
}

static int syscall_fd(const struct source *s, uint32_t *events)
{
	return bpf_latency_fd(s->watch);
}

/* Adds the path of a descriptor, if the process still exists. */
static void add_file(struct sighting *what, const char *arg, uint64_t fd)
{
	char path[64], file[160], safe[180];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/fd/%u", what->tid, (unsigned)fd);
	n = readlink(path, file, sizeof(file));
	if (n > 0)
		sighting_add(what, "%s=%s", strcmp(arg, "fd") ? arg : "file",
			     str_safe(safe, sizeof(safe), file, (size_t)n));
}

static void add_args(const struct source *s, const __u64 *v, struct sighting *what)
{
	for (unsigned i = 0; i < s->nr_args; i++) {
		const char *name = s->args[i].name;

		if (!strcmp(name, "fd"))
			sighting_add(what, "fd=%d", (int)v[i]);
		else
			sighting_add(what, v[i] < 4096 ? "%s=%llu" : "%s=%#llx", name,
				     (unsigned long long)v[i]);
		if (!strcmp(name, "fd"))
			add_file(what, name, v[i]);
	}
}

static int syscall_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct bpf_latency_record rec;
	int rc = bpf_latency_ready(s->watch, &rec, what, err);
	int64_t result;

	if (rc != 1)
		return rc;
	sighting_add(what, "syscall=%s", s->name);
	add_args(s, rec.extra + 1, what);
	if (!rec.ended_ns)
		return 1;
	result = (int64_t)rec.extra[0];
	/* -512 and below: kernel-internal codes (ERESTARTSYS, ...) of a call that a signal
	 * interrupted and that may be restarted. */
	if (result <= -512 && result >= -530)
		sighting_add(what, "result=interrupted by a signal");
	else if (result < 0 && result >= -4095)
		sighting_add(what, "result=%s", strerrorname_np((int)-result) ?: "an error");
	else
		sighting_add(what, "result=%lld", (long long)result);
	return 1;
}

static uint64_t syscall_skip(struct source *s)
{
	return bpf_latency_skip(s->watch);
}

static int syscall_cpu(struct source *s, int cpu, bool online, struct err *err)
{
	return bpf_latency_cpu(s->watch, cpu, online, err);
}

static void syscall_plan(const struct source *s, struct source_plan *out)
{
	if (s->number >= 0) {
		snprintf(
			out->watches, sizeof(out->watches),
			"start and end of system call %d of all threads, timed by a BPF program on "
			"raw_syscalls",
			s->number);
		snprintf(out->costs, sizeof(out->costs),
			 "about 0.2 us each such call and less each other system call, no wake-up "
			 "until one is slow");
	} else {
		snprintf(out->watches, sizeof(out->watches),
			 "start and end of %s of all threads, timed by a BPF program", s->name);
		snprintf(out->costs, sizeof(out->costs),
			 "about 0.2 us each %s and next to nothing each other system call, no "
			 "wake-up until "
			 "one is slow",
			 s->name);
	}
	bpf_latency_costs(s->watch, out->costs, sizeof(out->costs));
}

static bool syscall_trouble(const struct source *s, char *out, size_t n)
{
	return bpf_latency_trouble(s->watch, out, n);
}

const struct source_ops source_syscall = {
	.name = "syscall",
	.syntax = "syscall:NAME>TIME",
	.help = "a system call takes longer",
	.example = "syscall:fsync>100ms",
	.capability = CAP_BPF,
	.open = syscall_open,
	.fd = syscall_fd,
	.ready = syscall_ready,
	.skip = syscall_skip,
	.cpu = syscall_cpu,
	.plan = syscall_plan,
	.trouble = syscall_trouble,
	.close = syscall_close,
};
