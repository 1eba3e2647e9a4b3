/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * What outlives a recorder: sets of descriptors through a socket, the manifest of rings, and the
 * sideband's log, from which the next recorder's ledger learns; also when they are damaged.
 */
#include "recorder/capture/manifest.h"
#include "recorder/capture/sideband.h"
#include "recorder/keep/keep_set.h"
#include "recorder/keep/kept_log.h"
#include "tests/helpers/ledger_ask.h"
#include "tests/helpers/side_records.h"

#include "dump/base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LOG_BYTES (64u << 10)
#define S	  1000000000ull

static struct side_record rec;

static int open_null(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

/* ---- sets ---- */

static ino_t inode(int fd)
{
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	return st.st_ino;
}

static void a_set_arrives_in_order(void **state)
{
	struct keep_set set = {0}, got;
	int sock[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
	for (uint64_t i = 0; i < 2 * KEEP_MESSAGE_FDS + 7; i++) {
		int fd = i == 300 ? memfd_create("odd one out", MFD_CLOEXEC) : open_null();

		assert_int_equal(keep_set_add(&set, fd, i * 4096), 0);
	}
	assert_int_equal(keep_send_set(sock[0], &set), 0);
	assert_int_equal(keep_receive_set(sock[1], &got), 0);
	assert_int_equal(got.nr, set.nr);
	for (size_t i = 0; i < got.nr; i++) {
		assert_int_equal(got.v[i].map_bytes, i * 4096);
		assert_int_equal(inode(got.v[i].fd), inode(set.v[i].fd));
		assert_true(fcntl(got.v[i].fd, F_GETFD) & FD_CLOEXEC);
	}
	keep_set_close(&got);
	keep_set_close(&set);
	close(sock[0]);
	assert_int_equal(keep_receive_set(sock[1], &got), -EPIPE);
	close(sock[1]);
}

static int next_fd(void)
{
	int fd = open_null();

	close(fd);
	return fd;
}

static void a_set_that_ends_early_leaves_nothing_open(void **state)
{
	struct keep_message m = {.what = KEEP_END, .nr = 9};
	struct keep_set set = {0}, got;
	int sock[2], before;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock), 0);
	assert_int_equal(keep_set_add(&set, open_null(), 0), 0);
	before = next_fd();
	assert_int_equal(keep_send_set(sock[0], &set), 0);
	assert_int_equal(keep_receive_set(sock[1], &got), 0);
	keep_set_close(&got);
	assert_int_equal(send(sock[0], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(keep_receive_set(sock[1], &got), -EBADMSG);
	assert_int_equal(send(sock[0], &m, 8, 0), 8);
	assert_int_equal(keep_receive_set(sock[1], &got), -EBADMSG);
	m = (struct keep_message){.what = KEEP_FDS, .nr = 3};
	assert_int_equal(send(sock[0], &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(keep_receive_set(sock[1], &got), -EBADMSG);
	assert_int_equal(next_fd(), before);
	keep_set_close(&set);
	close(sock[0]);
	close(sock[1]);
}

/* ---- the manifest ---- */

/* A set with two rings, of 2 banks and 3 events each, a side of 2 events, and another descriptor. */
static struct keep_set rings_set(struct manifest **m)
{
	struct keep_set set = {0};
	const size_t nr = 2 * 6 + 2 + 1;

	assert_int_equal(manifest_new(2, 1, m), 0);
	*manifest_ring(*m, 0) =
		(struct kept_ring){.signature = 77, .cpu = 0, .nr_banks = 2, .nr_events = 3};
	*manifest_ring(*m, 1) = (struct kept_ring){
		.signature = 77, .cpu = 1, .nr_banks = 2, .nr_events = 3, .prev_paused_ns = 5};
	*manifest_side(*m, 0) = (struct kept_side){.signature = 99, .cpu = 1, .nr_events = 2};
	assert_int_equal(keep_set_add(&set, dup(manifest_fd(*m)), 0), 0);
	for (size_t i = 0; i <= nr; i++)
		assert_int_equal(keep_set_add(&set, open_null(), 0), 0);
	return set;
}

static void each_ring_is_given_once(void **state)
{
	struct manifest *m;
	struct keep_set set = rings_set(&m);
	const struct kept_ring *r;
	int fds[6] = {0}, second = set.v[2 + 6].fd, last = set.v[set.nr - 1].fd, other;
	struct kept *k;

	(void)state;
	assert_int_equal(kept_open(&set, &k, NULL), 0);
	assert_null(kept_take_ring(k, 78, 1, fds, 6));
	assert_null(kept_take_ring(k, 77, 2, fds, 6));
	assert_null(kept_take_ring(k, 77, 1, fds, 4));
	assert_null(kept_take_ring(NULL, 77, 1, fds, 6));
	r = kept_take_ring(k, 77, 1, fds, 6);
	assert_non_null(r);
	assert_int_equal(r->prev_paused_ns, 5);
	assert_int_equal(fds[0], second);
	for (int i = 0; i < 6; i++)
		close(fds[i]);
	assert_null(kept_take_ring(k, 77, 1, fds, 6));
	assert_false(kept_take_side(k, 99, 0, fds, 2));
	assert_true(kept_take_side(k, 99, 1, fds, 2));
	assert_false(kept_take_side(k, 99, 1, fds, 2));
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(kept_others(k, 0, &other, 1), 1);
	assert_int_equal(other, last);
	kept_close(k);
	manifest_free(m);
}

static void refused(struct keep_set *set, int want)
{
	struct err err = ERR_INIT;
	struct kept *k;

	assert_int_equal(kept_open(set, &k, &err), want);
	assert_true(err.what[0]);
	keep_set_close(set);
}

static void a_damaged_manifest_is_refused(void **state)
{
	struct keep_set set = {0};
	struct manifest *m;
	uint32_t version = 99;

	(void)state;
	refused(&set, -EBADMSG);
	set = rings_set(&m);
	assert_int_equal(pwrite(manifest_fd(m), &version, 4, 8), 4);
	refused(&set, -EPROTO);
	manifest_free(m);
	set = rings_set(&m);
	manifest_ring(m, 1)->nr_events = UINT32_MAX;
	refused(&set, -EBADMSG);
	manifest_free(m);
	set = rings_set(&m);
	manifest_ring(m, 0)->nr_banks = 0;
	refused(&set, -EBADMSG);
	manifest_free(m);
	set = rings_set(&m);
	assert_int_equal(ftruncate(manifest_fd(m), 20), 0);
	refused(&set, -EBADMSG);
	manifest_free(m);
	set = rings_set(&m);
	close(set.v[--set.nr].fd);
	close(set.v[--set.nr].fd); /* the events of a ring are missing */
	refused(&set, -EBADMSG);
	manifest_free(m);
}

/* ---- the log ---- */

/* Writes COMM records with growing times until the log has wrapped several times. */
static struct kept_log *full_log(uint64_t *last_ns)
{
	struct kept_log *l;
	uint64_t ns = 0;

	assert_int_equal(kept_log_new(LOG_BYTES, &l), 0);
	for (uint32_t i = 0; i < 5000; i++)
		kept_log_put(l, side_comm(&rec, ++ns, 1, 1, &"a name long"[i % 11], false));
	*last_ns = ns;
	return l;
}

static void a_full_log_has_the_latest_records(void **state)
{
	static uint8_t scratch[64 << 10];
	struct kept_log *l, *next;
	uint64_t last_ns, pos = 0, ns, want = 0, nr = 0;
	struct bytes got;

	(void)state;
	l = full_log(&last_ns);
	assert_int_equal(kept_log_adopt(kept_log_fd(l), &next), 0);
	while (kept_log_next(next, &pos, scratch, &got)) {
		assert_true(record_time(got, &side_layout, &ns));
		if (want)
			assert_int_equal(ns, want);
		want = ns + 1;
		nr++;
	}
	assert_int_equal(want, last_ns + 1);
	assert_true(nr > LOG_BYTES / 80);
	kept_log_put(next, side_comm(&rec, want, 1, 1, "one more", false));
	assert_true(kept_log_next(l, &pos, scratch, &got));
	assert_false(kept_log_next(l, &pos, scratch, &got));
	kept_log_free(next);
	kept_log_free(l);
}

static void a_damaged_log_is_read_within_bounds(void **state)
{
	static uint8_t scratch[64 << 10];
	struct kept_log *l, *next;
	uint64_t last_ns, pos, word;
	struct bytes got;

	(void)state;
	srand(7);
	for (int round = 0; round < 200; round++) {
		l = full_log(&last_ns);
		for (int i = 0; i < 8; i++) {
			off_t at = i < 2 ? 16 + 8 * i : 4096 + 8 * (rand() % (int)(LOG_BYTES / 8));

			word = (uint64_t)rand() << (rand() % 33);
			assert_int_equal(pwrite(kept_log_fd(l), &word, 8, at), 8);
		}
		assert_int_equal(kept_log_adopt(kept_log_fd(l), &next), 0);
		pos = 0;
		for (int n = 0; kept_log_next(next, &pos, scratch, &got); n++)
			assert_true(n <= (int)(LOG_BYTES / 8) && got.len <= sizeof(scratch));
		kept_log_put(next, side_comm(&rec, 1, 1, 1, "after", false));
		kept_log_free(next);
		kept_log_free(l);
	}
	l = full_log(&last_ns);
	word = 12345;
	assert_int_equal(pwrite(kept_log_fd(l), &word, 8, 8), 8);
	assert_int_equal(kept_log_adopt(kept_log_fd(l), &next), -EBADMSG);
	kept_log_free(l);
}

/* ---- the next ledger ---- */

struct recorder {
	struct ledger *ledger;
	struct sideband *sideband;
	struct perf_event_mmap_page page;
	uint8_t data[32 << 10];
	struct ring ring;
};

static struct recorder *recorder_new(struct kept_log *log)
{
	struct recorder *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	assert_int_equal(ledger_new(8 << 20, &r->ledger, NULL), 0);
	assert_int_equal(sideband_new(r->ledger, &side_layout, &r->sideband, NULL), 0);
	assert_int_equal(sideband_log(r->sideband, log), 0);
	r->ring =
		(struct ring){.page = &r->page, .data = r->data, .size = sizeof(r->data), .fd = -1};
	return r;
}

static void recorder_free(struct recorder *r)
{
	sideband_free(r->sideband);
	ledger_free(r->ledger);
	free(r);
}

static void feed(struct recorder *r, struct bytes b)
{
	struct ring *ring = &r->ring;
	uint64_t lost;

	for (size_t i = 0; i < b.len; i++)
		r->data[(r->page.data_head + i) % sizeof(r->data)] = b.p[i];
	r->page.data_head += b.len;
	assert_int_equal(sideband_drain(r->sideband, &ring, 1, &lost, NULL), 0);
}

static void the_next_ledger_knows_who_has_ended(void **state)
{
	const struct ledger_seen_map map = {
		.start = 0x1000, .end = 0x2000, .ino = 3, .prot = 5, .path = "/usr/bin/scanned"};
	const struct ledger_seen_task seen = {
		.tid = 20, .pid = 20, .ppid = 1, .start_ns = 1 * S, .comm = "scanned"};
	struct recorder *former, *next;
	struct kept_log *log, *same;

	(void)state;
	assert_int_equal(kept_log_new(LOG_BYTES, &log), 0);
	former = recorder_new(log);
	ledger_seen_task(former->ledger, 2 * S, &seen);
	ledger_seen_maps(former->ledger, 2 * S, 20, &map, 1);
	feed(former, side_comm(&rec, 3 * S, 10, 10, "early", true));
	/* The log forgets what is older than this. */
	for (uint64_t i = 0; i < 2000; i++)
		feed(former, side_comm(&rec, 4 * S + i, 30, 30, "busy", false));
	feed(former, side_comm(&rec, 5 * S, 40, 40, "recent", true));
	feed(former, side_exit(&rec, 6 * S, 10, 10, 1));
	feed(former, side_exit(&rec, 6 * S, 20, 20, 1));
	feed(former, side_exit(&rec, 6 * S, 40, 40, 1));
	assert_int_equal(kept_log_adopt(kept_log_fd(log), &same), 0);
	recorder_free(former);
	next = recorder_new(same);
	assert_comm(next->ledger, 10, 5 * S, "early");
	assert_comm(next->ledger, 20, 5 * S, "scanned");
	assert_path(next->ledger, 20, 5 * S, 0x1800, "/usr/bin/scanned");
	assert_comm(next->ledger, 40, 5 * S, "recent");
	assert_int_equal(stats_of(next->ledger).nr_tombstones, 3);
	recorder_free(next);
	kept_log_free(same);
	kept_log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_arrives_in_order),
		cmocka_unit_test(a_set_that_ends_early_leaves_nothing_open),
		cmocka_unit_test(each_ring_is_given_once),
		cmocka_unit_test(a_damaged_manifest_is_refused),
		cmocka_unit_test(a_full_log_has_the_latest_records),
		cmocka_unit_test(a_damaged_log_is_read_within_bounds),
		cmocka_unit_test(the_next_ledger_knows_who_has_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
