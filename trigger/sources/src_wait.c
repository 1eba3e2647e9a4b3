// SPDX-License-Identifier: MIT
/*
 * Sources "runqueue>TIME" and "offcpu:COMM>TIME": how long a thread had to wait for a CPU although
 * it could run, and how long it was on none at all. Programs on the scheduler's tracepoints; where
 * their fields are comes from tracefs.
 *
 *	                    woken          switched to        switched from
 *	    blocked ─────────────▶ runnable ──────────▶ running ────────────▶ blocked or runnable
 *	runqueue:                  └─────── timed ────┘
 *	offcpu:   └────────────── timed ──────────────┘
 *
 * A thread that is woken while it still runs is not waiting: what was noted then goes when it is
 * switched from. The programs run in the switch, so what they tell is recorded on the CPU that the
 * thread comes to, while the one before it is still there: that one is named too.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/events/event_field.h"
#include "trigger/engine/rule_check.h"
#include "trigger/bpf/bpf_latency.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COMM_BYTES     16
#define RECORD(member) (-BPF_LATENCY_RECORD_AT + (int)offsetof(struct bpf_latency_record, member))
#define NOTE(member)   (-BPF_LATENCY_NOTE_AT + (int)offsetof(struct bpf_latency_frame, member))

/* Bits of prev_state, as sched_switch has them: TASK_REPORT and TASK_IDLE of linux/sched.h. What is
 * above them says that the thread was preempted; 0 then or when it yielded. */
#define STATE_BLOCKED 0xff
#define STATE_DEAD    0x30

/* What `place` of a note says for runqueue: why the thread waits. For offcpu it is the state. */
enum { WAIT_PREEMPTED, WAIT_WOKEN };

struct source {
	struct bpf_latency *watch;
	bool off_cpu;
	char comm[COMM_BYTES]; /* only threads of this name; "": all */
	size_t comm_len;
	/* sched_switch; and sched_wakeup, whose fields sched_wakeup_new shares */
	struct event_field prev_comm, prev_pid, prev_state, next_comm, next_pid, next_prio;
	struct event_field woken_comm, woken_pid;
};

/* ---- programs: r6 = fields, r7 = the note's address or a state, r8 = when it began ---- */

static int aligned_size(uint32_t offset, size_t left)
{
	return offset % 8 == 0 && left >= 8 ? BPF_DW : offset % 4 == 0 && left >= 4 ? BPF_W : BPF_B;
}

static unsigned bytes_of(int size)
{
	return size == BPF_DW ? 8 : size == BPF_W ? 4 : 1;
}

/* goto `other` unless the name in the tracepoint is ours. Behind its end it may hold anything. */
static void only_comm(const struct source *s, struct bpf_code *c, const struct event_field *comm,
		      int other)
{
	size_t len = s->comm_len + 1 < COMM_BYTES ? s->comm_len + 1 : COMM_BYTES;

	if (!s->comm_len)
		return;
	for (size_t at = 0; at < len;) {
		int size = aligned_size(comm->offset + (uint32_t)at, COMM_BYTES - at);
		uint64_t want = 0, mask = 0;
		unsigned n = bytes_of(size);

		memcpy(&want, s->comm + at, n);
		memset(&mask, 0xff, len - at < n ? len - at : n);
		bpf_get(c, size, BPF_REG_1, BPF_REG_6, (int)(comm->offset + at));
		bpf_imm64(c, BPF_REG_2, mask);
		bpf_alu(c, BPF_AND, BPF_REG_1, BPF_REG_2);
		bpf_imm64(c, BPF_REG_2, want & mask);
		bpf_jump_if(c, BPF_JNE, BPF_REG_1, BPF_REG_2, other);
		at += n;
	}
}

/* Key = the thread in that field; goes to `idle` for the idle task. */
static void key_from(struct bpf_code *c, const struct event_field *pid, int idle)
{
	bpf_get(c, BPF_W, BPF_REG_1, BPF_REG_6, (int)pid->offset);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_1, 0, idle);
	bpf_put(c, BPF_W, BPF_REG_10, -BPF_LATENCY_KEY_AT, BPF_REG_1);
}

/* Notes that it began now, with r7 as what is known. */
static void note_now(const struct source *s, struct bpf_code *c, int flags)
{
	bpf_call(c, BPF_FUNC_ktime_get_ns);
	bpf_put(c, BPF_DW, BPF_REG_10, NOTE(began_ns), BPF_REG_0);
	bpf_put(c, BPF_DW, BPF_REG_10, NOTE(place), BPF_REG_7);
	bpf_put_imm(c, BPF_DW, BPF_REG_10, NOTE(told), 0);
	bpf_latency_note(s->watch, c, BPF_REG_6, flags);
}

static void write_wakeup(const struct source *s, struct bpf_code *c)
{
	int out = bpf_label(c);

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	only_comm(s, c, &s->woken_comm, out);
	key_from(c, &s->woken_pid, out);
	bpf_move_imm(c, BPF_REG_7, WAIT_WOKEN);
	/* One that waits already keeps waiting. */
	note_now(s, c, BPF_NOEXIST);
	bpf_place(c, out);
	bpf_return(c, 1);
}

/* The thread that is switched from. */
static void write_prev(const struct source *s, struct bpf_code *c)
{
	int next = bpf_label(c), blocked = bpf_label(c);

	only_comm(s, c, &s->prev_comm, next);
	key_from(c, &s->prev_pid, next);
	bpf_get(c, s->prev_state.bytes == 8 ? BPF_DW : BPF_W, BPF_REG_7, BPF_REG_6,
		(int)s->prev_state.offset);
	bpf_alu_imm(c, BPF_AND, BPF_REG_7, STATE_BLOCKED);
	if (s->off_cpu) {
		bpf_move(c, BPF_REG_1, BPF_REG_7);
		bpf_alu_imm(c, BPF_AND, BPF_REG_1, STATE_DEAD);
		bpf_jump_imm(c, BPF_JNE, BPF_REG_1, 0, next);
		note_now(s, c, BPF_ANY);
		bpf_place(c, blocked);
	} else {
		bpf_jump_imm(c, BPF_JNE, BPF_REG_7, 0, blocked);
		note_now(s, c, BPF_ANY); /* r7 is 0: preempted */
		bpf_jump(c, next);
		bpf_place(c, blocked);
		bpf_latency_find(s->watch, c);
		bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, 0, next);
		bpf_latency_drop(s->watch, c);
	}
	bpf_place(c, next);
}

static void copy_comm(struct bpf_code *c, int to, const struct event_field *comm)
{
	for (size_t at = 0; at < COMM_BYTES;) {
		int size = aligned_size(comm->offset + (uint32_t)at, COMM_BYTES - at);

		bpf_get(c, size, BPF_REG_1, BPF_REG_6, (int)(comm->offset + at));
		bpf_put(c, size, BPF_REG_10, to + (int)at, BPF_REG_1);
		at += bytes_of(size);
	}
}

/* extra: state or reason, who ran before (pid, 16 bytes of name), priority. */
static void write_record(const struct source *s, struct bpf_code *c)
{
	bpf_get(c, BPF_W, BPF_REG_1, BPF_REG_10, -BPF_LATENCY_KEY_AT);
	bpf_put(c, BPF_W, BPF_REG_10, RECORD(tid), BPF_REG_1);
	bpf_put_imm(c, BPF_W, BPF_REG_10, RECORD(pid), 0);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(began_ns), BPF_REG_8);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(ended_ns), BPF_REG_9);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_7, (int)offsetof(struct bpf_latency_frame, place));
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(extra[0]), BPF_REG_1);
	bpf_get(c, BPF_W, BPF_REG_1, BPF_REG_6, (int)s->prev_pid.offset);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(extra[1]), BPF_REG_1);
	copy_comm(c, RECORD(extra[2]), &s->prev_comm);
	bpf_get(c, BPF_W, BPF_REG_1, BPF_REG_6, (int)s->next_prio.offset);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(extra[4]), BPF_REG_1);
	for (int i = 5; i < BPF_LATENCY_EXTRA; i++)
		bpf_put_imm(c, BPF_DW, BPF_REG_10, RECORD(extra[0]) + 8 * i, 0);
	copy_comm(c, RECORD(comm), &s->next_comm);
	bpf_latency_tell(s->watch, c, BPF_REG_6);
}

static void write_switch(const struct source *s, struct bpf_code *c)
{
	int out = bpf_label(c), pop = bpf_label(c);

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	write_prev(s, c);
	only_comm(s, c, &s->next_comm, out);
	key_from(c, &s->next_pid, out);
	bpf_latency_find(s->watch, c);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, 0, out);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
	bpf_get(c, BPF_DW, BPF_REG_8, BPF_REG_7, 0);
	bpf_call(c, BPF_FUNC_ktime_get_ns);
	bpf_move(c, BPF_REG_9, BPF_REG_0);
	bpf_alu(c, BPF_SUB, BPF_REG_0, BPF_REG_8);
	bpf_latency_unless_over(s->watch, c, BPF_REG_0, pop);
	write_record(s, c);
	bpf_place(c, pop);
	bpf_latency_drop(s->watch, c);
	bpf_place(c, out);
	bpf_return(c, 1);
}

/* ---- opening ---- */

static int find_fields(struct source *s, struct err *err)
{
	const struct {
		const char *event, *name;
		struct event_field *to;
	} v[] = {
		{"sched/sched_switch", "prev_comm", &s->prev_comm},
		{"sched/sched_switch", "prev_pid", &s->prev_pid},
		{"sched/sched_switch", "prev_state", &s->prev_state},
		{"sched/sched_switch", "next_comm", &s->next_comm},
		{"sched/sched_switch", "next_pid", &s->next_pid},
		{"sched/sched_switch", "next_prio", &s->next_prio},
		{"sched/sched_wakeup", "comm", &s->woken_comm},
		{"sched/sched_wakeup", "pid", &s->woken_pid},
	};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		int rc = event_field_find(v[i].event, v[i].name, v[i].to, err);

		if (rc)
			return rc;
	}
	return 0;
}

static int attach_wakeups(struct source *s, const struct source_env *env, struct err *err)
{
	static const char *const events[] = {"sched:sched_wakeup", "sched:sched_wakeup_new"};
	struct bpf_code c = {0};
	int rc = 0;

	write_wakeup(s, &c);
	for (int i = 0; !rc && i < 2; i++)
		rc = bpf_latency_attach(s->watch, &c, BPF_PROG_TYPE_TRACEPOINT, events[i], env,
					err);
	return rc;
}

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
	const struct bpf_latency_options o = {.rule = r, .nr_frames = 1};
	struct bpf_code c = {0};
	struct source *s;
	int rc;

	if (strlen(r->arg) >= COMM_BYTES)
		return rule_err(r->text, r->arg_at, err,
				"the kernel keeps 15 bytes of a thread's name: cat /proc/PID/comm "
				"shows them");
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	s->off_cpu = off_cpu;
	s->comm_len = strlen(r->arg);
	memcpy(s->comm, r->arg, s->comm_len);
	rc = find_fields(s, err);
	if (!rc)
		rc = bpf_latency_open(&o, env, &s->watch, err);
	if (!rc) {
		write_switch(s, &c);
		rc = bpf_latency_attach(s->watch, &c, BPF_PROG_TYPE_TRACEPOINT,
					"sched:sched_switch", env, err);
	}
	if (!rc && !off_cpu)
		rc = attach_wakeups(s, env, err);
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

/* What a thread that is still away is in: the kernel's function, and the system call. */
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
	.open = offcpu_open,
	.fd = wait_fd,
	.ready = wait_ready,
	.skip = wait_skip,
	.cpu = wait_cpu,
	.plan = wait_plan,
	.trouble = wait_trouble,
	.close = wait_close,
};
