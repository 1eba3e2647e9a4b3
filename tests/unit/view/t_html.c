/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * The page of a hand-made dump: its data come back out of base64 and deflate as they went in, what
 * was lost is where it was lost, a limit on spans merges those far from the trigger and keeps their
 * sums, and names that look like markup do not get into the page as such. How the page works in a
 * browser: it_html.sh.
 */
#include "dump/view/html/html.h"

#include "dump/view/html/html_impl.h"
#include "tests/helpers/mkdump.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#define TYPE   (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define SWITCH 301
#define US     1000ull
#define TURNS  1000
#define HIT    (TURNS * 20 * US + 10 * US)
#define NAME   "</script><b>x"

static const char switch_format[] =
	"name: sched_switch\nID: 1\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:int prev_pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_state;\toffset:16;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_pid;\toffset:20;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:24;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

struct raw {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	int32_t v[5];
};

static void to(struct mk_records *r, uint64_t ns, int prev, int next)
{
	struct raw raw = {SWITCH, 0, 0, prev, {prev, 120, 0, next, 120}};

	mk_sample(r, ns, &raw, sizeof(raw));
}

/* Threads 11 and 12 take turns on CPU 0, 12 us and 8 us; in the middle 42 records are lost. */
static struct reader *make(struct mk *d)
{
	struct mk_records r = {0};

	*d = mk_begin();
	mk_host(d);
	mk_trigger(d, HIT);
	mk_channel(d, 0, "sched", TYPE);
	mk_event(d, 0, 0, "sched:sched_switch", SWITCH, TYPE);
	mk_format(d, SWITCH, "sched", switch_format);
	for (uint64_t i = 0; i < TURNS; i++) {
		to(&r, i * 20 * US + 1, 12, 11);
		to(&r, i * 20 * US + 12 * US + 1, 11, 12);
		if (i == TURNS / 2)
			mk_lost(&r, i * 20 * US + 13 * US, 1, 42);
	}
	mk_window(d, &(struct fmt_window){.ring_bytes = 1 << 20,
					  .nr_records = 2 * TURNS + 1,
					  .first_ns = 1,
					  .last_ns = HIT,
					  .armed_ns = 1,
					  .paused_ns = HIT,
					  .lost = 42,
					  .tid = -1,
					  .flags = FMT_WINDOW_FIRST});
	/* Nothing happens on the other CPU. */
	mk_window(d, &(struct fmt_window){
			     .ring = 1, .cpu = 1, .armed_ns = 1, .paused_ns = HIT, .tid = -1});
	mk_task(d, 11, 11, 11, 1, 0, 0);
	mk_comm(d, 11, 0, NAME);
	mk_task(d, 12, 12, 12, 1, 0, 0);
	mk_comm(d, 12, 0, "other");
	mk_stats(d);
	mk_block(d, 0, 0, 1, HIT, &r);
	mk_records_free(&r);
	return mk_end(d);
}

/* ---- reading a page ---- */

struct page {
	char *html;
	size_t len;
	struct buf data; /* unpacked */
	json_t *head;
	struct bytes columns;
	struct html_result res;
};

static int letter(char c)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = strchr(letters, c);

	assert_true(c && at);
	return (int)(at - letters);
}

/* What stands between two marks of the page. */
static struct bytes between(const struct page *p, const char *from, const char *until)
{
	char *begin = strstr(p->html, from), *end;

	assert_non_null(begin);
	begin += strlen(from);
	end = strstr(begin, until);
	assert_non_null(end);
	return (struct bytes){(uint8_t *)begin, (size_t)(end - begin)};
}

static void unpack(struct page *p)
{
	struct bytes text = between(p, "id=\"data\">", "</script>");
	uint8_t *packed = malloc(text.len);
	z_stream z = {.next_in = packed};
	uint32_t v = 0, bytes;
	size_t n = 0;

	assert_non_null(packed);
	assert_int_equal(text.len % 4, 0);
	for (size_t i = 0; i < text.len && text.p[i] != '='; i++) {
		v = v << 6 | (uint32_t)letter((char)text.p[i]);
		if (i % 4)
			packed[n++] = (uint8_t)(v >> (6 - 2 * (i % 4)));
	}
	assert_int_equal(buf_reserve(&p->data, 4 << 20), 0);
	z.avail_in = (unsigned)n;
	z.next_out = p->data.p;
	z.avail_out = 4 << 20;
	assert_int_equal(inflateInit2(&z, -MAX_WBITS), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	p->data.len = z.total_out;
	inflateEnd(&z);
	free(packed);
	memcpy(&bytes, p->data.p, sizeof(bytes));
	assert_true(4 + bytes <= p->data.len);
	p->head = json_loadb((char *)p->data.p + 4, bytes, 0, NULL);
	assert_non_null(p->head);
	p->columns = (struct bytes){p->data.p + 4 + bytes, p->data.len - 4 - bytes};
}

static struct page page_of(struct reader *r, const struct meta *m, size_t max_spans)
{
	struct html_options opt = {.to_ns = UINT64_MAX, .max_spans = max_spans};
	struct page p = {0};
	FILE *out = open_memstream(&p.html, &p.len);

	assert_non_null(out);
	assert_int_equal(html_write(r, m, &opt, out, &p.res, NULL), 0);
	assert_int_equal(fclose(out), 0);
	unpack(&p);
	return p;
}

static void page_free(struct page *p)
{
	json_decref(p->head);
	buf_free(&p->data);
	free(p->html);
}

/* The numbers of a column; their count. */
static size_t column(const struct page *p, const char *name, uint64_t *out, size_t max)
{
	json_t *c = NULL, *list = json_object_get(p->head, "columns");
	const uint8_t *at = p->columns.p;
	size_t i, nr;

	json_array_foreach(list, i, c)
	{
		if (!strcmp(json_string_value(json_array_get(c, 0)), name))
			break;
		at += json_integer_value(json_array_get(c, 2));
	}
	assert_non_null(c);
	nr = (size_t)json_integer_value(json_array_get(c, 1));
	assert_true(nr <= max);
	for (i = 0; i < nr; i++) {
		unsigned shift = 0;

		out[i] = 0;
		do
			out[i] |= (uint64_t)(*at & 127) << shift;
		while (shift += 7, *at++ & 128);
	}
	return nr;
}

static uint64_t sum(const struct page *p, const char *name, size_t *nr)
{
	static uint64_t all[8 * TURNS];
	uint64_t s = 0;

	*nr = column(p, name, all, 8 * TURNS);
	for (size_t i = 0; i < *nr; i++)
		s += all[i];
	return s;
}

/* ---- tests ---- */

struct world {
	struct mk d;
	struct reader *r;
	struct meta *m;
};

static int open_world(void **state)
{
	static struct world w;

	w.r = make(&w.d);
	w.m = mk_meta(w.r);
	*state = &w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	meta_free(w->m);
	mk_close(&w->d, w->r);
	return 0;
}

/* Time on the CPU of a thread, as the page's table has it. */
static uint64_t ran(const struct page *p, int tid)
{
	json_t *t, *list = json_object_get(p->head, "threads");
	size_t i;

	json_array_foreach(list, i, t) if (json_integer_value(json_array_get(t, 1)) == tid) return (
		uint64_t)json_integer_value(json_array_get(t, 4));
	return 0;
}

static void test_data_come_back(void **state)
{
	struct world *w = *state;
	struct page p = page_of(w->r, w->m, 0);
	size_t nr;

	assert_int_equal(p.res.nr_merged, 0);
	assert_in_range(ran(&p, 11), 12 * US * TURNS - 20 * US, 12 * US * TURNS + 20 * US);
	assert_in_range(ran(&p, 12), 8 * US * TURNS - 20 * US, 8 * US * TURNS + 20 * US);
	/* Both threads run or wait all the time. */
	assert_in_range(sum(&p, "spanNs", &nr), 2 * 20 * US * (TURNS - 2), 2 * (HIT + 20 * US));
	assert_in_range(nr, 4 * (TURNS - 2), 4 * (TURNS + 2));
	assert_string_equal(json_string_value(json_array_get(
				    json_array_get(json_object_get(p.head, "threads"), 1), 0)),
			    json_integer_value(json_array_get(
				    json_array_get(json_object_get(p.head, "threads"), 1), 1)) == 11
				    ? NAME
				    : "other");
	page_free(&p);
}

static void test_losses_have_their_place(void **state)
{
	struct world *w = *state;
	struct page p = page_of(w->r, w->m, 0);
	json_t *gap = json_array_get(json_object_get(p.head, "gaps"), 0);
	int64_t at = (int64_t)(TURNS / 2 * 20 * US) - (int64_t)HIT;

	assert_int_equal(json_array_size(json_object_get(p.head, "gaps")), 1);
	assert_int_equal(json_integer_value(json_array_get(gap, 0)), at + 12 * (int64_t)US + 1);
	assert_int_equal(json_integer_value(json_array_get(gap, 1)), at + 13 * (int64_t)US);
	assert_int_equal(json_integer_value(json_array_get(gap, 2)), 0);
	assert_int_equal(json_integer_value(json_array_get(gap, 3)), 42);
	assert_true(json_array_size(json_object_get(p.head, "lost")) > 0);
	page_free(&p);
}

static void test_what_is_merged_adds_up(void **state)
{
	struct world *w = *state;
	struct page whole = page_of(w->r, w->m, 0), p = page_of(w->r, w->m, 400);
	size_t nr, nr_parts;
	uint64_t all = sum(&whole, "spanNs", &nr);

	assert_int_equal(sum(&p, "spanNs", &nr), all);
	assert_true(nr <= 400);
	assert_true(p.res.nr_merged > 3 * TURNS);
	assert_true(json_integer_value(json_object_get(p.head, "merged")) ==
		    (json_int_t)p.res.nr_merged);
	assert_int_equal(ran(&p, 11), ran(&whole, 11));
	/* What merged ones ran is less than all, and not little. */
	assert_in_range(sum(&p, "mergedRun", &nr_parts), HIT / 2, HIT);
	assert_true(nr_parts > 0 && nr_parts < nr);
	/* As recorded near the trigger. */
	assert_true(json_integer_value(json_object_get(p.head, "wholeFrom")) <
		    -(json_int_t)(20 * US));
	page_free(&whole);
	page_free(&p);
}

static void test_names_are_no_markup(void **state)
{
	struct world *w = *state;
	struct page p = page_of(w->r, w->m, 0);
	struct bytes plain = between(&p, "<pre id=\"plain\">", "</pre>");

	assert_null(strstr(p.html, NAME));
	assert_null(memchr(plain.p, '<', plain.len));
	page_free(&p);
}

static void test_full_disk_is_told(void **state)
{
	struct html_options opt = {.to_ns = UINT64_MAX};
	struct world *w = *state;
	FILE *f = fopen("/dev/full", "w");
	struct html_result res;

	assert_non_null(f);
	assert_int_equal(html_write(w->r, w->m, &opt, f, &res, NULL), -ENOSPC);
	fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_data_come_back),
		cmocka_unit_test(test_losses_have_their_place),
		cmocka_unit_test(test_what_is_merged_adds_up),
		cmocka_unit_test(test_names_are_no_markup),
		cmocka_unit_test(test_full_disk_is_told),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
