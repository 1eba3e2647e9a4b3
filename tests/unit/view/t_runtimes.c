/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* Of which processes it is said that the code they make has no names, and with what it would. */
#include "dump/view/unwind/runtimes.h"

#include "tests/helpers/mkdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE  (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)
#define CODE  0x400000ull /* of the program or a library */
#define MADE  0x800000ull /* while it ran */
#define BYTES 0x1000ull

/* A process, its file, and whether its ticks are in what it made, called by the file's code. */
struct story {
	uint32_t pid;
	const char *comm, *file;
	bool makes;
	const char *name; /* of what it made; NULL: none */
	unsigned nr;
};

static void tick(struct mk_records *r, uint64_t ns, const struct story *s)
{
	const uint64_t chain[] = {3, (uint64_t)PERF_CONTEXT_USER,
				  (s->makes ? MADE : CODE) + 0x10 * (ns & 15), CODE + 0x810};
	const uint32_t who[] = {s->pid, s->pid};
	struct buf b = {0};

	MK_OK(buf_put(&b, who, sizeof(who)));
	MK_OK(buf_put(&b, &ns, sizeof(ns)));
	MK_OK(buf_put(&b, chain, sizeof(chain)));
	mk_record(r, PERF_RECORD_SAMPLE, 0, b.p, b.len);
	buf_free(&b);
}

static void process(struct mk *d, uint32_t i, const struct story *s)
{
	struct fmt_map map = {.key = i,
			      .path = i,
			      .start = CODE,
			      .end = CODE + BYTES,
			      .ino = i,
			      .prot = 5,
			      .flags = 2};

	mk_task(d, i, s->pid, s->pid, 1, 0, 0);
	mk_comm(d, i, 0, s->comm);
	mk_path(d, i, s->file);
	mk_map(d, &map);
	mk_path(d, 100 + i, "//anon");
	map.path = 100 + i;
	map.start = MADE;
	map.end = MADE + BYTES;
	map.ino = 0;
	mk_map(d, &map);
	mk_image(d, 0, FMT_IMAGE_FILE, 0, (uint8_t)i, s->file);
	mk_function(d, 0, 0, BYTES, "interpret");
	mk_image(d, 1, FMT_IMAGE_TASK, i, 0, "map");
	if (s->name)
		mk_function(d, 1, MADE, BYTES, s->name);
}

/* What is said of all these, a line each; the caller frees it. */
static char *said(const struct story *v, uint32_t nr)
{
	struct fmt_window w = {.cpu = 0,
			       .tid = -1,
			       .armed_ns = 1,
			       .paused_ns = 2000,
			       .first_ns = 1,
			       .last_ns = 1000};
	struct text t = TEXT_INIT(NULL);
	struct mk_records r = {0};
	struct runtimes *rt = NULL;
	struct process_history *p = NULL;
	struct mk d = mk_begin();
	struct reader *reader;
	struct meta *m;
	uint64_t ns = 1;
	char *out;

	mk_host(&d);
	mk_trigger(&d, 1000);
	mk_channel(&d, 0, "cpu", TYPE);
	mk_event(&d, 0, 0, "cpu-clock", 0, TYPE);
	for (uint32_t i = 0; i < nr; i++) {
		process(&d, i + 1, &v[i]);
		for (unsigned k = 0; k < v[i].nr; k++)
			tick(&r, ns++, &v[i]);
	}
	w.nr_records = r.nr;
	mk_window(&d, &w);
	mk_block(&d, 0, 0, 1, 1000, &r);
	mk_records_free(&r);
	reader = mk_end(&d);
	m = mk_meta(reader);
	MK_OK(history_load(reader, &p, NULL));
	MK_OK(runtimes_new(p, &rt, NULL));
	MK_OK(runtimes_read(rt, reader, m, NULL));
	for (size_t i = 0; runtimes_nth(rt, i); i++) {
		assert_true(runtimes_say(rt, runtimes_nth(rt, i), &t));
		text_char(&t, '\n');
	}
	for (uint32_t i = 0; i < nr && !t.b.len; i++)
		assert_false(runtimes_say(rt, v[i].pid, &t));
	text_char(&t, '\0');
	out = strdup((const char *)t.b.p);
	text_free(&t);
	runtimes_free(rt);
	history_free(p);
	meta_free(m);
	mk_close(&d, reader);
	return out;
}

static void expect(const struct story *v, uint32_t nr, const char *want)
{
	char *got = said(v, nr);

	assert_string_equal(got, want);
	free(got);
}

static void each_runtime_has_its_flag(void **state)
{
	const struct story v[] = {
		{5, "java", "/opt/jdk/lib/server/libjvm.so", true, NULL, 40},
		{6, "node", "/usr/bin/node", true, NULL, 30},
		{7, "app", "/usr/share/dotnet/libcoreclr.so", true, NULL, 20},
		{8, "py\x1b", "/usr/lib/libpython3.12.so.1.0", false, NULL, 10},
		{9, "pool", "/usr/bin/python3.13", false, NULL, 9},
	};

	expect(v, 5,
	       "java (5): 100 % of its stacks lack the names of Java methods; run it with "
	       "-XX:+PreserveFramePointer and, before the dump, jcmd PID Compiler.perfmap "
	       "(ringback-runtimes(7))\n"
	       "node (6): 100 % of its stacks lack the names of JavaScript functions; run it with "
	       "--perf-basic-prof-only-functions --interpreted-frames-native-stack "
	       "(ringback-runtimes(7))\n"
	       "app (7): 100 % of its stacks lack the names of .NET methods; run it with "
	       "DOTNET_PerfMapEnabled=1 in its environment (ringback-runtimes(7))\n"
	       "py\\x1b (8): 100 % of its stacks lack the names of Python functions; run it with "
	       "-X perf and a Python 3.12 or later that was built with frame pointers "
	       "(ringback-runtimes(7))\n"
	       "pool (9): 100 % of its stacks lack the names of Python functions; run it with "
	       "-X perf and a Python 3.12 or later that was built with frame pointers "
	       "(ringback-runtimes(7))\n");
}

static void what_has_names_or_no_runtime_needs_none(void **state)
{
	const struct story v[] = {
		{5, "java", "/opt/jdk/lib/server/libjvm.so", true, "Hot.inner", 40},
		{6, "node", "/usr/bin/node", false, NULL, 30},
		{7, "python3", "/usr/bin/python3.12", true, "py::inner:/a.py", 20},
		{8, "other", "/usr/bin/other", true, NULL, 10},
		{9, "node", "/usr/bin/node", true, NULL, 3},
	};

	expect(v, 5, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_runtime_has_its_flag),
		cmocka_unit_test(what_has_names_or_no_runtime_needs_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
