// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for what a dump is made to tell: report, and diff with
 * itself. Whatever the dump says, nothing reaches a terminal that it could obey, no line is wider
 * than it, and a dump has not grown since itself. Inputs: fuzz_seed.h, as for fuzz_view.c.
 */
#include "tests/fuzz/fuzz_file.h"

#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/print/text_page.h"
#include "dump/view/report/report.h"

#include <errno.h>
#include <stdio.h>

/* An input may be made to expand: what is read of it is bounded. */
#define MAX_BYTES    (512u << 10)
#define MAX_PT_BYTES (16u << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct printed {
	char *p;
	size_t len;
	FILE *out;
};

static struct printed begin(void)
{
	struct printed t = {0};

	t.out = open_memstream(&t.p, &t.len);
	assert(t.out);
	return t;
}

static void must_fit(struct printed *t, unsigned width)
{
	char *save = NULL;

	assert(!fclose(t->out));
	for (size_t i = 0; i < t->len; i++) {
		uint8_t c = (uint8_t)t->p[i];

		assert(c == '\n' || (c >= ' ' && c != 0x7f));
	}
	for (char *s = strtok_r(t->p, "\n", &save); s; s = strtok_r(NULL, "\n", &save))
		assert(page_columns(s) <= width);
	free(t->p);
}

static void report(struct reader *r, const struct meta *m, struct report_options opt)
{
	struct report_result res;
	struct printed t = begin();
	int rc = report_print(r, m, &opt, t.out, &res, NULL);

	assert(!rc || rc == -ENOENT || rc == -E2BIG);
	must_fit(&t, opt.width);
}

static void diff(struct reader *r, const struct meta *m)
{
	struct report_options opt = {.width = 100, .to_ns = UINT64_MAX};
	struct report_result res;
	struct printed t = begin();
	int rc = report_diff(r, m, r, m, &opt, t.out, &res, NULL);

	assert(!rc || rc == -E2BIG);
	fflush(t.out);
	if (!rc)
		assert(strstr(t.p, "no significant increase"));
	must_fit(&t, opt.width);
}

static bool is_small(struct reader *r)
{
	uint64_t bytes = 0, pt_bytes = 0;

	for (size_t i = 0; i < reader_nr_blocks(r); i++) {
		const struct fmt_block *h = &reader_block(r, i)->h;

		bytes += h->section == FMT_RECORDS ? h->content_bytes : 0;
		pt_bytes += h->section == FMT_AUX ? h->content_bytes : 0;
	}
	return bytes <= MAX_BYTES && pt_bytes <= MAX_PT_BYTES;
}

static void use(struct bytes file, bool damaged)
{
	static const char *const comms[] = {"*a*"};
	struct reader *r;
	struct meta *m;
	uint64_t hit;

	if (reader_open_bytes(file, damaged, &r, NULL))
		return;
	SMALL_OK(meta_load(r, &m, NULL));
	if (is_small(r)) {
		hit = m->trigger.hit_ns;
		report(r, m, (struct report_options){.width = 80, .to_ns = UINT64_MAX});
		report(r, m,
		       (struct report_options){.width = 140,
					       .from_ns = hit > 1000000 ? hit - 1000000 : 0,
					       .to_ns = hit,
					       .comms = comms,
					       .nr_comms = 1});
		diff(r, m);
	}
	meta_free(m);
	reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_shown(data, size, use);
	return 0;
}
