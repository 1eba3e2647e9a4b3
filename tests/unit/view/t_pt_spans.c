/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Calls from steps made by hand: how they nest, how long they took, and what becomes of the stack
 * when a step does not fit it.
 */
#include "dump/view/pt/pt_spans.h"
#include "dump/view/pt/pt_flow.h"
#include "dump/view/pt/pt_names.h"
#include "dump/view/pt/pt_trace.h"

#include "tests/helpers/mkdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

/* Where functions are: 0x100 bytes each. */
enum {
	MAIN = 0x11000,
	PARSE = 0x11100,
	STRTOL = 0x11200,
	LONGJMP = 0x11300,
	HANDLER = 0x11400,
	RESTORE = 0x11500,
	OTHER = 0x11600,
	STUB = 0x11800 /* has no name */
};

static const struct {
	uint64_t at;
	const char *name;
} functions[] = {
	{MAIN, "main"},	      {PARSE, "parse"},
	{STRTOL, "strtol"},   {LONGJMP, "longjmp"},
	{HANDLER, "handler"}, {RESTORE, "__restore_rt"},
	{OTHER, "other"},     {OTHER + 0x400, "parse.cold"},
};

#define MAX_CALLS 100000

struct fix {
	struct mk d;
	struct reader *r;
	struct process_history *history;
	struct symbols *symbols;
	struct pt_names *names;
	struct pt_spans *spans;
	struct pt_spans_call *calls;
	size_t nr;
	struct pt_spans_event event; /* of the last step */
};

static int take(void *ctx, const struct pt_spans_call *c)
{
	struct fix *f = ctx;

	assert_true(f->nr < MAX_CALLS && c->from_ns <= c->to_ns);
	f->calls[f->nr++] = *c;
	return 0;
}

static int begin(void **state)
{
	struct fmt_map map = {.key = 1, .path = 1, .start = 0x10000, .end = 0x20000};
	struct fix *f = calloc(1, sizeof(*f));

	f->calls = calloc(MAX_CALLS, sizeof(*f->calls));
	f->d = mk_begin();
	mk_host(&f->d);
	mk_trigger(&f->d, 3000);
	mk_task(&f->d, 1, 10, 10, 1, 0, 0);
	mk_path(&f->d, 1, "/bin/prog");
	mk_map(&f->d, &map);
	mk_image(&f->d, 0, FMT_IMAGE_FILE, 0, 1, "/bin/prog");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		mk_function(&f->d, 0, functions[i].at - map.start, 0x100, functions[i].name);
	f->r = mk_end(&f->d);
	assert_int_equal(history_load(f->r, &f->history, NULL), 0);
	assert_int_equal(symbols_load(f->r, f->history, &f->symbols, NULL), 0);
	assert_int_equal(pt_names_new(f->history, f->symbols, &f->names), 0);
	assert_int_equal(pt_spans_new(f->names, take, f, &f->spans), 0);
	*state = f;
	return 0;
}

static int end(void **state)
{
	struct fix *f = *state;

	pt_spans_free(f->spans);
	pt_names_free(f->names);
	symbols_free(f->symbols);
	history_free(f->history);
	mk_close(&f->d, f->r);
	free(f->calls);
	free(f);
	return 0;
}

static void step_of(struct fix *f, struct pt_trace_step s)
{
	if (!s.tid)
		s.tid = 10;
	assert_int_equal(pt_spans_step(f->spans, &s, &f->event), 0);
}

static void call(struct fix *f, uint64_t ns, uint64_t from, uint64_t to)
{
	step_of(f, (struct pt_trace_step){.ns = ns, .from = from, .to = to, .kind = PT_FLOW_CALL});
}

/* To behind the call at `caller`. */
static void ret(struct fix *f, uint64_t ns, uint64_t from, uint64_t caller)
{
	step_of(f, (struct pt_trace_step){
			   .ns = ns, .from = from, .to = caller + 5, .kind = PT_FLOW_RETURN});
}

static void off(struct fix *f, uint64_t ns, uint64_t from)
{
	step_of(f, (struct pt_trace_step){.ns = ns, .from = from, .kind = PT_FLOW_OFF});
}

static void on(struct fix *f, uint64_t ns, uint64_t to)
{
	step_of(f, (struct pt_trace_step){.ns = ns, .to = to, .kind = PT_FLOW_ON});
}

/* The i-th call that ended. */
static void was(const struct fix *f, size_t i, const char *name, uint64_t from, uint64_t to,
		uint64_t self, int32_t depth, uint32_t flags)
{
	const struct pt_spans_call *c = &f->calls[i];
	const struct pt_names_place *p = pt_names_get(f->names, c->tid, c->to_ns, c->address);

	assert_true(i < f->nr);
	assert_string_equal(p->function ? p->function : "", name);
	assert_int_equal(c->from_ns, from);
	assert_int_equal(c->to_ns, to);
	assert_int_equal(c->self_ns, self);
	assert_int_equal(c->depth, depth);
	assert_int_equal(c->flags, flags);
}

static void calls_nest(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	assert_int_equal(f->event.what, PT_SPANS_CALL);
	assert_int_equal(f->event.depth, 1);
	call(f, 110, PARSE + 5, STRTOL);
	ret(f, 130, STRTOL + 0x20, PARSE + 5);
	assert_int_equal(f->event.what, PT_SPANS_RETURN);
	assert_int_equal(f->event.depth, 2);
	assert_int_equal(f->event.ns, 20);
	ret(f, 150, PARSE + 0x30, MAIN + 0x10);
	pt_spans_end(f->spans, 200);
	assert_int_equal(f->nr, 3);
	was(f, 0, "strtol", 110, 130, 20, 2, 0);
	was(f, 1, "parse", 100, 150, 30, 1, 0);
	was(f, 2, "main", 100, 200, 0, 0, PT_SPANS_BEGAN | PT_SPANS_OPEN);
}

/* What a library's function is called through has no name: it is the function's. */
static void stubs_are_what_they_lead_to(void **state)
{
	struct fix *f = *state;

	step_of(f, (struct pt_trace_step){.ns = 100,
					  .from = MAIN + 0x10,
					  .to = STUB,
					  .at = STRTOL + 0x20,
					  .kind = PT_FLOW_CALL});
	assert_int_equal(f->event.address, STRTOL + 0x20);
	ret(f, 120, STRTOL + 0x20, MAIN + 0x10);
	call(f, 130, MAIN + 0x20, STUB);
	ret(f, 140, STRTOL + 0x20, MAIN + 0x20);
	assert_int_equal(f->nr, 2);
	was(f, 0, "strtol", 100, 120, 20, 1, 0);
	was(f, 1, "strtol", 130, 140, 10, 1, 0);
}

static void a_jump_ends_one_and_begins_the_other(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	call(f, 110, PARSE + 5, STRTOL);
	ret(f, 115, STRTOL + 1, PARSE + 5);
	ret(f, 130, OTHER + 0x20, MAIN + 0x10);
	assert_int_equal(f->nr, 3);
	was(f, 1, "parse", 100, 115, 10, 1, PT_SPANS_JUMPED);
	was(f, 2, "other", 115, 130, 15, 1, PT_SPANS_ENTERED);
}

static void cold_parts_are_no_other_function(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	call(f, 110, OTHER + 0x410, STRTOL);
	ret(f, 115, STRTOL + 1, OTHER + 0x410);
	ret(f, 130, PARSE + 0x20, MAIN + 0x10);
	assert_int_equal(f->nr, 2);
	was(f, 1, "parse", 100, 130, 25, 1, 0);
}

static void longjmp_leaves_calls(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	call(f, 110, PARSE + 5, STRTOL);
	call(f, 120, STRTOL + 5, LONGJMP);
	call(f, 140, MAIN + 0x80, OTHER);
	assert_int_equal(f->event.depth, 1);
	assert_int_equal(f->nr, 3);
	was(f, 0, "longjmp", 120, 140, 0, 3, PT_SPANS_LEFT);
	was(f, 1, "strtol", 110, 140, 10, 2, PT_SPANS_LEFT);
	was(f, 2, "parse", 100, 140, 10, 1, PT_SPANS_LEFT);
}

/* A return that leads further out than the last call. */
static void returns_find_their_caller(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	call(f, 110, PARSE + 5, STRTOL);
	ret(f, 130, STRTOL + 8, MAIN + 0x10);
	assert_int_equal(f->event.nr_left, 1);
	assert_int_equal(f->event.depth, 1);
	assert_int_equal(f->nr, 2);
	was(f, 0, "strtol", 110, 130, 20, 2, PT_SPANS_LEFT);
	was(f, 1, "parse", 100, 130, 10, 1, 0);
}

/* What was called before the trace begins is seen when it is returned to. */
static void outer_calls_began_before(void **state)
{
	struct fix *f = *state;

	ret(f, 100, STRTOL + 8, PARSE + 5);
	ret(f, 120, PARSE + 8, MAIN + 5);
	pt_spans_end(f->spans, 150);
	assert_int_equal(f->nr, 3);
	was(f, 0, "strtol", 100, 100, 0, 0, PT_SPANS_BEGAN);
	was(f, 1, "parse", 100, 120, 20, -1, PT_SPANS_BEGAN);
	was(f, 2, "main", 100, 150, 0, -2, PT_SPANS_BEGAN | PT_SPANS_OPEN);
}

static void the_kernel_is_outside(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	off(f, 110, PARSE + 0x20);
	assert_int_equal(f->event.what, PT_SPANS_OUT);
	on(f, 1110, PARSE + 0x22);
	assert_int_equal(f->event.what, PT_SPANS_BACK);
	assert_int_equal(f->event.ns, 1000);
	ret(f, 1130, PARSE + 0x30, MAIN + 0x10);
	was(f, 0, "parse", 100, 1130, 30, 1, 0);
	assert_int_equal(f->calls[0].outside_ns, 1000);
}

static void signals_are_calls_by_the_kernel(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	off(f, 110, PARSE + 0x20);
	on(f, 120, HANDLER);
	assert_int_equal(f->event.what, PT_SPANS_CALL);
	assert_true(f->event.by_kernel);
	step_of(f, (struct pt_trace_step){
			   .ns = 140, .from = HANDLER + 9, .to = RESTORE, .kind = PT_FLOW_RETURN});
	off(f, 150, RESTORE + 7);
	on(f, 160, PARSE + 0x20);
	assert_int_equal(f->event.what, PT_SPANS_BACK);
	assert_int_equal(f->event.depth, 1);
	ret(f, 180, PARSE + 0x30, MAIN + 0x10);
	assert_int_equal(f->nr, 3);
	was(f, 0, "handler", 120, 140, 20, 2, PT_SPANS_KERNEL | PT_SPANS_JUMPED);
	was(f, 1, "__restore_rt", 140, 160, 10, 2, PT_SPANS_KERNEL | PT_SPANS_ENTERED);
	was(f, 2, "parse", 100, 180, 30, 1, 0);
}

static void what_is_lost_ends_all(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	step_of(f, (struct pt_trace_step){.ns = 120, .kind = PT_FLOW_LOST});
	assert_int_equal(f->event.what, PT_SPANS_LOST);
	call(f, 130, OTHER + 0x10, STRTOL);
	assert_int_equal(f->event.depth, 1);
	assert_int_equal(f->nr, 2);
	was(f, 0, "parse", 100, 120, 0, 1, PT_SPANS_OPEN);
	was(f, 1, "main", 100, 120, 0, 0, PT_SPANS_OPEN | PT_SPANS_BEGAN);
}

/* A thread goes on on another CPU; another one runs on its first meanwhile. */
static void threads_have_stacks_of_their_own(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	off(f, 110, PARSE + 0x20);
	step_of(f,
		(struct pt_trace_step){.ns = 120, .to = OTHER + 3, .tid = 11, .kind = PT_FLOW_ON});
	step_of(f, (struct pt_trace_step){
			   .ns = 130, .to = PARSE + 0x22, .area = 1, .cpu = 1, .kind = PT_FLOW_ON});
	step_of(f, (struct pt_trace_step){.ns = 140,
					  .from = PARSE + 0x30,
					  .to = MAIN + 0x15,
					  .area = 1,
					  .cpu = 1,
					  .kind = PT_FLOW_RETURN});
	was(f, 0, "parse", 100, 140, 20, 1, 0);
	assert_int_equal(f->calls[0].cpu, 1);
}

static void another_program_begins_anew(void **state)
{
	struct fix *f = *state;

	call(f, 100, MAIN + 0x10, PARSE);
	off(f, 110, PARSE + 0x20);
	step_of(f,
		(struct pt_trace_step){.ns = 120, .to = OTHER, .anew = true, .kind = PT_FLOW_ON});
	assert_int_equal(f->nr, 2);
	assert_int_equal(f->event.depth, 0);
}

static void calls_of_oneself_are_told(void **state)
{
	struct fix *f = *state;

	for (uint64_t i = 0; i < 9000; i++)
		call(f, 100 + i, PARSE + 5, PARSE);
	/* No stack is that deep: it was begun anew, twice. */
	assert_true(f->nr > 8000 && f->event.depth < 4096);
	assert_true(f->calls[0].flags & PT_SPANS_AGAIN);
}

/* Whatever comes, what is told is in order. */
static void any_steps(void **state)
{
	static const uint64_t places[] = {MAIN, PARSE, STRTOL, LONGJMP, HANDLER, STUB, 0, ~0ull};
	struct fix *f = *state;

	srandom(7);
	for (uint64_t i = 0; i < 50000; i++) {
		struct pt_trace_step s = {
			.ns = 100 + i + (uint64_t)random() % 50,
			.from = places[random() % 8] + (uint64_t)random() % 3 * 5,
			.to = places[random() % 8] + (uint64_t)random() % 3 * 5,
			.tid = random() % 9 ? 10 + (uint32_t)random() % 3 : UINT32_MAX,
			.area = (uint32_t)random() % 3,
			.kind = (uint8_t)(random() % 5),
			.anew = !(random() % 50),
		};

		step_of(f, s);
	}
	assert_int_equal(pt_spans_end(f->spans, 60000), 0);
	assert_true(f->nr > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(calls_nest, begin, end),
		cmocka_unit_test_setup_teardown(stubs_are_what_they_lead_to, begin, end),
		cmocka_unit_test_setup_teardown(a_jump_ends_one_and_begins_the_other, begin, end),
		cmocka_unit_test_setup_teardown(cold_parts_are_no_other_function, begin, end),
		cmocka_unit_test_setup_teardown(longjmp_leaves_calls, begin, end),
		cmocka_unit_test_setup_teardown(returns_find_their_caller, begin, end),
		cmocka_unit_test_setup_teardown(outer_calls_began_before, begin, end),
		cmocka_unit_test_setup_teardown(the_kernel_is_outside, begin, end),
		cmocka_unit_test_setup_teardown(signals_are_calls_by_the_kernel, begin, end),
		cmocka_unit_test_setup_teardown(what_is_lost_ends_all, begin, end),
		cmocka_unit_test_setup_teardown(threads_have_stacks_of_their_own, begin, end),
		cmocka_unit_test_setup_teardown(another_program_begins_anew, begin, end),
		cmocka_unit_test_setup_teardown(calls_of_oneself_are_told, begin, end),
		cmocka_unit_test_setup_teardown(any_steps, begin, end),
	};

	return cmocka_run_group_tests_name("ptspan", tests, NULL, NULL);
}
