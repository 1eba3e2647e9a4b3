/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Programs are run instruction by instruction, what they did is written as Intel PT packets, and
 * the decoder has to find each call and return again, in order.
 */
#include "dump/view/pt/pt_flow.h"
#include "dump/base/err.h"
#include "dump/view/pt/pt_prefetch.h"
#include "tests/helpers/pt_code.h"
#include "tests/helpers/pt_encode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static const struct pt_options plain = {.psb_bytes = 4096, .tsc = 1ull << 40};

static struct pt_flow_input input_of(struct bytes trace, struct pt_memory *code,
				     const struct pt_options *opt)
{
	return (struct pt_flow_input){
		.bytes = trace,
		.source = pt_memory_source(code),
		.clock = {.mult = 1},
		.mtc_freq = (uint8_t)opt->mtc,
		.nominal_ratio = PT_NOMINAL,
		.crystal_eax = PT_CRYSTAL_EAX,
		.crystal_ebx = PT_CRYSTAL_EBX,
		.part_bytes = 5000,
	};
}

struct all {
	struct pt_flow_steps steps; /* newest part last, as it comes: turned at the end */
	size_t next;
};

/* Parts come newest first: each is put before what is there. */
static int gather(void *ctx, size_t part, const struct pt_flow_steps *s)
{
	struct all *a = ctx;
	struct pt_flow_step *v = calloc(a->steps.nr + s->nr + 1, sizeof(*v));

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

static struct pt_flow_steps decode_input(const struct pt_flow_input *in, unsigned int threads)
{
	struct err err = ERR_INIT;
	struct pt_flow *f;
	struct all a = {0};

	assert_int_equal(pt_flow_new(in, &f, &err), 0);
	a.next = pt_flow_nr_parts(f) - 1;
	assert_int_equal(pt_flow_backwards(f, threads, gather, &a, &err), 0);
	pt_flow_free(f);
	return a.steps;
}

static struct pt_flow_steps decode(struct bytes trace, struct pt_memory *code,
				   const struct pt_options *opt, unsigned int threads)
{
	struct pt_flow_input in = input_of(trace, code, opt);

	return decode_input(&in, threads);
}

static bool same(const struct pt_flow_step *s, const struct pt_truth *t)
{
	return (int)s->kind == (int)t->kind && s->from == t->from && s->to == t->to;
}

/* The last steps are all of the truth from `first` on; the most that a time is off. */
static uint64_t compare(const struct pt_flow_steps *s, const struct pt_truth *t, size_t nr)
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

struct program {
	struct pt_run run;
	struct pt_memory *code;
};

static struct program program(char *const argv[], size_t max)
{
	struct program p = {.run = pt_run(argv, max)};

	p.code = pt_code(p.run.pages, p.run.nr_pages);
	return p;
}

static void program_free(struct program *p)
{
	pt_memory_free(p->code);
	pt_run_free(&p->run);
}

static void same_steps(const struct program *p, const struct pt_options *opt, uint64_t max_off)
{
	struct pt_encode e = pt_encode(&p->run, opt);
	struct bytes trace = {e.pkt.out.p, e.pkt.out.len};
	struct pt_flow_steps s = decode(trace, p->code, opt, 2);
	uint64_t off = compare(&s, e.truth, e.nr_truth);

	print_message("%zu instructions, %zu bytes, %zu steps, times at most %lu off\n", p->run.nr,
		      trace.len, s.nr, off);
	assert_true(off <= max_off);
	pt_flow_steps_free(&s);
	pt_encode_free(&e);
}

/* With timing packets a time is that of the packet before or after: branches that wait for a packet
 * of 47 to be full, and the system calls and interrupts between. */
#define CYC_OFF 10000u

static void each_way(const struct program *p)
{
	struct pt_options o = plain;

	assert_true(p->run.nr > 1000);
	same_steps(p, &o, UINT64_MAX);
	o.long_tnt = true;
	same_steps(p, &o, UINT64_MAX);
	o.ret_compress = true;
	same_steps(p, &o, UINT64_MAX);
	o.cyc = true;
	same_steps(p, &o, CYC_OFF);
	o.mtc = 3;
	same_steps(p, &o, CYC_OFF);
	o.cyc = false;
	o.irq_every = 1013;
	same_steps(p, &o, CYC_OFF);
}

/* What all share: a program from its start to its end. */
static int begin(void **state)
{
	struct program *p = malloc(sizeof(*p));

	assert_non_null(p);
	*p = program((char *[]){"/bin/true", NULL}, 250000);
	*state = p;
	return !p->run.ended;
}

static int end(void **state)
{
	program_free(*state);
	free(*state);
	return 0;
}

static void true_(void **state)
{
	each_way(*state);
}

static void gzip(void **state)
{
	struct program p = program((char *[]){"gzip", "-c", "LICENSE", NULL}, 120000);

	each_way(&p);
	program_free(&p);
}

static void sort(void **state)
{
	struct program p = program((char *[]){"sort", "LICENSE", NULL}, 120000);

	each_way(&p);
	program_free(&p);
}

/* Where an interrupt may be something else by an erratum, libipt's own way through blocks is taken
 * from the first one on; and a small cache of blocks finds them again and again. */
static void other_ways(void **state)
{
	const struct program *p = *state;
	struct pt_options o = plain;
	struct pt_encode e;
	struct pt_flow_input in;
	struct pt_flow_steps s;

	o.long_tnt = o.ret_compress = true;
	o.mtc = 3;
	o.irq_every = 1013;
	e = pt_encode(&p->run, &o);
	in = input_of((struct bytes){e.pkt.out.p, e.pkt.out.len}, p->code, &o);
	in.max_blocks = 1;
	for (int way = 0; way < 2; way++) {
		s = decode_input(&in, 2);
		assert_true(compare(&s, e.truth, e.nr_truth) <= CYC_OFF);
		pt_flow_steps_free(&s);
		/* SKD022 */
		in.family = 6;
		in.model = 0x4e;
	}
	pt_encode_free(&e);
}

/* A trace with many a PSB, to be cut anywhere. */
#define CUT_PSB 1024

static struct pt_encode to_cut(const struct program *p)
{
	struct pt_options o = plain;

	o.psb_bytes = CUT_PSB;
	o.long_tnt = o.ret_compress = true;
	o.mtc = 3;
	return pt_encode(&p->run, &o);
}

/* Whatever was overwritten at the start: all from the next PSB on. */
static void overwritten_start(void **state)
{
	const struct program *p = *state;
	struct pt_encode e = to_cut(p);
	size_t nr_cuts = 0;

	for (size_t at = 1; at + 2 * CUT_PSB < e.pkt.out.len; at += 13) {
		struct bytes b = {e.pkt.out.p + at, e.pkt.out.len - at};
		struct pt_flow_steps s = decode(b, p->code, &e.opt, 1);
		size_t later = 0;

		for (size_t i = 0; i < e.nr_truth; i++)
			later += e.truth[i].offset > at + CUT_PSB + 300;
		assert_true(s.nr >= later && s.nr <= e.nr_truth);
		compare(&s, e.truth + (e.nr_truth - s.nr), s.nr);
		pt_flow_steps_free(&s);
		nr_cuts++;
	}
	print_message("%zu bytes, cut at %zu places\n", e.pkt.out.len, nr_cuts);
	assert_true(nr_cuts > 100);
	pt_encode_free(&e);
}

/* A trace that ends anywhere, also within a packet: all up to there. */
static void cut_end(void **state)
{
	const struct program *p = *state;
	struct pt_encode e = to_cut(p);

	for (size_t n = 64; n < e.pkt.out.len; n += 7) {
		struct pt_flow_steps s = decode((struct bytes){e.pkt.out.p, n}, p->code, &e.opt, 1);
		size_t before = 0;

		for (size_t i = 0; i < e.nr_truth; i++)
			before += e.truth[i].offset + 80 <= n;
		assert_true(s.nr >= before && s.nr <= e.nr_truth);
		compare(&s, e.truth, s.nr);
		pt_flow_steps_free(&s);
	}
	pt_encode_free(&e);
}

/* Up to what was lost, and from there on; what lies between can't be known. */
static void around(const struct pt_flow_steps *s, const struct pt_truth *t, size_t nr)
{
	size_t i = 0, rest = s->nr;

	while (i < s->nr && s->v[i].kind != PT_FLOW_LOST)
		assert_true(i < nr && same(&s->v[i], &t[i])), i++;
	assert_true(i > 0 && i < s->nr);
	while (s->v[rest - 1].kind != PT_FLOW_LOST)
		rest--;
	rest = s->nr - rest;
	assert_true(rest > 0 && rest <= nr);
	for (size_t k = 0; k < rest; k++)
		assert_true(same(&s->v[s->nr - rest + k], &t[nr - rest + k]));
}

static void overflow(void **state)
{
	const struct program *p = *state;
	struct pt_options o = plain;
	struct pt_encode e;
	struct pt_flow_steps s;

	o.lose_at = 50000;
	o.lose = 7000;
	e = pt_encode(&p->run, &o);
	s = decode((struct bytes){e.pkt.out.p, e.pkt.out.len}, p->code, &o, 2);
	around(&s, e.truth, e.nr_truth);
	pt_flow_steps_free(&s);
	pt_encode_free(&e);
}

/* Bytes that are no packets: a loss, and all from the next PSB on. */
static void damaged(void **state)
{
	const struct program *p = *state;
	struct pt_encode e = pt_encode(&p->run, &plain);
	struct pt_flow_steps s;

	memset(e.pkt.out.p + 2000, 0x05, 40);
	s = decode((struct bytes){e.pkt.out.p, e.pkt.out.len}, p->code, &plain, 2);
	around(&s, e.truth, e.nr_truth);
	pt_flow_steps_free(&s);
	pt_encode_free(&e);
}

/* ---- parts that threads decode ahead ---- */

#define NR_FLOWS 2
#define NR_AHEAD 3

struct line {
	struct pt_flow *f;
	struct pt_prefetch_job jobs[NR_AHEAD];
	size_t put, taken;
};

static void put_all(struct thread_pool *a, struct line *l)
{
	for (; l->put < pt_flow_nr_parts(l->f) && l->put - l->taken < NR_AHEAD; l->put++) {
		struct pt_prefetch_job *job = &l->jobs[l->put % NR_AHEAD];

		job->flow = l->f;
		job->part = l->put;
		thread_pool_put(a, &job->job);
	}
}

/* The next part's steps are those that one thread finds. True: another thread had them. */
static bool take_next(struct thread_pool *a, struct line *l, struct pt_flow_steps *own)
{
	struct pt_prefetch_job *job = &l->jobs[l->taken % NR_AHEAD];
	bool done;

	assert_int_equal(pt_flow_part(l->f, l->taken, own), 0);
	done = thread_pool_take(a, &job->job);
	if (done) {
		assert_int_equal(job->rc, 0);
		assert_int_equal(job->part, l->taken);
		assert_int_equal(job->steps.nr, own->nr);
		for (size_t i = 0; i < own->nr; i++) {
			const struct pt_flow_step *x = &job->steps.v[i], *y = &own->v[i];

			assert_true(x->time_ns == y->time_ns && x->from == y->from &&
				    x->to == y->to && x->kind == y->kind && x->tid == y->tid);
		}
	}
	l->taken++;
	put_all(a, l);
	return done;
}

#define AHEAD_PSB 256

/* Goes through two traces by turns, and leaves the last `rest` parts to nobody. How many parts
 * other threads decoded. */
static size_t go_ahead(struct bytes trace, const struct program *p, const struct pt_options *opt,
		       unsigned nr_threads, size_t rest)
{
	struct pt_flow_input in = input_of(trace, p->code, opt);
	struct line lines[NR_FLOWS] = {0};
	struct pt_flow_steps own = {0};
	struct thread_pool *a;
	size_t nr, nr_done = 0;

	in.part_bytes = AHEAD_PSB;
	assert_int_equal(pt_prefetch_new(nr_threads, &a), 0);
	for (size_t i = 0; i < NR_FLOWS; i++) {
		assert_int_equal(pt_flow_new(&in, &lines[i].f, NULL), 0);
		put_all(a, &lines[i]);
	}
	nr = pt_flow_nr_parts(lines[0].f);
	assert_true(nr > 8);
	for (size_t part = 0; part < nr - rest; part++)
		for (size_t i = 0; i < NR_FLOWS; i++)
			nr_done += take_next(a, &lines[i], &own);
	thread_pool_free(a);
	print_message("%zu parts of %zu by %u threads\n", nr_done, NR_FLOWS * nr, nr_threads);
	pt_flow_steps_free(&own);
	for (size_t i = 0; i < NR_FLOWS; i++) {
		for (size_t k = 0; k < NR_AHEAD; k++)
			pt_flow_steps_free(&lines[i].jobs[k].steps);
		pt_flow_free(lines[i].f);
	}
	return nr_done;
}

static void parts_ahead_are_the_same(void **state)
{
	const struct program *p = *state;
	struct pt_options o = plain;
	struct pt_encode e;
	size_t nr_done = 0;

	o.psb_bytes = AHEAD_PSB;
	e = pt_encode(&p->run, &o);
	for (unsigned nr_threads = 1; nr_threads <= 5; nr_threads += 2) {
		struct bytes trace = {e.pkt.out.p, e.pkt.out.len};

		nr_done += go_ahead(trace, p, &o, nr_threads, 0);
		nr_done += go_ahead(trace, p, &o, nr_threads, 5);
	}
	assert_true(nr_done > 0);
	pt_encode_free(&e);
}

static void no_psb(void **state)
{
	const struct program *p = *state;
	struct pt_flow_input in =
		input_of((struct bytes){(const uint8_t *)"\0\0\0", 3}, p->code, &plain);
	struct pt_flow *f;

	assert_int_equal(pt_flow_new(&in, &f, NULL), 0);
	assert_int_equal(pt_flow_nr_parts(f), 0);
	assert_int_equal(pt_flow_backwards(f, 2, gather, NULL, NULL), 0);
	pt_flow_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(true_),
		cmocka_unit_test(gzip),
		cmocka_unit_test(sort),
		cmocka_unit_test(other_ways),
		cmocka_unit_test(overwritten_start),
		cmocka_unit_test(cut_end),
		cmocka_unit_test(overflow),
		cmocka_unit_test(damaged),
		cmocka_unit_test(no_psb),
		cmocka_unit_test(parts_ahead_are_the_same),
	};

	return cmocka_run_group_tests_name("ptflow", tests, begin, end);
}
