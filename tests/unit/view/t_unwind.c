/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Samples with registers and a piece of the stack become call stacks, by the rules of a hand-made
 * dump: through calls, a signal handler, code without rules; and why they
 * end.
 */
#include "dump/file/meta.h"
#include "dump/view/unwind/stack.h"
#include "dump/view/model/timeline.h"
#include "dump/view/unwind/unwind.h"

#include "tests/helpers/mkdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define APP	 "/usr/bin/app"
#define LIB	 "/usr/lib/lib.so"
#define BASE	 0x555500001000ull /* of the app: place 0x1000 */
#define LIB_BASE 0x7f0000000000ull /* place 0: no rules */
#define SP	 0x7ffc00001000ull
#define WORDS	 64

/* Bits of sample_regs_user: ax bx cx dx si di bp sp ip flags cs ss, r8 to r15. */
#define REGS 0xff0fffull

enum { PERF_BX = 1, PERF_BP = 6, PERF_SP = 7, PERF_IP = 8, NR_REGS = 20 };

struct world {
	struct mk d;
	struct reader *r;
	struct process_history *p;
	struct symbols *s;
	struct stacks *st;
	struct meta_channel channel;
	struct timeline_record rec;
	uint64_t regs[NR_REGS];
	uint64_t stack[WORDS];
};

/* def_cfa rsp 8, return address at -8 */
static const uint8_t at_entry[] = {0x0c, 7, 8, 0x90, 1};

static void add_rule(struct world *w, uint64_t place, uint32_t flags, const void *program, size_t n)
{
	mk_rule(&w->d,
		(struct fmt_unwind){.start = place,
				    .bytes = 0x100,
				    .code_align = 1,
				    .data_align = -8,
				    .return_register = 16,
				    .initial_bytes = sizeof(at_entry),
				    .flags = flags},
		at_entry, program, n);
}

/*
 * Functions of the app, 0x100 bytes each from place 0x1000 on:
 * 0: leaf, nothing on the stack; 1: after 4 bytes it has pushed rbx; 2: by rbp; 3: the first, its
 * caller undefined; 4: returns from a signal, with the interrupted rsp and ip at rsp + 8 and + 16;
 * 5: its frame is where a word of the stack says; 6: has an endless loop of frames; 7: pushes rbp
 * and rbx, and pops them from 10 on; 8: as 4; 9 has no rule; 10: what it calls has another stack.
 */
static void begin(struct world *w)
{
	static const uint8_t pushes[] = {0x44, 0x0e, 16, 0x83, 2};
	static const uint8_t by_rbp[] = {0x0c, 6, 16, 0x86, 2};
	static const uint8_t first[] = {0x07, 16};
	static const uint8_t signal[] = {0x0f, 3, 0x77, 8, 0x06, 0x10, 16, 2, 0x77, 16};
	static const uint8_t deref[] = {0x0f, 3, 0x77, 0, 0x06};
	static const uint8_t pops[] = {0x41, 0x0e, 16,	 0x86, 2,  0x41, 0x0e, 24,
				       0x83, 3,	   0x48, 0x0e, 16, 0x41, 0x0e, 8};
	static const uint8_t same[] = {0x0e, 0, 0x08, 7};
	struct fmt_map app = {
		.key = 1, .path = 1, .start = BASE, .end = BASE + 0x2000, .pgoff = 0x1000};
	struct fmt_map lib = {.key = 1, .path = 2, .start = LIB_BASE, .end = LIB_BASE + 0x1000};

	*w = (struct world){.d = mk_begin()};
	mk_task(&w->d, 1, 10, 10, 1, 0, 0);
	mk_path(&w->d, 1, APP);
	mk_path(&w->d, 2, LIB);
	mk_map(&w->d, &app);
	mk_map(&w->d, &lib);
	mk_image(&w->d, 0, FMT_IMAGE_FILE, 0, 1, APP);
	add_rule(w, 0x1000, 0, NULL, 0);
	add_rule(w, 0x1100, 0, pushes, sizeof(pushes));
	add_rule(w, 0x1200, 0, by_rbp, sizeof(by_rbp));
	add_rule(w, 0x1300, 0, first, sizeof(first));
	add_rule(w, 0x1400, FMT_UNWIND_SIGNAL, signal, sizeof(signal));
	add_rule(w, 0x1500, 0, deref, sizeof(deref));
	add_rule(w, 0x1600, 0, same, sizeof(same));
	add_rule(w, 0x1700, 0, pops, sizeof(pops));
	add_rule(w, 0x1800, FMT_UNWIND_SIGNAL, signal, sizeof(signal));
	add_rule(w, 0x1a00, FMT_UNWIND_SWITCH, NULL, 0);
	w->r = mk_end(&w->d);
	assert_int_equal(history_load(w->r, &w->p, NULL), 0);
	assert_int_equal(symbols_load(w->r, w->p, &w->s, NULL), 0);
	assert_int_equal(stacks_new(NULL, w->p, w->s, &w->st, NULL), 0);
	w->channel.layout.regs_user = REGS;
	w->rec = (struct timeline_record){.time_ns = 500, .tid = 10, .channel = &w->channel};
	w->rec.s.have = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	w->rec.s.regs_abi = PERF_SAMPLE_REGS_ABI_64;
	w->regs[PERF_SP] = SP;
}

static void end(struct world *w)
{
	stacks_free(w->st);
	symbols_free(w->s);
	history_free(w->p);
	mk_close(&w->d, w->r);
}

/* The place `off` of function `f`. */
static uint64_t at(unsigned f, unsigned off)
{
	return BASE + f * 0x100 + off;
}

static struct stack unwound(struct world *w, size_t words)
{
	struct stack s;

	w->rec.s.regs = (const uint8_t *)w->regs;
	w->rec.s.stack = (struct bytes){(const uint8_t *)w->stack, words * 8};
	stack_get(w->st, &w->rec, &s);
	return s;
}

static void are(const struct stack *s, const uint64_t *ips, size_t nr, enum stack_end why)
{
	assert_int_equal(s->nr, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(s->frames[i].ip, ips[i]);
	assert_int_equal(s->end, why);
}

#define ARE(s, why, ...)                                                                           \
	are(s, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / 8, why)

static void says(const struct stack *s, const char *text)
{
	struct text t = TEXT_INIT(NULL);

	stack_end_name(s, &t);
	text_char(&t, '\0');
	assert_string_equal((const char *)t.b.p, text);
	text_free(&t);
}

/* leaf, called by 1 behind its push, called by 2 with a frame pointer, called by 3 */
static void prepare_calls(struct world *w)
{
	w->regs[PERF_IP] = at(0, 7);
	w->regs[PERF_BP] = SP + 8 * 8;
	w->stack[0] = at(1, 0x20);
	w->stack[1] = 0xbbbb; /* rbx of 2 */
	w->stack[2] = at(2, 0x30);
	w->stack[8] = 0; /* rbp of 3 */
	w->stack[9] = at(3, 0x40);
}

static void through_calls(void **state)
{
	struct world w;
	struct stack s;

	begin(&w);
	prepare_calls(&w);
	for (int again = 0; again < 3; again++) {
		s = unwound(&w, WORDS);
		ARE(&s, STACK_COMPLETE, at(0, 7), at(1, 0x20), at(2, 0x30), at(3, 0x40));
		says(&s, "");
	}
	/* At its first bytes 1 has pushed nothing; a call that is the last of a function returns to
	 * the next one. */
	w.regs[PERF_IP] = at(1, 3);
	w.stack[0] = at(3, 0);
	s = unwound(&w, WORDS);
	ARE(&s, STACK_COMPLETE, at(1, 3), at(3, 0), at(3, 0x40));
	end(&w);
}

/* Behind "pop %rbx; pop %rbp" the rule still says that they are on the stack. */
static void at_the_end_of_a_function(void **state)
{
	struct world w;
	struct stack s;

	begin(&w);
	prepare_calls(&w);
	/* 7: pushes rbp and rbx, pops them again at 10 and 11 */
	w.regs[PERF_IP] = at(7, 11);
	w.stack[0] = at(2, 0x30);
	w.regs[PERF_BP] = SP + 8 * 8;
	s = unwound(&w, WORDS);
	ARE(&s, STACK_COMPLETE, at(7, 11), at(2, 0x30), at(3, 0x40));
	end(&w);
}

/* The system call that ends a signal handler does not come back: the address is behind it. */
static void behind_a_function(void **state)
{
	struct world w;
	struct stack s;

	begin(&w);
	w.regs[PERF_IP] = at(9, 0);
	w.stack[1] = SP + 8 * 8;
	w.stack[2] = at(1, 0);
	w.stack[8] = at(3, 9);
	for (int again = 0; again < 2; again++) {
		s = unwound(&w, WORDS);
		ARE(&s, STACK_COMPLETE, at(9, 0), at(1, 0), at(3, 9));
	}
	end(&w);
}

/* What a call chain of the kernel's says comes first; of a thread of the kernel's it is all. */
static void behind_the_kernels_part(void **state)
{
	struct world w;
	struct stack s;
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010ull};

	begin(&w);
	prepare_calls(&w);
	w.rec.s.have |= PERF_SAMPLE_CALLCHAIN;
	w.rec.s.callchain = (const uint8_t *)chain;
	w.rec.s.nr_callchain = 2;
	s = unwound(&w, WORDS);
	ARE(&s, STACK_COMPLETE, chain[1], at(0, 7), at(1, 0x20), at(2, 0x30), at(3, 0x40));
	assert_true(s.frames[0].kernel && !s.frames[1].kernel);
	w.rec.s.regs_abi = PERF_SAMPLE_REGS_ABI_NONE;
	s = unwound(&w, 0);
	ARE(&s, STACK_COMPLETE, chain[1]);
	w.rec.s.regs_abi = PERF_SAMPLE_REGS_ABI_32;
	s = unwound(&w, WORDS);
	ARE(&s, STACK_NO_REGS, chain[1]);
	says(&s, "no registers of a 64-bit program");
	end(&w);
}

/* The place that its rule names is in another frame; the switch may not have happened yet. */
static void to_another_stack(void **state)
{
	struct world w;
	struct stack s;

	begin(&w);
	w.regs[PERF_IP] = at(0, 7);
	w.stack[0] = at(10, 5);
	w.stack[1] = at(1, 8);
	s = unwound(&w, WORDS);
	ARE(&s, STACK_ELSEWHERE, at(0, 7), at(10, 5));
	says(&s, "the callers have another stack, which was not copied");
	w.regs[PERF_IP] = at(10, 1);
	w.stack[0] = at(3, 9);
	s = unwound(&w, WORDS);
	ARE(&s, STACK_COMPLETE, at(10, 1), at(3, 9));
	end(&w);
}

/* The interrupted function was at its first byte, which no call returns to. */
static void through_a_signal(void **state)
{
	struct world w;
	struct stack s;

	begin(&w);
	w.regs[PERF_IP] = at(0, 1);
	w.stack[0] = at(4, 1);
	w.stack[2] = SP + 8 * 8;
	w.stack[3] = at(1, 0);
	w.stack[8] = at(3, 9);
	for (int again = 0; again < 3; again++) {
		s = unwound(&w, WORDS);
		ARE(&s, STACK_COMPLETE, at(0, 1), at(4, 1), at(1, 0), at(3, 9));
	}
	/* What lies below the handler's stack pointer was not copied. */
	w.stack[2] = SP - 0x10000;
	s = unwound(&w, WORDS);
	ARE(&s, STACK_ELSEWHERE, at(0, 1), at(4, 1), at(1, 0));
	end(&w);
}

static void without_rules_by_frame_pointers(void **state)
{
	struct world w;
	struct stack s;

	begin(&w);
	w.regs[PERF_IP] = LIB_BASE + 0x10;
	w.regs[PERF_BP] = SP + 4 * 8;
	w.stack[4] = SP + 10 * 8;
	w.stack[5] = LIB_BASE + 0x20;
	w.stack[10] = 0;
	w.stack[11] = at(1, 0x10);
	w.stack[13] = at(3, 5);
	s = unwound(&w, WORDS);
	ARE(&s, STACK_COMPLETE, LIB_BASE + 0x10, LIB_BASE + 0x20, at(1, 0x10), at(3, 5));
	/* No frame pointer: where it was sampled, it may be its first instruction. */
	w.regs[PERF_BP] = 1;
	w.stack[0] = at(3, 5);
	s = unwound(&w, WORDS);
	ARE(&s, STACK_COMPLETE, LIB_BASE + 0x10, at(3, 5));
	/* But a caller is not. */
	w.regs[PERF_IP] = at(0, 0);
	w.stack[0] = LIB_BASE + 0x30;
	s = unwound(&w, WORDS);
	ARE(&s, STACK_NO_RULE, at(0, 0), LIB_BASE + 0x30);
	says(&s, "no unwind table for lib.so");
	/* The last of a chain of frame pointers. */
	w.regs[PERF_IP] = LIB_BASE + 0x10;
	w.regs[PERF_BP] = SP + 4 * 8;
	w.stack[4] = 0;
	s = unwound(&w, WORDS);
	ARE(&s, STACK_COMPLETE, LIB_BASE + 0x10, LIB_BASE + 0x20);
	end(&w);
}

/* A call of a function pointer that is NULL. */
static void from_nowhere(void **state)
{
	struct world w;
	struct stack s;

	begin(&w);
	w.stack[0] = at(3, 5);
	s = unwound(&w, WORDS);
	ARE(&s, STACK_COMPLETE, 0, at(3, 5));
	w.stack[0] = 0x1234;
	s = unwound(&w, WORDS);
	ARE(&s, STACK_BAD, 0);
	says(&s, "no caller that makes sense");
	end(&w);
}

static void tells_why_it_ends(void **state)
{
	struct world w;
	struct stack s;

	begin(&w);
	prepare_calls(&w);
	s = unwound(&w, 9);
	ARE(&s, STACK_SHORT, at(0, 7), at(1, 0x20), at(2, 0x30));
	says(&s, "more than the 72 bytes of stack that were copied");
	s = unwound(&w, 0);
	ARE(&s, STACK_SHORT, at(0, 7));
	/* A caller where nothing is mapped is none. */
	w.stack[2] = 0xdead0000;
	s = unwound(&w, WORDS);
	ARE(&s, STACK_BAD, at(0, 7), at(1, 0x20));
	/* Nor one with a frame that is not above. */
	w.regs[PERF_IP] = at(5, 0);
	w.stack[0] = SP;
	s = unwound(&w, WORDS);
	assert_int_equal(s.end, STACK_BAD);
	assert_int_equal(s.nr, 1);
	w.regs[PERF_IP] = at(6, 0);
	s = unwound(&w, WORDS);
	assert_int_equal(s.end, STACK_BAD);
	assert_int_equal(s.nr, 1);
	end(&w);
}

static void ends_with_the_deepest(void **state)
{
	static uint64_t deep[2 * UNWIND_MAX_FRAMES];
	struct world w;
	struct stack s;

	begin(&w);
	for (size_t i = 0; i < 2 * UNWIND_MAX_FRAMES; i++)
		deep[i] = at(0, 1);
	w.regs[PERF_IP] = at(0, 0);
	w.rec.s.regs = (const uint8_t *)w.regs;
	w.rec.s.stack = (struct bytes){(const uint8_t *)deep, sizeof(deep)};
	stack_get(w.st, &w.rec, &s);
	assert_int_equal(s.nr, UNWIND_MAX_FRAMES);
	assert_int_equal(s.end, STACK_DEEP);
	says(&s, "more frames than are followed");
	end(&w);
}

/* What was remembered of an address is forgotten when something else is mapped there. */
static void when_mappings_change(void **state)
{
	struct fmt_map old = {
		.key = 1, .path = 1, .start = BASE, .end = BASE + 0x1000, .pgoff = 0x1000};
	struct fmt_map new = old;
	static const uint8_t pushed[] = {0x0e, 24};
	struct world w = {.d = mk_begin()};
	struct stack s;

	mk_task(&w.d, 1, 10, 10, 1, 0, 0);
	mk_path(&w.d, 1, APP);
	mk_path(&w.d, 2, LIB);
	old.end_ns = 1000;
	new.ns = 1000;
	new.path = 2;
	mk_map(&w.d, &old);
	mk_map(&w.d, &new);
	mk_image(&w.d, 0, FMT_IMAGE_FILE, 0, 1, APP);
	add_rule(&w, 0x1000, 0, NULL, 0);
	add_rule(&w, 0x1300, 0, (const uint8_t[]){0x07, 16}, 2);
	mk_image(&w.d, 1, FMT_IMAGE_FILE, 0, 2, LIB);
	mk_rule(&w.d,
		(struct fmt_unwind){.image = 1,
				    .start = 0x1000,
				    .bytes = 0x300,
				    .code_align = 1,
				    .data_align = -8,
				    .return_register = 16,
				    .initial_bytes = sizeof(at_entry)},
		at_entry, pushed, sizeof(pushed));
	mk_rule(&w.d,
		(struct fmt_unwind){.image = 1,
				    .start = 0x1300,
				    .bytes = 0x100,
				    .code_align = 1,
				    .data_align = -8,
				    .return_register = 16,
				    .initial_bytes = sizeof(at_entry)},
		at_entry, (const uint8_t[]){0x07, 16}, 2);
	w.r = mk_end(&w.d);
	assert_int_equal(history_load(w.r, &w.p, NULL), 0);
	assert_int_equal(symbols_load(w.r, w.p, &w.s, NULL), 0);
	assert_int_equal(stacks_new(NULL, w.p, w.s, &w.st, NULL), 0);
	w.channel.layout.regs_user = REGS;
	w.rec = (struct timeline_record){.time_ns = 500, .tid = 10, .channel = &w.channel};
	w.rec.s.have = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	w.rec.s.regs_abi = PERF_SAMPLE_REGS_ABI_64;
	w.regs[PERF_SP] = SP;
	w.regs[PERF_IP] = at(0, 2);
	w.stack[0] = at(3, 1);
	w.stack[2] = at(3, 2);
	for (int again = 0; again < 4; again++) {
		w.rec.time_ns = again & 1 ? 2000 : 500;
		s = unwound(&w, WORDS);
		ARE(&s, STACK_COMPLETE, at(0, 2), at(3, again & 1 ? 2 : 1));
	}
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(through_calls),
		cmocka_unit_test(at_the_end_of_a_function),
		cmocka_unit_test(behind_a_function),
		cmocka_unit_test(behind_the_kernels_part),
		cmocka_unit_test(through_a_signal),
		cmocka_unit_test(to_another_stack),
		cmocka_unit_test(without_rules_by_frame_pointers),
		cmocka_unit_test(from_nowhere),
		cmocka_unit_test(tells_why_it_ends),
		cmocka_unit_test(ends_with_the_deepest),
		cmocka_unit_test(when_mappings_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
