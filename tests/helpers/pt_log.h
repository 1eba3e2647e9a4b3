/* SPDX-License-Identifier: MIT */
/*
 * The log of a stepped program, as text: the program, its times, and each call and return:
 *
 *	# program gzip
 *	# task PID TID CPU
 *	# trace BYTES INSTRUCTIONS ALONE	ALONE 1: it kept its CPU meanwhile
 *	# moment TSC NS				CLOCK_MONOTONIC: before all, begin, end, after all
 *	# perf ZERO MULT SHIFT			TSC to the perf clock; MULT 0: unknown
 *	call 401136 401020 81213132 617
 *	return 401050 40113b 81213141 617
 *	off 40113b 0 81213150 620		into the kernel
 *	on 0 40113d 81214050 622		and back
 *
 * The columns of a step: addresses of the two instructions, TSC, bytes of the trace before it.
 */
#pragma once

#include "tests/helpers/pt_encode.h"
#include "tests/helpers/pt_spin.h"

#include <inttypes.h>

struct pt_log {
	char program[256];
	uint32_t pid, tid;
	int cpu;
	size_t bytes, instructions;
	int alone;
	struct pt_moment before, began, ended, after;
	struct pt_perf_clock clock;
};

static inline void pt_log_moment(FILE *f, struct pt_moment m)
{
	fprintf(f, "# moment %" PRIu64 " %" PRIu64 "\n", m.tsc, m.ns);
}

static const char *const pt_log_kinds[] = {"call", "return", "off", "on", "lost"};

static inline void pt_log_write(FILE *f, const struct pt_log *l, const struct pt_encode *e)
{
	fprintf(f, "# program %s\n# task %u %u %d\n# trace %zu %zu %d\n", l->program, l->pid,
		l->tid, l->cpu, l->bytes, l->instructions, l->alone);
	pt_log_moment(f, l->before);
	pt_log_moment(f, l->began);
	pt_log_moment(f, l->ended);
	pt_log_moment(f, l->after);
	fprintf(f, "# perf %" PRIu64 " %u %u\n", l->clock.zero, l->clock.mult, l->clock.shift);
	for (size_t i = 0; i < e->nr_truth; i++) {
		const struct pt_truth *t = &e->truth[i];

		fprintf(f, "%s %" PRIx64 " %" PRIx64 " %" PRIu64 " %zu\n", pt_log_kinds[t->kind],
			t->from, t->to, t->tsc, t->offset);
	}
}

/* Reads the lines before the steps. False on a format error. */
static inline bool pt_log_read(FILE *f, struct pt_log *l)
{
	struct pt_moment *m[] = {&l->before, &l->began, &l->ended, &l->after};

	if (fscanf(f, "# program %255[^\n]\n# task %u %u %d\n# trace %zu %zu %d\n", l->program,
		   &l->pid, &l->tid, &l->cpu, &l->bytes, &l->instructions, &l->alone) != 7)
		return false;
	for (size_t i = 0; i < 4; i++)
		if (fscanf(f, "# moment %" SCNu64 " %" SCNu64 "\n", &m[i]->tsc, &m[i]->ns) != 2)
			return false;
	return fscanf(f, "# perf %" SCNu64 " %u %hu\n", &l->clock.zero, &l->clock.mult,
		      &l->clock.shift) == 3;
}

/* Reads the steps; the caller frees them. */
static inline struct pt_truth *pt_log_steps(FILE *f, size_t *nr)
{
	struct pt_truth *v = NULL, t = {0};
	size_t cap = 0;
	char kind[8];

	*nr = 0;
	while (fscanf(f, "%7s %" SCNx64 " %" SCNx64 " %" SCNu64 " %zu\n", kind, &t.from, &t.to,
		      &t.tsc, &t.offset) == 5) {
		for (t.kind = PT_T_CALL; t.kind < PT_T_LOST; t.kind++)
			if (!strcmp(kind, pt_log_kinds[t.kind]))
				break;
		if (*nr == cap) {
			cap = cap ? 2 * cap : 4096;
			v = reallocarray(v, cap, sizeof(*v));
			assert(v);
		}
		v[(*nr)++] = t;
	}
	return v;
}
