// SPDX-License-Identifier: MIT
/*
 * Source "latency:PATH:SYMBOL>TIME": a call of a function takes longer than TIME, from its first
 * instruction to its return. Probes at both ends; the kernel compares (see bpf_latency.h).
 *
 * Calls within calls: a thread's calls are kept by the stack pointer at their start, the outermost
 * first, at most BPF_LATENCY_FRAMES. What has been left without a return (longjmp, an exception,
 * exec) shows by the stack pointer too: a call that starts at or above it, or returns above it,
 * ends it.
 *
 *	frame[0].place > frame[1].place > ...       the stack grows down
 *
 * With more calls in one another than there are frames, the last frame is the newest call's: the
 * outermost three and the newest are timed. A slow call marks those around it: their time was told.
 */
#include "trigger/engine/source.h"

#include "dump/base/err.h"
#include "trigger/engine/rule_check.h"
#include "trigger/bpf/bpf_latency.h"

#include <errno.h>
#include <asm/ptrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES 16384

/* The stack pointer, the return value and the place in the registers that a probe's program gets,
 * and how much a return takes from the stack. */
#if defined(__x86_64__)
#define REGS_SP	     ((int)offsetof(struct pt_regs, rsp))
#define REGS_IP	     ((int)offsetof(struct pt_regs, rip))
#define REGS_RESULT  ((int)offsetof(struct pt_regs, rax))
#define RETURN_BYTES 8
#elif defined(__aarch64__)
#define REGS_SP	     ((int)offsetof(struct user_pt_regs, sp))
#define REGS_IP	     ((int)offsetof(struct user_pt_regs, pc))
#define REGS_RESULT  ((int)offsetof(struct user_pt_regs, regs[0]))
#define RETURN_BYTES 0
#else
#error "where the stack pointer is on this architecture has to be told here"
#endif

#define FRAME(i, member)                                                                           \
	((int)((i) * sizeof(struct bpf_latency_frame) + offsetof(struct bpf_latency_frame, member)))
#define NOTE(i, member) (-BPF_LATENCY_NOTE_AT + FRAME(i, member))
#define RECORD(member)	(-BPF_LATENCY_RECORD_AT + (int)offsetof(struct bpf_latency_record, member))

/* Below what bpf_latency.h says of the frame. */
#define OF_PROCESS (-296)
#define OF_TOLD	   (-304)
#define OF_MATCHES (-312)
#define OF_INDEX   (-320)
#define OF_ENDED   (-328)

struct source {
	struct bpf_latency *watch;
	char *function; /* PATH:SYMBOL as written */
};

/* ---- programs: r6 = registers, r7 = the note, r8 = a time, r9 = the stack pointer ---- */

/* Puts this call into frame `i` of the note at r7; those behind it were calls within one that is no
 * more. */
static void put_frame(struct bpf_code *c, int i)
{
	bpf_put(c, BPF_DW, BPF_REG_7, FRAME(i, place), BPF_REG_9);
	bpf_put_imm(c, BPF_DW, BPF_REG_7, FRAME(i, told), 0);
	bpf_put(c, BPF_DW, BPF_REG_7, FRAME(i, began_ns), BPF_REG_8);
	for (int j = i + 1; j < BPF_LATENCY_FRAMES; j++)
		bpf_put_imm(c, BPF_DW, BPF_REG_7, FRAME(j, began_ns), 0);
}

static void note_anew(const struct bpf_latency *w, struct bpf_code *c)
{
	for (int i = 0; i < BPF_LATENCY_FRAMES; i++) {
		bpf_put_imm(c, BPF_DW, BPF_REG_10, NOTE(i, began_ns), 0);
		bpf_put_imm(c, BPF_DW, BPF_REG_10, NOTE(i, place), 0);
		bpf_put_imm(c, BPF_DW, BPF_REG_10, NOTE(i, told), 0);
	}
	bpf_put(c, BPF_DW, BPF_REG_10, NOTE(0, began_ns), BPF_REG_8);
	bpf_put(c, BPF_DW, BPF_REG_10, NOTE(0, place), BPF_REG_9);
	bpf_latency_note(w, c, BPF_REG_6, BPF_ANY);
}

static void write_start(const struct bpf_latency *w, struct bpf_code *c)
{
	int have = bpf_label(c), out = bpf_label(c), put[BPF_LATENCY_FRAMES];

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	bpf_latency_key(c);
	bpf_get(c, BPF_DW, BPF_REG_9, BPF_REG_6, REGS_SP);
	bpf_call(c, BPF_FUNC_ktime_get_ns);
	bpf_move(c, BPF_REG_8, BPF_REG_0);
	bpf_latency_find(w, c);
	bpf_jump_imm(c, BPF_JNE, BPF_REG_0, 0, have);
	note_anew(w, c);
	bpf_return(c, 0);

	bpf_place(c, have);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
	for (int i = 0; i < BPF_LATENCY_FRAMES; i++) {
		put[i] = bpf_label(c);
		if (i == BPF_LATENCY_FRAMES - 1)
			break;
		bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_7, FRAME(i, began_ns));
		bpf_jump_imm(c, BPF_JEQ, BPF_REG_1, 0, put[i]);
		bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_7, FRAME(i, place));
		bpf_jump_if(c, BPF_JLE, BPF_REG_1, BPF_REG_9, put[i]);
	}
	for (int i = BPF_LATENCY_FRAMES - 1; i >= 0; i--) {
		bpf_place(c, put[i]);
		put_frame(c, i);
		if (i)
			bpf_jump(c, out);
	}
	bpf_place(c, out);
	bpf_latency_begun(w, c, BPF_REG_6);
	bpf_return(c, 0);
}

/* Frame `i` at r7 is over, with those behind it; what it was goes to r8 and the program's frame. */
static void take_frame(struct bpf_code *c, int i)
{
	int other = bpf_label(c);

	/* r1 = began_ns, r2 = where its return would leave the stack pointer */
	bpf_move(c, BPF_REG_8, BPF_REG_1);
	bpf_get(c, BPF_DW, BPF_REG_3, BPF_REG_7, FRAME(i, told));
	bpf_put(c, BPF_DW, BPF_REG_10, OF_TOLD, BPF_REG_3);
	bpf_put_imm(c, BPF_DW, BPF_REG_10, OF_MATCHES, 0);
	bpf_jump_if(c, BPF_JNE, BPF_REG_2, BPF_REG_9, other);
	bpf_put_imm(c, BPF_DW, BPF_REG_10, OF_MATCHES, 1);
	bpf_place(c, other);
	bpf_put_imm(c, BPF_DW, BPF_REG_10, OF_INDEX, i);
	for (int j = i; j < BPF_LATENCY_FRAMES; j++)
		bpf_put_imm(c, BPF_DW, BPF_REG_7, FRAME(j, began_ns), 0);
}

/* The calls around the one that is told. */
static void mark_outer(struct bpf_code *c)
{
	int done = bpf_label(c);

	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_10, OF_INDEX);
	for (int j = 0; j < BPF_LATENCY_FRAMES - 1; j++) {
		bpf_jump_imm(c, BPF_JLE, BPF_REG_1, j, done);
		bpf_put_imm(c, BPF_DW, BPF_REG_7, FRAME(j, told), 1);
	}
	bpf_place(c, done);
}

static void write_record(const struct bpf_latency *w, struct bpf_code *c)
{
	bpf_get(c, BPF_W, BPF_REG_1, BPF_REG_10, -BPF_LATENCY_KEY_AT);
	bpf_put(c, BPF_W, BPF_REG_10, RECORD(tid), BPF_REG_1);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_10, OF_PROCESS);
	bpf_alu_imm(c, BPF_RSH, BPF_REG_1, 32);
	bpf_put(c, BPF_W, BPF_REG_10, RECORD(pid), BPF_REG_1);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(began_ns), BPF_REG_8);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_10, OF_ENDED);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(ended_ns), BPF_REG_1);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_6, REGS_RESULT);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(extra[0]), BPF_REG_1);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_6, REGS_IP);
	bpf_put(c, BPF_DW, BPF_REG_10, RECORD(extra[1]), BPF_REG_1);
	for (int i = 2; i < BPF_LATENCY_EXTRA; i++)
		bpf_put_imm(c, BPF_DW, BPF_REG_10, RECORD(extra[0]) + 8 * i, 0);
	bpf_frame(c, BPF_REG_1, RECORD(comm));
	bpf_move_imm(c, BPF_REG_2, sizeof(((struct bpf_latency_record *)0)->comm));
	bpf_call(c, BPF_FUNC_get_current_comm);
	bpf_latency_tell(w, c, BPF_REG_6);
}

static void write_return(const struct bpf_latency *w, struct bpf_code *c)
{
	int out = bpf_label(c), judge = bpf_label(c), pop = bpf_label(c);
	int over[BPF_LATENCY_FRAMES];

	bpf_move(c, BPF_REG_6, BPF_REG_1);
	bpf_latency_key(c);
	bpf_put(c, BPF_DW, BPF_REG_10, OF_PROCESS, BPF_REG_0);
	bpf_get(c, BPF_DW, BPF_REG_9, BPF_REG_6, REGS_SP);
	bpf_latency_find(w, c);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, 0, out);
	bpf_move(c, BPF_REG_7, BPF_REG_0);
	for (int i = 0; i < BPF_LATENCY_FRAMES; i++) {
		over[i] = bpf_label(c);
		bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_7, FRAME(i, began_ns));
		bpf_jump_imm(c, BPF_JEQ, BPF_REG_1, 0, out);
		bpf_get(c, BPF_DW, BPF_REG_2, BPF_REG_7, FRAME(i, place));
		bpf_alu_imm(c, BPF_ADD, BPF_REG_2, RETURN_BYTES);
		bpf_jump_if(c, BPF_JLE, BPF_REG_2, BPF_REG_9, over[i]);
	}
	bpf_jump(c, out);
	for (int i = 0; i < BPF_LATENCY_FRAMES; i++) {
		bpf_place(c, over[i]);
		take_frame(c, i);
		bpf_jump(c, judge);
	}
	bpf_place(c, judge);
	bpf_call(c, BPF_FUNC_ktime_get_ns);
	bpf_put(c, BPF_DW, BPF_REG_10, OF_ENDED, BPF_REG_0);
	bpf_alu(c, BPF_SUB, BPF_REG_0, BPF_REG_8);
	bpf_latency_unless_over(w, c, BPF_REG_0, pop);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_10, OF_MATCHES);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_1, 0, pop);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_10, OF_TOLD);
	bpf_jump_imm(c, BPF_JNE, BPF_REG_1, 0, pop);
	mark_outer(c);
	write_record(w, c);
	bpf_place(c, pop);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_7, FRAME(0, began_ns));
	bpf_jump_imm(c, BPF_JNE, BPF_REG_1, 0, out);
	bpf_latency_drop(w, c);
	bpf_place(c, out);
	bpf_return(c, 0);
}

/* ---- the source ---- */

static int attach(struct source *s, const struct rule *r, bool on_return,
		  const struct source_env *env, struct err *err)
{
	struct bpf_code c = {0};
	char *text;
	int rc;

	if (on_return)
		write_return(s->watch, &c);
	else
		write_start(s->watch, &c);
	if (asprintf(&text, "%s:%s", on_return ? "uretprobe" : "uprobe", r->arg) < 0)
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	rc = bpf_latency_attach(s->watch, &c, BPF_PROG_TYPE_KPROBE, text, env, err);
	free(text);
	return rc;
}

static void latency_close(struct source *s)
{
	if (!s)
		return;
	bpf_latency_close(s->watch);
	free(s->function);
	free(s);
}

static int latency_open(const struct rule *r, const struct source_env *env, struct source **out,
			struct err *err)
{
	const struct bpf_latency_options o = {
		.rule = r, .nr_frames = BPF_LATENCY_FRAMES, .stack_bytes = STACK_BYTES};
	struct source *s;
	int rc = rule_check_arg(r, "a function as PATH:SYMBOL",
				"latency:/usr/bin/redis-server:call>10ms", err);

	if (rc)
		return rc;
	s = calloc(1, sizeof(*s));
	if (!s || !(s->function = strdup(r->arg))) {
		free(s);
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	rc = bpf_latency_open(&o, env, &s->watch, err);
	/* The return first: a call that is noted must be one whose return will be seen. */
	if (!rc)
		rc = attach(s, r, true, env, err);
	if (!rc)
		rc = bpf_latency_attach_ends(s->watch, true, env, err);
	if (!rc)
		rc = attach(s, r, false, env, err);
	if (rc)
		latency_close(s);
	else
		*out = s;
	return rc;
}

static int latency_fd(const struct source *s, uint32_t *events)
{
	return bpf_latency_fd(s->watch);
}

static int latency_ready(struct source *s, struct sighting *what, struct err *err)
{
	struct bpf_latency_record rec;
	int rc = bpf_latency_ready(s->watch, &rec, what, err);

	if (rc != 1)
		return rc;
	sighting_add(what, "function=%s", s->function);
	if (!rec.ended_ns)
		return 1;
	sighting_add(what, "returned=%#llx", (unsigned long long)rec.extra[0]);
	/* Where it was called from, as far as address space randomisation leaves it alone. */
	what->stack_hash = (rec.extra[1] & 0xfff) + 1;
	return 1;
}

static uint64_t latency_skip(struct source *s)
{
	return bpf_latency_skip(s->watch);
}

static int latency_cpu(struct source *s, int cpu, bool online, struct err *err)
{
	return bpf_latency_cpu(s->watch, cpu, online, err);
}

static void latency_plan(const struct source *s, struct source_plan *out)
{
	snprintf(out->watches, sizeof(out->watches),
		 "start and return of %s in all processes, timed by a BPF program", s->function);
	snprintf(out->costs, sizeof(out->costs),
		 "two probes each call (about 3 us on most machines), no wake-up until a call is "
		 "slow");
	bpf_latency_costs(s->watch, out->costs, sizeof(out->costs));
}

static bool latency_trouble(const struct source *s, char *out, size_t n)
{
	return bpf_latency_trouble(s->watch, out, n);
}

const struct source_ops source_latency = {
	.name = "latency",
	.syntax = "latency:PATH:SYMBOL>TIME",
	.help = "a call of a function takes longer",
	.example = "latency:/usr/lib/x86_64-linux-gnu/libc.so.6:getaddrinfo>100ms",
	.in_file = true,
	.open = latency_open,
	.fd = latency_fd,
	.ready = latency_ready,
	.skip = latency_skip,
	.cpu = latency_cpu,
	.plan = latency_plan,
	.trouble = latency_trouble,
	.close = latency_close,
};
