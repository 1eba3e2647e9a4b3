/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* Two dumps as one: which go together, where they are cut, which processes and names are kept. */
#include "dump/file/join.h"

#include "dump/view/model/process_history.h"
#include "dump/view/model/thread_states.h"
#include "dump/view/symbols/symbols.h"
#include "dump/view/model/timeline.h"
#include "tests/helpers/mkdump.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)

/* One of two: what the tests vary. */
struct half {
	const char *session;
	uint32_t nr; /* of its trigger */
	uint64_t armed_ns, paused_ns, prev_paused_ns, overwritten;
	int64_t gap_ns;
	const char *event;
	uint64_t from, to, step; /* records at these times; the value is the time */
	bool packed;
};

/* The older one ends at 1040, the newer one began at 1000: the cut is at 1020. */
static const struct half old_half = {"0123456789abcdef", 1,   100,  1040, 0,   0, 0,
				     "test:value",	 200, 1035, 5,	  true};
static const struct half new_half = {"0123456789abcdef", 2,    1000, 2000, 1040, 0, -40,
				     "test:value",	 1005, 1900, 5,	   true};

static void put_head(struct mk *d, const struct half *h)
{
	struct fmt_trigger t = {.hit_ns = h->paused_ns - 50, .nr = h->nr};
	struct fmt_window w = {
		.ring = 0,
		.cpu = 1,
		.tid = -1,
		.armed_ns = h->armed_ns,
		.paused_ns = h->paused_ns,
		.prev_paused_ns = h->prev_paused_ns,
		.gap_ns = h->gap_ns,
		.overwritten_bytes = h->overwritten,
		.first_ns = h->from,
		.last_ns = h->to,
		.flags = h->prev_paused_ns ? 0 : FMT_WINDOW_FIRST,
	};

	w.nr_records = w.samples = (h->to - h->from) / h->step + 1;
	w.bytes = w.nr_records * 32;
	mk_host(d);
	if (h->session)
		mk_text(d, FMT_HOST, FMT_HOST_SESSION, h->session);
	mk_item(d, FMT_TRIGGER, FMT_TRIGGER_FACTS, &t, sizeof(t), NULL, 0);
	mk_channel(d, 0, "test", TYPE);
	mk_event(d, 0, 0, h->event, 300, TYPE);
	mk_format(d, 300, "test", mk_number_format);
	mk_window(d, &w);
}

static void put_records(struct mk *d, const struct half *h)
{
	struct record_layout layout = {.sample_type = TYPE, .sample_id_all = true};
	struct mk_records r = {0};

	for (uint64_t t = h->from; t <= h->to; t += h->step)
		mk_number(&r, t, 300, 7, (uint32_t)t);
	mk_block_as(d, h->packed ? &layout : NULL, 0, 0, h->from, h->to, &r);
	mk_records_free(&r);
}

static struct mk made(const struct half *h, struct reader **r)
{
	struct mk d = mk_begin();

	put_head(&d, h);
	put_records(&d, h);
	*r = mk_end(&d);
	return d;
}

struct joined {
	struct mk a, b;
	struct reader *ra, *rb, *r;
	struct meta *ma, *mb, *m;
	int fd;
	struct err err;
};

static int join_made(struct joined *j)
{
	char path[64];
	size_t nr = 0;
	int rc;

	j->ma = mk_meta(j->ra);
	j->mb = mk_meta(j->rb);
	j->m = NULL;
	j->r = NULL;
	j->err = (struct err)ERR_INIT;
	j->fd = memfd_create("joined", MFD_CLOEXEC);
	rc = join_dumps(&(struct join_dump){j->ra, j->ma, "a.rbd"},
			&(struct join_dump){j->rb, j->mb, "b.rbd"}, j->fd, &nr, &j->err);
	if (rc)
		return rc;
	assert_int_equal(nr, 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", j->fd);
	assert_int_equal(reader_open(path, &j->r, NULL), 0);
	j->m = mk_meta(j->r);
	return 0;
}

static int join(struct joined *j, const struct half *a, const struct half *b)
{
	j->a = made(a, &j->ra);
	j->b = made(b, &j->rb);
	return join_made(j);
}

static void leave(struct joined *j)
{
	meta_free(j->m);
	reader_close(j->r);
	close(j->fd);
	meta_free(j->ma);
	meta_free(j->mb);
	mk_close(&j->a, j->ra);
	mk_close(&j->b, j->rb);
}

static void refused(const struct half *a, const struct half *b, const char *why)
{
	struct joined j;

	assert_int_equal(join(&j, a, b), -ENODATA);
	if (!strstr(j.err.what, why))
		fail_msg("\"%s\" does not say \"%s\"", j.err.what, why);
	assert_non_null(strstr(j.err.what, "a.rbd"));
	leave(&j);
}

/* All records, in order, each time once. */
static void times_are(const struct joined *j, uint64_t from, uint64_t to, uint64_t step)
{
	struct timeline_options opt = {.to_ns = UINT64_MAX, .cpu = -1};
	struct timeline_record rec;
	struct timeline *t;

	assert_int_equal(timeline_open(j->r, j->m, &opt, &t, NULL), 0);
	for (uint64_t at = from; at <= to; at += step) {
		uint32_t value;

		assert_int_equal(timeline_next(t, &rec, NULL), 1);
		assert_int_equal(rec.time_ns, at);
		memcpy(&value, rec.s.raw.p + 8, sizeof(value));
		assert_int_equal(value, at);
		assert_int_equal(rec.event->f.id, 0);
	}
	assert_int_equal(timeline_next(t, &rec, NULL), 0);
	assert_int_equal(timeline_nr_bad_blocks(t), 0);
	timeline_close(t);
}

static void records_of_both_come_once_each(void **state)
{
	for (int packed = 0; packed < 2; packed++) {
		struct half a = old_half, b = new_half;
		const struct fmt_window *w;
		struct joined j;

		a.packed = b.packed = packed;
		assert_int_equal(join(&j, &a, &b), 0);
		times_are(&j, 200, 1900, 5);
		w = &j.m->windows[0];
		assert_int_equal(w->armed_ns, 100);
		assert_int_equal(w->paused_ns, 2000);
		assert_int_equal(w->first_ns, 200);
		assert_int_equal(w->last_ns, 1900);
		assert_int_equal(w->nr_records, (1900 - 200) / 5 + 1);
		assert_int_equal(w->samples, w->nr_records);
		assert_int_equal(w->bytes, w->nr_records * 32);
		assert_int_equal(w->flags, FMT_WINDOW_FIRST);
		assert_int_equal(j.m->trigger.nr, 2);
		assert_int_equal(j.m->nr_joined, 1);
		assert_string_equal(j.m->joined[0], "a.rbd");
		leave(&j);
	}
}

/* The cut is at 1020: of two records with that time the newer dump's stays. */
static void the_cut_is_in_the_middle_of_the_overlap(void **state)
{
	struct half a = old_half, b = new_half;
	struct joined j;

	a.packed = b.packed = false; /* too few to be packed */
	a.to = 1034;		     /* 1010, 1014, .. 1034 */
	a.from = 1010;
	a.step = 4;
	b.from = 1006; /* 1006, 1013, 1020, .. */
	b.step = 7;
	b.to = 1027;
	assert_int_equal(join(&j, &a, &b), 0);
	assert_int_equal(j.m->windows[0].nr_records, 3 + 2);
	leave(&j);
}

static void three_dumps_are_joined_one_by_one(void **state)
{
	struct half c = new_half;
	struct joined j, k;

	c.nr = 3;
	c.armed_ns = 1990;
	c.prev_paused_ns = 2000;
	c.paused_ns = 3000;
	c.gap_ns = -10;
	c.from = 1995;
	c.to = 2900;
	assert_int_equal(join(&j, &new_half, &c), 0);
	/* The two become the newer of the next two. */
	k.a = made(&old_half, &k.ra);
	k.rb = j.r;
	k.b = mk_begin();
	k.b.file = NULL;
	assert_int_equal(join_made(&k), 0);
	assert_int_equal(k.m->windows[0].armed_ns, 100);
	assert_int_equal(k.m->windows[0].first_ns, 200);
	assert_int_equal(k.m->nr_joined, 2);
	assert_string_equal(k.m->joined[1], "a.rbd");
	meta_free(k.m);
	reader_close(k.r);
	close(k.fd);
	meta_free(k.ma);
	meta_free(k.mb);
	mk_close(&k.a, k.ra);
	mk_close(&k.b, NULL);
	leave(&j);
}

static void what_does_not_belong_together_is_refused(void **state)
{
	struct half h = new_half;

	h.session = "another recorder";
	refused(&old_half, &h, "from different recorders");
	h.session = NULL;
	refused(&old_half, &h, "from different recorders");
	h = new_half;
	h.nr = 1;
	refused(&old_half, &h, "the first is not older");
	h = new_half;
	h.event = "test:other";
	refused(&old_half, &h, "their events differ");
}

static void a_hole_between_two_is_not_hidden(void **state)
{
	struct half h = new_half;

	h.prev_paused_ns = 1050; /* of a dump between the two */
	refused(&old_half, &h, "without a gap");
	h = new_half;
	h.overwritten = 64;
	refused(&old_half, &h, "without a gap");
	h = new_half;
	h.armed_ns = 1100;
	h.gap_ns = 60;
	refused(&old_half, &h, "without a gap");
}

/* Keys are of one dump: 1 and 2 are other tasks in the other one. */
static void processes_and_names_are_those_of_both(void **state)
{
	struct fmt_map m = {.key = 1, .path = 9, .start = 0x1000, .end = 0x2000};
	struct symbol_place p[4];
	struct process_history *history;
	struct symbols *symbols;
	struct joined j;

	j.a = mk_begin();
	put_head(&j.a, &old_half);
	put_records(&j.a, &old_half);
	mk_task(&j.a, 1, 50, 50, 1, 0, 900);
	mk_comm(&j.a, 1, 0, "gone");
	mk_task(&j.a, 2, 60, 60, 1, 300, 0);
	mk_comm(&j.a, 2, 0, "before");
	mk_comm(&j.a, 2, 700, "stays");
	mk_path(&j.a, 9, "/bin/gone");
	mk_map(&j.a, &m);
	mk_image(&j.a, 0, FMT_IMAGE_FILE, 0, 9, "/bin/gone");
	mk_function(&j.a, 0, 0x100, 0x50, "work");
	mk_place(&j.a, 0, 0x110, 0, 5, "inner", "w.c");
	mk_place(&j.a, 0, 0x110, 1, 8, "work", "w.c");
	j.ra = mk_end(&j.a);
	j.b = mk_begin();
	put_head(&j.b, &new_half);
	put_records(&j.b, &new_half);
	mk_task(&j.b, 1, 60, 60, 1, 300, 0);
	mk_comm(&j.b, 1, 700, "stays");
	mk_task(&j.b, 2, 70, 70, 1, 1500, 0);
	mk_comm(&j.b, 2, 0, "new");
	mk_image(&j.b, 0, FMT_IMAGE_FILE, 0, 8, "/bin/other");
	mk_function(&j.b, 0, 0x100, 0x50, "else");
	mk_image(&j.b, 1, FMT_IMAGE_FILE, 0, 9, "/bin/gone");
	mk_place(&j.b, 1, 0x110, 0, 5, "inner", "w.c");
	mk_place(&j.b, 1, 0x110, 1, 8, "work", "w.c");
	j.rb = mk_end(&j.b);

	assert_int_equal(join_made(&j), 0);
	assert_int_equal(history_load(j.r, &history, NULL), 0);
	assert_string_equal(history_comm(history, 50, 500), "gone");
	assert_string_equal(history_comm(history, 60, 600), "before");
	assert_string_equal(history_comm(history, 60, 1600), "stays");
	assert_string_equal(history_comm(history, 70, 1600), "new");
	assert_int_equal(history_nr_tasks(history), 3);

	assert_int_equal(symbols_load(j.r, history, &symbols, NULL), 0);
	assert_int_equal(symbols_user(symbols, 50, 500, 0x1110, p, 4, NULL), 2);
	assert_string_equal(p[0].function, "inner");
	assert_string_equal(p[1].function, "work");
	symbols_free(symbols);
	history_free(history);
	leave(&j);
}

static void states_of_threads_are_those_of_the_newer(void **state)
{
	const struct fmt_thread_state asleep = {.tid = 7, .pid = 7, .state = 'S'};
	const struct fmt_thread_state runs = {.tid = 7, .pid = 7, .state = 'R'};
	const struct fmt_thread_state gone = {.tid = 8, .pid = 8, .state = 'S'};
	struct thread_states *t;
	struct joined j;

	j.a = mk_begin();
	put_head(&j.a, &old_half);
	put_records(&j.a, &old_half);
	mk_threads(&j.a, 1040, 1041, 0);
	mk_thread(&j.a, &asleep, 0, "", 0);
	mk_thread(&j.a, &gone, 0, "", 0);
	j.ra = mk_end(&j.a);
	j.b = mk_begin();
	put_head(&j.b, &new_half);
	put_records(&j.b, &new_half);
	mk_threads(&j.b, 2000, 2001, 0);
	mk_thread(&j.b, &runs, 0, "", 0);
	j.rb = mk_end(&j.b);
	assert_int_equal(join_made(&j), 0);
	assert_int_equal(thread_states_load(j.r, &t, NULL), 0);
	assert_int_equal(thread_states_nr(t), 1);
	assert_int_equal(thread_states_find(t, 7)->f.state, 'R');
	assert_int_equal(thread_states_read(t)->from_ns, 2000);
	thread_states_free(t);
	leave(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_of_both_come_once_each),
		cmocka_unit_test(the_cut_is_in_the_middle_of_the_overlap),
		cmocka_unit_test(three_dumps_are_joined_one_by_one),
		cmocka_unit_test(what_does_not_belong_together_is_refused),
		cmocka_unit_test(a_hole_between_two_is_not_hidden),
		cmocka_unit_test(processes_and_names_are_those_of_both),
		cmocka_unit_test(states_of_threads_are_those_of_the_newer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
