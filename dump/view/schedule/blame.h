/* SPDX-License-Identifier: MIT */
/*
 * The blame matrix: for each control group, how long its threads waited for a CPU, and because of
 * what. Each wait (SPAN_READY) is divided by what its CPU did meanwhile:
 *
 *	wait       |-------------------------------------------------------|
 *	its CPU    |  own thread | other group |   idle   | no switch known |
 *	counts as    own           that group    idle       unknown
 *
 * A wait that the CPU quota of the group explains (cpu_quota.h) counts as quota where no thread of
 * the group ran, whatever else the CPU did. The time that a hypervisor took is in no record, so it
 * is part of the time of the thread that ran. The parts of a row add up to its waits, to the
 * nanosecond.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blame;
struct meta;
struct process_history;
struct schedule;

enum blame_part {
	BLAME_OWN,     /* threads of the same group ran */
	BLAME_QUOTA,   /* the group had used up its CPU quota */
	BLAME_IDLE,    /* the CPU was idle */
	BLAME_UNKNOWN, /* no switch was recorded, or the group of the thread that ran is unknown */
	NR_BLAME_PARTS
};

/* Another group, whose threads ran meanwhile. */
struct blame_other {
	const char *path; /* as history_cgroup() has it */
	uint64_t ns;
};

struct blame_row {
	const char *path; /* of the waiting group; NULL: unknown */
	uint64_t waited_ns;
	uint64_t part_ns[NR_BLAME_PARTS];
	uint64_t others_ns;		  /* the rest: the sum of `others` */
	const struct blame_other *others; /* most time first */
	size_t nr_others;
};

struct blame_input {
	const struct schedule *sched; /* ended */
	const struct process_history *history;
	const struct meta *m;
	uint64_t from_ns, to_ns; /* waits are cut to this time */
	const bool *victims;	 /* by thread: whose waits count; NULL: all */
};

/* The history must outlive the result. 0, -ENOMEM. */
int blame_new(const struct blame_input *in, struct blame **out);
void blame_free(struct blame *b);

/* Groups whose threads waited, longest wait first. */
size_t blame_nr(const struct blame *b);
const struct blame_row *blame_row(const struct blame *b, size_t i);
