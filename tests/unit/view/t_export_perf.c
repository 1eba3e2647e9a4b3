/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * export -f perf: what is in the file, read back by a reader of its own: header, attributes, the
 * bytes of samples, the order of what is said of processes, features; and what becomes of dumps
 * that are damaged or mean ill.
 */
#include "tests/helpers/perf_export.h"

#include <errno.h>

#define RAW_TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define CPU_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)
#define MIX_TYPE (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)
#define DWARF_TYPE                                                                                 \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define ADDED                                                                                      \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU)
#define REGS	 (1u << 7 | 1u << 8) /* sp, ip of x86 */
#define TP_VALUE 300
#define TP_NAKED 301 /* without a format */
#define HIT	 2000000000ull
#define KERNEL	 0xffffffff81000000ull

/* ---- the dump ---- */

/*
 * alpha (10, thread 11) and its parent are there from the beginning; alpha forks 30 at HIT - 50,
 * which execs at HIT - 40, maps and exits; 40 and 41 have ended long before, but of 41 there is a
 * record.
 */
static void put_ledger(struct mk *d)
{
	mk_task(d, 1, 10, 10, 1, 0, 0);
	mk_comm(d, 1, 0, "alpha");
	mk_comm(d, 1, HIT - 10, "omega");
	mk_task(d, 2, 11, 10, 1, 0, 0);
	mk_comm(d, 2, 0, "worker");
	mk_task(d, 3, 30, 30, 10, HIT - 50, HIT + 10);
	mk_item(d, FMT_LEDGER, FMT_LEDGER_COMM,
		&(struct fmt_comm){3, FMT_COMM_EXEC, HIT - 40, "child"}, sizeof(struct fmt_comm),
		NULL, 0);
	mk_task(d, 4, 40, 40, 1, 5, 1000);
	mk_comm(d, 4, 5, "gone");
	mk_item(d, FMT_LEDGER, FMT_LEDGER_TASK,
		&(struct fmt_task){5, 41, 41, 1, 5, 1000, FMT_TASK_SAMPLED, 0},
		sizeof(struct fmt_task), NULL, 0);
	mk_comm(d, 5, 5, "late");
	mk_path(d, 1, "/usr/lib/libdemo.so");
	mk_path(d, 2, "/usr/bin/child");
	mk_map(d, &(struct fmt_map){.key = 1,
				    .path = 1,
				    .start = 0x7000,
				    .end = 0x9000,
				    .pgoff = 0x100,
				    .ino = 77});
	/* The child's until its exec: from its parent. */
	mk_map(d, &(struct fmt_map){.key = 3,
				    .path = 1,
				    .start = 0x7000,
				    .end = 0x9000,
				    .pgoff = 0x100,
				    .end_ns = HIT - 40});
	mk_map(d, &(struct fmt_map){
			  .key = 3, .path = 2, .start = 0x4000, .end = 0x5000, .ns = HIT - 39});
	mk_map(d, &(struct fmt_map){.key = 4, .path = 2, .start = 0x4000, .end = 0x5000, .ns = 6});
}

static void put_counter(struct mk_records *r, uint64_t time)
{
	uint64_t body[] = {
		0x7010, 10 | 11ull << 32,  time,   5,	   PERF_CONTEXT_KERNEL,
		KERNEL, PERF_CONTEXT_USER, 0x7010, 0x8fff,
	};

	mk_record(r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, body, sizeof(body));
}

static void put_stack(struct mk_records *r, uint64_t time, uint64_t bytes)
{
	uint64_t head[] = {10 | 10ull << 32,	       time, PERF_SAMPLE_REGS_ABI_64, 0x7fff0000,
			   0x7020 /* the registers */, bytes};
	struct buf b = {0};
	uint64_t counts = bytes - 16;

	MK_OK(buf_put(&b, head, sizeof(head)));
	for (uint64_t i = 0; i < bytes / 8; i++)
		MK_OK(buf_put(&b, &i, 8));
	MK_OK(buf_put(&b, &counts, 8));
	mk_record(r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, b.p, b.len);
	buf_free(&b);
}

static void put_mixed(struct mk_records *r, uint64_t time, uint64_t id)
{
	uint64_t body[] = {id, 10 | 10ull << 32, time};

	mk_record(r, PERF_RECORD_SAMPLE, 0, body, sizeof(body));
}

static void put_block(struct mk *d, uint32_t ring, struct mk_records *r)
{
	mk_block(d, ring, 0, HIT - 100, HIT + 100, r);
	mk_records_free(r);
}

static void put_records(struct mk *d)
{
	struct mk_records r = {0};

	mk_number(&r, HIT - 100, TP_VALUE, 10, 1);
	mk_number(&r, HIT - 30, TP_VALUE, 30, 2);
	mk_lost(&r, HIT - 20, 501, 42);
	mk_number(&r, HIT, TP_NAKED, 10, 3);
	mk_number(&r, HIT + 20, 999, 10, 4); /* of no event */
	put_block(d, 0, &r);
	put_counter(&r, HIT - 60);
	put_counter(&r, HIT - 5);
	put_block(d, 1, &r);
	put_stack(&r, HIT - 3, 64);
	put_stack(&r, HIT - 2, 65464); /* as long as a record can be */
	put_block(d, 2, &r);
	put_mixed(&r, HIT + 1, 500);
	put_mixed(&r, HIT + 2, 501);
	put_mixed(&r, HIT + 3, 7); /* of no event */
	put_block(d, 3, &r);
}

static void put_ids(struct mk *d)
{
	struct fmt_event_id ids[] = {{500, 4, 3}, {501, 5, 3}, {1ull << 32, 5, 3}};

	for (size_t i = 0; i < 3; i++)
		mk_item(d, FMT_CHANNELS, FMT_EVENT_ID, &ids[i], sizeof(ids[i]), NULL, 0);
}

static struct mk make_dump(void)
{
	struct mk d = mk_begin();

	mk_host(&d);
	mk_item(&d, FMT_HOST, FMT_HOST_CMDLINE, NULL, 0, "ringback\0record\0-a", 18);
	mk_trigger(&d, HIT);
	mk_channel(&d, 0, "sched", RAW_TYPE);
	mk_channel(&d, 1, "cpu", CPU_TYPE);
	mk_channel_regs(&d, 2, "deep", DWARF_TYPE, REGS);
	mk_channel(&d, 3, "mix", MIX_TYPE);
	mk_event(&d, 0, 0, "demo:value", TP_VALUE, RAW_TYPE);
	mk_event(&d, 1, 0, "demo:naked", TP_NAKED, RAW_TYPE);
	mk_event(&d, 2, 1, "cpu-clock", 0, CPU_TYPE);
	mk_event(&d, 3, 2, "deep-clock", 0, DWARF_TYPE);
	mk_event(&d, 4, 3, "this", 0, MIX_TYPE);
	mk_event(&d, 5, 3, "that", 0, MIX_TYPE);
	put_ids(&d);
	mk_format(&d, TP_VALUE, "demo", mk_number_format);
	for (uint32_t i = 0; i < 4; i++)
		mk_cpu_window(&d, i, i, (int32_t)i);
	put_ledger(&d);
	put_records(&d);
	mk_stats(&d);
	return d;
}

/* ---- tests ---- */

static void test_events(void **state)
{
	struct mk d = make_dump();
	struct exported e = export_all(&d);
	struct file f = open_file(e.b);
	/* Clocks with stacks come first. */
	const uint64_t had[] = {CPU_TYPE, DWARF_TYPE, RAW_TYPE, RAW_TYPE, MIX_TYPE, MIX_TYPE};

	assert_int_equal(e.rc, 0);
	assert_int_equal(f.nr_attrs, 6);
	for (size_t i = 0; i < 6; i++) {
		struct perf_event_attr a = attr_of(&f, i);

		assert_int_equal(a.size, f.attr_stride - 16);
		assert_int_equal(a.sample_type, had[i] | ADDED);
		assert_int_equal(a.sample_id_all, 1);
		assert_int_equal(a.mmap2 && a.comm && a.task, i == 0);
		assert_int_equal(a.sample_regs_user, i == 1 ? REGS : 0);
	}
	assert_int_equal(attr_of(&f, 2).config, TP_VALUE);
	/* The kernel's ids lead to their events, also one that looks like ours. */
	assert_int_equal(event_by_id(&f, 500), 4);
	assert_int_equal(event_by_id(&f, 501), 5);
	assert_int_equal(event_by_id(&f, 1ull << 32), 5);
	free((void *)e.b.p);
}

/* Samples have the bytes of the dump, and what was added is right. */
static void test_samples(void **state)
{
	struct mk d = make_dump();
	struct exported e = export_all(&d);
	struct walk w = walk_of(e.b);
	struct mk_raw raw;
	uint32_t n;

	next_of(&w, PERF_RECORD_SAMPLE);
	assert_int_equal(event_by_id(&w.f, word(&w, 0)), 2);
	assert_int_equal(word(&w, 1), 0);
	assert_int_equal(word(&w, 2), 10 | 10ull << 32);
	assert_int_equal(word(&w, 3), HIT - 100);
	assert_int_equal(word(&w, 4), 0); /* CPU */
	memcpy(&n, w.body.p + 40, 4);
	memcpy(&raw, w.body.p + 44, sizeof(raw));
	assert_int_equal(n, sizeof(raw));
	assert_true(raw.type == TP_VALUE && raw.pid == 10 && raw.value == 1);

	next_of(&w, PERF_RECORD_SAMPLE); /* cpu-clock: as it was, with id and CPU */
	assert_int_equal(event_by_id(&w.f, word(&w, 0)), 0);
	assert_int_equal(w.h.misc, PERF_RECORD_MISC_USER);
	assert_int_equal(word(&w, 1), 0x7010);
	assert_int_equal(word(&w, 2), 10 | 11ull << 32);
	assert_int_equal(word(&w, 4), 1);
	assert_int_equal(word(&w, 5), 5);
	assert_int_equal(word(&w, 7), KERNEL);
	assert_int_equal(word(&w, 10), 0x8fff);
	assert_int_equal(w.body.len, 11 * 8);

	next_of(&w, PERF_RECORD_SAMPLE); /* the child's pid is its own */
	assert_int_equal(word(&w, 2), 30 | 30ull << 32);
	free((void *)e.b.p);
}

/* Of many events in one channel each sample keeps its id; an unknown one is left out. */
static void test_ids(void **state)
{
	struct mk d = make_dump();
	struct exported e = export_all(&d);
	struct walk w = walk_of(e.b);
	size_t nr = 0;

	while (next(&w)) {
		if (w.h.type != PERF_RECORD_SAMPLE)
			continue;
		nr++;
		if (word(&w, 3) == HIT + 1)
			assert_int_equal(word(&w, 0), 500);
		if (word(&w, 3) == HIT + 2)
			assert_int_equal(word(&w, 0), 501);
		assert_true(word(&w, 3) != HIT + 3 && word(&w, 3) != HIT + 20);
	}
	assert_int_equal(nr, 9);
	assert_int_equal(e.res.nr_left_out, 2);
	assert_int_equal(e.res.nr_records, 12);
	free((void *)e.b.p);
}

/* A record that has become too long for its header loses the far end of its stack. */
static void test_long_stack(void **state)
{
	struct mk d = make_dump();
	struct exported e = export_all(&d);
	struct walk w = walk_of(e.b);
	uint64_t size;

	do
		next_of(&w, PERF_RECORD_SAMPLE);
	while (word(&w, 3) != HIT - 3);
	assert_int_equal(word(&w, 1), 0x7020); /* the ip of the registers */
	assert_int_equal(word(&w, 8), 64);
	assert_int_equal(word(&w, 9 + 7), 7);
	assert_int_equal(word(&w, 9 + 8), 48);
	next_of(&w, PERF_RECORD_SAMPLE);
	size = word(&w, 8);
	assert_true(size < 65464 && size > 65400);
	assert_int_equal(word(&w, 9 + size / 8 - 1), size / 8 - 1);
	assert_true(word(&w, 9 + size / 8) <= size);
	assert_int_equal(w.body.len, (9 + size / 8 + 1) * 8);
	assert_int_equal(e.res.nr_cut, 1);
	free((void *)e.b.p);
}

static void test_lost(void **state)
{
	struct mk d = make_dump();
	struct exported e = export_all(&d);
	struct walk w = walk_of(e.b);

	next_of(&w, PERF_RECORD_LOST);
	assert_int_equal(word(&w, 0), 501);
	assert_int_equal(word(&w, 1), 42);
	assert_int_equal(word(&w, 3), HIT - 20);
	assert_int_equal(word(&w, 4), 0); /* CPU */
	assert_int_equal(event_by_id(&w.f, word(&w, 5)), 2);
	assert_int_equal(w.body.len, 6 * 8);
	free((void *)e.b.p);
}

/* What a record that is about a process says: "FORK 10 1", "COMM 10/11 worker". */
static void tell(const struct walk *w, char *out, size_t n)
{
	uint32_t v[4];

	memcpy(v, w->body.p, 16);
	switch (w->h.type) {
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		snprintf(out, n, "%s %u/%u of %u%s",
			 w->h.type == PERF_RECORD_FORK ? "fork" : "exit", v[0], v[2], v[1],
			 w->h.misc ? " (was there)" : "");
		break;
	case PERF_RECORD_COMM:
		snprintf(out, n, "comm %u/%u %s%s", v[0], v[1], (const char *)w->body.p + 8,
			 w->h.misc ? " (exec)" : "");
		break;
	case PERF_RECORD_MMAP:
		snprintf(out, n, "kernel %s", (const char *)w->body.p + 32);
		break;
	case PERF_RECORD_MMAP2:
		snprintf(out, n, "map %u %lx %s%s", v[0], word(w, 1), (const char *)w->body.p + 64,
			 w->h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? " (build-id)" : "");
		break;
	case PERF_RECORD_SAMPLE:
		snprintf(out, n, "sample");
		break;
	default:
		snprintf(out, n, "other");
	}
}

static void test_order(void **state)
{
	static const struct {
		uint64_t ns;
		const char *what;
	} want[] = {
		{HIT - 104, "kernel [kernel.kallsyms]"},
		{HIT - 104, "comm 0/0 swapper"},
		{HIT - 103, "fork 10/10 of 1 (was there)"},
		{HIT - 103, "fork 41/41 of 1 (was there)"},
		{HIT - 103, "fork 10/11 of 10 (was there)"},
		{HIT - 102, "comm 10/10 alpha"},
		{HIT - 102, "comm 10/11 worker"},
		{HIT - 102, "comm 41/41 late"},
		{HIT - 101, "map 10 7000 /usr/lib/libdemo.so"},
		{HIT - 100, "sample"},
		{HIT - 60, "sample"},
		{HIT - 50, "fork 30/30 of 10"},
		{HIT - 40, "comm 30/30 child (exec)"},
		{HIT - 39, "map 30 4000 /usr/bin/child (build-id)"},
		{HIT - 30, "sample"},
		{HIT - 20, "other"},
		{HIT - 10, "comm 10/10 omega"},
		{HIT - 5, "sample"},
	};
	struct mk d = make_dump();
	struct exported e = export_all(&d);
	struct walk w = walk_of(e.b);
	char text[200];

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_true(next(&w));
		tell(&w, text, sizeof(text));
		assert_string_equal(text, want[i].what);
		assert_int_equal(w.last_ns, want[i].ns);
	}
	next_of(&w, PERF_RECORD_EXIT);
	tell(&w, text, sizeof(text));
	assert_string_equal(text, "exit 30/30 of 10");
	assert_int_equal(w.last_ns, HIT + 10);
	free((void *)e.b.p);
}

static void test_part(void **state)
{
	struct mk d = make_dump();
	struct reader *r = mk_end(&d);
	struct exported e =
		export_of(r, (struct export_options){.from_ns = HIT - 35, .to_ns = HIT});
	struct walk w = walk_of(e.b);
	char text[200], all[2000] = "";
	size_t nr = 0;

	while (next(&w)) {
		assert_true(w.last_ns >= HIT - 34 && w.last_ns <= HIT);
		nr += w.h.type == PERF_RECORD_SAMPLE;
		tell(&w, text, sizeof(text));
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s\n", text);
	}
	assert_int_equal(nr, 5);
	/* What was there before is said all the same, what came after is not. */
	assert_non_null(
		strstr(all, "comm 30/30 child\ncomm 41/41 late\nmap 10 7000 /usr/lib/libdemo.so\n"
			    "map 30 4000 /usr/bin/child (build-id)\nsample\n"));
	assert_null(strstr(all, "exit"));
	free((void *)e.b.p);
	mk_close(&d, r);
}

static void test_features(void **state)
{
	struct mk d = make_dump();
	struct exported e = export_all(&d);
	struct file f = open_file(e.b);
	struct section s = feature(&f, 3);
	uint64_t v[3];
	uint32_t n[2];

	assert_string_equal((const char *)at(f.b, s.off + 4, s.size - 4), "box");
	s = feature(&f, 4);
	assert_string_equal((const char *)at(f.b, s.off + 4, s.size - 4), "6.1.0");
	s = feature(&f, 6);
	assert_string_equal((const char *)at(f.b, s.off + 4, s.size - 4), "x86_64");
	memcpy(n, at(f.b, feature(&f, 7).off, 8), 8);
	assert_true(n[0] == 4 && n[1] == 2);
	s = feature(&f, 11); /* command line */
	memcpy(n, at(f.b, s.off, 8), 8);
	assert_true(n[0] == 3 && n[1] == 64 && s.size == 4 + 3 * 68);
	assert_string_equal((const char *)at(f.b, s.off + 4 + 2 * 68 + 4, 64), "-a");
	memcpy(v, at(f.b, feature(&f, 21).off, 16), 16);
	assert_true(v[0] == HIT - 100 && v[1] == HIT + 2);
	memcpy(v, at(f.b, feature(&f, 29).off, 24), 24);
	assert_int_equal(v[0], 1 | 1ull << 32);
	assert_int_equal(v[1] - v[2], 1795222411000000000);
	/* Both files, each once. */
	s = feature(&f, 2);
	memcpy(n, at(f.b, s.off, 8), 8);
	assert_int_equal(n[0], 67);
	assert_int_equal(s.size, 2 * (n[1] >> 16));
	assert_memory_equal(at(f.b, s.off + 12, 3), "\1\2", 2);
	assert_int_equal(*(const uint8_t *)at(f.b, s.off + 32, 1), 3);
	free((void *)e.b.p);
}

/* Both tracepoints have a format that perf takes, the one that the dump has none of too. */
static void test_tracing_data(void **state)
{
	struct mk d = make_dump();
	struct exported e = export_all(&d);
	struct file f = open_file(e.b);
	struct section s = feature(&f, 1);
	struct bytes b = {at(f.b, s.off, s.size), s.size};

	assert_memory_equal(b.p, "\x17\x08\x44tracing0.5\0\0\x08\0\x10\0\0header_page", 32);
	assert_non_null(memmem(b.p, b.len, mk_number_format, sizeof(mk_number_format) - 1));
	assert_non_null(memmem(b.p, b.len, "name: naked\nID: 301\n", 20));
	assert_memory_equal(b.p + b.len - 8, "\0\0\0\0\0\0\0\0", 8);
	free((void *)e.b.p);
}

/* Nothing can be patched on a pipe: the same records, in the form for it. */
static void test_pipe(void **state)
{
	struct mk d = make_dump();
	struct reader *r = mk_end(&d);
	struct export_options opt = {.to_ns = UINT64_MAX};
	struct exported file = export_of(r, opt);
	struct file f = open_file(file.b);
	struct export_result res;
	struct meta *m = mk_meta(r);
	char *p = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&p, &n);

	assert_int_equal(export_run(r, m, &export_perf, &opt, out, &res, NULL), 0);
	fclose(out);
	assert_memory_equal(p, "PERFILE2\x10\0\0\0\0\0\0\0\x40", 17);
	assert_non_null(memmem(p, n, "deep-clock", 10));
	assert_non_null(memmem(p, n, mk_number_format, sizeof(mk_number_format) - 1));
	/* From the second record on: where rounds end depends on what stands before. */
	assert_non_null(memmem(p, n, file.b.p + f.data.off + 80, 400));
	free(p);
	free((void *)file.b.p);
	meta_free(m);
	mk_close(&d, r);
}

/* Where the kernel and its modules were, by their names in the dump. */
static void test_kernel(void **state)
{
	struct mk d = mk_begin();
	struct mk_records r = {0};
	struct exported e;
	struct section s;
	struct walk w;
	uint32_t n[2];

	mk_host(&d);
	mk_channel(&d, 0, "sched", RAW_TYPE);
	mk_event(&d, 0, 0, "demo:value", TP_VALUE, RAW_TYPE);
	mk_cpu_window(&d, 0, 0, 0);
	mk_image(&d, 0, FMT_IMAGE_KERNEL, 0, 1, "[kernel.kallsyms]");
	mk_image(&d, 1, FMT_IMAGE_KERNEL, 0, 0, "[ext4]");
	mk_function(&d, 1, 0xffffffffc0123450, 0x100, "ext4_read");
	mk_function(&d, 0, KERNEL + 0x5000, 0x200, "do_idle");
	mk_function(&d, 0, KERNEL, 0x80, "startup_64");
	mk_function(&d, 1, 0xffffffffc0124f00, 0x101, "ext4_write");
	mk_number(&r, HIT, TP_VALUE, 0, 1);
	put_block(&d, 0, &r);
	e = export_all(&d);
	assert_int_equal(e.rc, 0);
	w = walk_of(e.b);
	next_of(&w, PERF_RECORD_MMAP);
	assert_int_equal(w.h.misc, PERF_RECORD_MISC_KERNEL);
	assert_int_equal(word(&w, 0), UINT32_MAX);
	assert_int_equal(word(&w, 1), KERNEL);
	assert_int_equal(word(&w, 1) + word(&w, 2), 0xffffffffc0000000);
	assert_int_equal(word(&w, 3), KERNEL);
	assert_string_equal((const char *)w.body.p + 32, "[kernel.kallsyms]_text");
	assert_true(next(&w));
	assert_int_equal(w.h.type, PERF_RECORD_MMAP);
	assert_int_equal(word(&w, 1), 0xffffffffc0123000);
	assert_int_equal(word(&w, 2), 0x3000);
	assert_int_equal(word(&w, 3), 0);
	assert_string_equal((const char *)w.body.p + 32, "[ext4]");
	/* The kernel's build-id. */
	s = feature(&w.f, 2);
	memcpy(n, at(w.f.b, s.off, 8), 8);
	assert_int_equal(n[1] & 0xffff, PERF_RECORD_MISC_KERNEL | 1u << 15);
	assert_string_equal((const char *)at(w.f.b, s.off + 36, 18), "[kernel.kallsyms]");
	free((void *)e.b.p);
}

/* perf may take what it has in order every megabyte. */
static void test_rounds(void **state)
{
	struct mk d = mk_begin();
	struct mk_records r = {0};
	struct exported e;
	struct file f;
	uint64_t off, since = 0, most = 0;
	struct perf_event_header h;
	uint32_t nr = 0;

	mk_host(&d);
	mk_trigger(&d, HIT);
	mk_channel(&d, 0, "sched", RAW_TYPE);
	mk_event(&d, 0, 0, "demo:value", TP_VALUE, RAW_TYPE);
	mk_cpu_window(&d, 0, 0, 0);
	for (uint32_t i = 0; i < 60000; i++)
		mk_number(&r, HIT + i, TP_VALUE, 10, i);
	mk_block(&d, 0, 0, HIT, HIT + 59999, &r);
	mk_records_free(&r);
	e = export_all(&d);
	f = open_file(e.b);
	for (off = f.data.off; off < f.data.off + f.data.size; off += h.size) {
		assert_true(record_at(e.b, off, &h));
		since = h.type == 68 ? 0 : since + h.size;
		most = since > most ? since : most;
		nr += h.type == PERF_RECORD_SAMPLE;
	}
	assert_int_equal(nr, 60000);
	assert_true(most <= (1u << 20) + 65536);
	free((void *)e.b.p);
}

static void test_no_events(void **state)
{
	struct mk d = mk_begin();
	struct exported e;

	mk_host(&d);
	mk_trigger(&d, HIT);
	e = export_all(&d);
	assert_int_equal(e.rc, -ENOTSUP);
	assert_non_null(strstr(e.err.what, "events"));
	free((void *)e.b.p);
}

static void test_no_records(void **state)
{
	struct mk d = mk_begin();
	struct exported e;
	struct walk w;

	mk_host(&d);
	mk_channel(&d, 0, "sched", RAW_TYPE);
	mk_event(&d, 0, 0, "demo:value", TP_VALUE, RAW_TYPE);
	put_ledger(&d);
	e = export_all(&d);
	assert_int_equal(e.rc, 0);
	w = walk_of(e.b);
	while (next(&w))
		assert_int_not_equal(w.h.type, PERF_RECORD_SAMPLE);
	assert_int_equal(feature(&w.f, 21).size, 0);
	free((void *)e.b.p);
}

/* Whichever block is damaged, the intact ones are exported as a readable file. */
static void test_damaged(void **state)
{
	struct mk d = make_dump();
	struct reader *r = mk_end(&d);
	size_t nr = reader_nr_blocks(r);

	for (size_t i = 0; i < nr; i++) {
		struct exported e;
		struct walk w;
		struct reader *hurt;

		mk_damage(&d, r, i);
		hurt = mk_open(&d, true);
		e = export_of(hurt, (struct export_options){.to_ns = UINT64_MAX});
		if (!e.rc) {
			w = walk_of(e.b);
			while (next(&w))
				;
		} else {
			assert_int_equal(e.rc, -ENOTSUP);
		}
		free((void *)e.b.p);
		reader_close(hurt);
		mk_damage(&d, r, i);
	}
	mk_close(&d, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),	     cmocka_unit_test(test_samples),
		cmocka_unit_test(test_ids),	     cmocka_unit_test(test_long_stack),
		cmocka_unit_test(test_lost),	     cmocka_unit_test(test_order),
		cmocka_unit_test(test_part),	     cmocka_unit_test(test_features),
		cmocka_unit_test(test_tracing_data), cmocka_unit_test(test_pipe),
		cmocka_unit_test(test_kernel),	     cmocka_unit_test(test_rounds),
		cmocka_unit_test(test_no_events),    cmocka_unit_test(test_no_records),
		cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
