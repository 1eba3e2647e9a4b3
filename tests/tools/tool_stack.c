// SPDX-License-Identifier: MIT
/*
 * tool_stack DUMP: prints one line per sample with a user stack: the names of its user functions,
 * outermost first, joined by ";"; a tab; their number; a tab; why the stack ends, empty when it is
 * complete. It uses the same interface as any reader of dumps. With "times" after DUMP it prints
 * instead: samples, frames, and the CPU seconds for finding stacks and names, without reading and
 * printing.
 */
#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/unwind/stack.h"
#include "dump/view/model/timeline.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void print(const struct stack *s, size_t first)
{
	struct text t = TEXT_INIT(stdout);

	for (size_t i = s->nr; i-- > first;) {
		stack_name(&s->frames[i], &t);
		if (i > first)
			text_char(&t, ';');
	}
	text_char(&t, '\t');
	text_u64(&t, s->nr - first);
	text_char(&t, '\t');
	stack_end_name(s, &t);
	text_char(&t, '\n');
	text_flush(&t);
	text_free(&t);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int each(struct timeline *t, struct stacks *st, bool times, struct err *err)
{
	uint64_t from, sum_ns = 0, nr = 0, frames = 0;
	struct timeline_record rec;
	struct stack s;
	int rc;

	while ((rc = timeline_next(t, &rec, err)) > 0) {
		size_t first = 0;

		from = times ? cpu_ns() : 0;
		stack_get(st, &rec, &s);
		sum_ns += times ? cpu_ns() - from : 0;
		while (first < s.nr && s.frames[first].kernel)
			first++;
		if (first == s.nr)
			continue;
		nr++;
		frames += s.nr - first;
		if (!times)
			print(&s, first);
	}
	if (times)
		printf("%llu %llu %.6f\n", (unsigned long long)nr, (unsigned long long)frames,
		       (double)sum_ns / 1e9);
	return rc;
}

int main(int argc, char **argv)
{
	const struct timeline_options opt = {.to_ns = UINT64_MAX, .cpu = -1};
	struct err err = ERR_INIT;
	struct timeline *t = NULL;
	struct reader *r = NULL;
	struct meta *m = NULL;
	struct process_history *p = NULL;
	struct symbols *s = NULL;
	struct stacks *st = NULL;
	int rc;

	if (argc < 2) {
		fprintf(stderr, "usage: tool_stack DUMP [times]\n");
		return 2;
	}
	rc = reader_open(argv[1], &r, &err);
	rc = rc ? rc : meta_load(r, &m, &err);
	rc = rc ? rc : history_load(r, &p, &err);
	rc = rc ? rc : symbols_load(r, p, &s, &err);
	rc = rc ? rc : stacks_new(m, p, s, &st, &err);
	rc = rc ? rc : timeline_open(r, m, &opt, &t, &err);
	rc = rc ? rc : each(t, st, argc > 2 && !strcmp(argv[2], "times"), &err);
	if (rc)
		fprintf(stderr, "%s\n", err.what);
	timeline_close(t);
	stacks_free(st);
	symbols_free(s);
	history_free(p);
	meta_free(m);
	reader_close(r);
	return rc ? 1 : 0;
}
