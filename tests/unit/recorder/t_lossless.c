/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * The bytes in a dump are the bytes that the kernel wrote: records this process's own page faults
 * and clock ticks for real, freezes, copies the frozen rings as they lie, has them dumped, and
 * compares. Needs no tracefs: software events only. Round after round, so that banks are used
 * again, wrap, and are cut.
 */
#include "recorder/writer/dumper.h"

#include "dump/file/reader.h"
#include "trigger/kernel/caps.h"
#include "trigger/kernel/clock.h"
#include "recorder/writer/host_info.h"
#include "recorder/capture/sideband.h"

#include <dirent.h>
#include <linux/membarrier.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* A frozen ring as it lay in memory. */
struct copy {
	uint8_t *data;
	uint64_t head, size, armed_head;
};

struct bench {
	struct caps caps;
	struct config config;
	struct target target;
	struct recording *recording;
	struct ledger *ledger;
	struct sideband *sideband;
	struct host_info *host;
	struct store *store;
	struct dumper *dumper;
	char dir[64];
	uint32_t nr;
};

static void check(int rc, struct err *err)
{
	if (rc)
		fail_msg("%s", err->what);
}

static struct bench *setup(const char *channel, unsigned nr_banks)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	struct config_channel cc = {0};
	struct err err = ERR_INIT;
	uint32_t self = (uint32_t)getpid();

	strcpy(b->dir, "/tmp/ringback-test.XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	b->config.pids = &self;
	b->config.nr_pids = 1;
	b->config.nr_banks = nr_banks;
	caps_probe(&b->caps);
	check(config_channel_parse(channel, &cc, &err), &err);
	check(target_open(&b->config, &b->caps, 0, &b->target, &err), &err);
	check(recording_open(&cc, 1, nr_banks, NULL, &b->caps, &b->target, NULL, &b->recording,
			     &err),
	      &err);
	config_channel_free(&cc);
	check(ledger_new(8 << 20, &b->ledger, &err), &err);
	check(sideband_new(b->ledger, recording_sideband_layout(b->recording), &b->sideband, &err),
	      &err);
	check(host_info_new(&b->caps, &b->target, "test", &b->host, &err), &err);
	check(store_open(&(struct store_options){.dir = b->dir}, &b->store, &err), &err);
	check(dumper_new(&(struct dumper_options){.recording = b->recording,
						  .ledger = b->ledger,
						  .host = b->host,
						  .store = b->store},
			 &b->dumper, &err),
	      &err);
	assert_int_equal(recording_start(b->recording, &err), 0);
	return b;
}

static void teardown(struct bench *b)
{
	char cmd[128];

	dumper_free(b->dumper);
	store_close(b->store);
	host_info_free(b->host);
	sideband_free(b->sideband);
	recording_close(b->recording);
	ledger_free(b->ledger);
	target_close(&b->target);
	snprintf(cmd, sizeof(cmd), "rm -r %s", b->dir);
	assert_int_equal(system(cmd), 0);
	test_free(b);
}

/* Touches fresh pages: one page-fault sample each. */
static void fault(size_t pages)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *p = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	assert_true(p != MAP_FAILED);
	madvise(p, pages * page, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < pages; i++)
		p[i * page] = 1;
	munmap(p, pages * page);
}

static struct copy *copy_rings(struct bench *b, size_t *nr)
{
	struct copy *v;

	*nr = recording_nr_banks(b->recording);
	v = test_calloc(*nr, sizeof(*v));
	for (size_t i = 0; i < *nr; i++) {
		const struct ring *r = &recording_banks(b->recording, i)->frozen->ring;

		v[i] = (struct copy){test_malloc(r->size), ring_head(r), r->size, r->armed_head};
		memcpy(v[i].data, r->data, r->size);
	}
	return v;
}

static void wait_phase(struct bench *b, enum dumper_phase phase)
{
	struct pollfd p = {.fd = dumper_fd(b->dumper), .events = POLLIN};

	assert_int_equal(poll(&p, 1, 30000), 1);
	assert_int_equal(dumper_poll(b->dumper), phase);
}

static void make_dump(struct bench *b, struct copy **copies, size_t *nr, char path[4096])
{
	struct dumper_job job = {.nr = ++b->nr, .hit_ns = clock_ns(), .rule_name = "test"};
	struct dumper_totals totals = {0};
	struct dumper_result *result = test_calloc(1, sizeof(*result));

	recording_freeze(b->recording, &job.freeze);
	/* No writer is in a ring any more; the dumper will ask for itself. */
	assert_int_equal(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0), 0);
	*copies = copy_rings(b, nr);
	dumper_start(b->dumper, &job);
	wait_phase(b, DUMPER_SEAL);
	dumper_seal(b->dumper, NULL, 0, &totals);
	wait_phase(b, DUMPER_DONE);
	dumper_take(b->dumper, result);
	check(result->rc, &result->err);
	snprintf(path, 4096, "%s", result->path);
	test_free(result);
}

/* Each RECORDS block at its place of the ring; together the whole window. */
static uint64_t compare(const char *path, const struct copy *copies, size_t nr)
{
	struct reader *r;
	struct err err = ERR_INIT;
	struct buf buf = {0};
	uint64_t bytes = 0, *reached = test_calloc(nr, sizeof(*reached));

	check(reader_open(path, &r, &err), &err);
	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		const struct fmt_block h = reader_block(r, i)->h;
		const struct copy *c;

		if (h.section != FMT_RECORDS)
			continue;
		assert_true(h.ring < nr);
		c = &copies[h.ring];
		check(reader_content(r, i, &buf, &err), &err);
		assert_int_equal(h.ring_off, reached[h.ring]);
		for (size_t k = 0; k < buf.len; k++)
			if (buf.p[k] != c->data[(c->head + h.ring_off + k) & (c->size - 1)])
				fail_msg("byte %zu of block %zu differs", k, i);
		reached[h.ring] += buf.len;
		bytes += buf.len;
	}
	/* Nothing that was whole is left out: what remains is less than a record. */
	for (size_t i = 0; i < nr; i++) {
		uint64_t written = copies[i].armed_head - copies[i].head;
		uint64_t held = written < copies[i].size ? written : copies[i].size;

		if (written <= copies[i].size)
			assert_int_equal(reached[i], written);
		else
			assert_true(held - reached[i] < 4096);
	}
	buf_free(&buf);
	reader_close(r);
	test_free(reached);
	return bytes;
}

static void rounds(const char *channel, unsigned nr_banks, const size_t *pages, size_t nr_rounds)
{
	struct bench *b = setup(channel, nr_banks);

	for (size_t i = 0; i < nr_rounds; i++) {
		struct copy *copies;
		size_t nr;
		char path[4096];

		fault(pages[i]);
		make_dump(b, &copies, &nr, path);
		assert_true(compare(path, copies, nr) >= (pages[i] ? 1000 : 0));
		while (nr)
			test_free(copies[--nr].data);
		test_free(copies);
		unlink(path);
	}
	teardown(b);
}

static void every_byte_comes_back(void **state)
{
	static const size_t pages[] = {100, 3000, 9000, 50, 20000, 1, 4000, 100};

	rounds("faults:page-faults/period=1/;size=64K", 2, pages + 0, 5);
	rounds("faults:page-faults/period=1/;size=64K", 1, pages + 0, 5);
}

static void every_byte_comes_back_with_stacks(void **state)
{
	static const size_t pages[] = {100, 5000, 200, 20000};

	rounds("faults:page-faults/period=1/;size=128K;stack=fp", 2, pages, 4);
	rounds("faults:page-faults/period=1/;size=512K;stack=dwarf:4096", 2, pages, 4);
}

static void events_of_two_kinds_in_a_ring_come_back(void **state)
{
	static const size_t pages[] = {1000, 8000, 30000};

	rounds("both:page-faults/period=1/,cpu-clock/freq=999/;size=64K", 2, pages, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_comes_back),
		cmocka_unit_test(every_byte_comes_back_with_stacks),
		cmocka_unit_test(events_of_two_kinds_in_a_ring_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
