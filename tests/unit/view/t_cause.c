/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* The event that met the rule, as info prints it: where and why a thread crashed, how long a call took.
 * And that its records are no ring's. */
#include "dump/view/info/trigger_cause.h"

#include "dump/view/info/info.h"
#include "dump/view/report/report.h"
#include "dump/view/why/why.h"
#include "tests/helpers/mkdump.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define RINGS	(PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define TRIGGER (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW)
#define THREADS (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)
#define MS	1000000ull
#define HIT	(5000 * MS)
#define CODE	0x400000ull

enum { GENERATE = 300, DELIVER, FAULT };

#define COMMON                                                                                     \
	"format:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"            \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define INT(name, at)  "\tfield:int " name ";\toffset:" #at ";\tsize:4;\tsigned:1;\n"
#define LONG(name, at) "\tfield:unsigned long " name ";\toffset:" #at ";\tsize:8;\tsigned:0;\n"

struct raw {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	int32_t a, b, c, d;
	uint64_t handler;
};

static void formats(struct mk *d)
{
	mk_format(d, GENERATE, "signal",
		  "name: signal_generate\nID: 300\n" COMMON INT("sig", 8) INT("errno", 12)
			  INT("code", 16) INT("pid", 20) "\nprint fmt: \"sig=%d\", REC->sig\n");
	mk_format(d, DELIVER, "signal",
		  "name: signal_deliver\nID: 301\n" COMMON INT("sig", 8) INT("errno", 12)
			  INT("code", 16)
				  LONG("sa_handler", 24) "\nprint fmt: \"sig=%d\", REC->sig\n");
	mk_format(d, FAULT, "exceptions",
		  "name: page_fault_user\nID: 302\n" COMMON LONG(
			  "address", 8) "\nprint fmt: \"address=%lx\", REC->address\n");
}

/* A program with symbols: leaf, middle and main, 256 bytes each. */
static void program(struct mk *d)
{
	const struct fmt_map code = {.key = 1,
				     .path = 1,
				     .start = CODE,
				     .end = CODE + 0x10000,
				     .ino = 9,
				     .prot = 5,
				     .flags = 2};

	mk_task(d, 1, 7, 7, 1, 0, 0);
	mk_comm(d, 1, 0, "victim");
	mk_task(d, 2, 12, 12, 1, 0, 0);
	mk_comm(d, 2, 0, "kill\x1b");
	mk_path(d, 1, "/usr/bin/victim");
	mk_map(d, &code);
	mk_image(d, 0, FMT_IMAGE_FILE, 0, 1, "/usr/bin/victim");
	mk_function(d, 0, 0x1000, 0x100, "leaf");
	mk_function(d, 0, 0x1100, 0x100, "middle");
	mk_function(d, 0, 0x1200, 0x100, "main");
	mk_place(d, 0, 0x1010, 0, 42, "leaf", "/src/leaf.c");
}

struct story {
	struct mk d;
	struct mk_records rings, trigger, threads;
};

static struct story *begin(void)
{
	static struct story s;
	struct mk *d = &s.d;

	s = (struct story){.d = mk_begin()};
	mk_host(d);
	mk_trigger(d, HIT);
	mk_text(d, FMT_TRIGGER, FMT_TRIGGER_COMM, "vic\ntim");
	mk_channel(d, 0, "life", RINGS);
	mk_event(d, 0, 0, "signal:signal_generate", GENERATE, RINGS);
	mk_event(d, 1, 0, "signal:signal_deliver", DELIVER, RINGS);
	mk_event(d, 2, 0, "exceptions:page_fault_user", FAULT, RINGS);
	mk_channel(d, 1, "trigger", TRIGGER);
	mk_event(d, 3, 1, "signal:signal_deliver", DELIVER, TRIGGER);
	formats(d);
	program(d);
	mk_window(d, &(struct fmt_window){.ring = 0,
					  .cpu = 0,
					  .tid = -1,
					  .nr_records = 1,
					  .armed_ns = HIT - 900 * MS,
					  .first_ns = HIT - 800 * MS,
					  .last_ns = HIT,
					  .paused_ns = HIT + MS});
	mk_window(d, &(struct fmt_window){.ring = 1,
					  .channel = 1,
					  .cpu = -1,
					  .tid = -1,
					  .nr_records = 1,
					  .first_ns = HIT,
					  .last_ns = HIT,
					  .paused_ns = HIT + MS,
					  .lost = 3,
					  .flags = FMT_WINDOW_TRIGGER});
	return &s;
}

static void in_rings(struct story *s, uint64_t ns, const struct raw *raw)
{
	mk_sample(&s->rings, ns, raw, sizeof(*raw));
}

/* In leaf, called by middle, called by main. */
static void met(struct story *s, uint64_t ns, uint32_t tid, const struct raw *raw)
{
	const uint64_t chain[] = {4, (uint64_t)PERF_CONTEXT_USER, CODE + 0x1010, CODE + 0x1120,
				  CODE + 0x1230};
	const uint32_t who[] = {7, tid}, n = sizeof(*raw);
	struct buf b = {0};

	MK_OK(buf_put(&b, who, sizeof(who)));
	MK_OK(buf_put(&b, &ns, sizeof(ns)));
	MK_OK(buf_put(&b, chain, sizeof(chain)));
	MK_OK(buf_put(&b, &n, sizeof(n)));
	MK_OK(buf_put(&b, raw, n));
	mk_record(&s->trigger, PERF_RECORD_SAMPLE, 0, b.p, b.len);
	buf_free(&b);
}

static struct reader *end(struct story *s)
{
	mk_stats(&s->d);
	if (s->rings.nr)
		mk_block(&s->d, 0, 0, HIT - 800 * MS, HIT, &s->rings);
	if (s->trigger.nr)
		mk_block(&s->d, 1, 0, HIT, HIT, &s->trigger);
	if (s->threads.nr)
		mk_block(&s->d, 2, 0, HIT, HIT, &s->threads);
	mk_records_free(&s->threads);
	mk_records_free(&s->rings);
	mk_records_free(&s->trigger);
	return mk_end(&s->d);
}

/* As a core file tells of a thread. */
static void thread_in(struct story *s, uint32_t tid, const uint64_t *chain, size_t bytes)
{
	const uint32_t who[] = {7, tid};
	const uint64_t ns = HIT;
	struct buf b = {0};

	if (!s->threads.nr) {
		mk_channel(&s->d, 2, "trigger", THREADS);
		mk_event(&s->d, 4, 2, "crash:thread", 0, THREADS);
		mk_window(&s->d, &(struct fmt_window){.ring = 2,
						      .channel = 2,
						      .cpu = -1,
						      .tid = -1,
						      .first_ns = HIT,
						      .last_ns = HIT,
						      .flags = FMT_WINDOW_TRIGGER});
	}
	if (tid > 12)
		mk_task(&s->d, tid, tid, 7, 1, 0, 0);
	MK_OK(buf_put(&b, who, sizeof(who)));
	MK_OK(buf_put(&b, &ns, sizeof(ns)));
	MK_OK(buf_put(&b, chain, bytes));
	mk_record(&s->threads, PERF_RECORD_SAMPLE, 0, b.p, b.len);
	buf_free(&b);
}

/* In middle, called by main. */
static void thread(struct story *s, uint32_t tid)
{
	const uint64_t chain[] = {3, (uint64_t)PERF_CONTEXT_USER, CODE + 0x1110, CODE + 0x1230};

	thread_in(s, tid, chain, sizeof(chain));
}

/* What info, report or why print; the caller frees it. */
static char *said(struct reader *r, char which)
{
	struct report_options ro = {.to_ns = UINT64_MAX, .width = 100};
	struct info_options io = {.path = "x.rbd"};
	struct why_options wo = {0};
	struct meta *m = mk_meta(r);
	struct report_result rr = {0};
	struct info_result ir = {0};
	struct why_result wr = {0};
	char *out = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&out, &n);

	assert_non_null(f);
	if (which == 'i')
		MK_OK(info_print(r, m, &io, f, &ir, NULL));
	else if (which == 'r')
		MK_OK(report_print(r, m, &ro, f, &rr, NULL));
	else
		MK_OK(why_print(r, m, &wo, f, &wr, NULL));
	fclose(f);
	meta_free(m);
	return out;
}

static void expect(struct reader *r, char which, const char *text)
{
	char *out = said(r, which);

	if (!strstr(out, text))
		fail_msg("no \"%s\" in what %c says:\n%s", text, which, out);
	free(out);
}

static void expect_not(struct reader *r, char which, const char *text)
{
	char *out = said(r, which);

	if (strstr(out, text))
		fail_msg("\"%s\" in what %c says:\n%s", text, which, out);
	free(out);
}

#define STACK "leaf (leaf.c:42) <- middle <- main\n"

static void a_fault_has_its_place_and_address(void **state)
{
	const struct raw deliver = {.type = DELIVER, .pid = 7, .a = 11, .c = 1};
	struct raw fault = {.type = FAULT, .pid = 7, .a = 0x10};
	struct story *s = begin();
	struct reader *r;

	in_rings(s, HIT - 2000, &fault);
	in_rings(s, HIT - 1000, &deliver);
	met(s, HIT, 7, &deliver);
	r = end(s);
	expect(r, 'i', "  signal   SIGSEGV (SEGV_MAPERR), fault address 0x10\n");
	expect(r, 'i', "  crashed  " STACK);
	expect(r, 'i', "  by       vic\\x0atim, pid 7");
	expect(r, 'r', "crashed  " STACK);
	expect(r, 'r', "signal   SIGSEGV (SEGV_MAPERR), fault address 0x10\n");
	expect(r, 'w', "victim (7) was killed by SIGSEGV in leaf()\n");
	expect(r, 'w', "stack       " STACK);
	mk_close(&s->d, r);
}

static void what_somebody_sent_has_a_sender(void **state)
{
	const struct raw sent = {.type = GENERATE, .pid = 12, .a = 11, .d = 7};
	const struct raw deliver = {.type = DELIVER, .pid = 7, .a = 11};
	struct story *s = begin();
	struct reader *r;

	in_rings(s, HIT - 3000, &sent);
	met(s, HIT, 7, &deliver);
	r = end(s);
	expect(r, 'i', "  signal   SIGSEGV (SI_USER), sent by kill\\x1b (12)\n");
	expect(r, 'w', "victim (7) was killed by SIGSEGV, sent by kill\\x1b (12), in leaf()\n");
	mk_close(&s->d, r);
}

static void nothing_is_made_up(void **state)
{
	const struct raw deliver = {.type = DELIVER, .pid = 7, .a = 11, .c = 0x80};
	const struct raw fault = {.type = FAULT, .pid = 8, .a = 0x10};
	struct story *s = begin();
	struct reader *r;

	in_rings(s, HIT - 2000, &fault); /* another thread's */
	met(s, HIT, 7, &deliver);
	r = end(s);
	expect(r, 'i', "  signal   SIGSEGV (SI_KERNEL)\n");
	mk_close(&s->d, r);
}

/* The stack is that of the thread that met the rule, not of others. */
static void of_several_it_is_the_one_that_met_the_rule(void **state)
{
	const struct raw other = {.type = DELIVER, .pid = 9, .a = 6, .c = -6};
	const struct raw deliver = {.type = DELIVER, .pid = 7, .a = 8, .c = 1};
	struct story *s = begin();
	struct reader *r;

	met(s, HIT, 9, &other);
	met(s, HIT, 7, &deliver);
	r = end(s);
	expect(r, 'i', "  signal   SIGFPE (FPE_INTDIV)\n");
	expect_not(r, 'i', "SIGABRT");
	mk_close(&s->d, r);
}

/* The stack that shows most, and the threads beside it; those at one place together. */
static void all_threads_of_a_core_are_told(void **state)
{
	const struct raw deliver = {.type = DELIVER, .pid = 7, .a = 11, .c = 1};
	struct story *s = begin();
	struct reader *r;

	met(s, HIT, 7, &deliver);
	thread(s, 7);
	for (uint32_t tid = 13; tid < 23; tid++)
		thread(s, tid);
	r = end(s);
	expect(r, 'i', "  crashed  " STACK);
	expect(r, 'i', "  threads  10 threads, as victim (13): middle <- main\n");
	expect_not(r, 'i', "more (ringback script)\n");
	expect(r, 'r', "threads  10 threads, as victim (13): middle <- main\n");
	mk_close(&s->d, r);
}

/* Thirty calls of middle in each other take the place of one. */
static void a_recursion_is_one_function(void **state)
{
	uint64_t chain[34] = {33, (uint64_t)PERF_CONTEXT_USER, CODE + 0x1010};
	struct story *s = begin();
	struct reader *r;

	for (size_t i = 3; i < 33; i++)
		chain[i] = CODE + 0x1120 + 16 * (i & 1);
	chain[33] = CODE + 0x1230;
	thread_in(s, 7, chain, sizeof(chain));
	r = end(s);
	expect(r, 'i', "  crashed  leaf (leaf.c:42) <- middle (×30) <- main\n");
	expect(r, 'r', "crashed  leaf (leaf.c:42) <- middle (×30) <- main\n");
	expect(r, 'w', "stack       leaf (leaf.c:42) <- middle (×30) <- main\n");
	mk_close(&s->d, r);
}

/* Of a program that handles its signals there is only what it told. */
static void a_crash_may_be_told_by_its_threads_alone(void **state)
{
	struct story *s = begin();
	struct reader *r;

	thread(s, 7);
	r = end(s);
	expect(r, 'i', "  crashed  middle <- main\n");
	expect_not(r, 'i', "  signal ");
	expect(r, 'w', "victim (7) crashed in middle()\n");
	mk_close(&s->d, r);
}

static void its_records_are_no_rings(void **state)
{
	const struct raw deliver = {.type = DELIVER, .pid = 7, .a = 11, .c = 1};
	struct story *s = begin();
	struct reader *r;

	met(s, HIT, 7, &deliver);
	r = end(s);
	expect(r, 'i', "all rings reach from -900 ms");
	expect(r, 'i', "3 records of what met the rule came too late or were too many");
	expect(r, 'i', "channel    trigger: records of what met the rule\n");
	expect_not(r, 'i', "trigger   ring");
	expect(r, 'r', "back to -900 ms (life)\n");
	mk_close(&s->d, r);
}

static void an_interval_is_what_why_looks_at(void **state)
{
	const struct raw deliver = {.type = DELIVER, .pid = 7, .a = 11, .handler = 4096};
	const uint64_t began = HIT - 12 * MS;
	struct story *s = begin();
	struct reader *r;

	mk_item(&s->d, FMT_TRIGGER, FMT_TRIGGER_BEGAN, &began, sizeof(began), NULL, 0);
	met(s, HIT, 7, &deliver);
	r = end(s);
	expect(r, 'i', "  took     12 ms, from -12 ms to the trigger\n");
	expect(r, 'i', "  stack    " STACK);
	expect(r, 'w', "the 12 ms that it took");
	expect_not(r, 'w', "crashed");
	mk_close(&s->d, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_has_its_place_and_address),
		cmocka_unit_test(what_somebody_sent_has_a_sender),
		cmocka_unit_test(nothing_is_made_up),
		cmocka_unit_test(of_several_it_is_the_one_that_met_the_rule),
		cmocka_unit_test(all_threads_of_a_core_are_told),
		cmocka_unit_test(a_recursion_is_one_function),
		cmocka_unit_test(a_crash_may_be_told_by_its_threads_alone),
		cmocka_unit_test(its_records_are_no_rings),
		cmocka_unit_test(an_interval_is_what_why_looks_at),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("cause", tests, NULL, NULL);
}
