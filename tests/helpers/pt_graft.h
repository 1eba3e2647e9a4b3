/* SPDX-License-Identifier: MIT */
/*
 * Puts traces of stepped programs into a dump as a channel of their own, as the recorder would have
 * written them on a processor with Intel PT.
 */
#pragma once

#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/file/writer.h"
#include "tests/helpers/pt_log.h"

#include <err.h>
#include <errno.h>

#define PT_TYPE 10 /* of the PMU, in sysfs */
/* tsc, mtc, mtc_period=3, psb_period=1, branch, pt */
#define PT_CONFIG   (1ull << 10 | 1ull << 9 | 3ull << 14 | 1ull << 24 | 1ull << 13 | 1)
#define MAX_TRACES  16
#define RECORD_ROOM 4096

/* The same name, files and contents as the guest's intel_pt (tests/vm/module/intel_pt.c). */
static const char pt_graft_pmu[] =
	"intel_pt type=10 tsc_art_ratio=240:2 max_nonturbo_ratio=30 caps/mtc=1 "
	"caps/mtc_periods=249 caps/psb_cyc=1 caps/psb_periods=3f "
	"caps/cycle_thresholds=3fff caps/cr3_filtering=1 caps/ip_filtering=1 "
	"caps/num_address_ranges=2 caps/ptwrite=0 caps/power_event_trace=0 "
	"caps/event_trace=0 caps/tnt_disable=0 caps/topa_output=1 "
	"caps/topa_multiple_entries=1 caps/single_range_output=1 "
	"caps/output_subsys=0 caps/payloads_lip=0 caps/max_subleaf=1 "
	"format/pt=config:0 format/cyc=config:1 format/pwr_evt=config:4 "
	"format/fup_on_ptw=config:5 format/mtc=config:9 format/tsc=config:10 "
	"format/noretcomp=config:11 format/ptw=config:12 format/branch=config:13 "
	"format/mtc_period=config:14-17 format/cyc_thresh=config:19-22 "
	"format/psb_period=config:24-27 format/event=config:31 "
	"format/notnt=config:55 ";

struct pt_graft {
	const struct meta *meta;
	int cpu, tid; /* one of them is -1 */
	uint64_t area_bytes;
	bool until_hit;
	struct pt_log logs[MAX_TRACES];
	size_t nr_logs;
	struct buf trace;
	/* assigned when grafted */
	uint32_t channel, event, ring;
	uint64_t sample_type;
	bool has_channel;
	struct pt_moment before, after; /* when its window begins and ends */
	struct buf records;		/* oldest first */
	uint64_t nr_records;
	size_t starts[RECORD_ROOM / 16]; /* offsets of the records */
};

/* Behind every record: TID, TIME, and in a thread's ring also CPU. */
static inline void pt_graft_put_record(struct pt_graft *g, uint32_t type, uint16_t misc,
				       const void *body, size_t n, uint32_t tid, uint64_t ns)
{
	struct {
		uint32_t pid, tid;
		uint64_t ns;
		uint32_t cpu, res;
	} id = {tid, tid, ns, (uint32_t)g->logs[0].cpu, 0};
	size_t id_bytes = g->sample_type & PERF_SAMPLE_CPU ? 24 : 16;
	struct perf_event_header h = {type, misc, (uint16_t)(sizeof(h) + n + id_bytes)};

	g->starts[g->nr_records++] = g->records.len;
	if (buf_put(&g->records, &h, sizeof(h)) || buf_put(&g->records, body, n) ||
	    buf_put(&g->records, &id, id_bytes))
		err(2, NULL);
}

static inline void pt_graft_put_switch(struct pt_graft *g, const struct pt_log *l, bool out)
{
	uint16_t misc = out ? PERF_RECORD_MISC_SWITCH_OUT : 0;
	uint64_t ns = out ? l->ended.ns + 1000 : l->began.ns - 1000;
	uint32_t idle[2] = {0, 0};

	if (g->cpu < 0)
		pt_graft_put_record(g, PERF_RECORD_SWITCH, misc, NULL, 0, l->tid, ns);
	else
		pt_graft_put_record(g, PERF_RECORD_SWITCH_CPU_WIDE, misc, idle, sizeof(idle),
				    l->tid, ns);
}

static inline void pt_graft_put_records(struct pt_graft *g)
{
	const struct pt_log *last = &g->logs[g->nr_logs - 1];
	uint64_t aux[3] = {g->trace.len % g->area_bytes, g->area_bytes, PERF_AUX_FLAG_OVERWRITE};
	uint32_t self[2] = {g->logs[0].pid, g->logs[0].tid};

	pt_graft_put_record(g, PERF_RECORD_ITRACE_START, 0, self, sizeof(self), self[1],
			    g->before.ns);
	for (size_t i = 0; i < g->nr_logs; i++) {
		pt_graft_put_switch(g, &g->logs[i], false);
		pt_graft_put_switch(g, &g->logs[i], true);
	}
	pt_graft_put_record(g, PERF_RECORD_AUX, 0, aux, sizeof(aux), last->tid, g->after.ns);
}

static inline int pt_graft_add_pmu(struct pt_graft *g, struct writer *w, struct err *err)
{
	char texts[sizeof(pt_graft_pmu)];
	size_t n = sizeof(texts) - 1;

	for (size_t i = 0; i < n; i++)
		texts[i] = strchr("= ", pt_graft_pmu[i]) ? 0 : pt_graft_pmu[i];
	return writer_item(w, FMT_EVENT_PMU, &g->event, 4, texts, n, NULL);
}

static inline int pt_graft_add_event(struct pt_graft *g, struct writer *w, uint32_t id,
				     const struct perf_event_attr *attr, const char *name,
				     struct err *err)
{
	struct fmt_event e = {.id = id, .channel = g->channel, .attr_bytes = sizeof(*attr)};
	int rc = writer_item(w, FMT_EVENT, &e, sizeof(e), attr, sizeof(*attr), NULL);

	return rc ? rc : writer_item(w, FMT_EVENT_NAME, &id, 4, name, strlen(name), NULL);
}

static inline int pt_graft_add_channel(struct pt_graft *g, struct writer *w, struct err *err)
{
	uint64_t type = g->sample_type;
	struct fmt_channel c = {
		.id = g->channel,
		.nr_banks = 1,
		.ring_bytes = 256 << 10,
		.sample_type = type,
	};
	struct perf_event_attr pt =
				       {
					       .type = PT_TYPE,
					       .size = sizeof(pt),
					       .config = PT_CONFIG,
					       .sample_type = type,
					       .sample_id_all = 1,
					       .exclude_kernel = 1,
					       .exclude_hv = 1,
					       .write_backward = 1,
					       .use_clockid = 1,
					       .clockid = CLOCK_MONOTONIC,
				       },
			       dummy = pt;
	int rc;

	dummy.type = PERF_TYPE_SOFTWARE;
	dummy.config = PERF_COUNT_SW_DUMMY;
	dummy.context_switch = 1;
	rc = writer_section(w, FMT_CHANNELS);
	if (!rc)
		rc = writer_item(w, FMT_CHANNEL, &c, sizeof(c), "pt", 2, NULL);
	if (!rc)
		rc = pt_graft_add_event(g, w, g->event, &pt, "intel_pt//u", err);
	if (!rc)
		rc = pt_graft_add_event(g, w, g->event + 1, &dummy, "dummy", err);
	return rc ? rc : pt_graft_add_pmu(g, w, err);
}

static inline int pt_graft_add_windows(struct pt_graft *g, struct writer *w, struct err *err)
{
	const struct pt_log *last = &g->logs[g->nr_logs - 1];
	struct fmt_window win = {
		.ring = g->ring,
		.channel = g->channel,
		.cpu = g->cpu,
		.tid = g->tid,
		.ring_bytes = 256 << 10,
		.bytes = g->records.len,
		.nr_records = g->nr_records,
		.first_ns = g->before.ns,
		.last_ns = g->after.ns,
		.armed_ns = g->before.ns,
		.paused_ns = g->after.ns,
		.flags = FMT_WINDOW_FIRST | FMT_WINDOW_ONE_BANK,
	};
	struct fmt_window_aux aux = {
		.ring = g->ring,
		.event = g->event,
		.flags = g->trace.len > g->area_bytes ? FMT_AUX_WRAPPED : 0,
		.nr_aux = 1,
		.area_bytes = g->area_bytes,
		.bytes = g->trace.len < g->area_bytes ? g->trace.len : g->area_bytes,
		.written_bytes = g->trace.len,
		.head = g->trace.len % g->area_bytes,
		.start_ns = g->before.ns,
		.stop_ns = g->after.ns,
		.copy_ns = 1000,
		.blackout_ns = 2000,
		.start_cycles = g->before.tsc,
		.start_cycles_ns = g->before.ns,
		.stop_cycles = g->after.tsc,
		.stop_cycles_ns = g->after.ns,
		.time_zero = last->clock.zero,
		.time_mult = last->clock.mult,
		.time_shift = last->clock.shift,
	};
	int rc = writer_section(w, FMT_WINDOWS);

	aux.new_bytes = aux.bytes;
	if (!rc)
		rc = writer_item(w, FMT_WINDOW, &win, sizeof(win), NULL, 0, NULL);
	return rc ? rc : writer_item(w, FMT_WINDOW_AUX, &aux, sizeof(aux), NULL, 0, NULL);
}

/* Newest first, as the kernel writes them. */
static inline int pt_graft_add_records(struct pt_graft *g, struct writer *w, struct err *err)
{
	struct writer_run run = {
		.ring = g->ring,
		.encoding = FMT_ENC_RAW,
		.content_bytes = (uint32_t)g->records.len,
		.nr_records = (uint32_t)g->nr_records,
		.first_ns = g->before.ns,
		.last_ns = g->after.ns,
	};
	struct buf b = {0};
	struct bytes piece;
	int rc = 0;

	for (size_t i = g->nr_records; i-- && !rc;) {
		size_t end = i + 1 < g->nr_records ? g->starts[i + 1] : g->records.len;

		rc = buf_put(&b, g->records.p + g->starts[i], end - g->starts[i]);
	}
	piece = (struct bytes){b.p, b.len};
	if (!rc)
		rc = writer_records(w, &run, &piece, 1);
	buf_free(&b);
	return rc;
}

static inline int pt_graft_add_area(struct pt_graft *g, struct writer *w, struct err *err)
{
	uint64_t bytes = g->trace.len < g->area_bytes ? g->trace.len : g->area_bytes, newer = 0;
	int rc = 0;

	while (newer < bytes && !rc) {
		uint64_t n =
			bytes - newer < FMT_AUX_BLOCK_BYTES ? bytes - newer : FMT_AUX_BLOCK_BYTES;
		struct writer_area a = {g->ring, (uint32_t)n, newer};
		struct bytes piece = {g->trace.p + g->trace.len - newer - n, n};

		rc = writer_area(w, &a, &piece, 1);
		newer += n;
	}
	return rc;
}

static inline int pt_graft_add(void *ctx, struct writer *w, struct err *err)
{
	struct pt_graft *g = ctx;
	int rc = g->has_channel ? 0 : pt_graft_add_channel(g, w, err);

	if (!rc)
		rc = pt_graft_add_windows(g, w, err);
	if (!rc)
		rc = pt_graft_add_records(g, w, err);
	return rc ? rc : pt_graft_add_area(g, w, err);
}

static inline void pt_graft_take(struct pt_graft *g, const char *trace, const char *log)
{
	struct pt_log *l = &g->logs[g->nr_logs++];
	FILE *f = fopen(log, "re");
	uint8_t chunk[65536];
	size_t n;

	if (!f || !pt_log_read(f, l))
		errx(2, "%s: it is no log", log);
	fclose(f);
	f = fopen(trace, "re");
	if (!f)
		err(2, "%s", trace);
	while ((n = fread(chunk, 1, sizeof(chunk), f)))
		if (buf_put(&g->trace, chunk, n))
			err(2, NULL);
	fclose(f);
}

/* Finds the numbers of the new channel and ring in the dump's tables. */
static inline void pt_graft_find_places(struct pt_graft *g, const struct meta *m)
{
	g->channel = (uint32_t)m->nr_channels;
	g->event = (uint32_t)m->nr_events;
	g->ring = (uint32_t)m->nr_windows;
	g->sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | (g->cpu < 0 ? PERF_SAMPLE_CPU : 0);
	for (size_t i = 0; i < m->nr_events; i++) {
		if (m->events[i].attr.type != PT_TYPE)
			continue;
		g->has_channel = true;
		g->event = (uint32_t)i;
		g->channel = m->events[i].f.channel;
		g->sample_type = m->channels[g->channel].f.sample_type;
	}
}

/* The window lasts from before all to the trigger's freeze, or to the end of the last log if
 * earlier. */
static inline void pt_graft_set_times(struct pt_graft *g, const struct meta *m)
{
	const struct pt_log *last = &g->logs[g->nr_logs - 1];
	uint64_t later = g->until_hit ? m->trigger.hit_ns - last->ended.ns : 0;
	uint64_t freeze = m->trigger.freeze_ns;

	g->before = g->logs[0].before;
	g->after = last->after;
	g->before.ns += later;
	g->after.ns += later;
	for (size_t i = 0; i < g->nr_logs; i++) {
		g->logs[i].began.ns += later;
		g->logs[i].ended.ns += later;
	}
	if (freeze < last->ended.ns || freeze > g->after.ns)
		return;
	/* the same line, solved for the TSC */
	g->after.tsc = pt_ns_of((struct pt_moment){g->before.ns, g->before.tsc},
				(struct pt_moment){g->after.ns, g->after.tsc}, freeze);
	g->after.ns = freeze;
}

static inline int pt_graft(struct pt_graft *g, const char *from, const char *to)
{
	struct err e = ERR_INIT;
	struct reader *r;
	struct meta *m;
	int fd, rc;

	if (reader_open(from, &r, &e) || meta_load(r, &m, &e))
		errx(1, "%s", e.what);
	pt_graft_find_places(g, m);
	pt_graft_set_times(g, m);
	pt_graft_put_records(g);
	fd = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		err(1, "%s", to);
	rc = reader_extend_fd(r, fd, pt_graft_add, g, &e);
	if (rc)
		errx(1, "%s: %s", to, e.what);
	close(fd);
	meta_free(m);
	reader_close(r);
	buf_free(&g->trace);
	buf_free(&g->records);
	return 0;
}
