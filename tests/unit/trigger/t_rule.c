/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Trigger rules: every form of them, options, default names, and errors that point. */
#include "trigger/engine/rule.h"

#include "dump/base/err.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

struct form {
	const char *text, *source, *arg, *threshold, *name;
	enum rule_op op;
};

static const struct form forms[] = {
	{"signal:USR1", "signal", "USR1", "", "signal-USR1", RULE_OP_NONE},
	{"psi:memory:some>150ms/1s", "psi", "memory:some", "150ms/1s", "psi-memory-some-150ms-1s",
	 RULE_OP_ABOVE},
	{"mem:available<200M", "mem", "available", "200M", "mem-available-200M", RULE_OP_BELOW},
	{"rate:page-faults>100000/s", "rate", "page-faults", "100000/s",
	 "rate-page-faults-100000-s", RULE_OP_ABOVE},
	{"rss:812>2G", "rss", "812", "2G", "rss-812-2G", RULE_OP_ABOVE},
	{"cpu:812>95%/5s", "cpu", "812", "95%/5s", "cpu-812-95-5s", RULE_OP_ABOVE},
	{"load>16", "load", "", "16", "load-16", RULE_OP_ABOVE},
	{"load>0.5", "load", "", "0.5", "load-0.5", RULE_OP_ABOVE},
	{"event:oom:mark_victim", "event", "oom:mark_victim", "", "event-oom-mark_victim",
	 RULE_OP_NONE},
	{"event:sched:sched_process_exit[prio>100 && comm ~ \"a;]*\";x!=[1]]", "event",
	 "sched:sched_process_exit[prio>100 && comm ~ \"a;]*\";x!=[1]]", "",
	 "event-sched_process_exit-prio-100-comm-a-x-1", RULE_OP_NONE},
	{"uprobe:/usr/bin/app:main", "uprobe", "/usr/bin/app:main", "", "uprobe-usr-bin-app-main",
	 RULE_OP_NONE},
	{"latency:/usr/bin/app:work>10ms", "latency", "/usr/bin/app:work", "10ms",
	 "latency-usr-bin-app-work-10ms", RULE_OP_ABOVE},
	{"syscall:fsync>100ms", "syscall", "fsync", "100ms", "syscall-fsync-100ms", RULE_OP_ABOVE},
	{"runqueue>20ms", "runqueue", "", "20ms", "runqueue-20ms", RULE_OP_ABOVE},
	{"crash", "crash", "", "", "crash", RULE_OP_NONE},
	{"crash:nginx", "crash", "nginx", "", "crash-nginx", RULE_OP_NONE},
	{"exit:812", "exit", "812", "", "exit-812", RULE_OP_NONE},
	{"exit!=0", "exit", "", "0", "exit-0", RULE_OP_NOT_EQUAL},
	{"stall:2s", "stall", "2s", "", "stall-2s", RULE_OP_NONE},
	{"file:/var/log/app.log~panic|BUG[;:] >", "file", "/var/log/app.log", "panic|BUG[;:] >",
	 "file-var-log-app.log-panic-BUG", RULE_OP_MATCH},
	{"every:1h", "every", "1h", "", "every-1h", RULE_OP_NONE},
	{" mem:available < 200M ", "mem", "available", "200M", "mem-available-200M", RULE_OP_BELOW},
};

static void every_form_of_the_design_parses(void **state)
{
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];
		struct err err = ERR_INIT;
		struct rule *r;

		if (rule_parse(f->text, &r, &err))
			fail_msg("%s: %s\n%s", f->text, err.what, err.hint);
		assert_string_equal(r->text, f->text);
		assert_string_equal(r->source, f->source);
		assert_string_equal(r->arg, f->arg);
		assert_string_equal(r->threshold, f->threshold);
		assert_string_equal(r->name, f->name);
		assert_int_equal(r->op, f->op);
		assert_int_equal(r->post_ns, -1);
		assert_int_equal(r->max_hits, -1);
		rule_free(r);
	}
}

static void long_names_differ_where_their_rules_do(void **state)
{
	static const char *const long_ones[][2] = {
		{"latency:/usr/lib/x86_64-linux-gnu/libc.so.6:getaddrinfo>100ms",
		 "latency-linux-gnu-libc.so.6-getaddrinfo-100ms"},
		{"latency:/usr/lib/x86_64-linux-gnu/libc.so.6:getnameinfo>100ms",
		 "latency-linux-gnu-libc.so.6-getnameinfo-100ms"},
		{"watch:/opt/app/lib/libx.so:_ZN5boost4asio6detail9scheduler3runERNS_6system5codeE",
		 "watch-sio6detail9scheduler3runERNS_6system5codeE"},
	};

	for (size_t i = 0; i < sizeof(long_ones) / sizeof(long_ones[0]); i++) {
		struct rule *r;

		assert_int_equal(rule_parse(long_ones[i][0], &r, NULL), 0);
		assert_true(strlen(r->name) <= RULE_NAME_MAX);
		assert_string_equal(r->name, long_ones[i][1]);
		rule_free(r);
	}
}

static void options_of_all_kinds_are_read(void **state)
{
	struct rule *r;

	assert_int_equal(rule_parse("signal:USR1;name=app.1_x;post=250ms; cooldown=10s ;max=3/24h;"
				    "min-fill=50%;for=5s",
				    &r, NULL),
			 0);
	assert_string_equal(r->arg, "USR1");
	assert_string_equal(r->name, "app.1_x");
	assert_int_equal(r->post_ns, 250000000);
	assert_int_equal(r->cooldown_ns, 10000000000);
	assert_int_equal(r->max_hits, 3);
	assert_int_equal(r->max_period_ns, 86400000000000);
	assert_int_equal(r->min_fill_percent, 50);
	assert_int_equal(r->for_ns, 5000000000);
	rule_free(r);
	assert_int_equal(rule_parse("load>16;min-fill=70;post=0", &r, NULL), 0);
	assert_int_equal(r->min_fill_percent, 70);
	assert_int_equal(r->post_ns, 0);
	rule_free(r);
}

static void options_follow_brackets_and_regex(void **state)
{
	struct rule *r;

	assert_int_equal(rule_parse("event:a:b[x == 1;name=no];name=yes", &r, NULL), 0);
	assert_string_equal(r->arg, "a:b[x == 1;name=no]");
	assert_string_equal(r->name, "yes");
	rule_free(r);
	assert_int_equal(rule_parse("file:/a~x;y;foo=1;cooldown=1s", &r, NULL), 0);
	assert_string_equal(r->threshold, "x;y;foo=1");
	assert_int_equal(r->cooldown_ns, 1000000000);
	rule_free(r);
}

static void default_names_are_short(void **state)
{
	char text[300] = "uprobe:/";
	struct rule *r;

	memset(text + 8, 'x', sizeof(text) - 9);
	assert_int_equal(rule_parse(text, &r, NULL), 0);
	assert_int_equal(strlen(r->name), RULE_NAME_MAX);
	rule_free(r);
}

struct wrong {
	const char *text;
	size_t at;
	const char *what; /* a part of the message */
};

static const struct wrong wrongs[] = {
	{":x", 0, "expected a source such as signal, psi or event, found ':x'"},
	{"signal:", 7, "expected an argument after 'signal:', found the end of the rule"},
	{"signal=USR1", 6,
	 "expected ':', '>', '<', '!=', '~' or ';' after 'signal', found '=USR1'"},
	{"load>", 5, "expected a number, found the end of the rule"},
	{"load>x", 5, "expected a number, found 'x'"},
	{"load>=16", 5, "expected a number, found '=16'"},
	{"psi:memory:some>150ms/", 22, "expected a unit of time after '/'"},
	{"psi:memory:some>150ms 1s", 22, "expected ';' or the end of the rule, found '1s'"},
	{"file:/a~", 8, "expected a regular expression"},
	{"event:a:b[x>1", 9, "this '[' is never closed"},
	{"event:a:b[x==\"1]", 13, "missing closing '\"'"},
	{"crash;", 6,
	 "expected name=TEXT, post=TIME, cooldown=TIME, max=N/TIME, min-fill=PERCENT, for=TIME, "
	 "hysteresis=PERCENT, probability=PERCENT, same=N/TIME, stack=none|fp|dwarf:SIZE, "
	 "pid-from=REGEX or while-running, found the end of "
	 "the rule"},
	{"latency:/a:f>1s;while-running=1", 16, "expected name=TEXT"},
	{"crash;probability=0", 18, "expected a probability such as 10% or 0.1"},
	{"crash;same=3", 11, "found '3'"},
	{"crash;colldown=1s", 6, "found 'colldown=1s'"},
	{"crash;post=1", 11, "expected a time such as 250ms, 10s or 1h, found '1'"},
	{"crash;post=-1s", 11, "found '-1s'"},
	{"crash;post=;max=1/1h", 11, "expected post=TIME, found ';'"},
	{"crash;max=5", 10, "expected a number from 1 to 10000, '/' and a time, such as 5/24h"},
	{"crash;max=0/1h", 10, "found '0/1h'"},
	{"crash;max=3/0s", 10, "found '3/0s'"},
	{"crash;min-fill=101%", 15, "expected 0% to 100%, found '101%'"},
	{"crash;name=a/b", 12, "expected a name of letters, digits, '-', '.' and '_', found '/b'"},
	{"crash;name=a;name=b", 13, "'name=' is given twice"},
};

static void errors_name_the_place_and_what_was_expected(void **state)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		struct err err = ERR_INIT;
		struct rule *r = NULL;
		char hint[300], column[32];

		assert_int_equal(rule_parse(wrongs[i].text, &r, &err), -EINVAL);
		assert_null(r);
		snprintf(column, sizeof(column), "column %zu:", wrongs[i].at + 1);
		if (!strstr(err.what, column) || !strstr(err.what, wrongs[i].what))
			fail_msg("%s: %s", wrongs[i].text, err.what);
		snprintf(hint, sizeof(hint), "%s\n%*s^", wrongs[i].text, (int)wrongs[i].at, "");
		assert_string_equal(err.hint, hint);
	}
}

/* There is nothing to point at. */
static void an_empty_rule_is_told_what_to_write(void **state)
{
	static const char *const empty[] = {"", " ", "\t \n"};

	for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
		struct err err = ERR_INIT;
		struct rule *r = NULL;

		assert_int_equal(rule_parse(empty[i], &r, &err), -EINVAL);
		assert_null(r);
		assert_string_equal(err.what, "the trigger rule is empty");
		assert_non_null(strstr(err.hint, "such as signal:USR1"));
	}
}

static void a_long_rule_is_shown_around_the_place(void **state)
{
	char text[2000] = "file:/", *caret;
	struct err err = ERR_INIT;
	struct rule *r;

	memset(text + 6, 'x', 1000);
	strcat(text, "~a;max=?");
	memset(text + strlen(text), 'y', 500);
	assert_int_equal(rule_parse(text, &r, &err), -EINVAL);
	caret = strchr(err.hint, '\n');
	assert_non_null(caret);
	assert_int_equal(strncmp(err.hint, "...", 3), 0);
	assert_int_equal(err.hint[strlen(caret + 1) - 1], '?');
	assert_true(strlen(err.hint) < 300);
}

static void a_caret_counts_characters_and_hides_controls(void **state)
{
	struct err err = ERR_INIT;
	struct rule *r;

	assert_int_equal(rule_parse("file:/\xc3\xa4\x1b~a;max=x", &r, &err), -EINVAL);
	assert_string_equal(err.hint, "file:/\xc3\xa4?~a;max=x\n               ^");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_form_of_the_design_parses),
		cmocka_unit_test(long_names_differ_where_their_rules_do),
		cmocka_unit_test(options_of_all_kinds_are_read),
		cmocka_unit_test(options_follow_brackets_and_regex),
		cmocka_unit_test(default_names_are_short),
		cmocka_unit_test(errors_name_the_place_and_what_was_expected),
		cmocka_unit_test(an_empty_rule_is_told_what_to_write),
		cmocka_unit_test(a_long_rule_is_shown_around_the_place),
		cmocka_unit_test(a_caret_counts_characters_and_hides_controls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
