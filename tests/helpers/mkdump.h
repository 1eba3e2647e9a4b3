/* SPDX-License-Identifier: MIT */
/*
 * Builds a dump in memory, piece by piece, through dump/file/writer.h: for tests of code that reads
 * and prints dumps. Tests give the records of a ring oldest first; mk_block() turns them into the
 * content of a backward ring, newest first.
 *
 *	struct mk d = mk_begin();
 *	mk_trigger(&d, 1000000);
 *	mk_channel(&d, 0, "sched", PERF_SAMPLE_TIME | PERF_SAMPLE_RAW);
 *	...
 *	struct reader *r = mk_end(&d);
 *	...
 *	mk_close(&d, r);
 */
#pragma once

#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/packed/pack.h"
#include "dump/file/reader.h"
#include "dump/format/record.h"
#include "dump/file/writer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct mk {
	struct writer *w;
	int fd;
	uint8_t *file; /* after mk_end() */
	size_t file_bytes;
};

#define MK_OK(call) assert(!(call))

static inline struct mk mk_begin(void)
{
	struct writer_options opt = {.max_blocks = 20000};
	struct mk d = {.fd = memfd_create("dump", MFD_CLOEXEC)};

	assert(d.fd >= 0);
	MK_OK(writer_new(&opt, &d.w, NULL));
	MK_OK(writer_begin(d.w, d.fd, 1795222411000000000ull, NULL));
	return d;
}

static inline void mk_item(struct mk *d, uint16_t section, uint16_t kind, const void *fixed,
			   size_t fixed_bytes, const void *var, size_t var_bytes)
{
	MK_OK(writer_section(d->w, section));
	MK_OK(writer_item(d->w, kind, fixed, fixed_bytes, var, var_bytes, NULL));
}

static inline void mk_text(struct mk *d, uint16_t section, uint16_t kind, const char *text)
{
	mk_item(d, section, kind, NULL, 0, text, strlen(text));
}

/* `flags`: fmt_host.flags */
static inline void mk_host_as(struct mk *d, uint32_t flags)
{
	struct fmt_host h = {
		.nr_cpus_online = 2,
		.nr_cpus_possible = 4,
		.page_bytes = 4096,
		.clockid = 1,
		.real_minus_clock = 1795222411000000000ll,
		.mem_total_bytes = 8ull << 30,
		.recorder_pid = 77,
		.flags = flags,
	};

	mk_item(d, FMT_HOST, FMT_HOST_FACTS, &h, sizeof(h), NULL, 0);
	mk_text(d, FMT_HOST, FMT_HOST_HOSTNAME, "box");
	mk_text(d, FMT_HOST, FMT_HOST_UNAME, "Linux 6.1.0 #1 SMP x86_64");
	mk_text(d, FMT_HOST, FMT_HOST_OS, "Some Linux 12");
	mk_text(d, FMT_HOST, FMT_HOST_CPU_MODEL, "A Processor");
	mk_text(d, FMT_HOST, FMT_HOST_RECORDER, "ringback 0.1.0");
	mk_text(d, FMT_HOST, FMT_HOST_INSTANCE, "default");
	mk_text(d, FMT_HOST, FMT_HOST_CAPABILITY, "root=1");
}

static inline void mk_host(struct mk *d)
{
	mk_host_as(d, FMT_HOST_INITIAL_PIDNS);
}

static inline void mk_trigger(struct mk *d, uint64_t hit_ns)
{
	struct fmt_trigger t = {
		.hit_ns = hit_ns,
		.real_ns = 1795222411123000000ull,
		.freeze_ns = hit_ns + 100,
		.pid = 7,
		.tid = 7,
		.nr = 3,
	};

	mk_item(d, FMT_TRIGGER, FMT_TRIGGER_FACTS, &t, sizeof(t), NULL, 0);
	mk_text(d, FMT_TRIGGER, FMT_TRIGGER_NAME, "SIGUSR2");
	mk_text(d, FMT_TRIGGER, FMT_TRIGGER_RULE, "signal:USR2");
	mk_text(d, FMT_TRIGGER, FMT_TRIGGER_REASON, "it was slow");
	mk_text(d, FMT_TRIGGER, FMT_TRIGGER_SAW, "sender=7");
}

/* `regs`: sample_regs_user of the channel's events; other channels have 0. */
static inline void mk_channel_regs(struct mk *d, uint32_t id, const char *name,
				   uint64_t sample_type, uint64_t regs_user)
{
	struct fmt_channel c = {
		.id = id,
		.nr_banks = 2,
		.ring_bytes = 65536,
		.sample_type = sample_type,
		.regs_user = regs_user,
	};

	mk_item(d, FMT_CHANNELS, FMT_CHANNEL, &c, sizeof(c), name, strlen(name));
}

static inline void mk_channel(struct mk *d, uint32_t id, const char *name, uint64_t sample_type)
{
	mk_channel_regs(d, id, name, sample_type, 0);
}

/* `tracepoint` 0: a counter. `sample_type`: as the channel's. */
static inline void mk_event(struct mk *d, uint32_t id, uint32_t channel, const char *name,
			    uint32_t tracepoint, uint64_t sample_type)
{
	struct perf_event_attr attr = {
		.type = tracepoint ? PERF_TYPE_TRACEPOINT : PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = tracepoint,
		.sample_type = sample_type,
		.sample_id_all = 1,
	};
	struct fmt_event e = {
		.id = id,
		.channel = channel,
		.tracepoint = tracepoint,
		.attr_bytes = sizeof(attr),
	};

	mk_item(d, FMT_CHANNELS, FMT_EVENT, &e, sizeof(e), &attr, sizeof(attr));
	mk_item(d, FMT_CHANNELS, FMT_EVENT_NAME, &id, sizeof(id), name, strlen(name));
}

static inline void mk_format(struct mk *d, uint32_t id, const char *system, const char *format)
{
	struct fmt_tracepoint t = {.id = id, .system_bytes = (uint32_t)strlen(system) + 1};
	size_t n = t.system_bytes + strlen(format);
	char *text = malloc(n + 1);

	assert(text);
	memcpy(text, system, t.system_bytes);
	memcpy(text + t.system_bytes, format, strlen(format));
	mk_item(d, FMT_FORMATS, FMT_FORMAT_TRACEPOINT, &t, sizeof(t), text, n);
	free(text);
}

static inline void mk_window(struct mk *d, const struct fmt_window *w)
{
	mk_item(d, FMT_WINDOWS, FMT_WINDOW, w, sizeof(*w), NULL, 0);
}

/* The window of a CPU's ring that kept everything since time 0. */
static inline void mk_cpu_window(struct mk *d, uint32_t ring, uint32_t channel, int32_t cpu)
{
	struct fmt_window w = {.ring = ring, .channel = channel, .cpu = cpu, .tid = -1};

	mk_window(d, &w);
}

/* A control group with limits, and its only process. */
static inline void mk_cgroup(struct mk *d, const struct fmt_cgroup *f, uint32_t pid,
			     const char *path)
{
	struct {
		struct fmt_cgroup f;
		uint32_t pid;
	} item = {*f, pid};

	item.f.nr_pids = 1;
	mk_item(d, FMT_CGROUPS, FMT_CGROUP, &item, sizeof(*f) + sizeof(pid), path,
		(uint32_t)strlen(path));
}

/* The recorder looked for control groups with limits; those it found follow. */
static inline void mk_cgroups(struct mk *d, uint64_t since_ns, uint64_t at_ns)
{
	uint64_t times[2] = {since_ns, at_ns};

	mk_item(d, FMT_CGROUPS, FMT_CGROUP_TIME, times, sizeof(times), NULL, 0);
}

/* The recorder read the states of threads from `from_ns` to `to_ns`; they follow. */
static inline void mk_threads(struct mk *d, uint64_t from_ns, uint64_t to_ns, uint32_t nr_left_out)
{
	struct fmt_threads f = {
		.from_ns = from_ns, .to_ns = to_ns, .nr_threads = 1, .nr_left_out = nr_left_out};

	mk_item(d, FMT_THREADS, FMT_THREADS_READ, &f, sizeof(f), NULL, 0);
}

/* `cpus`: the mask's first word, 0: unknown. `texts`: wait channel, file, protocol, local and
 * remote address, each ended by a NUL. */
static inline void mk_thread(struct mk *d, const struct fmt_thread_state *f, uint64_t cpus,
			     const char *texts, size_t bytes)
{
	struct {
		struct fmt_thread_state f;
		uint64_t cpus;
	} item = {*f, cpus};

	item.f.nr_cpu_words = cpus != 0;
	mk_item(d, FMT_THREADS, FMT_THREAD_STATE, &item,
		sizeof(*f) + item.f.nr_cpu_words * sizeof(cpus), texts, bytes);
}

static inline void mk_stats(struct mk *d)
{
	struct fmt_dump_stats s = {
		.pause_ns = 3000,
		.signal_ns = 180000,
		.write_ns = 65000000,
	};
	struct fmt_sideband_stats b = {.nr_records = 12};
	struct fmt_symbol_stats y = {.ns = 77000000, .payload_bytes = 4096};

	mk_item(d, FMT_STATS, FMT_STATS_SYMBOLS, &y, sizeof(y), NULL, 0);
	mk_item(d, FMT_STATS, FMT_STATS_DUMP, &s, sizeof(s), NULL, 0);
	mk_item(d, FMT_STATS, FMT_STATS_SIDEBAND, &b, sizeof(b), NULL, 0);
}

/* ---- ledger ---- */

static inline void mk_task(struct mk *d, uint32_t key, uint32_t tid, uint32_t pid, uint32_t ppid,
			   uint64_t start_ns, uint64_t exit_ns)
{
	struct fmt_task t = {key, tid, pid, ppid, start_ns, exit_ns, 0, 0};

	mk_item(d, FMT_LEDGER, FMT_LEDGER_TASK, &t, sizeof(t), NULL, 0);
}

static inline void mk_comm(struct mk *d, uint32_t key, uint64_t ns, const char *comm)
{
	struct fmt_comm c = {.key = key, .ns = ns};

	memcpy(c.comm, comm, strnlen(comm, sizeof(c.comm)));
	mk_item(d, FMT_LEDGER, FMT_LEDGER_COMM, &c, sizeof(c), NULL, 0);
}

static inline void mk_path(struct mk *d, uint32_t id, const char *path)
{
	struct fmt_path p = {.id = id, .build_id_bytes = 3, .build_id = {1, 2, (uint8_t)id}};

	mk_item(d, FMT_LEDGER, FMT_LEDGER_PATH, &p, sizeof(p), path, strlen(path));
}

static inline void mk_map(struct mk *d, const struct fmt_map *m)
{
	mk_item(d, FMT_LEDGER, FMT_LEDGER_MAP, m, sizeof(*m), NULL, 0);
}

/* A set of namespaces: inodes from `first` on, of all kinds. */
static inline void mk_set(struct mk *d, uint32_t id, uint64_t first)
{
	struct fmt_namespaces f = {.id = id, .nr = 7};
	struct fmt_namespace v[7];

	for (uint32_t i = 0; i < 7; i++)
		v[i] = (struct fmt_namespace){.kind = i, .dev = 4, .ino = first + i};
	mk_item(d, FMT_LEDGER, FMT_LEDGER_NAMESPACES, &f, sizeof(f), v, sizeof(v));
}

/* `kind`: FMT_LEDGER_TASK_NS or FMT_LEDGER_TASK_CGROUP. */
static inline void mk_stay(struct mk *d, uint16_t kind, uint32_t key, uint64_t ns, uint32_t what)
{
	struct fmt_stay f = {.key = key, .what = what, .ns = ns};

	mk_item(d, FMT_LEDGER, kind, &f, sizeof(f), NULL, 0);
}

/* ---- symbols ---- */

/* The image has the build-id of mk_path(path_id), or none with path_id 0. */
static inline void mk_image(struct mk *d, uint32_t id, uint8_t kind, uint32_t key, uint8_t path_id,
			    const char *path)
{
	struct fmt_image f = {.id = id, .kind = kind, .key = key};

	if (path_id) {
		f.build_id_bytes = 3;
		memcpy(f.build_id, (uint8_t[]){1, 2, path_id}, 3);
	}
	mk_item(d, FMT_SYMBOLS, FMT_SYM_IMAGE, &f, sizeof(f), path, strlen(path));
}

static inline void mk_function(struct mk *d, uint32_t image, uint64_t start, uint64_t bytes,
			       const char *name)
{
	struct fmt_function f = {.image = image, .start = start, .bytes = bytes};

	mk_item(d, FMT_SYMBOLS, FMT_SYM_FUNCTION, &f, sizeof(f), name, strlen(name));
}

static inline void mk_place(struct mk *d, uint32_t image, uint64_t at, uint32_t depth,
			    uint32_t line, const char *name, const char *file)
{
	struct fmt_place f = {.image = image, .depth = depth, .at = at, .line = line};
	char text[256];
	int n = snprintf(text, sizeof(text), "%s%c%s", name, '\0', file);

	f.function_bytes = (uint32_t)strlen(name) + 1;
	mk_item(d, FMT_SYMBOLS, FMT_SYM_PLACE, &f, sizeof(f), text, (size_t)n);
}

/* `initial` is f.initial_bytes long. */
static inline void mk_rule(struct mk *d, struct fmt_unwind f, const void *initial,
			   const void *program, size_t program_bytes)
{
	uint8_t text[256];

	memcpy(text, initial, f.initial_bytes);
	if (program_bytes)
		memcpy(text + f.initial_bytes, program, program_bytes);
	mk_item(d, FMT_SYMBOLS, FMT_SYM_UNWIND, &f, sizeof(f), text,
		f.initial_bytes + program_bytes);
}

/* ---- records ---- */

/* Records of a ring, oldest first. */
struct mk_records {
	struct buf bytes;
	uint32_t nr;
};

/* Appends a whole record: header and `body`, padded to 8 bytes. */
static inline void mk_record(struct mk_records *r, uint32_t type, uint16_t misc, const void *body,
			     size_t n)
{
	size_t size = align_up(sizeof(struct perf_event_header) + n, 8);
	struct perf_event_header h = {type, misc, (uint16_t)size};
	static const uint8_t zeros[8];

	MK_OK(buf_put(&r->bytes, &h, sizeof(h)));
	MK_OK(buf_put(&r->bytes, body, n));
	MK_OK(buf_put(&r->bytes, zeros, size - sizeof(h) - n));
	r->nr++;
}

/* A sample of TIME | RAW, with the bytes of a tracepoint. */
static inline void mk_sample(struct mk_records *r, uint64_t time, const void *raw, uint32_t n)
{
	struct buf b = {0};

	MK_OK(buf_put(&b, &time, 8));
	MK_OK(buf_put(&b, &n, 4));
	MK_OK(buf_put(&b, raw, n));
	mk_record(r, PERF_RECORD_SAMPLE, 0, b.p, b.len);
	buf_free(&b);
}

/* The format of the smallest tracepoint: common fields and a number. */
static const char mk_number_format[] =
	"name: value\nID: 300\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:unsigned int value;\toffset:8;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"value=%u\", REC->value\n";

struct mk_raw {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	uint32_t value;
};

static inline void mk_number(struct mk_records *r, uint64_t time, uint16_t type, int32_t pid,
			     uint32_t value)
{
	struct mk_raw raw = {.type = type, .pid = pid, .value = value};

	mk_sample(r, time, &raw, sizeof(raw));
}

/* PERF_RECORD_LOST in a channel of TIME | RAW: its sample_id is the time alone. */
static inline void mk_lost(struct mk_records *r, uint64_t time, uint64_t id, uint64_t lost)
{
	uint64_t body[] = {id, lost, time};

	mk_record(r, PERF_RECORD_LOST, 0, body, sizeof(body));
}

/* The records newest first, as in the ring; the caller frees them. */
static inline struct buf mk_reversed(const struct mk_records *r)
{
	struct bytes all = {r->bytes.p, r->bytes.len};
	struct buf out = {0};
	size_t end = all.len;

	MK_OK(buf_reserve(&out, all.len + 1));
	out.len = all.len;
	for (size_t off = 0; off < all.len;) {
		struct perf_event_header h;

		assert(record_at(all, off, &h));
		end -= h.size;
		memcpy(out.p + end, all.p + off, h.size);
		off += h.size;
	}
	return out;
}

/*
 * Writes one block of a ring, packed if `layout` is not NULL. The caller gives first_ns and
 * last_ns. Returns the ring_off of the next older block.
 */
static inline uint64_t mk_block_as(struct mk *d, const struct record_layout *layout, uint32_t ring,
				   uint64_t ring_off, uint64_t first_ns, uint64_t last_ns,
				   const struct mk_records *r)
{
	struct buf b = mk_reversed(r);
	struct bytes piece = {b.p, b.len}, payload = piece;
	struct packer *p = NULL;
	struct writer_run run = {
		.ring = ring,
		.encoding = layout ? FMT_ENC_PACKED : FMT_ENC_RAW,
		.content_bytes = (uint32_t)b.len,
		.nr_records = r->nr,
		.first_ns = first_ns,
		.last_ns = last_ns,
		.ring_off = ring_off,
	};

	if (layout) {
		MK_OK(packer_new(&p, NULL));
		MK_OK(pack(p, layout, &piece, 1, &payload));
	}
	MK_OK(writer_records(d->w, &run, &payload, 1));
	packer_free(p);
	buf_free(&b);
	return ring_off + r->bytes.len;
}

/* The same, not packed. */
static inline uint64_t mk_block(struct mk *d, uint32_t ring, uint64_t ring_off, uint64_t first_ns,
				uint64_t last_ns, const struct mk_records *r)
{
	return mk_block_as(d, NULL, ring, ring_off, first_ns, last_ns, r);
}

static inline void mk_records_free(struct mk_records *r)
{
	buf_free(&r->bytes);
	r->nr = 0;
}

/* ---- reading it back ---- */

static inline void mk_finish(struct mk *d)
{
	struct stat st;
	uint64_t n;

	MK_OK(writer_finish(d->w, &n, NULL));
	assert(!fstat(d->fd, &st));
	d->file_bytes = (size_t)st.st_size;
	d->file = malloc(d->file_bytes);
	assert(d->file && pread(d->fd, d->file, d->file_bytes, 0) == (ssize_t)d->file_bytes);
}

static inline struct reader *mk_open(struct mk *d, bool damaged)
{
	struct reader *r = NULL;
	struct err err = ERR_INIT;

	if (reader_open_bytes((struct bytes){d->file, d->file_bytes}, damaged, &r, &err)) {
		fprintf(stderr, "# %s\n", err.what);
		abort();
	}
	return r;
}

static inline struct reader *mk_end(struct mk *d)
{
	mk_finish(d);
	return mk_open(d, false);
}

static inline struct meta *mk_meta(struct reader *r)
{
	struct meta *m = NULL;

	MK_OK(meta_load(r, &m, NULL));
	return m;
}

/* Inverts a byte of the payload of block `i`, so that its hash no longer matches. */
static inline void mk_damage(struct mk *d, struct reader *r, size_t i)
{
	d->file[reader_block(r, i)->offset + sizeof(struct fmt_block) + 8] ^= 0xff;
}

static inline void mk_close(struct mk *d, struct reader *r)
{
	reader_close(r);
	writer_free(d->w);
	close(d->fd);
	free(d->file);
}
