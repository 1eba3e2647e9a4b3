/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * Draining the sideband: the order of time over rings, records that wrap, what is too young,
 * losses; on rings in memory, and once with a real event and a real child.
 */
#include "recorder/capture/sideband.h"

#include "trigger/kernel/clock.h"
#include "trigger/kernel/event.h"
#include "tests/helpers/ledger_ask.h"
#include "tests/helpers/side_records.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define RING_BYTES 65536
#define S	   1000000000ull

/* A ring that this test fills as the kernel does. */
struct fake {
	struct perf_event_mmap_page page;
	uint8_t data[RING_BYTES];
	struct ring ring;
};

static struct side_record rec;

static void fake_init(struct fake *f, uint64_t at)
{
	*f = (struct fake){.page = {.data_head = at, .data_tail = at, .data_size = RING_BYTES}};
	f->ring = (struct ring){.page = &f->page, .data = f->data, .size = RING_BYTES, .fd = -1};
}

static void put(struct fake *f, struct bytes b)
{
	assert_true(f->page.data_head + b.len - f->page.data_tail <= RING_BYTES);
	for (size_t i = 0; i < b.len; i++)
		f->data[(f->page.data_head + i) % RING_BYTES] = b.p[i];
	f->page.data_head += b.len;
}

struct fixture {
	struct ledger *ledger;
	struct sideband *sideband;
	struct fake fake[2];
	struct ring *rings[3];
	uint64_t lost;
};

static void drain(struct fixture *x)
{
	assert_int_equal(sideband_drain(x->sideband, x->rings, 3, &x->lost, NULL), 0);
}

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	if (!x || ledger_new(8 << 20, &x->ledger, NULL) ||
	    sideband_new(x->ledger, &side_layout, &x->sideband, NULL))
		return -1;
	fake_init(&x->fake[0], 0);
	fake_init(&x->fake[1], RING_BYTES - 40); /* its first record wraps */
	x->rings[0] = &x->fake[0].ring;
	x->rings[2] = &x->fake[1].ring;
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	sideband_free(x->sideband);
	ledger_free(x->ledger);
	free(x);
	return 0;
}

static void records_are_taken_in_the_order_of_time(void **state)
{
	struct fixture *x = *state;
	struct fmt_sideband_stats stats = {.nr_scans = 7};

	/* The child runs on the first CPU; its parent forked it on the second. */
	put(&x->fake[0], side_comm(&rec, 3 * S, 10, 10, "child", true));
	put(&x->fake[0], side_exit(&rec, 5 * S, 10, 10, 5));
	put(&x->fake[0], side_fork(&rec, 7 * S, 10, 10, 5, 5));
	put(&x->fake[1], side_comm(&rec, 1 * S, 5, 5, "parent", false));
	put(&x->fake[1], side_fork(&rec, 2 * S, 10, 10, 5, 5));
	put(&x->fake[1], side_comm(&rec, 6 * S, 5, 5, "renamed", false));
	drain(x);
	assert_comm(x->ledger, 10, 2 * S, "parent");
	assert_comm(x->ledger, 10, 3 * S, "child");
	assert_comm(x->ledger, 10, 7 * S, "renamed");
	assert_int_equal(x->lost, 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(x->fake[i].page.data_tail, x->fake[i].page.data_head);
	sideband_stats(x->sideband, &stats);
	assert_int_equal(stats.nr_records, 6);
	assert_int_equal(stats.nr_tasks, 3);
	assert_int_equal(stats.nr_tombstones, 1);
	assert_int_equal(stats.nr_scans, 7);
}

static void a_ring_is_drained_again_and_again(void **state)
{
	struct fixture *x = *state;
	uint64_t ns = 1;

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < 200; i++, ns++)
			put(&x->fake[i % 2],
			    side_comm(&rec, ns, 10, 10, ns % 2 ? "odd" : "even", false));
		drain(x);
	}
	assert_comm(x->ledger, 10, ns - 1, (ns - 1) % 2 ? "odd" : "even");
	assert_comm(x->ledger, 10, ns / 2, (ns / 2) % 2 ? "odd" : "even");
}

static void what_is_younger_than_the_drain_waits(void **state)
{
	struct fixture *x = *state;
	uint64_t later = clock_ns() + 5 * S;
	char comm[16];

	put(&x->fake[0], side_comm(&rec, 1 * S, 5, 5, "old", false));
	put(&x->fake[0], side_comm(&rec, later, 5, 5, "young", false));
	drain(x);
	assert_comm(x->ledger, 5, later, "old");
	assert_int_equal(x->fake[0].page.data_head - x->fake[0].page.data_tail, rec.len);
	assert_true(ledger_comm(x->ledger, 5, later, comm));
}

static void losses_are_told_once(void **state)
{
	struct fixture *x = *state;
	struct fmt_sideband_stats stats;

	put(&x->fake[0], side_lost(&rec, 1 * S, 12));
	put(&x->fake[1], side_lost(&rec, 2 * S, 30));
	drain(x);
	assert_int_equal(x->lost, 42);
	drain(x);
	assert_int_equal(x->lost, 0);
	sideband_stats(x->sideband, &stats);
	assert_int_equal(stats.nr_lost, 42);
	assert_int_equal(stats.nr_records, 0);
}

static void bytes_that_are_no_record_do_not_stop_it(void **state)
{
	struct fixture *x = *state;
	uint8_t zeros[64] = {0};

	put(&x->fake[0], side_comm(&rec, 1 * S, 5, 5, "before", false));
	put(&x->fake[0], (struct bytes){zeros, sizeof(zeros)});
	drain(x);
	put(&x->fake[0], side_comm(&rec, 2 * S, 5, 5, "after", false));
	drain(x);
	assert_comm(x->ledger, 5, 1 * S, "before");
	assert_comm(x->ledger, 5, 2 * S, "after");
}

/* ---- for real ---- */

/* What is ahead of all clocks by more than a drain can take is told as lost, so that /proc is read
 * anew; what comes after it is taken. */
static void times_that_lie_do_not_stop_it(void **state)
{
	static const uint8_t tag[8] = {1};
	struct fixture *x = *state;

	for (unsigned before = 0; before < 4; before++) {
		side_ksymbol(&rec, 1 * S, 0xffffffffc0100000, 4096, false, "bpf_prog_1_ringback");
		put(&x->fake[0], side_unwritten(&rec, before));
		side_bpf(&rec, 1 * S, 7, false, tag);
		put(&x->fake[0], side_unwritten(&rec, before));
	}
	put(&x->fake[0], side_comm(&rec, 2 * S, 10, 10, "after", false));
	drain(x);
	assert_int_equal(x->lost, 0);
	assert_comm(x->ledger, 10, 2 * S, "after");
	put(&x->fake[0], side_comm(&rec, UINT64_MAX / 2, 11, 11, "never", false));
	put(&x->fake[0], side_comm(&rec, 3 * S, 10, 10, "later", false));
	drain(x);
	assert_int_equal(x->lost, 1);
	assert_comm(x->ledger, 10, 3 * S, "later");
	assert_int_equal(x->fake[0].page.data_tail, x->fake[0].page.data_head);
}

static int child(int go)
{
	char c;

	if (read(go, &c, 1) != 1)
		_exit(1);
	if (!geteuid() && unshare(CLONE_NEWUTS))
		_exit(1);
	prctl(PR_SET_NAME, "sb-renamed");
	execl("/bin/true", "true", NULL);
	_exit(1);
}

static ino_t inode_of(const char *kind)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void a_real_child_is_followed(void **state)
{
	struct caps caps = {.clockid = true,
			    .kernel_samples = geteuid() == 0,
			    .ksymbol = true,
			    .cgroup_sideband = true,
			    .build_id = true,
			    .namespaces = geteuid() == 0};
	struct fmt_namespace v[LEDGER_MAX_NAMESPACES];
	struct record_layout layout;
	struct perf_event_attr attr;
	struct fixture *x = *state;
	struct ring ring = {0}, *rings[] = {&ring};
	uint64_t lost, from, ns;
	int go[2], fd, status;
	char path[256], comm[16];
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid)
		child(go[0]);
	sideband_attr(&caps, RING_BYTES, &attr, &layout);
	attr.disabled = 1;
	/* One event for all CPUs: a ring may be had only without inherit. */
	fd = event_open(&attr, pid, -1, -1, 0);
	assert_true(fd >= 0);
	assert_int_equal(ring_map(&ring, fd, RING_BYTES, false), 0);
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_ENABLE, 0), 0);
	from = clock_ns();
	assert_int_equal(write(go[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(sideband_drain(x->sideband, rings, 1, &lost, NULL), 0);
	ns = clock_ns();
	assert_true(ledger_comm(x->ledger, pid, ns, comm));
	assert_string_equal(comm, "true");
	for (ns = from; !ledger_comm(x->ledger, pid, ns, comm); ns += 1000)
		assert_true(ns < clock_ns());
	assert_string_equal(comm, "sb-renamed");
	if (caps.namespaces) {
		/* All of its own but the one it went into. */
		assert_int_equal(ledger_namespaces(x->ledger, pid, clock_ns(), v), 7);
		assert_int_equal(v[FMT_NS_NET].ino, inode_of("net"));
		assert_int_equal(v[FMT_NS_CGROUP].ino, inode_of("cgroup"));
		assert_int_not_equal(v[FMT_NS_UTS].ino, inode_of("uts"));
	}
	/* The program's text was mapped at some address; this test does not know which. */
	assert_false(ledger_path(x->ledger, pid, ns, 0x1000, path, sizeof(path)));
	struct ledger_stats s;
	ledger_stats(x->ledger, &s);
	assert_true(s.nr_maps >= 2);
	assert_int_equal(s.nr_tombstones, 1);
	ring_unmap(&ring);
	close(fd);
	close(go[0]);
	close(go[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_are_taken_in_the_order_of_time, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_ring_is_drained_again_and_again, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_younger_than_the_drain_waits, setup,
						teardown),
		cmocka_unit_test_setup_teardown(losses_are_told_once, setup, teardown),
		cmocka_unit_test_setup_teardown(bytes_that_are_no_record_do_not_stop_it, setup,
						teardown),
		cmocka_unit_test_setup_teardown(times_that_lie_do_not_stop_it, setup, teardown),
		cmocka_unit_test_setup_teardown(a_real_child_is_followed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
