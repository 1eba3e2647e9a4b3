/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * export -f perf of AUX areas: what perf is told of the PMU, where the bytes are, which threads ran; cut
 * traces, damaged ones, and those that perf can't have. Whether perf then decodes them is seen of
 * SPE here; of Intel PT in it_export_pt.sh.
 */
#include "tests/helpers/mkaux.h"
#include "tests/helpers/perf_export.h"

#include <errno.h>

#define HIT	    2000000000ull
#define STOP_CYCLES 6000000000ull /* at HIT; 3 cycles are a nanosecond */
#define AREA	    65536u
#define AUX_TYPE    (PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

#define TIME_CONV     79u
#define AUXTRACE_INFO 70u
#define AUXTRACE      71u

static const char *const pt_files[] = {
	"format/tsc",
	"config:10",
	"format/noretcomp",
	"config:11",
	"format/mtc",
	"config:9",
	"format/mtc_period",
	"config:14-17",
	"format/cyc",
	"config:1",
	"caps/event_trace",
	"1",
	"max_nonturbo_ratio",
	"30",
	"tsc_art_ratio",
	"240:2",
	NULL,
};
static const char *const no_files[] = {NULL};

/* ---- the dump ---- */

static struct mk begin(void)
{
	struct mk d = mk_begin();

	mk_host(&d);
	mk_text(&d, FMT_HOST, FMT_HOST_CPU_ID, "GenuineIntel,6,85,7");
	mk_trigger(&d, HIT);
	mk_task(&d, 1, 10, 10, 1, 0, 0);
	mk_comm(&d, 1, 0, "alpha");
	return d;
}

/* Cycles of a moment before HIT. */
static uint64_t cycles(uint64_t before_ns)
{
	return STOP_CYCLES - 3 * before_ns;
}

static void window(struct mk *d, uint32_t ring, uint32_t channel, int32_t cpu, uint64_t bytes)
{
	struct fmt_window w = {
		.ring = ring,
		.channel = channel,
		.cpu = cpu,
		.tid = cpu < 0 ? 10 : -1,
	};

	mk_window(d, &w);
	mk_aux_window(d, &(struct fmt_window_aux){
				 .ring = ring,
				 .event = channel,
				 .flags = FMT_AUX_COUNTING,
				 .area_bytes = AREA,
				 .bytes = bytes,
				 .new_bytes = bytes,
				 .head = bytes,
				 .stop_ns = HIT + 5 + ring,
				 .start_cycles = cycles(100000),
				 .start_cycles_ns = HIT - 100000,
				 .stop_cycles = cycles(0),
				 .stop_cycles_ns = HIT,
			 });
}

static void put_switch(struct mk_records *r, uint64_t time, bool out, uint32_t tid, uint32_t other)
{
	uint64_t body[] = {other | (uint64_t)other << 32, tid | (uint64_t)tid << 32, time};

	mk_record(r, PERF_RECORD_SWITCH_CPU_WIDE, out ? PERF_RECORD_MISC_SWITCH_OUT : 0, body,
		  sizeof(body));
}

static void put_aux(struct mk_records *r, uint64_t time, uint32_t tid)
{
	uint64_t body[] = {0, AREA, PERF_AUX_FLAG_OVERWRITE, tid | (uint64_t)tid << 32, time};

	mk_record(r, PERF_RECORD_AUX, 0, body, sizeof(body));
}

static void put_block(struct mk *d, uint32_t ring, struct mk_records *r)
{
	mk_block(d, ring, 0, HIT - 100000, HIT + 10, r);
	mk_records_free(r);
}

static void put_bytes(struct mk *d, uint32_t ring, uint64_t newer, const void *p, uint32_t n)
{
	struct writer_area area = {.ring = ring, .content_bytes = n, .newer_bytes = newer};

	MK_OK(writer_area(d->w, &area, &(struct bytes){p, n}, 1));
}

/* A part of an Intel PT trace: PSB, what may stand before its time, TSC, PSBEND, branches. */
static void put_part(struct buf *b, uint64_t tsc, uint8_t fill)
{
	static const uint8_t before[] = {0, 0, 0x02, 0x03, 30, 0, 0x07, 0x03, 0x06, 0x99, 0x01};

	for (int i = 0; i < 8; i++)
		MK_OK(buf_put(b, "\x02\x82", 2));
	MK_OK(buf_put(b, before, sizeof(before)));
	MK_OK(buf_put(b, "\x19", 1));
	MK_OK(buf_put(b, &tsc, 7));
	MK_OK(buf_put(b, "\x02\x23", 2));
	for (int i = 0; i < 100; i++)
		MK_OK(buf_put(b, &fill, 1));
}

#define PART_BYTES (16 + 11 + 8 + 2 + 100u)

/* ---- what is in the file ---- */

static size_t count(struct bytes b, uint32_t type)
{
	struct walk w = walk_of(b);
	size_t nr = 0;

	while (next(&w))
		nr += w.h.type == type;
	return nr;
}

/* The bytes of the AUXTRACE that `w` is at. */
static struct bytes trace_of(const struct walk *w)
{
	return (struct bytes){w->p + w->h.size, word(w, 0)};
}

static uint32_t half(const struct walk *w, size_t i)
{
	uint32_t v;

	assert_true(w->body.len >= (i + 1) * 4);
	memcpy(&v, w->body.p + i * 4, 4);
	return v;
}

/* perf's own arithmetic, with what it was told. */
static uint64_t perf_ns(uint64_t shift, uint64_t mult, uint64_t zero, uint64_t tsc)
{
	return zero + (tsc >> shift) * mult + ((tsc & ((1ull << shift) - 1)) * mult >> shift);
}

/* ---- tests ---- */

static void areas_come_first_and_are_listed(void **state)
{
	struct mk d = begin();
	struct mk_records r = {0};
	struct exported e;
	struct walk w;
	struct section index;
	uint64_t v[5];

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	for (uint32_t i = 0; i < 2; i++) {
		window(&d, i, 0, (int32_t)i, 1001 + i * 8);
		mk_aux_blocks(&d, i, (int)i, 1001 + i * 8, 1001 + i * 8, 500);
	}
	put_aux(&r, HIT, 10);
	put_block(&d, 0, &r);
	e = export_all(&d);
	assert_int_equal(e.rc, 0);
	w = walk_of(e.b);
	assert_true(next(&w) && w.h.type == AUXTRACE_INFO);
	assert_int_equal(word(&w, 0), 1);
	index = feature(&w.f, 18);
	assert_int_equal(index.size, 5 * 8);
	memcpy(v, at(e.b, index.off, sizeof(v)), sizeof(v));
	assert_int_equal(v[0], 2);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t bytes = 1001 + i * 8;
		struct buf got;

		assert_true(next(&w) && w.h.type == AUXTRACE);
		assert_int_equal(w.h.size, 48);
		assert_int_equal(v[1 + 2 * i], w.p - e.b.p);
		assert_int_equal(v[2 + 2 * i], 48);
		assert_int_equal(word(&w, 0), align_up(bytes, 8));
		assert_int_equal(word(&w, 1), 0);	   /* offset */
		assert_int_equal(word(&w, 2), cycles(0));  /* reference */
		assert_int_equal(half(&w, 6), i);	   /* idx */
		assert_int_equal(half(&w, 7), UINT32_MAX); /* tid */
		assert_int_equal(half(&w, 8), i);	   /* cpu */
		got = (struct buf){(uint8_t *)trace_of(&w).p, bytes, 0};
		assert_true(mk_aux_is(&got, (int)i, bytes, 0));
	}
	next_of(&w, PERF_RECORD_AUX);
	/* CPUID, as perf env has it. */
	assert_memory_equal(at(e.b, feature(&w.f, 9).off + 4, 20), "GenuineIntel,6,85,7", 20);
	free((void *)e.b.p);
}

static void perf_is_told_of_the_pmu(void **state)
{
	/* In perf's order; the clock is looked at beside. */
	static const uint64_t want[] = {9, 0,	   0,	      0,   1, 1 << 10, 1 << 11, 3, 1,
					1, 1 << 9, 0xf << 14, 240, 2, 1 << 1,  30,	0, 1};
	struct mk d = begin();
	struct mk_records r = {0};
	struct exported e;
	struct walk w;

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	window(&d, 0, 0, 2, 64);
	mk_aux_blocks(&d, 0, 2, 64, 64, 64);
	put_switch(&r, HIT - 5, false, 10, 0);
	put_block(&d, 0, &r);
	e = export_all(&d);
	w = walk_of(e.b);
	next_of(&w, AUXTRACE_INFO);
	assert_int_equal(w.body.len, (1 + 18) * 8);
	for (size_t i = 0; i < 18; i++)
		if (i < 1 || i > 3)
			assert_int_equal(word(&w, 1 + i), want[i]);
	for (uint64_t ns = 0; ns < 100000; ns += 10007) {
		uint64_t its = perf_ns(word(&w, 2), word(&w, 3), word(&w, 4), cycles(ns));

		assert_true(its + 1 >= HIT - ns && its <= HIT - ns + 1);
	}
	assert_int_equal(attr_of(&w.f, 0).context_switch, 1);
	free((void *)e.b.p);
}

static void who_ran_is_said(void **state)
{
	/* By ring: the thread before the first record; 0: unknown. */
	static const uint32_t ran[] = {20, 30, 10, 0};
	struct mk d = begin();
	struct mk_records r = {0};
	struct exported e;
	struct walk w;
	size_t nr = 0;

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	for (uint32_t i = 0; i < 4; i++) {
		window(&d, i, 0, (int32_t)i, 64);
		mk_aux_blocks(&d, i, (int)i, 64, 64, 64);
	}
	put_switch(&r, HIT - 50, true, 20, 10);
	put_switch(&r, HIT - 49, false, 10, 20);
	put_block(&d, 0, &r);
	put_switch(&r, HIT - 40, false, 10, 30);
	put_block(&d, 1, &r);
	put_aux(&r, HIT, 10);
	put_block(&d, 2, &r);
	e = export_all(&d);
	w = walk_of(e.b);
	while (next(&w)) {
		if (w.h.type == PERF_RECORD_SWITCH_CPU_WIDE)
			assert_int_equal(nr, 3);
		if (w.h.type != PERF_RECORD_ITRACE_START)
			continue;
		assert_int_equal(half(&w, 1), ran[nr]);
		assert_int_equal(word_back(&w, 2), nr); /* CPU */
		assert_int_equal(word_back(&w, 3), HIT - 51);
		nr++;
	}
	assert_int_equal(nr, 3);
	assert_int_equal(count(e.b, PERF_RECORD_SWITCH_CPU_WIDE), 3);
	free((void *)e.b.p);
}

/* What is before the first record of a ring that went over is anybody's. */
static void who_ran_is_no_guess(void **state)
{
	struct fmt_window_aux f = {.ring = 0, .area_bytes = AREA, .bytes = 64, .new_bytes = 64};
	struct fmt_window win = {.cpu = 1, .tid = -1, .overwritten_bytes = 5000};
	struct mk d = begin();
	struct mk_records r = {0};
	struct exported e;
	struct walk w;

	mk_channel(&d, 1, "mix", AUX_TYPE);
	mk_event(&d, 1, 1, "this", 0, AUX_TYPE);
	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	mk_window(&d, &win);
	mk_aux_window(&d, &f);
	mk_cpu_window(&d, 1, 1, 0);
	mk_aux_blocks(&d, 0, 1, 64, 64, 64);
	put_switch(&r, HIT - 50, true, 20, 10);
	put_block(&d, 0, &r);
	mk_record(&r, PERF_RECORD_SAMPLE, 0, (uint64_t[]){10 | 10ull << 32, HIT - 90}, 16);
	put_block(&d, 1, &r);
	e = export_all(&d);
	w = walk_of(e.b);
	next_of(&w, PERF_RECORD_ITRACE_START);
	assert_int_equal(word_back(&w, 3), HIT - 50);
	assert_int_equal(half(&w, 1), 20);
	free((void *)e.b.p);
}

static void a_thread_has_its_own(void **state)
{
	struct mk d = begin();
	struct mk_records r = {0};
	struct exported e;
	struct walk w;

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	window(&d, 0, 0, -1, 64);
	mk_aux_blocks(&d, 0, 1, 64, 64, 64);
	/* The CPU of these is in no record: perf would give up on them. */
	put_switch(&r, HIT - 50, true, 10, 20);
	put_aux(&r, HIT, 10);
	put_block(&d, 0, &r);
	e = export_all(&d);
	w = walk_of(e.b);
	next_of(&w, AUXTRACE_INFO);
	assert_true(!word(&w, 1 + 7) && !word(&w, 1 + 9));
	next_of(&w, AUXTRACE);
	assert_int_equal(half(&w, 7), 10);
	assert_int_equal(half(&w, 8), UINT32_MAX);
	assert_true(!count(e.b, PERF_RECORD_SWITCH_CPU_WIDE) && count(e.b, PERF_RECORD_AUX) == 1);
	assert_int_equal(e.res.nr_left_out, 1);
	free((void *)e.b.p);
}

static void what_runs_before_the_first_record_is_known(void **state)
{
	struct mk d = begin();
	struct buf b = {0};
	struct exported e;
	struct walk w;

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	put_part(&b, cycles(90000), 0);
	window(&d, 0, 0, 1, b.len);
	put_bytes(&d, 0, 0, b.p, (uint32_t)b.len);
	mk_path(&d, 1, "/bin/alpha");
	mk_map(&d, &(struct fmt_map){.key = 1, .path = 1, .start = 0x7000, .end = 0x9000});
	mk_path(&d, 2, "/lib/late");
	mk_map(&d, &(struct fmt_map){
			   .key = 1, .path = 2, .start = 0xa000, .end = 0xb000, .ns = HIT - 9});
	e = export_all(&d);
	w = walk_of(e.b);
	/* Also where there is no record at all. */
	next_of(&w, PERF_RECORD_MMAP2);
	assert_int_equal(word_back(&w, 3), HIT - 90000 - 1001);
	next_of(&w, PERF_RECORD_MMAP2);
	assert_int_equal(word_back(&w, 3), HIT - 9);
	buf_free(&b);
	free((void *)e.b.p);
}

static void a_part_of_the_time_has_its_part_of_the_trace(void **state)
{
	static const struct {
		uint64_t from_ns, to_ns;
		int from_part, to_part; /* in the file; -1: from the first byte on */
	} parts[] = {
		{0, UINT64_MAX, -1, 5},
		{HIT - 35000, UINT64_MAX, 1, 5},
		{HIT - 30000, HIT - 15000, 2, 4},
		{HIT - 45000, HIT - 35000, 0, 2},
		{HIT - 90000, HIT - 80000, -1, 0},
	};
	struct buf b = {0};
	size_t whole;

	/* The cut packet that a trace begins with, then a part every 10 us. */
	MK_OK(buf_put(&b, "\x82\x02\x82\x19", 4));
	for (uint64_t i = 0; i < 5; i++)
		put_part(&b, cycles(50000 - i * 10000), (uint8_t)i);
	whole = b.len;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		struct export_options opt = {parts[i].from_ns, parts[i].to_ns, .path = "x"};
		size_t from =
			parts[i].from_part < 0 ? 0 : 4 + (size_t)parts[i].from_part * PART_BYTES;
		size_t to = 4 + (size_t)parts[i].to_part * PART_BYTES;
		struct mk d = begin();
		struct reader *r;
		struct exported e;
		struct walk w;

		assert_int_equal(whole, 4 + 5 * PART_BYTES);
		mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
		window(&d, 0, 0, 1, b.len);
		put_bytes(&d, 0, 0, b.p, (uint32_t)b.len);
		r = mk_end(&d);
		e = export_of(r, opt);
		w = walk_of(e.b);
		next_of(&w, AUXTRACE);
		assert_int_equal(word(&w, 0), align_up(to - from, 8));
		assert_memory_equal(trace_of(&w).p, b.p + from, to - from);
		free((void *)e.b.p);
		mk_close(&d, r);
	}
	buf_free(&b);
}

/* A machine with a counter too large for a packet. */
static void a_trace_of_long_uptime_has_its_times(void **state)
{
	uint64_t stop = (3ull << 56) + 1000;
	struct fmt_window_aux f = {
		.area_bytes = AREA,
		.bytes = PART_BYTES,
		.stop_cycles = stop,
		.stop_cycles_ns = HIT,
		.time_mult = 1u << 31,
		.time_shift = 32,
	};
	struct mk d = begin();
	struct mk_records r = {0};
	struct buf b = {0};
	struct exported e;
	struct walk w;

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	mk_cpu_window(&d, 0, 0, 0);
	mk_aux_window(&d, &f);
	put_part(&b, stop - 60000, 0);
	put_bytes(&d, 0, 0, b.p, (uint32_t)b.len);
	put_aux(&r, HIT, 10);
	put_block(&d, 0, &r);
	e = export_all(&d);
	w = walk_of(e.b);
	next_of(&w, AUXTRACE_INFO);
	assert_true(word(&w, 2) == 32 && word(&w, 3) == 1u << 31);
	assert_int_equal(perf_ns(32, 1u << 31, word(&w, 4), stop - 60000), HIT - 30000);
	next_of(&w, PERF_RECORD_COMM);
	assert_int_equal(word_back(&w, 3), HIT - 30000 - 1004);
	buf_free(&b);
	free((void *)e.b.p);
}

static void of_a_hole_what_is_newer_is_there(void **state)
{
	struct mk d = begin();
	struct exported e;
	struct walk w;
	struct buf got;

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	window(&d, 0, 0, 1, 3000);
	mk_aux_block(&d, 0, 1, 3000, 0, 1000);
	mk_aux_block(&d, 0, 1, 3000, 2000, 1000);
	e = export_all(&d);
	assert_int_equal(e.rc, 0);
	assert_int_equal(e.res.nr_bad, 1);
	w = walk_of(e.b);
	next_of(&w, AUXTRACE);
	assert_int_equal(word(&w, 0), 1000);
	assert_int_equal(word(&w, 1), 2000);
	got = (struct buf){(uint8_t *)trace_of(&w).p, 1000, 0};
	assert_true(mk_aux_is(&got, 1, 3000, 0));
	free((void *)e.b.p);
}

static void other_pmus(void **state)
{
	static const struct {
		const char *pmu;
		uint64_t type;
		bool time_conv;
	} pmus[] = {{"arm_spe_0", 4, true}, {"hisi_ptt0_2", 6, false}, {"cs_etm", 0, false}};

	for (size_t i = 0; i < 3; i++) {
		struct mk d = begin();
		struct exported e;
		struct walk w;

		mk_aux_channel(&d, 0, 0, "aux", pmus[i].pmu, no_files);
		window(&d, 0, 0, 1, 800);
		mk_aux_blocks(&d, 0, 1, 800, 800, 500);
		e = export_all(&d);
		assert_int_equal(e.rc, 0);
		w = walk_of(e.b);
		if (pmus[i].time_conv) {
			assert_true(next(&w) && w.h.type == TIME_CONV);
			assert_int_equal(w.h.size, 56);
			assert_int_equal(perf_ns(word(&w, 0), word(&w, 1), word(&w, 2), cycles(0)),
					 HIT);
			assert_true(word(&w, 4) == UINT64_MAX && word(&w, 5) == 1);
		}
		if (pmus[i].type) {
			assert_true(next(&w) && w.h.type == AUXTRACE_INFO);
			assert_true(word(&w, 0) == pmus[i].type && word(&w, 1) == 9);
			assert_int_equal(w.body.len, (2 + pmus[i].time_conv) * 8);
			assert_true(next(&w) && w.h.type == AUXTRACE && word(&w, 0) == 800);
		} else {
			assert_int_equal(e.res.nr_areas_left_out, 1);
			assert_non_null(strstr(e.res.why_area, "not in the dump"));
			assert_false(feature(&w.f, 18).size);
		}
		assert_int_equal(count(e.b, AUXTRACE), pmus[i].type > 0);
		free((void *)e.b.p);
	}
}

static void put_packet(struct buf *b, uint8_t header, uint64_t payload, size_t n)
{
	MK_OK(buf_put(b, &header, 1));
	MK_OK(buf_put(b, &payload, n));
}

/* Loads that missed the first cache, 10 us apart, of the thread that runs. Packets are those of the
 * Arm ARM, "Statistical Profiling Extension sample record specification". */
static struct mk spe_dump(void)
{
	struct mk d = begin();
	struct mk_records r = {0};
	struct buf b = {0};

	mk_text(&d, FMT_HOST, FMT_HOST_CPU_ID, "0x00000000410fd0c0");
	mk_aux_channel(&d, 0, 0, "spe", "arm_spe_0", no_files);
	for (uint64_t i = 0; i < 5; i++) {
		put_packet(&b, 0xb0, 0x401000 + i * 4, 8); /* PC */
		put_packet(&b, 0x62, 0x0e, 4);	     /* retired, cache accessed, line fetched */
		put_packet(&b, 0x49, 0, 1);	     /* a load */
		put_packet(&b, 0xb2, 0x7000 + i, 8); /* from there */
		put_packet(&b, 0x71, cycles(50000 - i * 10000), 8);
	}
	window(&d, 0, 0, 1, b.len);
	put_bytes(&d, 0, 0, b.p, (uint32_t)b.len);
	put_switch(&r, HIT - 60000, true, 0, 10);
	put_block(&d, 0, &r);
	buf_free(&b);
	return d;
}

/* What perf prints of an export. */
static void perf_says(const struct exported *e, const char *how, char *out, size_t n)
{
	char path[] = "/tmp/spe.XXXXXX", command[300];
	int fd = mkstemp(path);
	FILE *f;

	assert_true(fd >= 0 && write(fd, e->b.p, e->b.len) == (ssize_t)e->b.len);
	close(fd);
	snprintf(command, sizeof(command), "perf script -i %s %s 2>&1 </dev/null", path, how);
	f = popen(command, "re");
	assert_non_null(f);
	out[fread(out, 1, n - 1, f)] = '\0';
	pclose(f);
	unlink(path);
}

static void perf_decodes_spe(void **state)
{
	struct mk d = spe_dump();
	struct exported e = export_all(&d);
	char said[4000], line[100];
	const char *at = said;

	perf_says(&e, "--itrace=f --ns -F tid,cpu,time,event,addr,ip", said, sizeof(said));
	for (int i = 0; i < 5; i++) {
		snprintf(
			line, sizeof(line),
			"   10 [001]     1.9999%d0000:     l1d-miss:             %x           %x\n",
			5 + i, 0x7000 + i, 0x401000 + i * 4);
		at = strstr(at, line);
		assert_non_null(at);
	}
	free((void *)e.b.p);
}

static void of_two_events_one_is_taken(void **state)
{
	struct mk d = begin();
	struct exported e;

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", pt_files);
	mk_aux_channel(&d, 1, 1, "more", "intel_pt", pt_files);
	for (uint32_t i = 0; i < 4; i++) {
		window(&d, i, i / 2, (int32_t)i, 80);
		mk_aux_blocks(&d, i, (int)i, 80, 80, 80);
	}
	/* A ring that nothing is known of. */
	mk_aux_blocks(&d, 7, 1, 80, 80, 80);
	e = export_all(&d);
	assert_int_equal(e.rc, 0);
	assert_int_equal(count(e.b, AUXTRACE_INFO), 1);
	assert_int_equal(count(e.b, AUXTRACE), 2);
	assert_int_equal(e.res.nr_areas_left_out, 3);
	assert_non_null(strstr(e.res.why_area, "one event"));
	free((void *)e.b.p);
}

static void nothing_known_is_no_harm(void **state)
{
	static const char *const odd[] = {
		"format/tsc", "config:70",     "format/mtc", "config1:3",	   "format/cyc",
		"config:9-4", "tsc_art_ratio", "x",	     "max_nonturbo_ratio", "",
		NULL};
	struct fmt_window_aux f = {.area_bytes = AREA, .bytes = 40};
	struct mk d = begin();
	struct exported e;
	struct walk w;

	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", odd);
	mk_cpu_window(&d, 0, 0, 0);
	mk_aux_window(&d, &f);
	mk_aux_blocks(&d, 0, 0, 40, 40, 40);
	e = export_all(&d);
	assert_int_equal(e.rc, 0);
	w = walk_of(e.b);
	next_of(&w, AUXTRACE_INFO);
	for (size_t i = 1; i < 18; i++)
		assert_int_equal(word(&w, 1 + i), i == 8 || i == 9);
	free((void *)e.b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(areas_come_first_and_are_listed),
		cmocka_unit_test(perf_is_told_of_the_pmu),
		cmocka_unit_test(who_ran_is_said),
		cmocka_unit_test(who_ran_is_no_guess),
		cmocka_unit_test(a_thread_has_its_own),
		cmocka_unit_test(what_runs_before_the_first_record_is_known),
		cmocka_unit_test(a_part_of_the_time_has_its_part_of_the_trace),
		cmocka_unit_test(a_trace_of_long_uptime_has_its_times),
		cmocka_unit_test(of_a_hole_what_is_newer_is_there),
		cmocka_unit_test(other_pmus),
		cmocka_unit_test(perf_decodes_spe),
		cmocka_unit_test(of_two_events_one_is_taken),
		cmocka_unit_test(nothing_known_is_no_harm),
	};

	return cmocka_run_group_tests_name("export_aux", tests, NULL, NULL);
}
