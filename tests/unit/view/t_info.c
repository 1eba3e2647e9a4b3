/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* info: what was lost comes first and in words, nothing is wider than 100 columns, and the JSON is
 * as dump/view/SCHEMA.md says. */
#include "dump/view/info/info.h"

#include "tests/helpers/mkaux.h"
#include "tests/helpers/schema.h"

#include <errno.h>
#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define SEC  1000000000ull
#define HIT  (100 * SEC)

static struct mk begin(void)
{
	struct mk d = mk_begin();

	mk_host(&d);
	mk_trigger(&d, HIT);
	mk_channel(&d, 0, "sched", TYPE);
	mk_channel(&d, 1, "life", TYPE);
	mk_event(&d, 0, 0, "sched:sched_switch", 300, TYPE);
	mk_event(&d, 1, 1, "sched:sched_process_exit", 301, TYPE);
	mk_task(&d, 1, 7, 7, 1, 0, 0);
	mk_comm(&d, 1, 0, "asker");
	return d;
}

/* A ring that reaches back from the trigger by `horizon` and has overwritten what was before. */
static struct fmt_window window(uint32_t ring, uint32_t channel, int32_t cpu, uint64_t horizon)
{
	return (struct fmt_window){
		.ring = ring,
		.channel = channel,
		.cpu = cpu,
		.tid = -1,
		.ring_bytes = 65536,
		.bytes = 60000,
		.nr_records = 1234567,
		.samples = 1234567,
		.first_ns = HIT - horizon,
		.last_ns = HIT + 1000,
		.armed_ns = HIT - 50 * SEC,
		.paused_ns = HIT + 2000,
		.overwritten_bytes = 1 << 20,
		.flags = FMT_WINDOW_FIRST,
	};
}

/* What is printed; freed by the next call. */
static char *print(struct mk *d, struct reader *r, struct info_options opt)
{
	static char *out;
	struct info_result res = {0};
	struct meta *m = mk_meta(r);
	struct err err = ERR_INIT;
	size_t n = 0;
	FILE *f;

	free(out);
	out = NULL;
	f = open_memstream(&out, &n);
	assert_non_null(f);
	opt.path = opt.path ? opt.path : "some/where.rbd";
	if (info_print(r, m, &opt, f, &res, &err))
		fail_msg("%s", err.what);
	assert_int_equal(fclose(f), 0);
	meta_free(m);
	return out;
}

static void check_width(const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		if (n > 100)
			fail_msg("%zu columns: %.*s", n, (int)n, text);
		text += n + (text[n] == '\n');
	}
}

#define HAS(text, what)                                                                            \
	do {                                                                                       \
		if (!strstr(text, what))                                                           \
			fail_msg("'%s' is missing in:\n%s", what, text);                           \
	} while (0)

static void test_nothing_lost(void **state)
{
	struct fmt_window w[] = {window(0, 0, 0, 2 * SEC), window(1, 0, 1, SEC / 2),
				 window(2, 1, 0, 3 * SEC)};
	struct mk d = begin();
	struct reader *r;
	const char *text;

	/* Nothing was overwritten here: all since it was armed is known, although the first event
	 * is late. */
	w[2].overwritten_bytes = 0;
	for (size_t i = 0; i < 3; i++)
		mk_window(&d, &w[i]);
	mk_stats(&d);
	r = mk_end(&d);
	text = print(&d, r, (struct info_options){0});
	check_width(text);
	HAS(text,
	    "dump       some/where.rbd\n"
	    "losses     none in the window\n"
	    "window     all rings reach from -500 ms to +2 us; sched of CPU 1 reaches back least\n"
	    "trigger    SIGUSR2 (signal:USR2), dump 3 of this recorder\n"
	    "  saw      sender=7\n"
	    "  reason   it was slow\n"
	    "  by       asker, pid 7, uid 0\n"
	    "  at       2026-11-21T00:53:31.123Z\n"
	    "host       box, Some Linux 12\n");
	HAS(text, "180 us from trigger to last ring paused, skew 3 us; written in 65 ms");
	HAS(text, "1,234,567");
	HAS(text, "life      CPU 0        -50 s");
	mk_close(&d, r);
}

struct loss {
	const char *says;
	void (*make)(struct fmt_window *w);
};

static void make_lost(struct fmt_window *w)
{
	w->lost = 12345;
}

static void make_throttled(struct fmt_window *w)
{
	w->throttled = 3;
}

static void make_broken(struct fmt_window *w)
{
	w->flags |= FMT_WINDOW_BROKEN;
}

static void make_running(struct fmt_window *w)
{
	w->flags |= FMT_WINDOW_RUNNING;
}

static void make_gap(struct fmt_window *w)
{
	w->flags = FMT_WINDOW_ONE_BANK;
	w->gap_ns = 63000000;
}

static void make_offline(struct fmt_window *w)
{
	w->flags |= FMT_WINDOW_OFFLINE;
}

static const struct loss losses[] = {
	{"losses     12,345 events of channel sched were lost", make_lost},
	{"losses     channel sched was throttled 3 times", make_throttled},
	{"losses     1 ring of channel sched: invalid bytes in the ring", make_broken},
	{"losses     1 ring of channel sched: the kernel did not pause it", make_running},
	{"losses     channel sched recorded nothing for up to 63 ms", make_gap},
	{"losses     1 ring of channel sched: it ends early", make_offline},
};

/* Rings of channel 0 are sized for a time. */
static void test_horizon(void **state)
{
	struct fmt_channel_horizon h = {.channel = 0, .horizon_ns = 30 * SEC};
	struct fmt_window w[] = {window(0, 0, 0, 40 * SEC), window(1, 0, 1, 12 * SEC),
				 window(2, 1, 0, 3 * SEC)};

	for (int is_short = 0; is_short < 2; is_short++) {
		struct mk d = begin();
		struct reader *r;
		const char *text;

		w[1].flags |= is_short ? FMT_WINDOW_SHORT : 0;
		mk_item(&d, FMT_CHANNELS, FMT_CHANNEL_HORIZON, &h, sizeof(h), NULL, 0);
		for (size_t i = 0; i < 3; i++)
			mk_window(&d, &w[i]);
		mk_stats(&d);
		r = mk_end(&d);
		text = print(&d, r, (struct info_options){0});
		check_width(text);
		HAS(text, "channel    sched: rings are resized, 2 banks");
		HAS(text, "30 s asked; CPU 1 holds least, 12 s in a ring of ");
		if (is_short != !!strstr(text, "memory does not"))
			fail_msg("%d:\n%s", is_short, text);
		text = print(&d, r, (struct info_options){.json = true});
		HAS(text, "\"horizon_asked_ns\":30000000000");
		if (is_short)
			HAS(text, "\"short\"]");
		mk_close(&d, r);
	}
}

static void test_losses_in_words(void **state)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++) {
		struct fmt_window w[] = {window(0, 0, 0, SEC), window(1, 1, 0, SEC)};
		struct mk d = begin();
		struct reader *r;
		const char *text;

		losses[i].make(&w[0]);
		mk_window(&d, &w[0]);
		mk_window(&d, &w[1]);
		mk_stats(&d);
		r = mk_end(&d);
		text = print(&d, r, (struct info_options){0});
		HAS(text, losses[i].says);
		assert_null(strstr(text, "none in the window"));
		check_width(text);
		mk_close(&d, r);
	}
}

/* What is no loss: overwritten records, samples that only the spare bank missed, an overlap. */
static void test_no_losses(void **state)
{
	struct fmt_window w = window(0, 0, 0, SEC);
	struct mk d = begin();
	struct reader *r;

	w.flags = 0;
	w.lost_spare = 99;
	w.gap_ns = -12000;
	mk_window(&d, &w);
	mk_stats(&d);
	r = mk_end(&d);
	HAS(print(&d, r, (struct info_options){0}), "none in the window");
	mk_close(&d, r);
}

static void test_file_without_stats(void **state)
{
	struct mk d = begin();
	struct reader *r = mk_end(&d);
	const char *text = print(&d, r, (struct info_options){0});

	HAS(text, "the file has no STATS");
	HAS(text, "the dump has no rings");
	mk_close(&d, r);
}

static void test_cut_file(void **state)
{
	struct fmt_window w = window(0, 0, 0, SEC);
	struct mk d = begin();
	struct reader *r;

	mk_window(&d, &w);
	mk_stats(&d);
	mk_finish(&d);
	d.file_bytes -= 8;
	r = mk_open(&d, true);
	HAS(print(&d, r, (struct info_options){0}), "the file is truncated or damaged");
	mk_close(&d, r);
}

static size_t count_lines(const char *text, const char *with)
{
	size_t nr = 0;

	for (const char *at = text; (at = strstr(at, with)); at++)
		nr++;
	return nr;
}

static void test_many_cpus(void **state)
{
	struct mk d = begin();
	struct reader *r;
	const char *text;

	for (uint32_t i = 0; i < 64; i++) {
		struct fmt_window w = window(i, 0, (int32_t)i, (i + 1) * SEC / 64);

		mk_window(&d, &w);
	}
	mk_stats(&d);
	r = mk_end(&d);
	text = print(&d, r, (struct info_options){0});
	check_width(text);
	assert_int_equal(count_lines(text, "sched     CPU "), 3);
	HAS(text, "sched     CPU 0 ");
	HAS(text, "sched     CPU 32 ");
	HAS(text, "sched     CPU 63 ");
	HAS(text, "shortest, median and longest horizon of 64 rings");
	text = print(&d, r, (struct info_options){.all = true});
	assert_int_equal(count_lines(text, "sched     CPU "), 64);
	mk_close(&d, r);
}

/* Long names and escape sequences neither widen lines nor reach the terminal. */
static void test_foreign_text(void **state)
{
	struct fmt_window w = window(0, 2, 0, SEC);
	struct mk d = begin();
	char longer[600];
	struct reader *r;
	const char *text;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	longer[3] = '\x1b';
	mk_text(&d, FMT_TRIGGER, FMT_TRIGGER_SAW, longer);
	mk_text(&d, FMT_TRIGGER, FMT_TRIGGER_SAW, "two\nlines \xff");
	mk_text(&d, FMT_HOST, FMT_HOST_HOSTNAME, longer);
	mk_channel(&d, 2, longer, TYPE);
	mk_event(&d, 2, 2, longer, 302, TYPE);
	mk_window(&d, &w);
	r = mk_end(&d);
	text = print(&d, r, (struct info_options){0});
	check_width(text);
	assert_null(strchr(text, '\x1b'));
	HAS(text, "two\\x0alines \\xff");
	mk_close(&d, r);
}

/* A long path can be copied from one line. */
static void test_long_path(void **state)
{
	struct fmt_window w = window(0, 2, 0, SEC);
	struct mk d = begin();
	char path[201];
	struct reader *r;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	mk_window(&d, &w);
	r = mk_end(&d);
	HAS(print(&d, r, (struct info_options){.path = path}), path);
	mk_close(&d, r);
}

/* An area that went around twice and a bit. */
static struct fmt_window_aux area(uint32_t ring)
{
	return (struct fmt_window_aux){
		.ring = ring,
		.event = 2,
		.flags = FMT_AUX_WRAPPED | FMT_AUX_COUNTING,
		.nr_aux = 1,
		.area_bytes = 4 << 20,
		.bytes = 4 << 20,
		.new_bytes = 4 << 20,
		.written_bytes = 9 << 20,
		.head = 9 << 20,
		.start_ns = HIT - 2 * SEC,
		.stop_ns = HIT + 12000,
		.copy_ns = 800000,
		.blackout_ns = 900000,
		.start_cycles = 1,
		.start_cycles_ns = HIT - 2 * SEC,
		.stop_cycles = 4000000001,
		.stop_cycles_ns = HIT,
	};
}

static const char *const no_files[] = {NULL};

static void test_aux(void **state)
{
	struct fmt_window w[] = {window(0, 2, 0, SEC), window(1, 2, 1, SEC)};
	struct fmt_window_aux a[] = {area(0), area(1)};
	struct mk d = begin();
	struct reader *r;
	const char *text;

	mk_aux_channel(&d, 2, 2, "pt", "intel_pt", no_files);
	a[0].flags |= FMT_AUX_TRUNCATED | FMT_AUX_COLLISION;
	a[0].nr_aux = 7;
	a[0].nr_truncated = 3;
	a[0].nr_collision = 1;
	a[1].bytes = a[1].new_bytes = a[1].written_bytes = 3 << 20;
	a[1].flags = 0;
	a[1].blackout_ns = 0;
	for (int i = 0; i < 2; i++) {
		mk_window(&d, &w[i]);
		mk_aux_window(&d, &a[i]);
	}
	mk_stats(&d);
	r = mk_end(&d);
	text = print(&d, r, (struct info_options){0});
	check_width(text);
	HAS(text, "losses     hardware traces were truncated 3 times");
	HAS(text, "hardware traces lost data to collisions: the kernel reported 1");
	HAS(text, "aux        pt: 7 MiB of intel_pt in 2 areas of 4 MiB, blackout up to 900 us, "
		  "clock known\n");
	HAS(text,
	    "pt        CPU 0            4 MiB  100 %     4 MiB       2      -2 s    +12 us    "
	    "800 us    900 us\n");
	HAS(text,
	    "pt        CPU 1            3 MiB   75 %     3 MiB       0      -2 s    +12 us    "
	    "800 us     ended\n");
	HAS(text, "CPU 0: truncated, collision; 7 AUX records; since its start 3 truncated, 0 ");
	mk_close(&d, r);
}

static struct fmt_trace_stop stop_of(uint32_t ring, uint32_t reason, uint64_t from_ns,
				     uint64_t to_ns)
{
	return (struct fmt_trace_stop){.ring = ring,
				       .reason = reason,
				       .from_ns = from_ns,
				       .to_ns = to_ns,
				       .stood_ns = to_ns - from_ns,
				       .nr = 1};
}

static void mk_stop(struct mk *d, const struct fmt_trace_stop *s)
{
	mk_item(d, FMT_WINDOWS, FMT_WINDOW_STOP, s, sizeof(*s), NULL, 0);
}

static void test_traces_that_stood(void **state)
{
	struct fmt_window w[] = {window(0, 2, 0, SEC), window(1, 2, 1, SEC)};
	struct fmt_window_aux a[] = {area(0), area(1)};
	struct fmt_trace_stop s[] = {
		stop_of(1, FMT_STOP_LOST, HIT - 2 * SEC, HIT - SEC / 50),
		stop_of(0, FMT_STOP_REFUSED, HIT - SEC, HIT + 3000),
		stop_of(0, FMT_STOP_SILENT, HIT - SEC, HIT + 3000),
		stop_of(0, 99, HIT - SEC, HIT),
		stop_of(7, FMT_STOP_LOST, HIT - SEC, HIT),
	};
	struct mk d = begin();
	struct reader *r;
	const char *text;
	json_t *j, *stops;

	mk_aux_channel(&d, 2, 2, "pt", "intel_pt", no_files);
	s[0].nr = 23;
	s[0].stood_ns = SEC / 2;
	for (int i = 0; i < 2; i++) {
		mk_window(&d, &w[i]);
		mk_aux_window(&d, &a[i]);
	}
	for (size_t i = 0; i < sizeof(s) / sizeof(s[0]); i++)
		mk_stop(&d, &s[i]);
	mk_stats(&d);
	r = mk_end(&d);
	text = print(&d, r, (struct info_options){0});
	check_width(text);
	HAS(text,
	    "losses     no hardware trace of CPU 1 23 times for 500 ms from -2 s to -20 ms: its "
	    "driver lost data\n");
	HAS(text, "no hardware trace of CPU 0 from -1 s to +3 us: its driver did not start it\n");
	HAS(text, "hardware traces stood at 1 other times; info --all lists them\n");
	HAS(text, "           no trace of CPU 0 from -1 s to +3 us: nothing was written although ");
	HAS(text, "no trace of CPU 0 from -1 s to +0 ns: for an unknown reason\n");
	j = json_loads(print(&d, r, (struct info_options){.json = true}), 0, NULL);
	stops = json_object_get(json_array_get(json_object_get(j, "aux"), 1), "stops");
	assert_int_equal(json_array_size(stops), 1);
	stops = json_array_get(stops, 0);
	assert_int_equal(json_integer_value(json_object_get(stops, "from")), -2 * (json_int_t)SEC);
	assert_int_equal(json_integer_value(json_object_get(stops, "to")), -(json_int_t)SEC / 50);
	assert_int_equal(json_integer_value(json_object_get(stops, "count")), 23);
	assert_string_equal(json_string_value(json_object_get(stops, "reason")), "lost");
	json_decref(j);
	mk_close(&d, r);
}

static void test_many_areas(void **state)
{
	struct mk d = begin();
	struct reader *r;
	const char *text;

	mk_aux_channel(&d, 2, 2, "pt", "intel_pt", no_files);
	for (uint32_t i = 0; i < 64; i++) {
		struct fmt_window w = window(i, 2, (int32_t)i, SEC);
		struct fmt_window_aux a = area(i);

		a.flags = FMT_AUX_WRAPPED;
		a.stop_cycles = 0;
		mk_window(&d, &w);
		mk_aux_window(&d, &a);
	}
	mk_stats(&d);
	r = mk_end(&d);
	text = print(&d, r, (struct info_options){0});
	check_width(text);
	HAS(text, "^ 8 of 64 areas; --all lists them");
	HAS(text, ">= 2");
	HAS(text, "clock not known\n");
	text = print(&d, r, (struct info_options){.all = true});
	assert_int_equal(count_lines(text, ">= 2"), 64);
	mk_close(&d, r);
}

static const struct fmt_thread_state waits = {
	.ns = HIT + 300,
	.tid = 8,
	.pid = 7,
	.state = 'S',
	.policy = 2,
	.nice = -5,
	.rt_priority = 9,
	.flags = FMT_THREAD_SCHED | FMT_THREAD_SYSCALL | FMT_THREAD_FUTEX,
	.fd = 3,
	.args = {3},
	.timer_slack_ns = 50000,
	.tracer_pid = 12,
	.futex_word = 2,
	.futex_owner = 9,
	.stop_signal = 19,
	.peers = {10, 11},
	.nr_peers = 2,
};

#define WAIT_TEXTS "pipe_read\0socket:[5]\0tcp\000127.0.0.1:80\000127.0.0.1:4000"

static void test_threads(void **state)
{
	struct fmt_thread_state t = waits;
	struct mk d = begin();
	struct reader *r;
	const char *text;

	mk_threads(&d, HIT + 200000, HIT + 1200000, 3);
	mk_thread(&d, &waits, 3, WAIT_TEXTS, sizeof(WAIT_TEXTS));
	for (uint32_t i = 0; i < 20; i++) {
		t.tid = t.pid = 100 + i;
		t.state = i ? 'S' : 'T';
		mk_thread(&d, &t, 3, WAIT_TEXTS, sizeof(WAIT_TEXTS));
	}
	t.tid = t.pid = 200; /* for nothing that is known */
	t.nr_peers = t.futex_owner = 0;
	mk_thread(&d, &t, 3, WAIT_TEXTS, sizeof(WAIT_TEXTS));
	mk_stats(&d);
	r = mk_end(&d);
	text = print(&d, r, (struct info_options){0});
	check_width(text);
	HAS(text, "threads    states of 1 read at +200 us in 1 ms; no time for 3 more\n");
	HAS(text,
	    "? (8) in read; lock held by ? (9) tcp 127.0.0.1:80 > 127.0.0.1:4000; other end:");
	HAS(text, "? (100) stopped by SIGSTOP, traced by ? (12)\n");
	assert_int_equal(count_lines(text, " in read;"), 11);
	HAS(text, "and 9 more that waited for others (--all)\n");
	text = print(&d, r, (struct info_options){.all = true});
	assert_int_equal(count_lines(text, " in read;"), 20);
	assert_null(strstr(text, "(200)"));
	mk_close(&d, r);
}

static void test_json(void **state)
{
	struct fmt_window w[] = {window(0, 0, 0, 2 * SEC), window(1, 1, 1, SEC / 2)};
	struct fmt_window_aux a = area(0);
	struct fmt_trace_stop s;
	struct fmt_merged merged = {HIT + 1, HIT + 2, 4};
	struct fmt_cgroup g = {.version = 2,
			       .since_ns = HIT - SEC,
			       .at_ns = HIT,
			       .quota_ns = 20000000,
			       .period_ns = 100000000,
			       .nr_throttled = 9};
	struct schema seen = {0};
	struct mk d = begin();
	struct reader *r;
	json_t *j, *ring;

	mk_item(&d, FMT_TRIGGER, FMT_TRIGGER_MERGED, &merged, sizeof(merged), "psi", 3);
	w[0].lost = 5;
	mk_window(&d, &w[0]);
	mk_window(&d, &w[1]);
	mk_aux_channel(&d, 2, 2, "pt", "intel_pt", no_files);
	mk_aux_window(&d, &a);
	s = stop_of(0, FMT_STOP_LOST, HIT - SEC, HIT);
	mk_stop(&d, &s);
	mk_cgroups(&d, HIT - SEC, HIT);
	mk_cgroup(&d, &g, 7, "/shop/api");
	mk_threads(&d, HIT + 200, HIT + 500, 3);
	mk_thread(&d, &waits, 0xd, WAIT_TEXTS, sizeof(WAIT_TEXTS));
	mk_stats(&d);
	mk_item(&d, FMT_STATS, FMT_STATS_CUT, NULL, 0, "disk full\x1b", 10);
	r = mk_end(&d);
	j = json_loads(print(&d, r, (struct info_options){.json = true}), JSON_REJECT_DUPLICATES,
		       NULL);
	assert_non_null(j);
	schema_see(&seen, j, "");
	schema_check(&seen, "## info", "");
	assert_int_equal(json_array_size(json_object_get(j, "losses")), 3);
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(j, "losses"), 0)),
		"writing was cut short, the oldest records are missing: disk full\\x1b");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "window"), "from")),
			 -(json_int_t)SEC / 2);
	ring = json_array_get(json_object_get(j, "rings"), 0);
	assert_int_equal(json_integer_value(json_object_get(ring, "lost")), 5);
	assert_string_equal(json_string_value(json_array_get(json_object_get(ring, "flags"), 0)),
			    "first");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(j, "trigger"), "time")),
		"100000000000");
	ring = json_array_get(json_object_get(j, "cgroups"), 0);
	assert_string_equal(json_string_value(json_object_get(ring, "path")), "/shop/api");
	assert_int_equal(json_integer_value(json_object_get(ring, "throttled")), 9);
	assert_true(json_is_null(json_object_get(ring, "oom_kills")));
	assert_int_equal(json_integer_value(json_array_get(json_object_get(ring, "pids"), 0)), 7);
	ring = json_object_get(json_object_get(j, "threads"), "states");
	assert_int_equal(json_array_size(ring), 1);
	ring = json_array_get(ring, 0);
	assert_string_equal(json_string_value(json_object_get(ring, "cpus")), "0,2-3");
	assert_string_equal(json_string_value(json_object_get(ring, "policy")), "rr");
	assert_int_equal(json_integer_value(json_object_get(ring, "nice")), -5);
	assert_string_equal(json_string_value(json_object_get(ring, "remote")), "127.0.0.1:4000");
	assert_int_equal(json_integer_value(json_array_get(json_object_get(ring, "peers"), 1)), 11);
	json_decref(j);
	mk_close(&d, r);
}

static void test_json_of_nothing(void **state)
{
	struct mk d = mk_begin();
	struct reader *r = mk_end(&d);
	json_t *j = json_loads(print(&d, r, (struct info_options){.json = true}), 0, NULL);

	assert_non_null(j);
	assert_true(json_is_null(json_object_get(j, "window")));
	json_decref(j);
	check_width(print(&d, r, (struct info_options){0}));
	mk_close(&d, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_lost),
		cmocka_unit_test(test_horizon),
		cmocka_unit_test(test_losses_in_words),
		cmocka_unit_test(test_no_losses),
		cmocka_unit_test(test_file_without_stats),
		cmocka_unit_test(test_cut_file),
		cmocka_unit_test(test_many_cpus),
		cmocka_unit_test(test_foreign_text),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_of_nothing),
		cmocka_unit_test(test_aux),
		cmocka_unit_test(test_traces_that_stood),
		cmocka_unit_test(test_many_areas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
