/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/* script: the lines, their filters, and the JSON that dump/view/SCHEMA.md describes. */
#include "dump/view/script/script.h"

#include "tests/helpers/mkdump.h"
#include "tests/helpers/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define RAW_TYPE (PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define CPU_TYPE                                                                                   \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |                  \
	 PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)
#define DWARF_TYPE                                                                                 \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)
#define REGS	 (1u << 6 | 1u << 7 | 1u << 8) /* bp, sp, ip of x86 */
#define TP_VALUE 300
#define TP_NAKED 301 /* without a format */
#define HIT	 2000000000ull
#define KERNEL	 0xffffffff81000000ull

static void put_ledger(struct mk *d)
{
	mk_task(d, 1, 10, 10, 1, 0, 0);
	mk_comm(d, 1, 0, "alpha");
	mk_comm(d, 1, HIT - 500, "omega");
	mk_task(d, 2, 11, 10, 1, 0, 0);
	mk_comm(d, 2, 0, "\x1b[31mevil\n");
	mk_task(d, 3, 20, 20, 1, 0, 0);
	mk_comm(d, 3, 0, "other");
	mk_path(d, 1, "/usr/lib/libdemo.so");
	mk_map(d, &(struct fmt_map){
			  .key = 1, .path = 1, .start = 0x7000, .end = 0x9000, .pgoff = 0x100});
}

static void put_counter(struct mk_records *r, uint64_t time)
{
	uint64_t body[] = {
		0x7010, 10 | 10ull << 32,  time,   0xdead, 4000,   6, PERF_CONTEXT_KERNEL,
		KERNEL, PERF_CONTEXT_USER, 0x7010, 0x8fff, 0x5555,
	};

	mk_record(r, PERF_RECORD_SAMPLE, 0, body, sizeof(body));
}

static void put_dwarf(struct mk_records *r, uint64_t time)
{
	uint64_t body[] = {
		10 | 11ull << 32,
		time,
		PERF_SAMPLE_REGS_ABI_64,
		1,
		0x7fff0000,
		0x7020,
		16,
		0,
		0,
		16,
	};

	mk_record(r, PERF_RECORD_SAMPLE, 0, body, sizeof(body));
}

static struct mk begin(void)
{
	struct mk d = mk_begin();

	mk_host(&d);
	mk_trigger(&d, HIT);
	mk_channel(&d, 0, "trace", RAW_TYPE);
	mk_channel(&d, 1, "cpu", CPU_TYPE);
	mk_channel_regs(&d, 2, "crash", DWARF_TYPE, REGS);
	mk_event(&d, 0, 0, "sys:value", TP_VALUE, RAW_TYPE);
	mk_event(&d, 1, 0, "sys:naked", TP_NAKED, RAW_TYPE);
	mk_event(&d, 2, 1, "cpu-clock", 0, CPU_TYPE);
	mk_event(&d, 3, 2, "page-faults", 0, DWARF_TYPE);
	mk_format(&d, TP_VALUE, "sys", mk_number_format);
	for (uint32_t i = 0; i < 4; i++)
		mk_cpu_window(&d, i, i < 2 ? 0 : i - 1, i == 1);
	put_ledger(&d);
	return d;
}

/* One of everything. */
static struct mk everything(void)
{
	struct mk_records r = {0};
	struct mk d = begin();

	mk_number(&r, HIT - 1204812345, TP_VALUE, 10, 7);
	mk_number(&r, HIT - 1000, TP_VALUE, 11, 8);
	mk_lost(&r, HIT - 900, 5, 12);
	mk_number(&r, HIT + 1, TP_VALUE, 10, 9);
	mk_block(&d, 0, 0, HIT - 1204812345, HIT + 1, &r);
	mk_records_free(&r);
	mk_number(&r, HIT - 800, TP_NAKED, 99, 1);
	mk_number(&r, HIT - 700, TP_VALUE, 0, 2);
	mk_number(&r, HIT - 600, 999, 20, 3);
	mk_block(&d, 1, 0, HIT - 800, HIT - 600, &r);
	mk_records_free(&r);
	put_counter(&r, HIT - 300);
	mk_block(&d, 2, 0, HIT - 300, HIT - 300, &r);
	mk_records_free(&r);
	put_dwarf(&r, HIT - 200);
	mk_block(&d, 3, 0, HIT - 200, HIT - 200, &r);
	mk_records_free(&r);
	/* Up to its last byte: where the call at 0x8ffe, whose return address is recorded, lies. */
	mk_image(&d, 0, FMT_IMAGE_FILE, 0, 1, "/usr/lib/libdemo.so");
	mk_function(&d, 0, 0x2080, 0x7f, "_ZN4demo3runEv");
	/* The stack of put_dwarf() begins with 0: the caller of 0x7020 is not known. */
	mk_rule(&d,
		(struct fmt_unwind){.start = 0x100,
				    .bytes = 0x100,
				    .code_align = 1,
				    .data_align = -8,
				    .return_register = 16,
				    .initial_bytes = 5},
		"\x0c\x07\x18\x90\x01", NULL, 0);
	mk_place(&d, 0, 0x20fe, 0, 3, "demo_inlined", "/src/demo.c");
	mk_place(&d, 0, 0x20fe, 1, 9, "_ZN4demo3runEv", "/src/demo.c");
	return d;
}

/* What is printed; freed by the next call. */
static char *print(struct reader *r, struct script_options opt, struct script_result *res)
{
	static char *out;
	struct meta *m = mk_meta(r);
	struct err err = ERR_INIT;
	size_t n = 0;
	FILE *f;

	free(out);
	out = NULL;
	f = open_memstream(&out, &n);
	assert_non_null(f);
	if (!opt.to_ns)
		opt.to_ns = UINT64_MAX;
	if (script_print(r, m, &opt, f, res, &err))
		fail_msg("%s", err.what);
	assert_int_equal(fclose(f), 0);
	meta_free(m);
	return out;
}

static const char everything_text[] =
	"           alpha      10 [000]    -1.204812345  sys:value: value=7\n"
	"\\x1b[31mevil\\x0a      11 [000]    -0.000001000  sys:value: value=8\n"
	"               -       - [000]    -0.000000900  PERF_RECORD_LOST: id=5 lost=12\n"
	"             :99      99 [001]    -0.000000800  sys:naked: raw 2d0100006300000001000000\n"
	"         swapper       0 [001]    -0.000000700  sys:value: value=2\n"
	"           other      20 [001]    -0.000000600  unknown: raw e70300001400000003000000\n"
	"           omega      10 [000]    -0.000000300  cpu-clock: period 4000 addr 0xdead"
	" ip 0x7010 libdemo.so+0x110\n"
	"                        ffffffff81000000 [kernel]\n"
	"                                    7010 libdemo.so+0x110\n"
	"                                    8fff demo_inlined (inlined) demo.c:3\n"
	"                                    8fff demo::run+0x7f (libdemo.so) demo.c:9\n"
	"                                    5555 [unknown]\n"
	"\\x1b[31mevil\\x0a      11 [000]    -0.000000200  page-faults:\n"
	"                        user stack 16 bytes, ip 0x7020 libdemo.so+0x120, sp 0x7fff0000\n"
	"                                    7020 libdemo.so+0x120\n"
	"                        ends: more than the 16 bytes of stack that were copied\n"
	"           omega      10 [000]    +0.000000001  sys:value: value=9\n";

static void test_text(void **state)
{
	struct script_result res;
	struct mk d = everything();
	struct reader *r = mk_end(&d);

	assert_string_equal(print(r, (struct script_options){0}, &res), everything_text);
	assert_int_equal(res.nr_printed, 9);
	assert_int_equal(res.nr_bad_blocks, 0);
	mk_close(&d, r);
}

/* The values of the events that are printed, in order: "7 8 9". */
static const char *values(struct reader *r, struct script_options opt)
{
	static char list[256];
	struct script_result res;
	char *save = NULL, *text;
	size_t len = 0;

	list[0] = '\0';
	text = print(r, opt, &res);
	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		const char *v = strstr(l, "value=");

		if (v)
			len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%s",
						len ? " " : "", v + 6);
	}
	return list;
}

static void test_filters(void **state)
{
	struct mk d = everything();
	struct reader *r = mk_end(&d);
	const uint32_t ten[] = {10}, eleven[] = {11}, zero[] = {0}, both[] = {0, 1};
	const char *alpha[] = {"alpha"}, *ega[] = {"*ega", "swapper"}, *value[] = {"sys:v*"};
	const char *bare[] = {"value"}, *lost[] = {"PERF_RECORD_LOST"}, *none[] = {"cpu-clock"};

	assert_string_equal(values(r, (struct script_options){0}), "7 8 2 9");
	assert_string_equal(values(r, (struct script_options){.from_ns = HIT - 1000}), "8 2 9");
	assert_string_equal(values(r, (struct script_options){.to_ns = HIT - 700}), "7 8 2");
	assert_string_equal(values(r, (struct script_options){.limit = 2}), "7 8");
	/* A process has its threads, a thread only itself. */
	assert_string_equal(values(r, (struct script_options){.pids = ten, .nr_pids = 1}), "7 8 9");
	assert_string_equal(values(r, (struct script_options){.tids = ten, .nr_tids = 1}), "7 9");
	assert_string_equal(values(r, (struct script_options){.tids = eleven, .nr_tids = 1}), "8");
	assert_string_equal(values(r, (struct script_options){.tids = zero, .nr_tids = 1}), "2");
	assert_string_equal(values(r, (struct script_options){.cpus = zero, .nr_cpus = 1}),
			    "7 8 9");
	assert_string_equal(values(r, (struct script_options){.cpus = both, .nr_cpus = 2}),
			    "7 8 2 9");
	/* A name as of the moment. */
	assert_string_equal(values(r, (struct script_options){.comms = alpha, .nr_comms = 1}), "7");
	assert_string_equal(values(r, (struct script_options){.comms = ega, .nr_comms = 2}), "2 9");
	assert_string_equal(values(r, (struct script_options){.events = value, .nr_events = 1}),
			    "7 8 2 9");
	assert_string_equal(values(r, (struct script_options){.events = bare, .nr_events = 1}),
			    "7 8 2 9");
	assert_string_equal(values(r, (struct script_options){.events = none, .nr_events = 1}), "");
	assert_string_equal(values(r, (struct script_options){.events = lost, .nr_events = 1}), "");
	mk_close(&d, r);
}

static void test_lost_alone(void **state)
{
	const char *lost[] = {"PERF_RECORD_LOST"};
	struct script_result res;
	struct mk d = everything();
	struct reader *r = mk_end(&d);
	struct meta *m = mk_meta(r);

	print(r, (struct script_options){.events = lost, .nr_events = 1}, &res);
	assert_int_equal(res.nr_printed, 1);
	assert_true(script_event_known(m, "PERF_RECORD_*"));
	assert_true(script_event_known(m, "sys:*"));
	assert_true(script_event_known(m, "naked"));
	assert_false(script_event_known(m, "sched:*"));
	meta_free(m);
	mk_close(&d, r);
}

/* A record of the kernel's own with u64 fields, its time behind them. */
static void put_own(struct mk_records *r, uint32_t type, uint16_t misc, uint64_t time,
		    const uint64_t *fields, size_t nr)
{
	uint64_t w[4];

	if (nr)
		memcpy(w, fields, nr * 8);
	w[nr] = time;
	mk_record(r, type, misc, w, (uint32_t)(nr + 1) * 8);
}

/* The kernel's records beside an AUX area: switches are printed on request. */
static void test_aux_records(void **state)
{
	static const uint64_t aux[] = {4096, 512,
				       PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PARTIAL |
					       PERF_AUX_FLAG_COLLISION};
	static const uint64_t start[] = {10ull << 32 | 10};
	const char *switches[] = {"PERF_RECORD_SWITCH"};
	struct mk_records q = {0};
	struct script_result res;
	struct mk d = mk_begin();
	struct reader *r;

	mk_trigger(&d, HIT);
	mk_channel(&d, 0, "pt", PERF_SAMPLE_TIME);
	mk_event(&d, 0, 0, "intel_pt//", 0, PERF_SAMPLE_TIME);
	mk_cpu_window(&d, 0, 0, 3);
	put_own(&q, PERF_RECORD_ITRACE_START, 0, HIT - 500, start, 1);
	put_own(&q, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, HIT - 400, NULL, 0);
	put_own(&q, PERF_RECORD_SWITCH, 0, HIT - 300, NULL, 0);
	put_own(&q, PERF_RECORD_AUX, 0, HIT - 200, aux, 3);
	mk_block(&d, 0, 0, HIT - 500, HIT - 200, &q);
	mk_records_free(&q);
	r = mk_end(&d);
	assert_string_equal(print(r, (struct script_options){0}, &res),
			    "               -       - [003]    -0.000000200  PERF_RECORD_AUX: "
			    "aux_offset=4096 aux_size=512 flags=14 partial collision\n");
	assert_string_equal(
		print(r, (struct script_options){.events = switches, .nr_events = 1}, &res),
		"               -       - [003]    -0.000000400  PERF_RECORD_SWITCH: out=1 "
		"preempt=0\n"
		"               -       - [003]    -0.000000300  PERF_RECORD_SWITCH: out=0 "
		"preempt=0\n");
	mk_close(&d, r);
}

static void test_color(void **state)
{
	struct script_result res;
	struct mk d = everything();
	struct reader *r = mk_end(&d);
	const char *text = print(r, (struct script_options){.color = true, .limit = 1}, &res);

	assert_string_equal(text, "           alpha      10 [000] \x1b[2m   -1.204812345\x1b[0m  "
				  "\x1b[36msys:value:\x1b[0m value=7\n");
	mk_close(&d, r);
}

static void test_json(void **state)
{
	struct schema seen = {0};
	struct script_result res;
	struct mk d = everything();
	struct reader *r = mk_end(&d);
	char *save = NULL, *text = print(r, (struct script_options){.json = true}, &res);
	json_t *j[16] = {0};
	size_t nr = 0;

	for (char *l = strtok_r(text, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		assert_true(nr < 16);
		j[nr] = json_loads(l, JSON_REJECT_DUPLICATES, NULL);
		assert_non_null(j[nr]);
		schema_see(&seen, j[nr++], "");
	}
	assert_int_equal(nr, 9);
	assert_int_equal(json_integer_value(json_object_get(j[0], "t")), -1204812345);
	assert_string_equal(json_string_value(json_object_get(j[0], "time")), "795187655");
	assert_int_equal(json_integer_value(json_object_get(j[0], "pid")), 10);
	assert_string_equal(json_string_value(json_object_get(j[1], "comm")), "\x1b[31mevil\n");
	assert_int_equal(json_integer_value(json_object_get(j[1], "pid")), 10);
	assert_true(json_is_null(json_object_get(j[2], "tid")));
	assert_true(json_is_null(json_object_get(j[3], "comm")));
	schema_check(&seen, "## script", "fields.");
	for (size_t i = 0; i < nr; i++)
		json_decref(j[i]);
	mk_close(&d, r);
}

static void test_json_chain(void **state)
{
	const char *cpu[] = {"cpu-clock"};
	struct script_result res;
	struct mk d = everything();
	struct reader *r = mk_end(&d);
	json_t *j, *chain;

	j = json_loads(print(r,
			     (struct script_options){.json = true, .events = cpu, .nr_events = 1},
			     &res),
		       0, NULL);
	assert_non_null(j);
	chain = json_object_get(j, "chain");
	assert_int_equal(json_array_size(chain), 4);
	assert_string_equal(json_string_value(json_object_get(json_array_get(chain, 0), "dso")),
			    "[kernel]");
	assert_string_equal(json_string_value(json_object_get(json_array_get(chain, 1), "ip")),
			    "0x7010");
	assert_string_equal(json_string_value(json_object_get(json_array_get(chain, 1), "dso")),
			    "/usr/lib/libdemo.so");
	assert_string_equal(json_string_value(json_object_get(json_array_get(chain, 1), "off")),
			    "0x110");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(chain, 2), "function")),
		"demo::run");
	assert_int_equal(json_integer_value(json_object_get(json_array_get(chain, 2), "offset")),
			 0x7f);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(chain, 2), "line")), 9);
	assert_null(json_object_get(json_array_get(chain, 3), "dso"));
	json_decref(j);
	mk_close(&d, r);
}

/* A block that can't be read costs its own records, and is counted. */
static void test_damaged(void **state)
{
	struct script_result res;
	struct mk d = everything();
	struct reader *r = mk_end(&d);

	for (size_t i = 0; i < reader_nr_blocks(r); i++)
		if (reader_block(r, i)->h.section == FMT_RECORDS && reader_block(r, i)->h.ring == 1)
			mk_damage(&d, r, i);
	reader_close(r);
	r = mk_open(&d, false);
	assert_string_equal(values(r, (struct script_options){0}), "7 8 9");
	print(r, (struct script_options){0}, &res);
	assert_int_equal(res.nr_bad_blocks, 1);
	mk_close(&d, r);
}

/* A sample that is shorter than its channel's layout asks for. */
static void test_short_sample(void **state)
{
	struct script_result res;
	struct mk_records rec = {0};
	struct mk d = begin();
	uint64_t body[] = {HIT - 10};
	struct reader *r;

	mk_record(&rec, PERF_RECORD_SAMPLE, 0, body, sizeof(body));
	mk_block(&d, 0, 0, HIT - 10, HIT - 10, &rec);
	mk_records_free(&rec);
	r = mk_end(&d);
	assert_non_null(strstr(print(r, (struct script_options){0}, &res),
			       "-0.000000010  unknown: raw 0900000000001000"));
	mk_close(&d, r);
}

/* A pipe without a reader is distinguished from a full disk. */
static void test_output_that_fails(void **state)
{
	struct script_options opt = {.to_ns = UINT64_MAX};
	struct script_result res;
	struct err err = ERR_INIT;
	struct mk d = everything();
	struct reader *r = mk_end(&d);
	struct meta *m = mk_meta(r);
	FILE *full = fopen("/dev/full", "w");

	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(script_print(r, m, &opt, full, &res, &err), -ENOSPC);
	assert_non_null(strstr(err.what, "No space left"));
	fclose(full);
	meta_free(m);
	mk_close(&d, r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),	     cmocka_unit_test(test_filters),
		cmocka_unit_test(test_lost_alone),   cmocka_unit_test(test_color),
		cmocka_unit_test(test_aux_records),  cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_chain),   cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_short_sample), cmocka_unit_test(test_output_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
