// SPDX-License-Identifier: MIT
/* The pieces that programs of a stopwatch are made of; see bpf_latency.h. */
#include "trigger/bpf/bpf_latency_impl.h"

#include <errno.h>

#define KEY    (-BPF_LATENCY_KEY_AT)
#define NOTE   (-BPF_LATENCY_NOTE_AT)
#define RECORD (-BPF_LATENCY_RECORD_AT)
#define INDEX  (-16) /* of a map that is an array */

_Static_assert(BPF_LATENCY_NOTE_AT - 16 >=
		       BPF_LATENCY_FRAMES * sizeof(struct bpf_latency_frame) + 6 * 8,
	       "a note fits into the frame");
_Static_assert(BPF_LATENCY_RECORD_AT - BPF_LATENCY_NOTE_AT >= sizeof(struct bpf_latency_record),
	       "a record fits into the frame");

void bpf_latency_key(struct bpf_code *c)
{
	bpf_call(c, BPF_FUNC_get_current_pid_tgid);
	bpf_put(c, BPF_W, BPF_REG_10, KEY, BPF_REG_0);
}

void bpf_latency_find(const struct bpf_latency *w, struct bpf_code *c)
{
	bpf_map(c, BPF_REG_1, w->calls);
	bpf_frame(c, BPF_REG_2, KEY);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
}

void bpf_latency_drop(const struct bpf_latency *w, struct bpf_code *c)
{
	bpf_map(c, BPF_REG_1, w->calls);
	bpf_frame(c, BPF_REG_2, KEY);
	bpf_call(c, BPF_FUNC_map_delete_elem);
}

/* r0 = the value at `index` of an array; goes to `none` when there is none (there always is). */
static void find_in_array(struct bpf_code *c, int map, int index, int none)
{
	bpf_put_imm(c, BPF_W, BPF_REG_10, INDEX, index);
	bpf_map(c, BPF_REG_1, map);
	bpf_frame(c, BPF_REG_2, INDEX);
	bpf_call(c, BPF_FUNC_map_lookup_elem);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, 0, none);
}

/* The array has values of each CPU, so nobody else adds at the same time but an interrupt. */
static void count(const struct bpf_latency *w, struct bpf_code *c, int index)
{
	int none = bpf_label(c);

	find_in_array(c, w->counts, index, none);
	bpf_move_imm(c, BPF_REG_1, 1);
	bpf_add_to(c, BPF_REG_0, 0, BPF_REG_1);
	bpf_place(c, none);
}

void bpf_latency_note(const struct bpf_latency *w, struct bpf_code *c, int ctx, int flags)
{
	int fine = bpf_label(c), done = bpf_label(c);

	bpf_map(c, BPF_REG_1, w->calls);
	bpf_frame(c, BPF_REG_2, KEY);
	bpf_frame(c, BPF_REG_3, NOTE);
	bpf_move_imm(c, BPF_REG_4, flags);
	bpf_call(c, BPF_FUNC_map_update_elem);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, 0, fine);
	if (flags == BPF_NOEXIST)
		bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, -EEXIST, done);
	count(w, c, COUNT_FULL);
	bpf_jump(c, done);
	bpf_place(c, fine);
	bpf_latency_begun(w, c, ctx);
	bpf_place(c, done);
}

static void output(const struct bpf_latency *w, struct bpf_code *c, int ctx)
{
	bpf_move(c, BPF_REG_1, ctx);
	bpf_map(c, BPF_REG_2, w->output);
	bpf_imm64(c, BPF_REG_3, BPF_F_CURRENT_CPU);
	bpf_frame(c, BPF_REG_4, RECORD);
	bpf_move_imm(c, BPF_REG_5, sizeof(struct bpf_latency_record));
	bpf_call(c, BPF_FUNC_perf_event_output);
}

void bpf_latency_begun(const struct bpf_latency *w, struct bpf_code *c, int ctx)
{
	int done;

	if (!w->while_running)
		return;
	done = bpf_label(c);
	find_in_array(c, w->awake, 0, done);
	bpf_get(c, BPF_DW, BPF_REG_1, BPF_REG_0, 0);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_1, AWAKE_BUSY, done);
	bpf_put_imm(c, BPF_DW, BPF_REG_0, 0, AWAKE_BUSY);
	bpf_jump_imm(c, BPF_JNE, BPF_REG_1, AWAKE_ASLEEP, done);
	for (size_t at = 0; at < sizeof(struct bpf_latency_record); at += 8)
		bpf_put_imm(c, BPF_DW, BPF_REG_10, RECORD + (int)at, 0);
	bpf_put_imm(c, BPF_W, BPF_REG_10, RECORD, BPF_LATENCY_BEGUN);
	output(w, c, ctx);
	bpf_place(c, done);
}

void bpf_latency_tell(const struct bpf_latency *w, struct bpf_code *c, int ctx)
{
	int fine = bpf_label(c);

	bpf_put_imm(c, BPF_W, BPF_REG_10, RECORD, BPF_LATENCY_OVER);
	bpf_put_imm(c, BPF_W, BPF_REG_10,
		    RECORD + (int)offsetof(struct bpf_latency_record, reserved), 0);
	output(w, c, ctx);
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, 0, fine);
	/* A full ring counts by itself. */
	bpf_jump_imm(c, BPF_JEQ, BPF_REG_0, -ENOSPC, fine);
	count(w, c, COUNT_UNTOLD);
	bpf_place(c, fine);
}

void bpf_latency_unless_over(const struct bpf_latency *w, struct bpf_code *c, int duration,
			     int label)
{
	int scratch = duration == BPF_REG_2 ? BPF_REG_3 : BPF_REG_2;

	bpf_imm64(c, scratch, w->threshold_ns);
	bpf_jump_if(c, BPF_JLE, duration, scratch, label);
}
