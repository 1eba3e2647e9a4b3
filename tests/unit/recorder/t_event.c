/* LAYERS: recorder kernel view dump base */
// SPDX-License-Identifier: MIT
/* From event text to perf_event_attr: syntax, what is opened in the end, and what errors say. */
#include "dump/base/closest.h"
#include "dump/base/err.h"
#include "trigger/kernel/caps.h"
#include "trigger/kernel/event.h"
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/tracefs.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmocka.h>

/* Parses what has to parse. */
static struct event_list parse(const char *text, const struct caps *caps)
{
	struct event_list l = {0};
	struct err err = ERR_INIT;

	if (event_parse(text, caps, &l, &err))
		fail_msg("%s: %s (%s)", text, err.what, err.hint);
	return l;
}

/* Parses what must not, and checks that the error has the code and says these words. */
static void refuse(const char *text, int code, const char *what, const char *hint)
{
	struct event_list l = {0};
	struct err err = ERR_INIT;
	int rc = event_parse(text, NULL, &l, &err);

	if (rc != code || !strstr(err.what, what) || (hint && !strstr(err.hint, hint)))
		fail_msg("'%s': %d, '%s', hint '%s'; wanted %d, '%s', hint '%s'", text, rc,
			 err.what, err.hint, code, what, hint ? hint : "(any)");
	assert_int_equal(l.nr, 0);
	assert_null(l.v);
}

static void need_tracefs(void)
{
	if (tracefs_dir(NULL) < 0)
		skip();
}

static void software_events_have_their_numbers(void **state)
{
	static const struct {
		const char *name;
		uint64_t config;
		bool freq, addr;
	} rows[] = {
		{"cpu-clock", PERF_COUNT_SW_CPU_CLOCK, true, false},
		{"task-clock", PERF_COUNT_SW_TASK_CLOCK, true, false},
		{"page-faults", PERF_COUNT_SW_PAGE_FAULTS, false, true},
		{"faults", PERF_COUNT_SW_PAGE_FAULTS, false, true},
		{"minor-faults", PERF_COUNT_SW_PAGE_FAULTS_MIN, false, true},
		{"major-faults", PERF_COUNT_SW_PAGE_FAULTS_MAJ, false, true},
		{"context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES, false, false},
		{"cs", PERF_COUNT_SW_CONTEXT_SWITCHES, false, false},
		{"migrations", PERF_COUNT_SW_CPU_MIGRATIONS, false, false},
		{"alignment-faults", PERF_COUNT_SW_ALIGNMENT_FAULTS, false, true},
		{"emulation-faults", PERF_COUNT_SW_EMULATION_FAULTS, false, true},
		{"dummy", PERF_COUNT_SW_DUMMY, false, false},
		{"bpf-output", PERF_COUNT_SW_BPF_OUTPUT, false, false},
		{"cgroup-switches", 11, false, false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct event_list l = parse(rows[i].name, NULL);

		assert_int_equal(l.nr, 1);
		assert_int_equal(l.v[0]->kind, EVENT_SOFTWARE);
		assert_string_equal(l.v[0]->name, rows[i].name);
		assert_int_equal(l.v[0]->attr.type, PERF_TYPE_SOFTWARE);
		assert_int_equal(l.v[0]->attr.config, rows[i].config);
		assert_int_equal(l.v[0]->attr.freq, rows[i].freq);
		assert_int_equal(l.v[0]->attr.sample_freq, rows[i].freq ? 99 : 1);
		assert_int_equal(l.v[0]->sample_addr, rows[i].addr);
		assert_false(l.v[0]->own_group);
		event_list_free(&l);
	}
}

static void hardware_cache_and_raw_events_have_their_numbers(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} rows[] = {
		{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
		{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
		{"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
		{"stalled-cycles-backend", PERF_TYPE_HARDWARE,
		 PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
		{"L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000},
		{"LLC-store-misses", PERF_TYPE_HW_CACHE, 0x10102},
		{"iTLB-loads", PERF_TYPE_HW_CACHE, 4},
		{"r1a8", PERF_TYPE_RAW, 0x1a8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct event_list l = parse(rows[i].name, NULL);

		assert_int_equal(l.v[0]->kind, EVENT_HARDWARE);
		assert_int_equal(l.v[0]->attr.type, rows[i].type);
		assert_int_equal(l.v[0]->attr.config, rows[i].config);
		assert_int_equal(l.v[0]->attr.sample_freq, 99);
		assert_true(l.v[0]->own_group);
		event_list_free(&l);
	}
}

static void terms_and_modifiers_set_sampling_and_sides(void **state)
{
	struct event_list l =
		parse("cpu-clock/freq=997/u, cycles:k ,page-faults/period=5/,cycles:upp,"
		      "instructions/period=1000/uk",
		      NULL);

	assert_int_equal(l.nr, 5);
	assert_string_equal(l.v[0]->name, "cpu-clock:u");
	assert_int_equal(l.v[0]->attr.sample_freq, 997);
	assert_true(l.v[0]->attr.freq && l.v[0]->attr.exclude_kernel && !l.v[0]->attr.exclude_user);
	assert_string_equal(l.v[1]->name, "cycles:k");
	assert_true(l.v[1]->attr.exclude_user && !l.v[1]->attr.exclude_kernel);
	assert_int_equal(l.v[2]->attr.sample_period, 5);
	assert_false(l.v[2]->attr.freq);
	assert_int_equal(l.v[3]->attr.precise_ip, 2);
	assert_false(l.v[4]->attr.exclude_user || l.v[4]->attr.exclude_kernel);
	assert_int_equal(l.v[4]->attr.sample_period, 1000);
	event_list_free(&l);
}

static void without_the_right_the_kernel_side_is_left_out(void **state)
{
	struct caps caps = {.kernel_samples = false};
	struct event_list l = parse("cpu-clock,cycles:k", &caps);

	assert_true(l.v[0]->attr.exclude_kernel);
	assert_false(l.v[1]->attr.exclude_kernel); /* asked for: opening it will say why not */
	event_list_free(&l);
	caps.kernel_samples = true;
	l = parse("cpu-clock", &caps);
	assert_false(l.v[0]->attr.exclude_kernel);
	event_list_free(&l);
}

static void tracepoints_are_found_and_filters_kept(void **state)
{
	struct event_list l;

	need_tracefs();
	l = parse("sched:sched_switch[prev_pid==0 && prev_comm ~ \"a],[*\"],signal:signal_deliver"
		  "[sig==11],sched:sched_wakeup/period=7/",
		  NULL);
	assert_int_equal(l.nr, 3);
	assert_int_equal(l.v[0]->kind, EVENT_TRACEPOINT);
	assert_string_equal(l.v[0]->name, "sched:sched_switch");
	assert_string_equal(l.v[0]->filter, "prev_pid==0 && prev_comm ~ \"a],[*\"");
	assert_int_equal(l.v[0]->attr.type, PERF_TYPE_TRACEPOINT);
	assert_int_not_equal(l.v[0]->attr.config, 0);
	assert_int_equal(l.v[0]->attr.sample_period, 1);
	assert_string_equal(l.v[1]->filter, "sig==11");
	assert_null(l.v[2]->filter);
	assert_int_equal(l.v[2]->attr.sample_period, 7);
	event_list_free(&l);
}

static void a_parsed_tracepoint_can_be_opened_and_filtered(void **state)
{
	struct event_list l;
	int fd;

	need_tracefs();
	l = parse("signal:signal_deliver[sig==11]", NULL);
	l.v[0]->attr.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
	l.v[0]->attr.disabled = 1;
	fd = event_open(&l.v[0]->attr, 0, -1, -1, 0);
	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, l.v[0]->filter), 0);
	close(fd);
	event_list_free(&l);
}

static void globs_give_each_event_once_and_sorted(void **state)
{
	struct event_list l;

	need_tracefs();
	l = parse("sched:sched_w*,sched:*,*:sched_switch,sched:sched_switch", NULL);
	assert_true(l.nr > 5);
	assert_true(strncmp(l.v[0]->name, "sched:sched_w", 13) == 0);
	for (size_t i = 0; i < l.nr; i++) {
		assert_true(strncmp(l.v[i]->name, "sched:", 6) == 0);
		for (size_t j = i + 1; j < l.nr; j++)
			assert_string_not_equal(l.v[i]->name, l.v[j]->name);
	}
	event_list_free(&l);
}

static void everything_a_glob_gives_can_be_opened(void **state)
{
	struct event_list l;

	need_tracefs();
	l = parse("sched:*,signal:*,raw_syscalls:*", NULL);
	for (size_t i = 0; i < l.nr; i++) {
		int fd;

		l.v[i]->attr.disabled = 1;
		fd = event_open(&l.v[i]->attr, 0, -1, -1, 0);
		if (fd < 0)
			fail_msg("%s: %s", l.v[i]->name, strerror(-fd));
		close(fd);
	}
	event_list_free(&l);
}

static void unknown_names_get_the_closest_ones(void **state)
{
	refuse("cpu-clok", -ENOENT, "there is no event 'cpu-clok'", "did you mean cpu-clock");
	refuse("L1-dcache-load-mises", -ENOENT, "no event", "L1-dcache-load-misses");
	refuse("cyclse:u", -ENOENT, "cyclse", NULL);
	refuse("uprbe/retprobe/", -ENOENT, "no PMU 'uprbe'", "did you mean uprobe");
	need_tracefs();
	refuse("cycles,sched:sched_swich", -ENOENT,
	       "event 'sched:sched_swich' (at character 8): tracepoint system 'sched' has no event "
	       "'sched_swich'",
	       "did you mean sched:sched_switch");
	refuse("shced:sched_switch", -ENOENT, "no tracepoint system 'shced'",
	       "did you mean sched:sched_switch");
	refuse("signla:nothing_like_it", -ENOENT, "no tracepoint system 'signla'",
	       "did you mean signal");
	refuse("sched_switch", -ENOENT, "no event 'sched_switch'", "sched:sched_switch");
	refuse("sched:zz*", -ENOENT, "no event of tracepoint system 'sched' matches 'zz*'", NULL);
	refuse("zz*:zz", -ENOENT, "no tracepoint system matches 'zz*'", NULL);
}

static void errors_say_what_is_wrong_and_where(void **state)
{
	refuse("", -EINVAL, "an event is missing at character 1", NULL);
	refuse("cycles,,cs", -EINVAL, "an event is missing at character 8", NULL);
	refuse("cycles,", -EINVAL, "an event is missing at character 8", NULL);
	refuse("cs,cpu-clock/freq=99", -EINVAL, "(at character 4): the '/' before the terms",
	       "freq=99/");
	refuse("sched:sched_switch[a==1", -EINVAL, "'[' is not closed", NULL);
	refuse("sched:sched_switch]", -EINVAL, "']' without '['", NULL);
	refuse("sched:sched_switch[a==\"x]", -EINVAL, "\" in the filter is not closed", NULL);
	refuse("sched:sched_switch[a==1]u", -EINVAL, "'u' follows the filter", NULL);
	refuse("sched:sched_switch[]", -EINVAL, "empty", NULL);
	refuse("sched:", -EINVAL, "SYSTEM:NAME", NULL);
	refuse(":x", -EINVAL, "SYSTEM:NAME", NULL);
	refuse("cycles:ux", -EINVAL, "'x' in ':ux'", "user side");
	refuse("cycles/a/b/c/", -EINVAL, "too many '/'", NULL);
	refuse("cpu-clock/frq=1/", -EINVAL, "no term 'frq'", "freq=HZ");
	refuse("cpu-clock/freq=abc/", -EINVAL, "'abc' is not a number", NULL);
	refuse("cpu-clock/freq/", -EINVAL, "needs a number", NULL);
	refuse("cpu-clock/freq=0/", -EINVAL, "out of range", NULL);
	refuse("cpu-clock/freq=9,period=9/", -EINVAL, "freq and period", NULL);
	refuse("cycles[x==1]", -EINVAL, "can't have a filter", "signal_deliver");
	refuse("sched:sched_switch:u", -EINVAL, "':u' would leave nothing", NULL);
	refuse("\x1b[31m]x", -EINVAL, "event '\\x1b[31m]x'", NULL); /* safe to print */
}

static void a_failed_list_leaves_what_was_there(void **state)
{
	struct event_list l = parse("cycles", NULL);

	assert_int_equal(event_parse("instructions,nothing-like-it", NULL, &l, NULL), -ENOENT);
	assert_int_equal(l.nr, 1);
	assert_int_equal(event_parse("instructions,cycles", NULL, &l, NULL), 0);
	assert_int_equal(l.nr, 2);
	event_list_free(&l);
}

static void pmu_terms_go_to_the_bits_sysfs_names(void **state)
{
	struct event_list l;
	__u32 type;

	if (!pmu_type("uprobe", &type))
		skip();
	/* format/retprobe is config:0, format/ref_ctr_offset config:32-63 */
	l = parse("uprobe/retprobe,ref_ctr_offset=0x12345678,config1=5/u", NULL);
	assert_int_equal(l.v[0]->kind, EVENT_PMU);
	assert_int_equal(l.v[0]->attr.type, type);
	assert_true(l.v[0]->attr.config == 0x1234567800000001ull);
	assert_int_equal(l.v[0]->attr.config1, 5);
	assert_true(l.v[0]->attr.exclude_kernel);
	assert_false(l.v[0]->has_aux);
	event_list_free(&l);
	refuse("uprobe/retprobe=2/", -ERANGE,
	       "0x2 is too large for term 'retprobe', which has 1 bits", NULL);
	refuse("uprobe/retprob/", -EINVAL, "no term or event 'retprob'", "did you mean retprobe");
	refuse("uprobe/zzzzzz=1/", -EINVAL, "no term or event 'zzzzzz'",
	       "it knows: ref_ctr_offset");
	refuse("uprobe/retprobe=x/", -EINVAL, "'x' is not a number", NULL);
	refuse("../uprobe//", -EINVAL, "not closed", NULL);
}

/* Where the probes of the next test go. */
__attribute__((noinline)) int t_event_probed_function(int n);
int t_event_probed_function(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static uint64_t count_calls(const struct event *e, int nr)
{
	uint64_t seen = 0;
	int fd = event_open(&e->attr, 0, -1, -1, 0);

	if (fd < 0)
		fail_msg("%s: %s", e->name, strerror(-fd));
	for (int i = 0; i < nr; i++)
		t_event_probed_function(i);
	assert_int_equal(read(fd, &seen, sizeof(seen)), sizeof(seen));
	close(fd);
	return seen;
}

static void uprobes_hit_the_function_they_name(void **state)
{
	char exe[512], text[1200], target[600];
	struct event_list l;
	struct caps caps;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	caps_probe(&caps);
	if (!caps.uprobes || n <= 0)
		skip();
	exe[n] = '\0';
	snprintf(text, sizeof(text),
		 "uprobe:%s:t_event_probed_function,uretprobe:%s:t_event_probed_function", exe,
		 exe);
	l = parse(text, &caps);
	assert_int_equal(l.nr, 2);
	assert_int_equal(l.v[0]->kind, EVENT_UPROBE);
	snprintf(target, sizeof(target), "%s:t_event_probed_function", exe);
	assert_string_equal(l.v[0]->target, target);
	assert_int_equal(l.v[0]->attr.config & 1, 0);
	assert_int_equal(l.v[1]->attr.config & 1, 1);
	assert_int_equal(count_calls(l.v[0], 7), 7);
	assert_int_equal(count_calls(l.v[1], 5), 5);
	event_list_free(&l);
}

static void uprobe_errors_name_file_or_function(void **state)
{
	char exe[512], text[700];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	__u32 type;

	if (!pmu_type("uprobe", &type))
		skip();
	assert_true(n > 0);
	exe[n] = '\0';
	refuse("uprobe:/bin/sh", -EINVAL, "names no file and function", "uprobe:PATH:SYMBOL");
	refuse("uprobe:/no/such/file:main", -ENOENT, "'/no/such/file'", NULL);
	refuse("uprobe:no-such-program:main", -ENOENT, "no-such-program", "whole path");
	refuse("uprobe:/dev/null:main", -ENOEXEC, "not a regular file", NULL);
	refuse("uprobe:/etc/passwd:main", -ENOEXEC, "not an ELF file", NULL);
	snprintf(text, sizeof(text), "cs,uprobe:%s:t_event_probed_functoin", exe);
	refuse(text, -ENOENT, "has no function 't_event_probed_functoin'",
	       "did you mean t_event_probed_function?");
	snprintf(text, sizeof(text), "uprobe:%s:t_event_probed_function+0x10000", exe);
	refuse(text, -ERANGE, "+0x10000 is behind the end of t_event_probed_function", "bytes");
	snprintf(text, sizeof(text), "uretprobe:%s:t_event_probed_function+1", exe);
	refuse(text, -EINVAL, "a uretprobe goes to a function's start", NULL);
	snprintf(text, sizeof(text), "uprobe:%s:t_event_probed_function+x", exe);
	refuse(text, -EINVAL, "'x' is not an offset", NULL);
}

static void user_registers_are_accepted_by_the_kernel(void **state)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(a),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = event_user_regs(),
		.sample_stack_user = 8192,
	};
	int fd = event_open(&a, 0, -1, -1, 0);

	if (fd == -EACCES || fd == -EPERM)
		skip();
	assert_true(fd >= 0);
	close(fd);
}

static void distance_counts_edits_and_swaps(void **state)
{
	assert_int_equal(closest_distance("abc", "abc", 3), 0);
	assert_int_equal(closest_distance("abc", "ABC", 3), 0);
	assert_int_equal(closest_distance("abc", "acb", 3), 1);
	assert_int_equal(closest_distance("abc", "abcd", 3), 1);
	assert_int_equal(closest_distance("kitten", "sitting", 3), 3);
	assert_int_equal(closest_distance("kitten", "sitting", 2), 3);
	assert_int_equal(closest_distance("", "abc", 3), 3);
	assert_int_equal(closest_distance("a", "abcdef", 3), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(software_events_have_their_numbers),
		cmocka_unit_test(hardware_cache_and_raw_events_have_their_numbers),
		cmocka_unit_test(terms_and_modifiers_set_sampling_and_sides),
		cmocka_unit_test(without_the_right_the_kernel_side_is_left_out),
		cmocka_unit_test(tracepoints_are_found_and_filters_kept),
		cmocka_unit_test(a_parsed_tracepoint_can_be_opened_and_filtered),
		cmocka_unit_test(globs_give_each_event_once_and_sorted),
		cmocka_unit_test(everything_a_glob_gives_can_be_opened),
		cmocka_unit_test(unknown_names_get_the_closest_ones),
		cmocka_unit_test(errors_say_what_is_wrong_and_where),
		cmocka_unit_test(a_failed_list_leaves_what_was_there),
		cmocka_unit_test(pmu_terms_go_to_the_bits_sysfs_names),
		cmocka_unit_test(uprobes_hit_the_function_they_name),
		cmocka_unit_test(uprobe_errors_name_file_or_function),
		cmocka_unit_test(user_registers_are_accepted_by_the_kernel),
		cmocka_unit_test(distance_counts_edits_and_swaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
