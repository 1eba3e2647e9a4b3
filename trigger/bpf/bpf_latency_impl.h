/* SPDX-License-Identifier: MIT */
/* struct bpf_latency; private to bpf_latency*.c. */
#pragma once

#include "trigger/bpf/bpf_latency.h"

#include "trigger/kernel/event.h"

#define BPF_LATENCY_PROGRAMS 4
#define BPF_LATENCY_TOLD     1024
#define BPF_LATENCY_PENDING  32

struct bpf_link;
struct bpf_object;
struct bpf_object_skeleton;
struct bpf_program;
struct latency_bpf;
struct wait_bpf;
struct bpf_latency_running; /* bpf_latency_look.c */

struct bpf_latency {
	uint64_t threshold_ns;
	unsigned nr_frames, nr_extra;
	bool while_running;
	uint32_t own_pid, command_pid;	/* recorder and `-- COMMAND`; 0: none */
	struct event_list output_event; /* its only event is the tap's */
	struct wakeup_ring *tap;
	struct wait_bpf *waits; /* either this or `latency` is set */
	struct latency_bpf *latency;
	struct bpf_object_skeleton *skeleton; /* of the one that is set */
	struct bpf_object *programs;
	volatile struct bpf_latency_state *state; /* mapped; shared with the programs */
	int calls, output;			  /* map descriptors */
	struct {
		struct bpf_program *prog;
		struct bpf_link *link; /* NULL: attached by `event` */
		int event;
	} on[BPF_LATENCY_PROGRAMS];
	unsigned nr_on;
	int epoll_fd; /* tap and timer of while-running; -1: tap only */
	struct bpf_latency_running *running;
};

static inline unsigned bpf_latency_note_bytes(const struct bpf_latency *w)
{
	return w->nr_frames * (unsigned)sizeof(struct bpf_latency_frame) + w->nr_extra * 8;
}

int bpf_latency_running_open(struct bpf_latency *w, struct err *err);
void bpf_latency_running_close(struct bpf_latency *w);
int bpf_latency_running_fd(const struct bpf_latency *w);
/* Starts the timer: a call began while it was stopped. */
void bpf_latency_running_start(struct bpf_latency *w);
/* Checks all notes if the timer has expired. */
void bpf_latency_running_look(struct bpf_latency *w);
/* The next call found to exceed the threshold, with the number of calls that found no room in
 * *more; 0: none. */
int bpf_latency_running_next(struct bpf_latency *w, struct bpf_latency_record *rec, uint64_t *more);
/* True if the call was already reported while it ran; forgets it. */
bool bpf_latency_running_knows(struct bpf_latency *w, uint32_t tid, uint64_t began_ns);
