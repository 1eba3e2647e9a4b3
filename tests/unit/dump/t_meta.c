/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/* The metadata of a dump: loaded from an intact dump, and from one with items that lie or are
 * missing. */
#include "tests/helpers/small_dump.h"

#include "dump/file/meta.h"
#include "dump/file/reader.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A dump in the making, and the reader and meta of it. */
struct dump {
	struct writer *w;
	int fd;
	struct bytes file;
	struct reader *r;
	struct meta *m;
};

static void begin(struct dump *d)
{
	struct writer_options opt = {.max_blocks = 64};

	d->fd = small_fd();
	assert_int_equal(writer_new(&opt, &d->w, NULL), 0);
	assert_int_equal(writer_begin(d->w, d->fd, 1, NULL), 0);
}

static void load(struct dump *d)
{
	uint64_t n;

	assert_int_equal(writer_finish(d->w, &n, NULL), 0);
	d->file = small_slurp(d->fd);
	assert_int_equal(reader_open_bytes(d->file, false, &d->r, NULL), 0);
	assert_int_equal(meta_load(d->r, &d->m, NULL), 0);
}

static void end(struct dump *d)
{
	meta_free(d->m);
	reader_close(d->r);
	free((void *)d->file.p);
	writer_free(d->w);
	close(d->fd);
}

static void put_event(struct dump *d, uint32_t id, uint32_t channel, uint32_t tracepoint)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
	};
	struct fmt_event e = {id, channel, tracepoint, sizeof(attr)};

	SMALL_OK(writer_item(d->w, FMT_EVENT, &e, sizeof(e), &attr, sizeof(attr), NULL));
}

static void put_software(struct dump *d, uint32_t id, uint32_t channel, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW,
	};
	struct fmt_event e = {id, channel, 0, sizeof(attr)};

	SMALL_OK(writer_item(d->w, FMT_EVENT, &e, sizeof(e), &attr, sizeof(attr), NULL));
}

static void put_channel(struct dump *d, uint32_t id, uint64_t sample_type)
{
	struct fmt_channel c = {.id = id, .sample_type = sample_type};

	SMALL_OK(writer_item(d->w, FMT_CHANNEL, &c, sizeof(c), "ch", 2, NULL));
}

static void put_name(struct dump *d, uint16_t kind, uint32_t event, const char *text)
{
	SMALL_OK(writer_item(d->w, kind, &event, 4, text, strlen(text), NULL));
}

static void a_whole_dump_is_loaded(void **state)
{
	struct bytes file = small_dump();
	struct reader *r;
	struct meta *m;

	assert_int_equal(reader_open_bytes(file, false, &r, NULL), 0);
	assert_int_equal(meta_load(r, &m, NULL), 0);
	assert_int_equal(m->nr_broken, 0);
	assert_string_equal(m->hostname, "testhost");
	assert_string_equal(m->uname, "Linux 6.1 #1 x86_64");
	assert_string_equal(m->cpu_model, "");
	assert_int_equal(m->host.nr_cpus_online, 2);
	assert_int_equal(m->cmdline.len, 16);
	assert_int_equal(m->nr_caps, 2);
	assert_string_equal(m->caps[1], "clockid=yes");
	assert_int_equal(m->trigger.hit_ns, 5000);
	assert_string_equal(m->trigger_name, "SIGUSR2");
	assert_string_equal(m->trigger_reason, "");
	assert_int_equal(m->nr_saw, 1);
	assert_string_equal(m->saw[0], "sender=7");
	assert_int_equal(m->nr_merged, 1);
	assert_string_equal(m->merged[0].name, "psi");
	assert_int_equal(m->merged[0].f.nr_hits, 3);
	assert_int_equal(m->nr_channels, 1);
	assert_string_equal(m->channels[0].name, "sched");
	assert_int_equal(m->channels[0].layout.sample_type, SMALL_SAMPLE_TYPE);
	assert_true(m->channels[0].layout.sample_id_all);
	assert_int_equal(m->channels[0].nr_events, 1);
	assert_int_equal(m->channels[0].likely_event, 0);
	assert_int_equal(m->nr_events, 1);
	assert_string_equal(m->events[0].name, "sched:sched_switch");
	assert_string_equal(m->events[0].filter, "");
	assert_int_equal(m->events[0].attr.config, SMALL_TRACEPOINT);
	assert_int_equal(m->nr_tracepoints, 1);
	assert_string_equal(m->tracepoints[0].system, "sched");
	assert_memory_equal(m->tracepoints[0].format.p, "name: sched_switch", 18);
	assert_int_equal(m->nr_windows, 2);
	assert_int_equal(m->windows[1].cpu, 1);
	assert_true(m->has_stats);
	assert_int_equal(m->stats.pause_ns, 3000);
	assert_int_equal(m->sideband.nr_records, 11);
	assert_false(m->salvaged);
	meta_free(m);
	meta_free(NULL);
	reader_close(r);
	free((void *)file.p);
}

static void samples_find_their_event(void **state)
{
	struct fmt_event_id ids[] = {{500, 2, 0}, {400, 1, 0}, {450, 99, 0}};
	struct record_sample s = {.have = PERF_SAMPLE_IDENTIFIER};
	struct small_sample raw = small_sample(1, 7, 1);
	struct dump d;

	begin(&d);
	SMALL_OK(writer_section(d.w, FMT_CHANNELS));
	put_name(&d, FMT_EVENT_FILTER, 1, "pid==1"); /* before its event */
	put_channel(&d, 0, PERF_SAMPLE_RAW);
	put_channel(&d, 1, PERF_SAMPLE_RAW);
	put_channel(&d, 2, PERF_SAMPLE_IP);
	put_event(&d, 0, 0, 100);
	put_event(&d, 1, 0, SMALL_TRACEPOINT);
	put_event(&d, 2, 1, SMALL_TRACEPOINT);
	put_event(&d, 3, 2, 0);
	for (size_t i = 0; i < 3; i++)
		SMALL_OK(writer_item(d.w, FMT_EVENT_ID, &ids[i], sizeof(ids[i]), NULL, 0, NULL));
	load(&d);
	assert_string_equal(d.m->events[1].filter, "pid==1");

	s.id = 400;
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[0], &s), &d.m->events[1]);
	s.id = 500;
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[1], &s), &d.m->events[2]);
	s.id = 450; /* stands for an event that is not there */
	assert_null(meta_event_of(d.m, &d.m->channels[0], &s));
	s.have = PERF_SAMPLE_RAW;
	s.raw = (struct bytes){(uint8_t *)&raw.common_type, 20};
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[0], &s), &d.m->events[1]);
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[1], &s), &d.m->events[2]);
	raw.common_type = 101;
	assert_null(meta_event_of(d.m, &d.m->channels[0], &s));
	assert_null(
		meta_event_of(d.m, &d.m->channels[1], &s)); /* the only one, but another's data */
	s.have = PERF_SAMPLE_IP;
	s.raw.len = 0;
	assert_null(meta_event_of(d.m, &d.m->channels[0], &s));
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[2], &s), &d.m->events[3]);
	end(&d);
}

/* The kernel gives the page faults of one event the id of another: see meta_tables.c. */
static void a_software_event_can_have_anothers_id(void **state)
{
	struct fmt_event_id ids[] = {{400, 0, 0}, {401, 1, 0}, {402, 2, 0}, {500, 3, 1}};
	struct record_sample s = {.have = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW};
	struct small_sample raw = small_sample(1, 7, 1);
	struct dump d;

	begin(&d);
	SMALL_OK(writer_section(d.w, FMT_CHANNELS));
	for (uint32_t i = 0; i < 3; i++)
		put_channel(&d, i, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_RAW);
	put_event(&d, 0, 0, SMALL_TRACEPOINT);
	put_software(&d, 1, 0, PERF_COUNT_SW_PAGE_FAULTS);
	put_software(&d, 2, 0, PERF_COUNT_SW_CPU_CLOCK);
	put_software(&d, 3, 1, PERF_COUNT_SW_PAGE_FAULTS);
	put_software(&d, 4, 2, PERF_COUNT_SW_PAGE_FAULTS_MIN);
	put_software(&d, 5, 2, PERF_COUNT_SW_PAGE_FAULTS);
	for (size_t i = 0; i < 4; i++)
		SMALL_OK(writer_item(d.w, FMT_EVENT_ID, &ids[i], sizeof(ids[i]), NULL, 0, NULL));
	load(&d);

	s.raw = (struct bytes){(uint8_t *)&raw.common_type, 4};
	raw.common_type = 0;
	s.id = 401;
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[0], &s), &d.m->events[1]);
	s.id = 999; /* another program's */
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[0], &s), &d.m->events[1]);
	s.id = 500; /* another channel's */
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[0], &s), &d.m->events[1]);
	s.id = 402;
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[0], &s), &d.m->events[2]);
	s.id = 999;
	raw.common_type = 101;
	assert_null(meta_event_of(d.m, &d.m->channels[0], &s));
	raw.common_type = 0; /* which of two, it does not say */
	assert_null(meta_event_of(d.m, &d.m->channels[2], &s));
	s.id = 500;
	assert_ptr_equal(meta_event_of(d.m, &d.m->channels[2], &s), &d.m->events[3]);
	end(&d);
}

static void samples_find_their_thread(void **state)
{
	struct small_sample raw = small_sample(1, 77, 1);
	struct record_sample s = {.have = PERF_SAMPLE_TID, .tid = 5};
	const struct meta_event tracepoint = {.f.tracepoint = SMALL_TRACEPOINT}, other = {0};
	const struct meta_event *e = &tracepoint;
	struct dump d;

	begin(&d);
	small_host(d.w);
	load(&d);
	assert_int_equal(meta_tid_of(d.m, e, &s), 5);
	s.tid = 0;
	assert_int_equal(meta_tid_of(d.m, e, &s), 0);
	s.tid = UINT32_MAX; /* of a thread on its way out */
	assert_int_equal(meta_tid_of(d.m, e, &s), UINT32_MAX);
	s.raw = (struct bytes){(uint8_t *)&raw.common_type, 20};
	assert_int_equal(meta_tid_of(d.m, e, &s), 77);
	assert_int_equal(meta_tid_of(d.m, &other, &s), UINT32_MAX);
	s = (struct record_sample){.raw = {(uint8_t *)&raw.common_type, 20}};
	assert_int_equal(meta_tid_of(d.m, e, &s), 77);
	assert_int_equal(meta_tid_of(d.m, NULL, &s), 77);
	assert_int_equal(meta_tid_of(d.m, &other, &s), UINT32_MAX);
	s.raw.len = 7;
	assert_int_equal(meta_tid_of(d.m, e, &s), UINT32_MAX);
	s.raw.len = 20;
	d.m->host.flags = 0; /* pids of another namespace mean nothing here */
	assert_int_equal(meta_tid_of(d.m, e, &s), UINT32_MAX);
	end(&d);
}

/* Ids that are too large, channels without a description, names without an event. */
static void hostile_ids_are_bounded(void **state)
{
	struct fmt_window w = {.ring = 0xfffffff0};
	struct dump d;

	begin(&d);
	SMALL_OK(writer_section(d.w, FMT_CHANNELS));
	put_channel(&d, 64, 0);
	put_channel(&d, UINT32_MAX, 0);
	put_event(&d, UINT32_MAX, 0, 0);
	put_event(&d, (1 << 20) - 1, 0, 0);
	put_event(&d, 3, 5, 0);
	put_event(&d, 4, 64, 0);
	put_name(&d, FMT_EVENT_NAME, UINT32_MAX, "nobody");
	put_name(&d, FMT_EVENT_NAME, 3, "somebody");
	SMALL_OK(writer_item(d.w, FMT_EVENT, "short", 5, NULL, 0, NULL));
	SMALL_OK(writer_section(d.w, FMT_WINDOWS));
	SMALL_OK(writer_item(d.w, FMT_WINDOW, &w, sizeof(w), NULL, 0, NULL));
	w = (struct fmt_window){.ring = 2, .channel = 7};
	SMALL_OK(writer_item(d.w, FMT_WINDOW, &w, sizeof(w), NULL, 0, NULL));
	load(&d);
	assert_int_equal(d.m->nr_broken, 8);
	assert_true(d.m->nr_events <= 4200);
	assert_string_equal(d.m->events[3].name, "somebody");
	assert_int_equal(d.m->events[2].f.id, UINT32_MAX);
	assert_int_equal(d.m->nr_windows, 3);
	assert_int_equal(d.m->windows[0].ring, FMT_NO_RING);
	assert_int_equal(d.m->windows[2].channel, 7);
	/* Every channel that anything names is there; what its events say of it is taken. */
	assert_int_equal(d.m->nr_channels, 8);
	assert_string_equal(d.m->channels[7].name, "");
	assert_int_equal(d.m->channels[5].likely_event, 3);
	assert_int_equal(d.m->channels[5].layout.sample_type, PERF_SAMPLE_TIME);
	assert_int_equal(d.m->channels[7].likely_event, UINT32_MAX);
	end(&d);
}

/* Items of a newer format are longer, of an older one shorter; unknown kinds and sections are skipped.
 */
static void grown_and_unknown_items(void **state)
{
	struct {
		struct fmt_dump_stats s;
		uint64_t later[4];
	} grown = {.s = {.pause_ns = 1, .rss_bytes = 2}, .later = {9, 9, 9, 9}};
	struct fmt_trigger t = {.hit_ns = 42, .nr = 5};
	struct dump d;

	begin(&d);
	SMALL_OK(writer_section(d.w, FMT_STATS));
	SMALL_OK(writer_item(d.w, FMT_STATS_DUMP, &grown, sizeof(grown), NULL, 0, NULL));
	SMALL_OK(writer_item(d.w, 900, "?", 1, NULL, 0, NULL));
	SMALL_OK(writer_section(d.w, 77));
	SMALL_OK(writer_item(d.w, 1, "?", 1, NULL, 0, NULL));
	SMALL_OK(writer_section(d.w, FMT_TRIGGER));
	SMALL_OK(writer_item(d.w, FMT_TRIGGER_FACTS, &t, 8, NULL, 0, NULL));
	load(&d);
	assert_int_equal(d.m->nr_broken, 0);
	assert_int_equal(d.m->stats.pause_ns, 1);
	assert_int_equal(d.m->stats.rss_bytes, 2);
	assert_int_equal(d.m->trigger.hit_ns, 42);
	assert_int_equal(d.m->trigger.nr, 0);
	end(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_dump_is_loaded),
		cmocka_unit_test(samples_find_their_event),
		cmocka_unit_test(a_software_event_can_have_anothers_id),
		cmocka_unit_test(samples_find_their_thread),
		cmocka_unit_test(hostile_ids_are_bounded),
		cmocka_unit_test(grown_and_unknown_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
