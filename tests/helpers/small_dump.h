/* SPDX-License-Identifier: MIT */
/*
 * A small but complete dump made in memory: all sections, two rings, and tracepoint samples with
 * distinguishable bytes. For tests of the format and for the fuzzers' seeds.
 */
#pragma once

#include "dump/base/bytes.h"
#include "dump/format/record.h"
#include "dump/file/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL_SAMPLE_TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define SMALL_TRACEPOINT  314

/* A sample in a channel of tracepoints: TIME, and RAW of 20 bytes with type and pid. */
struct small_sample {
	struct perf_event_header h;
	uint64_t time;
	uint32_t raw_bytes;
	uint16_t common_type;
	uint8_t flags, preempt_count;
	int32_t pid;
	uint32_t value[3];
};

_Static_assert(sizeof(struct small_sample) == 40, "small_sample");

static inline struct small_sample small_sample(uint64_t time, int32_t pid, uint32_t value)
{
	return (struct small_sample){
		.h = {.type = PERF_RECORD_SAMPLE, .size = sizeof(struct small_sample)},
		.time = time,
		.raw_bytes = 20,
		.common_type = SMALL_TRACEPOINT,
		.pid = pid,
		.value = {value, value * 2654435761u, ~value},
	};
}

/* Reads a whole file by descriptor; the caller frees the bytes. */
static inline struct bytes small_slurp(int fd)
{
	struct stat st;
	struct bytes b;
	uint8_t *p;

	assert(!fstat(fd, &st));
	b.len = (size_t)st.st_size;
	p = malloc(b.len + 1);
	assert(p && pread(fd, p, b.len, 0) == (ssize_t)b.len);
	b.p = p;
	return b;
}

static inline int small_fd(void)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);

	assert(fd >= 0);
	return fd;
}

#define SMALL_OK(call) assert(!(call))

static inline void small_text(struct writer *w, uint16_t kind, const char *text)
{
	SMALL_OK(writer_item(w, kind, NULL, 0, text, strlen(text), NULL));
}

static inline void small_host(struct writer *w)
{
	struct fmt_host h = {.nr_cpus_online = 2, .clockid = 1, .flags = FMT_HOST_INITIAL_PIDNS};

	SMALL_OK(writer_section(w, FMT_HOST));
	SMALL_OK(writer_item(w, FMT_HOST_FACTS, &h, sizeof(h), NULL, 0, NULL));
	small_text(w, FMT_HOST_HOSTNAME, "testhost");
	small_text(w, FMT_HOST_UNAME, "Linux 6.1 #1 x86_64");
	small_text(w, FMT_HOST_CAPABILITY, "root=yes");
	small_text(w, FMT_HOST_CAPABILITY, "clockid=yes");
	SMALL_OK(writer_item(w, FMT_HOST_CMDLINE, NULL, 0, "ringback\0record", 16, NULL));
}

static inline void small_trigger(struct writer *w)
{
	struct fmt_trigger t = {.hit_ns = 5000, .pid = 7, .tid = 7, .nr = 1};
	struct fmt_merged m = {.first_ns = 5001, .last_ns = 5002, .nr_hits = 3};

	SMALL_OK(writer_section(w, FMT_TRIGGER));
	SMALL_OK(writer_item(w, FMT_TRIGGER_FACTS, &t, sizeof(t), NULL, 0, NULL));
	small_text(w, FMT_TRIGGER_NAME, "SIGUSR2");
	small_text(w, FMT_TRIGGER_RULE, "signal:USR2");
	small_text(w, FMT_TRIGGER_SAW, "sender=7");
	SMALL_OK(writer_item(w, FMT_TRIGGER_MERGED, &m, sizeof(m), "psi", 3, NULL));
}

static inline void small_channels(struct writer *w)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = SMALL_TRACEPOINT,
		.sample_type = SMALL_SAMPLE_TYPE,
		.sample_id_all = 1,
	};
	struct fmt_channel c = {.id = 0, .nr_banks = 2, .sample_type = SMALL_SAMPLE_TYPE};
	struct fmt_event e = {
		.id = 0,
		.channel = 0,
		.tracepoint = SMALL_TRACEPOINT,
		.attr_bytes = sizeof(attr),
	};
	struct fmt_event_id id = {.id = 99, .event = 0, .ring = 0};
	uint32_t event = 0;

	SMALL_OK(writer_section(w, FMT_CHANNELS));
	SMALL_OK(writer_item(w, FMT_CHANNEL, &c, sizeof(c), "sched", 5, NULL));
	SMALL_OK(writer_item(w, FMT_EVENT, &e, sizeof(e), &attr, sizeof(attr), NULL));
	SMALL_OK(writer_item(w, FMT_EVENT_NAME, &event, 4, "sched:sched_switch", 18, NULL));
	SMALL_OK(writer_item(w, FMT_EVENT_ID, &id, sizeof(id), NULL, 0, NULL));
}

static inline void small_formats(struct writer *w)
{
	static const char format[] = "name: sched_switch\nID: 314\nformat:\n";
	struct fmt_tracepoint t = {.id = SMALL_TRACEPOINT, .system_bytes = 6};
	char text[6 + sizeof(format) - 1];

	memcpy(text, "sched", 6);
	memcpy(text + 6, format, sizeof(format) - 1);
	SMALL_OK(writer_section(w, FMT_FORMATS));
	SMALL_OK(writer_item(w, FMT_FORMAT_TRACEPOINT, &t, sizeof(t), text, sizeof(text), NULL));
}

static inline void small_windows(struct writer *w, uint32_t nr_rings)
{
	SMALL_OK(writer_section(w, FMT_WINDOWS));
	for (uint32_t i = 0; i < nr_rings; i++) {
		struct fmt_window win = {.ring = i, .cpu = (int32_t)i, .tid = -1};

		SMALL_OK(writer_item(w, FMT_WINDOW, &win, sizeof(win), NULL, 0, NULL));
	}
}

static inline void small_ledger(struct writer *w)
{
	struct fmt_task t = {.key = 1, .tid = 7, .pid = 7, .ppid = 1};
	struct fmt_comm c = {.key = 1, .comm = "worker"};
	struct fmt_path p = {.id = 1};
	struct fmt_map m = {.key = 1, .path = 1, .start = 0x1000, .end = 0x2000};
	struct fmt_namespaces set = {.id = 1, .nr = 1};
	struct fmt_namespace net = {.kind = FMT_NS_NET, .dev = 4, .ino = 4026531833};
	struct fmt_stay stay = {.key = 1, .what = 1};

	SMALL_OK(writer_section(w, FMT_LEDGER));
	SMALL_OK(writer_item(w, FMT_LEDGER_TASK, &t, sizeof(t), NULL, 0, NULL));
	SMALL_OK(writer_item(w, FMT_LEDGER_COMM, &c, sizeof(c), NULL, 0, NULL));
	SMALL_OK(writer_item(w, FMT_LEDGER_PATH, &p, sizeof(p), "/bin/worker", 11, NULL));
	SMALL_OK(writer_item(w, FMT_LEDGER_MAP, &m, sizeof(m), NULL, 0, NULL));
	SMALL_OK(writer_item(w, FMT_LEDGER_NAMESPACES, &set, sizeof(set), &net, sizeof(net), NULL));
	SMALL_OK(writer_item(w, FMT_LEDGER_TASK_NS, &stay, sizeof(stay), NULL, 0, NULL));
	SMALL_OK(writer_item(w, FMT_LEDGER_TASK_CGROUP, &stay, sizeof(stay), NULL, 0, NULL));
}

/* `nr_blocks` blocks of 8 samples each, newest first, in one or two pieces. */
static inline void small_records(struct writer *w, uint32_t ring, uint32_t nr_blocks)
{
	uint64_t time = 10000;

	for (uint32_t i = 0; i < nr_blocks; i++) {
		struct small_sample s[8];
		struct writer_run run = {
			.ring = ring,
			.encoding = FMT_ENC_RAW,
			.content_bytes = sizeof(s),
			.nr_records = 8,
			.ring_off = i * sizeof(s),
		};
		size_t cut = i % 2 ? sizeof(s) : 3 * sizeof(s[0]) + 8;
		struct bytes pieces[2] = {
			{(uint8_t *)s, cut},
			{(uint8_t *)s + cut, sizeof(s) - cut},
		};

		for (int k = 0; k < 8; k++)
			s[k] = small_sample(time -= 10, 7, ring * 1000 + i * 8 + (uint32_t)k);
		run.first_ns = s[7].time;
		run.last_ns = s[0].time;
		SMALL_OK(writer_records(w, &run, pieces, i % 2 ? 1 : 2));
	}
}

static inline void small_stats(struct writer *w)
{
	struct fmt_dump_stats s = {.pause_ns = 3000, .nr_rings = 2};
	struct fmt_sideband_stats b = {.nr_records = 11};

	SMALL_OK(writer_section(w, FMT_STATS));
	SMALL_OK(writer_item(w, FMT_STATS_DUMP, &s, sizeof(s), NULL, 0, NULL));
	SMALL_OK(writer_item(w, FMT_STATS_SIDEBAND, &b, sizeof(b), NULL, 0, NULL));
}

/* A whole file with a fixed id; free .p. */
static inline struct bytes small_dump(void)
{
	static const uint8_t id[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct writer_options opt = {.max_blocks = 64};
	int fd = small_fd();
	struct writer *w;
	struct bytes file;
	uint64_t n;

	SMALL_OK(writer_new(&opt, &w, NULL));
	SMALL_OK(writer_begin_as(w, fd, id, 1700000000000000000, NULL));
	small_host(w);
	small_trigger(w);
	small_channels(w);
	small_formats(w);
	small_windows(w, 2);
	small_ledger(w);
	small_records(w, 0, 4);
	small_records(w, 1, 3);
	small_stats(w);
	SMALL_OK(writer_finish(w, &n, NULL));
	writer_free(w);
	file = small_slurp(fd);
	assert(file.len == n);
	close(fd);
	return file;
}
