/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * Writes the inputs of other tests:
 *
 *	tool_seed dump FILE		a small whole dump
 *	tool_seed aux FILE [RING]	one with AUX areas; that of RING keeps only the newest third
 *	tool_seed seeds DIR		inputs for fuzz_reader and fuzz_view, one file each
 *	tool_seed from DUMP DIR		the same, made of the beginnings of a real dump's blocks
 */
#include "tests/fuzz/fuzz_seed.h"
#include "tests/helpers/mkaux.h"
#include "tests/helpers/mkpt.h"
#include "tests/helpers/small_dump.h"

#include "dump/file/reader.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>

static void save(const char *dir, const char *name, int kind, struct bytes b)
{
	uint8_t first = (uint8_t)kind;
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
	f = fopen(path, "w");
	if (!f || (kind >= 0 && fwrite(&first, 1, 1, f) != 1) ||
	    fwrite(b.p, 1, b.len, f) != b.len || fclose(f))
		err(1, "%s", path);
}

/* One sample with every field that a reader parses. */
static size_t full_sample(uint8_t *to)
{
	uint64_t w[] = {
		0,
		99,
		0xffff0000,
		7ull << 32 | 7,
		4242,
		0xadd7,
		99,
		98,
		1,
		1000, /* last word up to PERIOD */
		2,
		0xc1,
		0xc2, /* CALLCHAIN */
		(uint64_t)SMALL_TRACEPOINT << 32 | 12,
		7, /* RAW: 4 + 12 */
		2,
		0xaa,
		0xbb, /* REGS_USER */
		16,
		0x3736353433323130,
		0x6665646362613938,
		10, /* STACK_USER */
	};
	struct perf_event_header h = {.type = PERF_RECORD_SAMPLE, .size = sizeof(w)};

	memcpy(w, &h, sizeof(h));
	memcpy(to, w, sizeof(w));
	return sizeof(w);
}

static size_t comm_record(uint8_t *to)
{
	/* pid and tid, comm, then TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER */
	uint64_t w[] = {0, 7ull << 32 | 7, 0x6d6d6f63, 7ull << 32 | 7, 4243, 99, 98, 1, 99};
	struct perf_event_header h = {.type = PERF_RECORD_COMM, .size = sizeof(w)};

	memcpy(w, &h, sizeof(h));
	memcpy(to, w, sizeof(w));
	return sizeof(w);
}

/* A dump whose samples have all fields; free .p. */
static struct bytes rich_dump(void)
{
	static const uint64_t type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				     PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				     PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
				     PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
				     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.sample_type = type,
		.sample_regs_user = 3,
		.sample_id_all = 1,
	};
	struct fmt_channel c = {.sample_type = type, .regs_user = 3};
	struct fmt_event e = {.tracepoint = SMALL_TRACEPOINT, .attr_bytes = sizeof(attr)};
	struct fmt_event_id id = {.id = 99};
	struct writer_options opt = {.max_blocks = 64};
	uint8_t records[4096];
	size_t n = full_sample(records);
	struct writer_run run = {.encoding = FMT_ENC_RAW, .nr_records = 3};
	struct bytes piece = {records, 0}, file;
	struct writer *w;
	uint64_t bytes;
	int fd = small_fd();

	n += comm_record(records + n);
	n += full_sample(records + n);
	piece.len = n;
	run.content_bytes = (uint32_t)n;
	SMALL_OK(writer_new(&opt, &w, NULL));
	SMALL_OK(writer_begin(w, fd, 1, NULL));
	SMALL_OK(writer_section(w, FMT_CHANNELS));
	SMALL_OK(writer_item(w, FMT_CHANNEL, &c, sizeof(c), "cpu", 3, NULL));
	SMALL_OK(writer_item(w, FMT_EVENT, &e, sizeof(e), &attr, sizeof(attr), NULL));
	SMALL_OK(writer_item(w, FMT_EVENT_ID, &id, sizeof(id), NULL, 0, NULL));
	small_windows(w, 1);
	SMALL_OK(writer_records(w, &run, &piece, 1));
	SMALL_OK(writer_finish(w, &bytes, NULL));
	writer_free(w);
	file = small_slurp(fd);
	close(fd);
	return file;
}

/* ---- a dump for script and info ---- */

#define TP_VIEW 300
#define HIT_NS	2000000000ull

/* One field of each kind, and a print fmt with each helper that kernels use. */
static const char view_format[] =
	"name: demo\nID: 300\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int num;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned int flags;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[8];\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] path;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:u8 addr[4];\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u16[] list;\toffset:40;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"n=%d %3.5u %#llx %s %s f=%s %s %s %pI4 %pK l=%s %%\", REC->num, "
	"REC->flags & ~0x7fU, (unsigned long long)REC->ptr >> 4, REC->comm, __get_str(path), "
	"REC->flags ? __print_flags(REC->flags, \"|\", { 0x1, \"A\" }, { 0x4, \"B\" }) : \"none\", "
	"__print_symbolic(REC->num, { -3, \"three\" }, { (1 << 2), \"four\" }), "
	"__print_hex(REC->addr, 4), REC->addr, REC->ptr, "
	"__print_array(__get_dynamic_array(list), __get_dynamic_array_len(list) / 2, 2)\n";

struct view_raw {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid, num;
	uint32_t bits;
	uint64_t ptr;
	char comm[8];
	uint32_t path_at;
	uint8_t addr[4];
	uint32_t list_at;
	char path[8];
	uint16_t list[2];
};

#define CONTAINER_ID "0123456789abcdef0123456789abcdef"

static void view_ledger(struct mk *d)
{
	static const char names[] = CONTAINER_ID "\0docker\0shop\0pod\x1b[2J\0app";
	struct fmt_namespaces none = {.id = 1};

	mk_task(d, 1, 10, 10, 1, 0, 0);
	mk_comm(d, 1, 0, "alpha");
	mk_comm(d, 1, HIT_NS - 500, "omega\x1b[2J");
	mk_task(d, 2, 11, 10, 1, 5, HIT_NS);
	mk_task(d, 3, 11, 11, 10, HIT_NS, 0);
	mk_path(d, 1, "/usr/lib/lib\ndemo.so");
	mk_item(d, FMT_LEDGER, FMT_LEDGER_NAMESPACES, &none, sizeof(none), NULL, 0);
	mk_stay(d, FMT_LEDGER_TASK_NS, 1, 0, 1);
	mk_path(d, 2, "/kubepods/pod" CONTAINER_ID "/" CONTAINER_ID "/a");
	mk_stay(d, FMT_LEDGER_TASK_CGROUP, 1, 0, 2);
	mk_item(d, FMT_CGROUPS, FMT_CGROUP_NAMES, NULL, 0, names, sizeof(names));
	for (uint32_t i = 0; i < 4; i++)
		mk_map(d, &(struct fmt_map){.key = 1,
					    .path = 1,
					    .start = 0x7000 + i * 0x800,
					    .end = 0x9000 + i * 0x800,
					    .pgoff = 0x100,
					    .ns = i * 100});
}

static void view_symbols(struct mk *d)
{
	mk_image(d, 0, FMT_IMAGE_KERNEL, 0, 0, "[kernel.kallsyms]");
	mk_function(d, 0, (uint64_t)-0x2000, 0x1800, "do_sys_\x1bpoll");
	mk_image(d, 1, FMT_IMAGE_FILE, 0, 1, "/usr/lib/lib\ndemo.so");
	mk_function(d, 1, 0x100, 0x1000, "_ZN4demo4workEv");
	mk_place(d, 1, 0x110, 0, 7, "inner", "demo.h");
	mk_place(d, 1, 0x110, 1, 70, "_ZN4demo4workEv", "demo.c");
	mk_image(d, 2, FMT_IMAGE_TASK, 1, 0, "/tmp/perf-10.map");
	mk_function(d, 2, 0x9000, 0x100, "LazyCompile:~work");
}

static void view_records(struct mk *d)
{
	struct view_raw raw = {
		.type = TP_VIEW,
		.pid = 10,
		.num = -3,
		.bits = 5,
		.ptr = 0xffff888000000000,
		.comm = "worker",
		.path_at = offsetof(struct view_raw, path) | 8u << 16,
		.addr = {10, 0, 0, 1},
		.list_at = offsetof(struct view_raw, list) | 4u << 16,
		.path = "/bin/ls",
		.list = {1, 65535},
	};
	uint64_t chain[] = {
		0x7010, 10 | 11ull << 32,  HIT_NS, 0xdead, 1, 4, PERF_CONTEXT_KERNEL,
		~0xfff, PERF_CONTEXT_USER, 0x7010, /* IP to CALLCHAIN */
	};
	struct mk_records a = {.nr = 0}, b = {.nr = 0};

	for (uint64_t i = 0; i < 3; i++)
		mk_sample(&a, HIT_NS - 1000 + i, &raw, sizeof(raw));
	mk_lost(&a, HIT_NS - 10, 1, 5);
	mk_record(&b, PERF_RECORD_SAMPLE, 0, chain, sizeof(chain));
	mk_block(d, 0, 0, HIT_NS - 1000, HIT_NS - 10, &a);
	mk_block(d, 1, 0, HIT_NS, HIT_NS, &b);
	mk_records_free(&a);
	mk_records_free(&b);
}

#define TP_DELIVER 301

static const char deliver_format[] =
	"name: signal_deliver\nID: 301\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int sig;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int errno;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:int code;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long sa_handler;\toffset:24;\tsize:8;\tsigned:0;\n\n"
	"print fmt: \"sig=%d\", REC->sig\n";

/* The trigger: thread 7 crashes. Thread 10 is in the core file too. */
static void view_trigger(struct mk *d)
{
	static const uint64_t deliver =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW;
	static const uint64_t thread = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN;
	const uint64_t began = HIT_NS - 5000, chain[] = {1, 0x7010};
	const struct {
		uint32_t pid, tid;
		uint64_t ns, chain[2];
		uint32_t raw_bytes;
		uint16_t type, flags;
		int32_t raw_pid, sig, error, code, pad;
		uint32_t handler[2];
	} __attribute__((packed))
	met = {7, 7, HIT_NS, {chain[0], chain[1]}, 36, TP_DELIVER, 0, 7, 11, 0, 1, 0, {0, 0}};
	const struct {
		uint32_t pid, tid;
		uint64_t ns, chain[2];
	} beside = {10, 10, HIT_NS, {chain[0], chain[1]}};
	struct mk_records a = {.nr = 0}, b = {.nr = 0};

	mk_item(d, FMT_TRIGGER, FMT_TRIGGER_BEGAN, &began, sizeof(began), NULL, 0);
	mk_text(d, FMT_TRIGGER, FMT_TRIGGER_COMM, "a\x1b[1mb");
	mk_channel(d, 2, "trigger", deliver);
	mk_channel(d, 3, "trigger", thread);
	mk_event(d, 2, 2, "signal:signal_deliver", TP_DELIVER, deliver);
	mk_event(d, 3, 3, "crash:thread", 0, thread);
	mk_format(d, TP_DELIVER, "signal", deliver_format);
	for (uint32_t i = 2; i < 4; i++)
		mk_window(d, &(struct fmt_window){.ring = i,
						  .channel = i,
						  .cpu = -1,
						  .tid = -1,
						  .nr_records = 1,
						  .first_ns = HIT_NS,
						  .last_ns = HIT_NS,
						  .flags = FMT_WINDOW_TRIGGER});
	mk_record(&a, PERF_RECORD_SAMPLE, 0, &met, sizeof(met));
	mk_record(&b, PERF_RECORD_SAMPLE, 0, &beside, sizeof(beside));
	mk_block(d, 2, 0, HIT_NS, HIT_NS, &a);
	mk_block(d, 3, 0, HIT_NS, HIT_NS, &b);
	mk_records_free(&a);
	mk_records_free(&b);
}

static void view_threads(struct mk *d)
{
	static const char texts[] = "unix_stream_read_generic\0socket:[9]\0unix\0@a\x1b[2J\0/b\n";
	const struct fmt_thread_state f = {
		.ns = HIT_NS + 500,
		.tid = 7,
		.pid = 7,
		.state = 'S',
		.flags = FMT_THREAD_SCHED | FMT_THREAD_SYSCALL | FMT_THREAD_FUTEX,
		.fd = 3,
		.stop_signal = 19,
		.tracer_pid = 8,
		.futex_owner = 7,
		.peers = {8},
		.nr_peers = 5,
	};

	mk_threads(d, HIT_NS + 400, HIT_NS + 600, 2);
	mk_thread(d, &f, 3, texts, sizeof(texts));
}

/* A dump with everything that script and info show; free .p. */
static struct bytes view_dump(void)
{
	static const uint64_t counter = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD |
					PERF_SAMPLE_CALLCHAIN;
	static const uint64_t tracepoint = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
	struct mk d = mk_begin();

	mk_host(&d);
	mk_trigger(&d, HIT_NS);
	mk_channel(&d, 0, "sched", tracepoint);
	mk_channel(&d, 1, "cpu", counter);
	mk_event(&d, 0, 0, "sys:demo", TP_VIEW, tracepoint);
	mk_event(&d, 1, 1, "cpu-clock", 0, counter);
	mk_format(&d, TP_VIEW, "sys", view_format);
	mk_cpu_window(&d, 0, 0, 0);
	mk_cpu_window(&d, 1, 1, 1);
	mk_stats(&d);
	view_threads(&d);
	view_ledger(&d);
	view_records(&d);
	view_trigger(&d);
	view_symbols(&d);
	mk_finish(&d);
	writer_free(d.w);
	close(d.fd);
	return (struct bytes){d.file, d.file_bytes};
}

/* ---- AUX areas ---- */

/* Areas of CPU 0 and 1 hold the known sequences of tool_aux: one complete, the other wrapped. */
#define AUX_AREA	16384u
#define AUX_WRITTEN_0	10003u
#define AUX_WRITTEN_1	1000019u
#define AUX_BLOCK_BYTES 5000u

static void aux_ring(struct mk *d, uint32_t ring, uint32_t channel, int32_t cpu, int32_t tid,
		     uint64_t written)
{
	uint64_t bytes = written < AUX_AREA ? written : AUX_AREA;

	mk_window(d,
		  &(struct fmt_window){.ring = ring, .channel = channel, .cpu = cpu, .tid = tid});
	mk_aux_window(d,
		      &(struct fmt_window_aux){
			      .ring = ring,
			      .event = channel,
			      .flags = FMT_AUX_COUNTING | (written > bytes ? FMT_AUX_WRAPPED : 0),
			      .nr_aux = 1,
			      .area_bytes = AUX_AREA,
			      .bytes = bytes,
			      .new_bytes = bytes,
			      .written_bytes = written,
			      .head = written,
			      .start_ns = HIT_NS - 1000,
			      .stop_ns = HIT_NS,
			      .stop_cycles = 1,
			      .stop_cycles_ns = HIT_NS,
			      .time_mult = 1,
		      });
}

/* Ring `hurt` keeps only the newest third of its area. */
static struct bytes aux_dump(uint32_t hurt)
{
	static const char *const files[] = {"type", "9", "format/tsc", "config:10", NULL};
	struct mk d = mk_begin();

	mk_host(&d);
	mk_trigger(&d, HIT_NS);
	mk_aux_channel(&d, 0, 0, "pt", "intel_pt", files);
	mk_aux_channel(&d, 1, 1, "threads", "rb_aux_count", files);
	aux_ring(&d, 0, 0, 0, -1, AUX_WRITTEN_0);
	aux_ring(&d, 1, 0, 1, -1, AUX_WRITTEN_1);
	aux_ring(&d, 2, 1, -1, 77, AUX_WRITTEN_0);
	aux_ring(&d, 3, 1, 1, -1, 0);
	mk_stats(&d);
	for (uint32_t ring = 0; ring < 3; ring++) {
		uint64_t written = ring == 1 ? AUX_WRITTEN_1 : AUX_WRITTEN_0;
		uint64_t bytes = written < AUX_AREA ? written : AUX_AREA;

		if (ring == hurt)
			mk_aux_block(&d, ring, (int)ring, written, 0, (uint32_t)bytes / 3);
		else
			mk_aux_blocks(&d, ring, ring == 2 ? -1 : (int)ring, written, bytes,
				      AUX_BLOCK_BYTES);
	}
	mk_finish(&d);
	writer_free(d.w);
	close(d.fd);
	return (struct bytes){d.file, d.file_bytes};
}

/* An Intel PT trace that decodes; t_pthard.c checks that. */
static struct bytes pt_dump(void)
{
	struct mk d = mk_pt_seed();

	mk_finish(&d);
	writer_free(d.w);
	close(d.fd);
	return (struct bytes){d.file, d.file_bytes};
}

/* ---- payloads ---- */

/* Bytes of whole records or items that fit into `max`: a payload's length has 16 bits. */
static size_t whole_ones(const struct fmt_block *h, struct bytes payload, size_t max)
{
	struct perf_event_header rec;
	struct bytes rest = payload, item;
	bool broken = false;
	uint16_t kind;
	size_t n = 0;

	if (h->section == FMT_RECORDS) {
		while (record_at(payload, n, &rec) && n + rec.size <= max)
			n += rec.size;
		return n;
	}
	if (h->section == FMT_AUX)
		return payload.len < max ? payload.len : max;
	while (reader_next_item(&rest, &kind, &item, &broken) && payload.len - rest.len <= max)
		n = payload.len - rest.len;
	return n;
}

/* Saves the unpacked payloads of a file, at most `max` bytes of each, as a FUZZ_PAYLOADS input. */
static void save_payloads(const char *dir, const char *name, struct bytes file, size_t max)
{
	struct buf all = {0}, payload = {0};
	struct reader *r;

	SMALL_OK(reader_open_bytes(file, false, &r, NULL));
	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		const struct fmt_block *h = &reader_block(r, i)->h;
		struct fuzz_payload p = {
			.section = (uint8_t)h->section,
			.encoding = h->encoding,
			.ring = (uint8_t)h->ring,
		};
		size_t n;

		SMALL_OK(reader_load(r, i, &payload, NULL));
		n = whole_ones(h, (struct bytes){payload.p, payload.len}, max);
		p.bytes[0] = (uint8_t)n;
		p.bytes[1] = (uint8_t)(n >> 8);
		SMALL_OK(buf_put(&all, &p, sizeof(p)));
		SMALL_OK(buf_put(&all, payload.p, n));
	}
	save(dir, name, FUZZ_PAYLOADS, (struct bytes){all.p, all.len});
	reader_close(r);
	buf_free(&all);
	buf_free(&payload);
}

static void save_from(const char *path, const char *dir)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct bytes file;

	if (fd < 0)
		err(1, "%s", path);
	file = small_slurp(fd);
	close(fd);
	save(dir, "real-file", FUZZ_FILE, file);
	save(dir, "real-repaired", FUZZ_REPAIRED, file);
	save_payloads(dir, "real-payloads-512", file, 512);
	save_payloads(dir, "real-payloads-4096", file, 4096);
	save_payloads(dir, "real-payloads", file, UINT16_MAX);
	free((void *)file.p);
}

static void save_seeds(const char *dir)
{
	struct bytes small = small_dump(), rich = rich_dump(), view = view_dump();
	struct bytes aux = aux_dump(1), pt = pt_dump();

	save(dir, "small-file", FUZZ_FILE, small);
	save(dir, "small-repaired", FUZZ_REPAIRED, small);
	save(dir, "small-cut", FUZZ_REPAIRED, (struct bytes){small.p, small.len * 2 / 3});
	save(dir, "small-no-trailer", FUZZ_FILE, (struct bytes){small.p, small.len - 64});
	save(dir, "small-salvage", FUZZ_FILE | FUZZ_SALVAGE, small);
	save(dir, "rich-salvage", FUZZ_REPAIRED | FUZZ_SALVAGE, rich);
	save(dir, "rich-file", FUZZ_FILE, rich);
	save(dir, "rich-repaired", FUZZ_REPAIRED, rich);
	save(dir, "view-file", FUZZ_FILE, view);
	save(dir, "view-repaired", FUZZ_REPAIRED, view);
	save_payloads(dir, "small-payloads", small, UINT16_MAX);
	save_payloads(dir, "rich-payloads", rich, UINT16_MAX);
	save_payloads(dir, "view-payloads", view, UINT16_MAX);
	free((void *)small.p);
	free((void *)rich.p);
	save(dir, "aux-repaired", FUZZ_REPAIRED, aux);
	save_payloads(dir, "aux-payloads", aux, 512);
	save(dir, "pt-repaired", FUZZ_REPAIRED, pt);
	save_payloads(dir, "pt-payloads", pt, 2048);
	free((void *)pt.p);
	free((void *)view.p);
	free((void *)aux.p);
}

int main(int argc, char **argv)
{
	struct bytes file;

	if (argc == 3 && !strcmp(argv[1], "seeds")) {
		save_seeds(argv[2]);
		return 0;
	}
	if (argc == 3 && !strcmp(argv[1], "dump")) {
		file = small_dump();
		save(NULL, argv[2], -1, file);
		free((void *)file.p);
		return 0;
	}
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "aux")) {
		file = aux_dump(argc == 4 ? (uint32_t)atoi(argv[3]) : UINT32_MAX);
		save(NULL, argv[2], -1, file);
		free((void *)file.p);
		return 0;
	}
	if (argc == 4 && !strcmp(argv[1], "from")) {
		save_from(argv[2], argv[3]);
		return 0;
	}
	fputs("usage: tool_seed dump FILE | tool_seed seeds DIR | tool_seed from DUMP DIR\n",
	      stderr);
	return 2;
}
