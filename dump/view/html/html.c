// SPDX-License-Identifier: MIT
/* Writes the page: dump/view/html/page/page.html, with {{NAME}} replaced by the style sheet,
 * scripts, verdict and data. These files are embedded in the program. */
#include "dump/view/html/html.h"

#include "dump/base/err.h"
#include "dump/view/base/deflate.h"
#include "dump/view/html/html_impl.h"
#include "dump/view/model/timeline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define PROGRESS_RECORDS 65536
#define MAX_SPANS	 1000000u
/* A larger page is made again with fewer spans: mail is often limited to 20 MB. */
#define MAX_PAGE_BYTES (14u << 20)
#define MAX_ATTEMPTS   4
#define MAX_LOSSES     2000

/*
 * Embeds a file of dump/view/html/page/ between two symbols; the Makefile has them as dependencies.
 */
#define PAGE_FILE(symbol, file)                                                                    \
	__asm__(".pushsection .rodata\n"                                                           \
		"page_" symbol ": .incbin \"dump/view/html/page/" file "\"\n"                      \
		"page_" symbol "_end: .byte 0\n"                                                   \
		".globl page_" symbol ", page_" symbol "_end\n"                                    \
		".popsection\n")

PAGE_FILE("html", "page.html");
PAGE_FILE("css", "page.css");
PAGE_FILE("data_js", "data.js");
PAGE_FILE("draw_js", "draw.js");
PAGE_FILE("timeline_js", "timeline.js");
PAGE_FILE("flame_js", "flame.js");
PAGE_FILE("table_js", "table.js");
PAGE_FILE("main_js", "main.js");

extern const char page_html[], page_html_end[], page_css[], page_css_end[], page_data_js[],
	page_data_js_end[], page_draw_js[], page_draw_js_end[], page_timeline_js[],
	page_timeline_js_end[], page_flame_js[], page_flame_js_end[], page_table_js[],
	page_table_js_end[], page_main_js[], page_main_js_end[];

/* ---- loading ---- */

static int add_loss(struct html *h, const struct timeline_record *rec, uint64_t nr, bool throttled)
{
	uint64_t *at = (uint64_t *)h->rings_at.p + rec->window->ring;
	struct html_loss l = {.from_ns = *at ? *at : rec->time_ns,
			      .to_ns = rec->time_ns,
			      .nr = nr,
			      .cpu = rec->window->cpu,
			      .throttled = throttled};

	return h->losses.len / sizeof(l) < MAX_LOSSES ? buf_put(&h->losses, &l, sizeof(l)) : 0;
}

/* Called for all records: notes where the kernel reports missing ones. */
static int see(void *ctx, const struct timeline_record *rec)
{
	struct html *h = ctx;
	struct bytes b = rec->rec;
	struct perf_event_header head;
	uint64_t id, nr = 0;
	int rc = 0;

	if (++h->nr_seen % PROGRESS_RECORDS == 0 && h->opt->progress)
		h->opt->progress(h->opt->ctx, h->nr_seen, h->nr_total);
	if (rec->window->ring >= h->m->nr_windows || !bytes_get(&b, &head, sizeof(head)))
		return 0;
	if (head.type == PERF_RECORD_LOST && bytes_u64(&b, &id) && bytes_u64(&b, &nr))
		rc = add_loss(h, rec, nr, false);
	else if (head.type == PERF_RECORD_LOST_SAMPLES && bytes_u64(&b, &nr))
		rc = add_loss(h, rec, nr, false);
	else if (head.type == PERF_RECORD_UNTHROTTLE)
		rc = add_loss(h, rec, 0, true);
	((uint64_t *)h->rings_at.p)[rec->window->ring] = rec->time_ns;
	return rc;
}

/* The time range of the page: that of the scheduler's events and the samples. */
static void set_window(struct html *h)
{
	const struct schedule *s = h->why.a.sched;
	size_t nr = schedule_nr_samples(s);
	uint64_t from, to, calls_from, calls_to;

	schedule_window(s, &from, &to);
	h->known_ns = from;
	if (!to) {
		from = UINT64_MAX;
		to = h->m->trigger.freeze_ns;
	}
	if (html_calls_window(h, &calls_from, &calls_to)) {
		from = calls_from < from ? calls_from : from;
		to = calls_to > to ? calls_to : to;
	}
	for (size_t i = 0; i < nr; i++)
		if (schedule_sample(s, i)->ns < from)
			from = schedule_sample(s, i)->ns;
	if (nr && schedule_sample(s, nr - 1)->ns > to)
		to = schedule_sample(s, nr - 1)->ns;
	if (h->opt->from_ns > from)
		from = h->opt->from_ns;
	if (h->opt->to_ns < to)
		to = h->opt->to_ns;
	h->base_ns = from < to ? from : to;
	h->end_ns = to;
}

static int load(struct html *h, struct err *err)
{
	size_t bytes = (h->m->nr_windows + 1) * sizeof(uint64_t);
	int rc;

	h->nr_total = meta_nr_records(h->m);
	if (buf_reserve(&h->rings_at, bytes))
		return err_set(err, -ENOMEM, "out of memory");
	memset(h->rings_at.p, 0, bytes);
	rc = why_load(&h->why, err);
	rc = rc ? rc : why_find(&h->why, err);
	if (rc)
		return rc;
	h->info = (struct info){.a = h->why.a};
	rc = info_collect(&h->info, err);
	if (rc)
		return rc;
	rc = html_calls_load(h, err);
	if (rc)
		return rc;
	set_window(h);
	h->nr_spans_of = calloc(schedule_nr_threads(h->why.a.sched) + 1, sizeof(*h->nr_spans_of));
	rc = h->nr_spans_of ? html_stacks(h) : -ENOMEM;
	rc = rc ? rc : html_samples(h);
	return rc ? err_set(err, rc, "out of memory") : 0;
}

static void unload(struct html *h)
{
	html_calls_free(h);
	why_unload(&h->why);
	columns_free(&h->cols);
	buf_free(&h->losses);
	buf_free(&h->rings_at);
	text_free(&h->frames);
	free(h->info.rings);
	free(h->nr_spans_of);
}

/* ---- data ---- */

/* 3 bytes become 4 letters; the last group is padded with "=". */
static void text_base64(struct text *t, const uint8_t *p, size_t n)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *to = text_room(t, (n + 2) / 3 * 4);

	for (size_t i = 0; to && i < n; i += 3) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) |
			     (i + 2 < n ? p[i + 2] : 0);

		*to++ = letters[v >> 18];
		*to++ = letters[v >> 12 & 63];
		*to++ = i + 1 < n ? letters[v >> 6 & 63] : '=';
		*to++ = i + 2 < n ? letters[v & 63] : '=';
	}
	if (to)
		text_end(t, to);
}

static int compress(struct html *h, struct text *out, struct err *err)
{
	struct text plain = TEXT_INIT(NULL);
	struct deflate *d = NULL;
	int rc = html_data(h, &plain, err);

	rc = rc ? rc : deflate_new(DEFLATE_RAW, DEFLATE_NORMAL, out, &d, err);
	if (!rc) {
		rc = deflate_put(d, plain.b.p, plain.b.len);
		rc = rc ? rc : deflate_end(d);
		if (rc)
			err_set(err, rc, "out of memory");
	}
	deflate_free(d);
	text_free(&plain);
	return rc;
}

/* Reduces the number of spans until the page is small enough. */
static int make_data(struct html *h, struct text *out, struct err *err)
{
	size_t max = h->opt->max_spans ? h->opt->max_spans : MAX_SPANS;

	for (int i = 0;; i++) {
		int rc = html_spans(h, max);

		if (rc)
			return err_set(err, rc, "out of memory");
		out->b.len = 0;
		rc = compress(h, out, err);
		if (rc || out->b.len / 3 * 4 <= MAX_PAGE_BYTES || i == MAX_ATTEMPTS)
			return rc;
		max = (size_t)((double)max * 0.9 * MAX_PAGE_BYTES / ((double)out->b.len / 3 * 4));
	}
}

/* ---- the page ---- */

struct page_parts {
	const struct html *h;
	struct text data, verdict;
	char nonce[33];
};

static void put_file(struct text *t, const char *p, const char *end)
{
	text_put(t, p, (size_t)(end - p));
}

static void put_css(struct text *t, const struct page_parts *p)
{
	put_file(t, page_css, page_css_end);
}

static void put_scripts(struct text *t, const struct page_parts *p)
{
	put_file(t, page_data_js, page_data_js_end);
	put_file(t, page_draw_js, page_draw_js_end);
	put_file(t, page_timeline_js, page_timeline_js_end);
	put_file(t, page_flame_js, page_flame_js_end);
	put_file(t, page_table_js, page_table_js_end);
	put_file(t, page_main_js, page_main_js_end);
}

static void put_nonce(struct text *t, const struct page_parts *p)
{
	text_str(t, p->nonce);
}

/* For browsers with scripts disabled. */
static void put_verdict(struct text *t, const struct page_parts *p)
{
	for (size_t i = 0; i < p->verdict.b.len; i++) {
		char c = (char)p->verdict.b.p[i];

		switch (c) {
		case '<':
			text_str(t, "&lt;");
			break;
		case '>':
			text_str(t, "&gt;");
			break;
		case '&':
			text_str(t, "&amp;");
			break;
		default:
			text_char(t, c);
		}
	}
}

static void put_data(struct text *t, const struct page_parts *p)
{
	text_base64(t, p->data.b.p, p->data.b.len);
}

static const struct {
	const char *name;
	void (*put)(struct text *t, const struct page_parts *p);
} parts[] = {
	{"{{nonce}}", put_nonce},     {"{{style}}", put_css}, {"{{scripts}}", put_scripts},
	{"{{verdict}}", put_verdict}, {"{{data}}", put_data},
};

static size_t put_part(struct text *t, const char *at, size_t left, const struct page_parts *p)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t n = strlen(parts[i].name);

		if (left < n || memcmp(at, parts[i].name, n) != 0)
			continue;
		parts[i].put(t, p);
		return n;
	}
	text_char(t, *at);
	return 1;
}

static void put_page(struct text *t, const struct page_parts *p)
{
	size_t n = (size_t)(page_html_end - page_html);

	for (size_t i = 0; i < n;) {
		const char *next = memchr(page_html + i, '{', n - i);
		size_t plain = next ? (size_t)(next - page_html) - i : n - i;

		text_put(t, page_html + i, plain);
		i += plain;
		if (next)
			i += put_part(t, next, n - i, p);
	}
}

/* The Content-Security-Policy allows only scripts with this nonce, so text that gets into the page
 * cannot run. */
static int make_nonce(char *out, struct err *err)
{
	uint8_t noise[16];

	if (getrandom(noise, sizeof(noise), 0) != sizeof(noise))
		return err_sys(err, -errno, "no random numbers");
	for (size_t i = 0; i < sizeof(noise); i++)
		snprintf(out + 2 * i, 3, "%02x", noise[i]);
	return 0;
}

static int write_page(struct html *h, FILE *out, struct err *err)
{
	struct page_parts p = {.h = h};
	struct text t = TEXT_INIT(out);
	int rc = make_nonce(p.nonce, err);

	rc = rc ? rc : make_data(h, &p.data, err);
	if (!rc && html_verdict(h, &p.verdict))
		rc = err_set(err, -ENOMEM, "out of memory");
	if (!rc) {
		put_page(&t, &p);
		rc = text_flush(&t);
		if (rc)
			err_sys(err, rc, "the page can't be written");
	}
	text_free(&t);
	text_free(&p.data);
	text_free(&p.verdict);
	return rc;
}

/* A loss begins at the ring's previous record, of whatever event, so all records are needed. */
static bool has_losses(const struct meta *m)
{
	bool any = false;

	for (size_t i = 0; i < m->nr_windows; i++)
		any |= m->windows[i].lost || m->windows[i].lost_spare || m->windows[i].throttled;
	return any;
}

int html_write(struct reader *r, const struct meta *m, const struct html_options *opt, FILE *out,
	       struct html_result *res, struct err *err)
{
	struct html h = {.opt = opt, .m = m};
	int rc;

	if (opt->from_ns || opt->to_ns != UINT64_MAX) {
		h.why_opt.from_ns = opt->from_ns ? opt->from_ns : 1;
		h.why_opt.to_ns = opt->to_ns;
	}
	h.why = (struct why){.a = {.r = r, .m = m},
			     .opt = &h.why_opt,
			     .asked = NO_THREAD,
			     .path_thread = NO_THREAD,
			     .also = see,
			     .also_ctx = &h,
			     .also_all = has_losses(m)};
	rc = load(&h, err);
	rc = rc ? rc : write_page(&h, out, err);
	if (opt->progress)
		opt->progress(opt->ctx, h.nr_total, h.nr_total);
	res->nr_bad = h.why.nr_bad_blocks;
	res->nr_merged = h.nr_merged;
	unload(&h);
	return rc;
}
