// SPDX-License-Identifier: MIT
/* BPF programs at the start and the return of functions and system calls; bpf_latency.c loads them
 * for src_latency.c and src_syscall.c. They do not need BTF. */
#include "trigger/bpf/latency_common.h"

/* Bytes that a return instruction pops from the stack. */
#if defined(__TARGET_ARCH_x86)
#define RETURN_BYTES 8
#else
#define RETURN_BYTES 0
#endif

/* ---- functions: see src_latency.c ---- */

SEC("uprobe")
int latency_start(struct pt_regs *ctx)
{
	__u64 sp = PT_REGS_SP(ctx), now = bpf_ktime_get_ns();
	__u32 tid = (__u32)bpf_get_current_pid_tgid();
	struct bpf_latency_frame *f = bpf_map_lookup_elem(&rb_calls, &tid);
	int i;

	if (!f) {
		struct bpf_latency_frame anew[BPF_LATENCY_FRAMES] = {{now, sp}};

		add_note(ctx, tid, anew, BPF_ANY);
		return 0;
	}
	for (i = 0; i < BPF_LATENCY_FRAMES - 1; i++)
		if (!f[i].began_ns || f[i].place <= sp)
			break;
	f[i].place = sp;
	f[i].told = 0;
	f[i].began_ns = now;
	/* Later frames belong to calls nested in one that has ended. */
	for (int j = 1; j < BPF_LATENCY_FRAMES; j++)
		if (j > i)
			f[j].began_ns = 0;
	begun(ctx);
	return 0;
}

SEC("uretprobe")
int latency_return(struct pt_regs *ctx)
{
	__u64 sp = PT_REGS_SP(ctx), id = bpf_get_current_pid_tgid();
	struct bpf_latency_record rec = {.pid = id >> 32, .tid = (__u32)id};
	__u32 tid = (__u32)id;
	struct bpf_latency_frame *f = bpf_map_lookup_elem(&rb_calls, &tid);
	bool news;
	int i;

	if (!f)
		return 0;
	for (i = 0; i < BPF_LATENCY_FRAMES; i++)
		if (!f[i].began_ns || f[i].place + RETURN_BYTES <= sp)
			break;
	if (i == BPF_LATENCY_FRAMES || !f[i].began_ns)
		return 0;
	rec.began_ns = f[i].began_ns;
	news = f[i].place + RETURN_BYTES == sp && !f[i].told;
	for (int j = 0; j < BPF_LATENCY_FRAMES; j++)
		if (j >= i)
			f[j].began_ns = 0;
	rec.ended_ns = bpf_ktime_get_ns();
	if (news && rec.ended_ns - rec.began_ns > params.threshold_ns) {
		/* The enclosing calls need not report the same delay. */
		for (int j = 0; j < BPF_LATENCY_FRAMES - 1; j++)
			if (j < i)
				f[j].told = 1;
		rec.extra[0] = PT_REGS_RC(ctx);
		rec.extra[1] = PT_REGS_IP(ctx);
		bpf_get_current_comm(rec.comm, sizeof(rec.comm));
		tell(ctx, &rec);
	}
	if (!i)
		bpf_map_delete_elem(&rb_calls, &tid);
	return 0;
}

/* ---- system calls: 0 would hide the event from other users of the tracepoint ---- */

struct syscall_note {
	struct bpf_latency_frame f;
	__u64 args[BPF_LATENCY_ARGS];
};

SEC("tracepoint")
int latency_enter(void *ctx)
{
	struct syscall_note note = {};
	__u64 number;

	if (params.number >= 0) {
		bpf_probe_read_kernel(&number, sizeof(number), ctx + params.number_at);
		if (number != params.number)
			return 1;
	}
	note.f.began_ns = bpf_ktime_get_ns();
	bpf_probe_read_kernel(note.args, params.nr_args * 8, ctx + params.args_at);
	add_note(ctx, (__u32)bpf_get_current_pid_tgid(), &note, BPF_ANY);
	return 1;
}

SEC("tracepoint")
int latency_exit(void *ctx)
{
	__u64 id = bpf_get_current_pid_tgid(), now;
	__u32 tid = (__u32)id;
	struct syscall_note *note = bpf_map_lookup_elem(&rb_calls, &tid);

	if (!note)
		return 1;
	now = bpf_ktime_get_ns();
	if (now - note->f.began_ns > params.threshold_ns) {
		struct bpf_latency_record rec = {
			.pid = id >> 32, .tid = tid, .began_ns = note->f.began_ns, .ended_ns = now};

		bpf_probe_read_kernel(rec.extra, 8, ctx + params.result_at);
		__builtin_memcpy(rec.extra + 1, note->args, sizeof(note->args));
		bpf_get_current_comm(rec.comm, sizeof(rec.comm));
		tell(ctx, &rec);
	}
	bpf_map_delete_elem(&rb_calls, &tid);
	return 1;
}

/* ---- threads that exit or exec during a call ---- */

SEC("raw_tp/sched_process_exit")
int latency_exited(void *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&rb_calls, &tid);
	return 0;
}

/* exec removes the calling thread's stack, so its function calls end. If the thread is not the
 * group leader it also takes the leader's id; then the note under its old id is stale. */
SEC("raw_tp/sched_process_exec")
int latency_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), old_pid = (__u32)ctx->args[1];

	if (params.own_exec || old_pid != tid)
		bpf_map_delete_elem(&rb_calls, &old_pid);
	return 0;
}
