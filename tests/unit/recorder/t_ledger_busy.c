/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * While a dump is being written from the ledger, which may wait for a disk, the sideband is drained
 * all the same: no thread waits, nothing changes in what is written, nothing is lost.
 */
#include "recorder/capture/sideband.h"

#include "dump/base/err.h"
#include "dump/file/writer.h"
#include "trigger/kernel/clock.h"
#include "tests/helpers/side_records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define RING_BYTES 65536

struct fixture {
	struct ledger *ledger;
	struct sideband *sideband;
	struct perf_event_mmap_page page;
	uint8_t data[RING_BYTES];
	struct ring ring;
	bool in_ledger;
	int nr_asked;
};

static void put(struct fixture *x, struct bytes b)
{
	for (size_t i = 0; i < b.len; i++)
		x->data[(x->page.data_head + i) % RING_BYTES] = b.p[i];
	x->page.data_head += b.len;
}

static void drain(struct fixture *x)
{
	struct ring *rings[] = {&x->ring};
	uint64_t lost;

	assert_int_equal(sideband_drain(x->sideband, rings, 1, &lost, NULL), 0);
	assert_int_equal(x->page.data_tail, x->page.data_head); /* the kernel has its room again */
}

static void assert_comm(struct fixture *x, const char *want)
{
	char comm[16];

	assert_true(ledger_comm(x->ledger, 7, clock_ns(), comm));
	assert_string_equal(comm, want);
}

/* The disk, in the middle of the LEDGER section. */
static int room(void *ctx, uint64_t file_bytes, uint64_t bytes, struct err *err)
{
	struct fixture *x = ctx;
	struct ledger_stats stats;
	struct side_record rec;
	char name[16];

	if (!x->in_ledger)
		return 0;
	assert_false(ledger_begin(x->ledger));
	snprintf(name, sizeof(name), "new%d", ++x->nr_asked);
	put(x, side_comm(&rec, clock_ns(), 7, 7, name, false));
	drain(x);
	assert_comm(x, "old");
	ledger_stats(x->ledger, &stats);
	assert_int_equal(stats.nr_tasks, 5000);
	return 0;
}

static void what_comes_while_it_is_written_is_taken_in_afterwards(void **state)
{
	struct fixture *x = test_calloc(1, sizeof(*x));
	struct writer_options wo = {.max_blocks = 4096, .room = room, .ctx = x};
	struct side_record rec;
	struct writer *w;
	int fd = memfd_create("dump", MFD_CLOEXEC);
	char want[16];

	x->ring = (struct ring){.page = &x->page, .data = x->data, .size = RING_BYTES, .fd = -1};
	assert_int_equal(ledger_new(64 << 20, &x->ledger, NULL), 0);
	assert_int_equal(sideband_new(x->ledger, &side_layout, &x->sideband, NULL), 0);
	for (uint32_t pid = 7; pid < 5007; pid++)
		ledger_record(x->ledger, side_comm(&rec, 1000, pid, pid, "old", true),
			      &side_layout);
	assert_int_equal(writer_new(&wo, &w, NULL), 0);
	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	x->in_ledger = true;
	ledger_write(x->ledger, w, NULL, 0, clock_ns());
	assert_int_equal(writer_error(w, NULL), 0);
	x->in_ledger = false;
	assert_true(x->nr_asked > 0);
	assert_comm(x, "old");
	drain(x);
	snprintf(want, sizeof(want), "new%d", x->nr_asked);
	assert_comm(x, want);
	writer_free(w);
	sideband_free(x->sideband);
	ledger_free(x->ledger);
	close(fd);
	test_free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_comes_while_it_is_written_is_taken_in_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
