/* SPDX-License-Identifier: MIT */
/*
 * What each thread did right after the freeze, as /proc showed it: its state, wait channel, system
 * call, scheduling, and what it waited for. The THREADS section of a dump; dumps of older recorders
 * have none. Read-only once loaded. Everything returned is borrowed until thread_states_free(), and
 * texts are as in the file: use str_safe() or str_json() before printing.
 */
#pragma once

#include "dump/format/format.h"

#include <stdbool.h>
#include <stddef.h>

struct err;
struct reader;
struct thread_states;

struct thread_state {
	/* Checked: state is a printable character, nr_cpu_words is within bounds, fields whose flag
	 * is missing are 0 (syscall: -1), unused peers are 0. */
	struct fmt_thread_state f;
	uint64_t cpus[FMT_THREAD_MAX_CPU_WORDS];
	/* "": unknown, or there is none. */
	const char *wchan;    /* kernel function in which it slept */
	const char *file;     /* of f.fd: "pipe:[123]", "socket:[456]", a path */
	const char *protocol; /* of a socket: "tcp", "udp", "unix" */
	const char *local, *remote;
};

/* Damaged blocks and items are counted and skipped. Without the section the result is empty. 0,
 * -ENOMEM, -E2BIG. */
int thread_states_load(struct reader *r, struct thread_states **out, struct err *err);
void thread_states_free(struct thread_states *t);

/* When and how completely they were read; NULL: the dump has no states. */
const struct fmt_threads *thread_states_read(const struct thread_states *t);

/* NULL: not read. */
const struct thread_state *thread_states_find(const struct thread_states *t, uint32_t tid);
/* All of them by process, the thread group leader first, then by tid. */
size_t thread_states_nr(const struct thread_states *t);
const struct thread_state *thread_states_nth(const struct thread_states *t, size_t i);
/* Unreadable blocks and items. */
size_t thread_states_nr_broken(const struct thread_states *t);

/* Whether the affinity mask has the CPU; true when the mask is unknown. */
bool thread_state_may_run_on(const struct thread_state *s, uint32_t cpu);
/* The number of CPUs in the mask; 0: unknown. */
unsigned thread_state_nr_cpus(const struct thread_state *s);
/* True in a system call, when this is known. */
static inline bool thread_state_in_syscall(const struct thread_state *s)
{
	return s->f.flags & FMT_THREAD_SYSCALL && s->f.syscall >= 0;
}
