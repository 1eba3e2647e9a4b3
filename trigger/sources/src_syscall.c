// SPDX-License-Identifier: MIT
/*
 * Source "syscall:NAME>TIME": a system call takes longer than TIME. Programs on the tracepoints
 * syscalls:sys_enter_NAME and sys_exit_NAME, which cost other system calls least: the kernel drops
 * those by a bit before any program runs. By number, for kernels that lack these tracepoints, on
 * raw_syscalls:sys_enter and sys_exit, where the program itself compares the number.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/events/event_field.h"
#include "trigger/kernel/tracefs.h"
#include "trigger/engine/rule_check.h"
#include "trigger/bpf/bpf_latency.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ARGS    6
#define STACK_BYTES 16384

#define NOTE_ARG(i)                                                                                \
	((int)(sizeof(struct bpf_latency_frame) + (size_t)(i)*8)) /* behind the only frame */
#define RECORD(member) (-BPF_LATENCY_RECORD_AT + (int)offsetof(struct bpf_latency_record, member))

/* Below what bpf_latency.h says of the frame. */
#define OF_PROCESS (-296)
#define OF_ENDED   (-304)

struct source {
	struct bpf_latency *watch;
	char name[48];
	int number; /* -1: by name */
	struct event_field args[MAX_ARGS];
	unsigned nr_args;
	/* Of raw_syscalls, where the number is. */
	struct event_field enter_id, exit_id, result;
};

/* ---- programs: r6 = the tracepoint's fields, r7 = the note, r8 = when it began ---- */

static void begin_program(const struct source *s, struct bpf_code *c, const struct event_field *id,
			  int out)
{
	bpf_move(c, BPF_REG_6, BPF_REG_1);
	if (s->number < 0)
		return;
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_6, (int)id->offset);
	bpf_jump_imm(c, BPF_JNE, BPF_REG_1, s->number, out);
}

static void write_enter(const struct source *s, struct bpf_code *c)
{
	int out = bpf_label(c);

	begin_program(s, c, &s->enter_id, out);
	bpf_latency_key(c);
	bpf_call(c, BPF_FUNC_ktime_get_ns);
	bpf_put(c, BPF_DW, BPF_REG_10, -BPF_LATENCY_NOTE_AT, BPF_REG_0);
	bpf_put_imm(c, BPF_DW, BPF_REG_10, -BPF_LATENCY_NOTE_AT + 8, 0);
	bpf_put_imm(c, BPF_DW, BPF_REG_10, -BPF_LATENCY_NOTE_AT + 16, 0);
	for (unsigned i = 0; i < s->nr_args; i++) {
		bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_6, (int)s->args[i].offset);
		bpf_put(c, BPF_DW, BPF_REG_10, -BPF_LATENCY_NOTE_AT + NOTE_ARG(i), BPF_REG_1);
	}
	bpf_latency_note(s->watch, c, BPF_REG_6, BPF_ANY);
	bpf_place(c, out);
	bpf_return(c, 1);
}

static void write_record(const struct source *s, struct bpf_code *c)
{
	bpf_get(c, BPF_W, BPF_REG_1, BPF_REG_10, -BPF_LATENCY_KEY_AT);
	bpf_put(c, BPF_W, BPF_REG_10, RECORD(tid), BPF_REG_1);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_10, OF_PROCESS);
	bpf_alu_imm(c, BPF_RSH, BPF_REG_1, 32);
	bpf_put(c, BPF_W, BPF_REG_10, RECORD(pid), BPF_REG_1);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(began_ns), BPF_REG_8);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_10, OF_ENDED);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(ended_ns), BPF_REG_1);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_6, (int)s->result.offset);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(extra[0]), BPF_REG_1);
	for (int i = 0; i < BPF_LATENCY_EXTRA - 1; i++) {
		if (i >= (int)s->nr_args) {
			bpf_put_imm(c, BPF_DW, BPF_REG_10, RECORD(extra[1]) + 8 * i, 0);
			continue;
		}
		bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_7, NOTE_ARG(i));
		bpf_put(c, BPF_DW, BPF_REG_10, RECORD(extra[1]) + 8 * i, BPF_REG_1);
	}
	bpf_frame(c, BPF_REG_1, RECORD(comm));
	bpf_move_imm(c, BPF_REG_2, sizeof(((struct bpf_latency_record *)0)->comm));
	bpf_call(c, BPF_FUNC_get_current_comm);
	bpf_latency_tell(s->watch, c, BPF_REG_6);
}

static void write_exit(const struct source *s, struct bpf_code *c)
{
	int out = bpf_label(c), pop = bpf_label(c);

	begin_program(s, c, &s->exit_id, out);
	bpf_latency_key(c);
	bpf_put(c, BPF_DW, BPF_REG_10, OF_PROCESS, BPF_REG_0);
	bpf_latency_find(s->watch, c);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, 0, out);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
	bpf_get(c, BPF_DW, BPF_REG_8, BPF_REG_7, 0);
	bpf_call(c, BPF_FUNC_ktime_get_ns);
	bpf_put(c, BPF_DW, BPF_REG_10, OF_ENDED, BPF_REG_0);
	bpf_alu(c, BPF_SUB, BPF_REG_0, BPF_REG_8);
	bpf_latency_unless_over(s->watch, c, BPF_REG_0, pop);
	write_record(s, c);
	bpf_place(c, pop);
	bpf_latency_drop(s->watch, c);
	bpf_place(c, out);
	bpf_return(c, 1);
}

/* ---- where things are ---- */

static int by_number(struct source *s, struct err *err)
{
	struct event_field all;
	int rc = event_field_find("raw_syscalls/sys_enter", "id", &s->enter_id, err);

	if (!rc)
		rc = event_field_find("raw_syscalls/sys_enter", "args", &all, err);
	if (!rc)
		rc = event_field_find("raw_syscalls/sys_exit", "id", &s->exit_id, err);
	if (!rc)
		rc = event_field_find("raw_syscalls/sys_exit", "ret", &s->result, err);
	for (unsigned i = 0; !rc && i < MAX_ARGS; i++) {
		snprintf(s->args[i].name, sizeof(s->args[i].name), "arg%u", i);
		s->args[i].offset = all.offset + i * 8;
		s->nr_args++;
	}
	return rc;
}

static int by_name(struct source *s, struct err *err)
{
	char event[100];
	struct event_field v[MAX_ARGS + 1];
	unsigned nr = 0;
	int rc;

	snprintf(event, sizeof(event), "syscalls/sys_exit_%s", s->name);
	rc = event_field_find(event, "ret", &s->result, err);
	if (rc)
		return rc;
	snprintf(event, sizeof(event), "syscalls/sys_enter_%s", s->name);
	rc = event_field_list(event, v, MAX_ARGS + 1, &nr, err);
	/* The first is the number; the arguments are registers, 8 bytes each. */
	for (unsigned i = 1; !rc && i < nr; i++)
		if (v[i].bytes == 8 && s->nr_args < MAX_ARGS)
			s->args[s->nr_args++] = v[i];
	return rc;
}

/* event_parse() knows what names are near. */
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
	struct bpf_code c = {0};
	char text[100];

	if (on_exit)
		write_exit(s, &c);
	else
		write_enter(s, &c);
	if (s->number >= 0)
		snprintf(text, sizeof(text), "raw_syscalls:sys_%s", on_exit ? "exit" : "enter");
	else
		snprintf(text, sizeof(text), "syscalls:sys_%s_%s", on_exit ? "exit" : "enter",
			 s->name);
	return bpf_latency_attach(s->watch, &c, BPF_PROG_TYPE_TRACEPOINT, text, env, err);
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
	const struct bpf_latency_options o = {
		.rule = r, .nr_frames = 1, .nr_extra = MAX_ARGS, .stack_bytes = STACK_BYTES};
	struct source *s;
	int rc = rule_check_arg(r, "the name of a system call", "syscall:fsync>100ms", err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	rc = resolve(s, r, env, err);
	if (!rc)
		rc = bpf_latency_open(&o, env, &s->watch, err);
	if (!rc)
		rc = attach(s, true, env, err);
	/* An exec goes on in its system call. */
	if (!rc)
		rc = bpf_latency_attach_ends(s->watch, false, env, err);
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

/* What a descriptor stands for, when the process is still there. */
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

static void add_args(const struct source *s, const uint64_t *v, struct sighting *what)
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
	/* 512 and up: how the kernel says to itself that a signal came and it is to be called anew.
	 */
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
	.open = syscall_open,
	.fd = syscall_fd,
	.ready = syscall_ready,
	.skip = syscall_skip,
	.cpu = syscall_cpu,
	.plan = syscall_plan,
	.trouble = syscall_trouble,
	.close = syscall_close,
};
