/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * Writes what other tests start from:
 *
 *	tool_seed dump FILE	a small whole dump
 *	tool_seed seeds DIR	inputs for fuzz_reader, one file each
 */
#include "tests/fuzz_seed.h"
#include "tests/small_dump.h"

#include "dump/reader.h"

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

/* One sample with every field that a reader takes apart. */
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
		1000, /* up to PERIOD */
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
	SMALL_OK(writer_section(w, FMT_CHANNELS, NULL));
	SMALL_OK(writer_item(w, FMT_CHANNEL, &c, sizeof(c), "cpu", 3, NULL, NULL));
	SMALL_OK(writer_item(w, FMT_EVENT, &e, sizeof(e), &attr, sizeof(attr), NULL, NULL));
	SMALL_OK(writer_item(w, FMT_EVENT_ID, &id, sizeof(id), NULL, 0, NULL, NULL));
	small_windows(w, 1);
	SMALL_OK(writer_records(w, &run, &piece, 1, NULL));
	SMALL_OK(writer_finish(w, &bytes, NULL));
	writer_free(w);
	file = small_slurp(fd);
	close(fd);
	return file;
}

/* A file's payloads, unpacked, as a FUZZ_PAYLOADS input. */
static void save_payloads(const char *dir, const char *name, struct bytes file)
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
			.bytes = {(uint8_t)h->payload_bytes, (uint8_t)(h->payload_bytes >> 8)},
		};

		SMALL_OK(reader_load(r, i, &payload, NULL));
		SMALL_OK(buf_put(&all, &p, sizeof(p)));
		SMALL_OK(buf_put(&all, payload.p, payload.len));
	}
	save(dir, name, FUZZ_PAYLOADS, (struct bytes){all.p, all.len});
	reader_close(r);
	buf_free(&all);
	buf_free(&payload);
}

static void save_seeds(const char *dir)
{
	struct bytes small = small_dump(), rich = rich_dump();

	save(dir, "small-file", FUZZ_FILE, small);
	save(dir, "small-repaired", FUZZ_REPAIRED, small);
	save(dir, "small-cut", FUZZ_REPAIRED, (struct bytes){small.p, small.len * 2 / 3});
	save(dir, "small-no-trailer", FUZZ_FILE, (struct bytes){small.p, small.len - 64});
	save(dir, "small-salvage", FUZZ_FILE | FUZZ_SALVAGE, small);
	save(dir, "rich-salvage", FUZZ_REPAIRED | FUZZ_SALVAGE, rich);
	save(dir, "rich-file", FUZZ_FILE, rich);
	save(dir, "rich-repaired", FUZZ_REPAIRED, rich);
	save_payloads(dir, "small-payloads", small);
	save_payloads(dir, "rich-payloads", rich);
	free((void *)small.p);
	free((void *)rich.p);
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
	fputs("usage: tool_seed dump FILE | tool_seed seeds DIR\n", stderr);
	return 2;
}
