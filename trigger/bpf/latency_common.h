/* SPDX-License-Identifier: MIT */
/* Maps and helpers shared by the programs that measure durations, latency.bpf.c and wait.bpf.c. */
#pragma once

#include "trigger/bpf/latency_shared.h"

#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <stdbool.h>

/* Notes by thread id. The loader sets this map's value size and the number of CPUs of rb_output. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(key_size, 4);
	__uint(value_size, 8);
	__uint(max_entries, BPF_LATENCY_CALLS);
} rb_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} rb_output SEC(".maps");

const volatile struct bpf_latency_params params = {};
struct bpf_latency_state state = {};

static __always_inline long output(void *ctx, struct bpf_latency_record *rec)
{
	return bpf_perf_event_output(ctx, &rb_output, BPF_F_CURRENT_CPU, rec, sizeof(*rec));
}

/* A call began: with while-running, starts the recorder's timer if it is stopped. */
static __always_inline void begun(void *ctx)
{
	struct bpf_latency_record rec = {.kind = BPF_LATENCY_BEGUN};
	__u64 was;

	if (!params.while_running || (was = state.awake) == AWAKE_BUSY)
		return;
	state.awake = AWAKE_BUSY;
	if (was == AWAKE_ASLEEP)
		output(ctx, &rec);
}

/* `flags`: BPF_ANY or BPF_NOEXIST. */
static __always_inline void add_note(void *ctx, __u32 tid, const void *note, __u64 flags)
{
	long rc = bpf_map_update_elem(&rb_calls, &tid, note, flags);

	if (!rc)
		begun(ctx);
	else if (rc != -EEXIST)
		__sync_fetch_and_add(&state.nr_full, 1);
}

static __always_inline void tell(void *ctx, struct bpf_latency_record *rec)
{
	long rc = output(ctx, rec);

	/* The ring itself counts records that do not fit (-ENOSPC). */
	if (rc && rc != -ENOSPC)
		__sync_fetch_and_add(&state.nr_untold, 1);
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
