// SPDX-License-Identifier: MIT
/*
 * tool_times DUMP FROM TO: where the threads of a dump spent the time from FROM to TO (nanoseconds
 * of the dump's clock), according to the scheduler's records, as in report and why. Prints a line
 * "window FROM TO", the part with known states, then one line per thread: tid; ns running, waiting,
 * sleeping (or blocked or stopped) and unknown; number of runs; name.
 */
#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/print/fields.h"
#include "dump/view/model/process_history.h"
#include "dump/view/schedule/schedule.h"
#include "dump/view/model/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int feed(struct reader *r, const struct meta *m, struct schedule *s, struct err *err)
{
	const struct timeline_options opt = {.to_ns = UINT64_MAX, .cpu = -1};
	struct timeline_record rec;
	struct timeline *t;
	int rc = timeline_open(r, m, &opt, &t, err);

	if (rc)
		return rc;
	while ((rc = timeline_next(t, &rec, err)) > 0 && !(rc = schedule_feed(s, &rec)))
		;
	timeline_close(t);
	return rc ? rc : schedule_end(s);
}

static void print(const struct schedule *s, uint64_t from, uint64_t to)
{
	uint64_t begin, end;

	schedule_window(s, &begin, &end);
	printf("window %" PRIu64 " %" PRIu64 "\n", begin, end);
	for (uint32_t i = 1; i < schedule_nr_threads(s); i++) {
		const struct schedule_thread *t = schedule_thread(s, i);
		uint64_t ns[NR_SPAN_STATES] = {0}, nr = 0;

		for (size_t k = 0; k < t->nr; k++) {
			const struct span *span = schedule_span(s, t->first + k);
			uint64_t a = span->from_ns > from ? span->from_ns : from;
			uint64_t b = span->to_ns < to ? span->to_ns : to;

			if (b <= a)
				continue;
			ns[span->state] += b - a;
			nr += span->state == SPAN_RUN;
		}
		printf("%u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n",
		       t->tid, ns[SPAN_RUN], ns[SPAN_READY],
		       ns[SPAN_SLEEP] + ns[SPAN_BLOCKED] + ns[SPAN_STOPPED], ns[SPAN_UNKNOWN], nr,
		       t->comm ? t->comm : "?");
	}
}

int main(int argc, char **argv)
{
	struct err err = ERR_INIT;
	struct schedule *s = NULL;
	struct fields *f = NULL;
	struct process_history *p = NULL;
	struct reader *r = NULL;
	struct meta *m = NULL;
	int rc;

	if (argc != 4)
		return 2;
	rc = reader_open(argv[1], &r, &err);
	rc = rc ? rc : meta_load(r, &m, &err);
	rc = rc ? rc : history_load(r, &p, &err);
	rc = rc ? rc : fields_new(m, &f, &err);
	rc = rc ? rc : schedule_new(m, f, p, NULL, &s, &err);
	rc = rc ? rc : feed(r, m, s, &err);
	if (rc)
		fprintf(stderr, "%s\n", err.what);
	else
		print(s, strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	schedule_free(s);
	fields_free(f);
	history_free(p);
	meta_free(m);
	reader_close(r);
	return rc != 0;
}
