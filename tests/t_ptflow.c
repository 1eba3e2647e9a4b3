/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Programs are run instruction by instruction, what they did is written as Intel PT packets, and
 * the decoder has to find each call and return again, in order.
 */
#include "dump/view/ptflow.h"
#include "dump/base/err.h"
#include "tests/pt_encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct pt_options plain = {.psb_bytes = 4096, .tsc = 1ull << 40};

static struct ptcode *code_of(const struct pt_run *r)
{
	struct err err = ERR_INIT;
	struct ptcode *c;
	size_t first = 0;

	assert_int_equal(ptcode_new(&c, &err), 0);
	for (size_t i = 0; i < r->nr_pages; i++) {
		struct buf b = {0};

		if (i + 1 < r->nr_pages && r->pages[i + 1].address == r->pages[i].address + PT_PAGE)
			continue;
		for (size_t k = first; k <= i; k++)
			assert_int_equal(buf_put(&b, r->pages[k].code, PT_PAGE), 0);
		assert_int_equal(
			ptcode_add(c, r->pages[first].address, (struct bytes){b.p, b.len}, &err),
			0);
		buf_free(&b);
		first = i + 1;
	}
	assert_int_equal(ptcode_seal(c, &err), 0);
	return c;
}

static struct ptflow_input input_of(struct bytes trace, const struct ptcode *code,
				    const struct pt_options *opt)
{
	return (struct ptflow_input){
		.bytes = trace,
		.code = code,
		.clock = {.mult = 1},
		.mtc_freq = (uint8_t)opt->mtc,
		.nominal_ratio = PT_NOMINAL,
		.crystal_eax = PT_CRYSTAL_EAX,
		.crystal_ebx = PT_CRYSTAL_EBX,
		.part_bytes = 5000,
	};
}

struct all {
	struct ptflow_steps steps; /* newest part last, as it comes: turned at the end */
	size_t next;
};

/* Parts come newest first: each is put before what is there. */
static int gather(void *ctx, size_t part, const struct ptflow_steps *s)
{
	struct all *a = ctx;
	struct ptflow_step *v = calloc(a->steps.nr + s->nr + 1, sizeof(*v));

	assert_int_equal(part, a->next--);
	assert_non_null(v);
	if (s->nr)
		memcpy(v, s->v, s->nr * sizeof(*v));
	if (a->steps.nr)
		memcpy(v + s->nr, a->steps.v, a->steps.nr * sizeof(*v));
	free(a->steps.v);
	a->steps.v = v;
	a->steps.nr += s->nr;
	return 0;
}

static struct ptflow_steps decode(struct bytes trace, const struct ptcode *code,
				  const struct pt_options *opt, unsigned int threads)
{
	struct ptflow_input in = input_of(trace, code, opt);
	struct err err = ERR_INIT;
	struct ptflow *f;
	struct all a = {0};

	assert_int_equal(ptflow_new(&in, &f, &err), 0);
	a.next = ptflow_nr_parts(f) - 1;
	assert_int_equal(ptflow_backwards(f, threads, gather, &a, &err), 0);
	ptflow_free(f);
	return a.steps;
}

static bool same(const struct ptflow_step *s, const struct pt_truth *t)
{
	return (int)s->kind == (int)t->kind && s->from == t->from && s->to == t->to;
}

/* The last steps are all of the truth from `first` on; the most that a time is off. */
static uint64_t compare(const struct ptflow_steps *s, const struct pt_truth *t, size_t nr)
{
	uint64_t off = 0, last = 0;

	for (size_t i = 0; i < s->nr && i < nr; i++) {
		uint64_t a = s->v[i].time_ns, b = t[i].tsc, d = a > b ? a - b : b - a;

		if (!same(&s->v[i], &t[i]))
			fail_msg("step %zu of %zu: %d %#lx -> %#lx, and it was %d %#lx -> %#lx", i,
				 nr, s->v[i].kind, s->v[i].from, s->v[i].to, t[i].kind, t[i].from,
				 t[i].to);
		assert_true(a >= last);
		last = a;
		off = d > off ? d : off;
	}
	assert_int_equal(s->nr, nr);
	return off;
}

static void same_steps(const struct pt_run *r, const struct ptcode *code,
		       const struct pt_options *opt, uint64_t max_off)
{
	struct pt_encode e = pt_encode(r, opt);
	struct bytes trace = {e.pkt.out.p, e.pkt.out.len};
	struct ptflow_steps s = decode(trace, code, opt, 2);
	uint64_t off = compare(&s, e.truth, e.nr_truth);

	print_message("%zu instructions, %zu bytes, %zu steps, times at most %lu off\n", r->nr,
		      trace.len, s.nr, off);
	assert_true(off <= max_off);
	ptflow_steps_free(&s);
	pt_encode_free(&e);
}

/* With timing packets a time is that of the packet before or after: branches that wait for a packet
 * of 47 to be full, and the system calls and interrupts between. */
#define CYC_OFF 10000u

static void each_way(char *const argv[], size_t max)
{
	struct pt_run r = pt_run(argv, max);
	struct ptcode *code = code_of(&r);
	struct pt_options o = plain;

	assert_true(r.nr > 1000);
	same_steps(&r, code, &o, UINT64_MAX);
	o.long_tnt = true;
	same_steps(&r, code, &o, UINT64_MAX);
	o.ret_compress = true;
	same_steps(&r, code, &o, UINT64_MAX);
	o.cyc = true;
	same_steps(&r, code, &o, CYC_OFF);
	o.mtc = 3;
	same_steps(&r, code, &o, CYC_OFF);
	o.cyc = false;
	o.irq_every = 1013;
	same_steps(&r, code, &o, CYC_OFF);
	ptcode_free(code);
	pt_run_free(&r);
}

static void true_(void **state)
{
	each_way((char *[]){"/bin/true", NULL}, 250000);
}

static void gzip(void **state)
{
	each_way((char *[]){"gzip", "-c", "LICENSE", NULL}, 250000);
}

static void sort(void **state)
{
	each_way((char *[]){"sort", "LICENSE", NULL}, 250000);
}

/* The trace of one program, for what is done to traces. */
struct traced {
	struct pt_run run;
	struct ptcode *code;
	struct pt_encode e;
};

static struct traced traced(const struct pt_options *opt)
{
	struct traced t = {.run = pt_run((char *[]){"/bin/true", NULL}, 250000)};

	t.code = code_of(&t.run);
	t.e = pt_encode(&t.run, opt);
	return t;
}

static void traced_free(struct traced *t)
{
	pt_encode_free(&t->e);
	ptcode_free(t->code);
	pt_run_free(&t->run);
}

/* Whatever was overwritten at the start: all from the next PSB on. */
static void overwritten_start(void **state)
{
	struct traced t = traced(&plain);

	for (size_t at = 1; at < t.e.pkt.out.len; at += 501) {
		struct bytes b = {t.e.pkt.out.p + at, t.e.pkt.out.len - at};
		struct ptflow_input in = input_of(b, t.code, &plain);
		struct ptflow_steps s;
		struct ptflow *f;
		size_t later = 0, has;

		assert_int_equal(ptflow_new(&in, &f, NULL), 0);
		has = ptflow_nr_parts(f);
		ptflow_free(f);
		if (!has)
			break;
		s = decode(b, t.code, &plain, 1);
		for (size_t i = 0; i < t.e.nr_truth; i++)
			later += t.e.truth[i].offset > at + 4096 + 200;
		assert_true(s.nr >= later && s.nr <= t.e.nr_truth);
		compare(&s, t.e.truth + (t.e.nr_truth - s.nr), s.nr);
		ptflow_steps_free(&s);
	}
	traced_free(&t);
}

/* A trace that ends anywhere, also within a packet: all up to there. */
static void cut_end(void **state)
{
	struct traced t = traced(&plain);

	for (size_t n = 64; n < t.e.pkt.out.len; n += 97) {
		struct ptflow_steps s = decode((struct bytes){t.e.pkt.out.p, n}, t.code, &plain, 1);
		size_t before = 0;

		for (size_t i = 0; i < t.e.nr_truth; i++)
			before += t.e.truth[i].offset + 80 <= n;
		assert_true(s.nr >= before && s.nr <= t.e.nr_truth);
		compare(&s, t.e.truth, s.nr);
		ptflow_steps_free(&s);
	}
	traced_free(&t);
}

/* Up to what was lost, and from there on; what lies between can't be known. */
static void around(const struct ptflow_steps *s, const struct pt_truth *t, size_t nr)
{
	size_t i = 0, rest = s->nr;

	while (i < s->nr && s->v[i].kind != PTFLOW_LOST)
		assert_true(i < nr && same(&s->v[i], &t[i])), i++;
	assert_true(i > 0 && i < s->nr);
	while (s->v[rest - 1].kind != PTFLOW_LOST)
		rest--;
	rest = s->nr - rest;
	assert_true(rest > 0 && rest <= nr);
	for (size_t k = 0; k < rest; k++)
		assert_true(same(&s->v[s->nr - rest + k], &t[nr - rest + k]));
}

static void overflow(void **state)
{
	struct pt_options o = plain;
	struct traced t;
	struct ptflow_steps s;

	o.lose_at = 50000;
	o.lose = 7000;
	t = traced(&o);
	s = decode((struct bytes){t.e.pkt.out.p, t.e.pkt.out.len}, t.code, &o, 2);
	around(&s, t.e.truth, t.e.nr_truth);
	ptflow_steps_free(&s);
	traced_free(&t);
}

/* Bytes that are no packets: a loss, and all from the next PSB on. */
static void damaged(void **state)
{
	struct traced t = traced(&plain);
	struct ptflow_steps s;

	memset(t.e.pkt.out.p + 2000, 0x05, 40);
	s = decode((struct bytes){t.e.pkt.out.p, t.e.pkt.out.len}, t.code, &plain, 2);
	around(&s, t.e.truth, t.e.nr_truth);
	ptflow_steps_free(&s);
	traced_free(&t);
}

static void no_psb(void **state)
{
	struct pt_run r = pt_run((char *[]){"/bin/true", NULL}, 100);
	struct ptcode *code = code_of(&r);
	struct ptflow_input in =
		input_of((struct bytes){(const uint8_t *)"\0\0\0", 3}, code, &plain);
	struct ptflow *f;

	assert_int_equal(ptflow_new(&in, &f, NULL), 0);
	assert_int_equal(ptflow_nr_parts(f), 0);
	assert_int_equal(ptflow_backwards(f, 2, gather, NULL, NULL), 0);
	ptflow_free(f);
	ptcode_free(code);
	pt_run_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(true_),   cmocka_unit_test(gzip),
		cmocka_unit_test(sort),	   cmocka_unit_test(overwritten_start),
		cmocka_unit_test(cut_end), cmocka_unit_test(overflow),
		cmocka_unit_test(damaged), cmocka_unit_test(no_psb),
	};

	return cmocka_run_group_tests_name("ptflow", tests, NULL, NULL);
}
