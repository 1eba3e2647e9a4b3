/* SPDX-License-Identifier: MIT */
/*
 * Hand-made dumps for the tests of `why`, which tell on two CPUs which thread ran, woke another or
 * got a signal, and when; and the answers of `why` as text and as JSON.
 */
#pragma once

#include "dump/view/why/why.h"

#include "tests/helpers/mkdump.h"
#include "tests/helpers/schema.h"

#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define TYPE	(PERF_SAMPLE_TIME | PERF_SAMPLE_RAW)
#define NR_CPUS 2
#define MS	1000000ull
#define HIT	(2000 * MS)

#define SLEEPS	1
#define BLOCKS	2
#define STOPS	4
#define ENDS	0x20
#define PREEMPT 0x100
#define HARDIRQ 0x08

enum type { SWITCH = 301, WAKING, FORK, SEND, DELIVER, SOFT_IN, SOFT_OUT };

#define COMMON(name)                                                                               \
	"name: " name "\nID: 1\nformat:\n"                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
#define FIELD(name, at) "\tfield:int " name ";\toffset:" #at ";\tsize:4;\tsigned:1;\n"
#define END		"\nprint fmt: \"\"\n"

static const struct {
	enum type type;
	const char *system, *event, *format;
} events[] = {
	{SWITCH, "sched", "sched:sched_switch",
	 COMMON("sched_switch") FIELD("prev_pid", 8) FIELD("prev_prio", 12) FIELD("prev_state", 16)
		 FIELD("next_pid", 20) FIELD("next_prio", 24) END},
	{WAKING, "sched", "sched:sched_waking",
	 COMMON("sched_waking") FIELD("pid", 8) FIELD("prio", 12) FIELD("target_cpu", 16) END},
	{FORK, "sched", "sched:sched_process_fork",
	 COMMON("sched_process_fork") FIELD("parent_pid", 8) FIELD("child_pid", 12) END},
	{SEND, "signal", "signal:signal_generate",
	 COMMON("signal_generate") FIELD("sig", 8) FIELD("code", 12) FIELD("pid", 16) END},
	{DELIVER, "signal", "signal:signal_deliver",
	 COMMON("signal_deliver") FIELD("sig", 8) FIELD("code", 12) FIELD("sa_handler", 16) END},
	{SOFT_IN, "irq", "irq:softirq_entry", COMMON("softirq_entry") FIELD("vec", 8) END},
	{SOFT_OUT, "irq", "irq:softirq_exit", COMMON("softirq_exit") FIELD("vec", 8) END},
};

#define NR_EVENTS (sizeof(events) / sizeof(events[0]))

struct raw {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	int32_t v[5];
};

/* A dump being built: a ring per CPU, and the current thread of each CPU with its priority. */
struct story {
	struct mk d;
	struct mk_records rings[NR_CPUS];
	uint64_t first[NR_CPUS], last[NR_CPUS];
	int current[NR_CPUS];
	uint64_t armed_ns; /* 0: from the beginning */
};

static int prio_of(int tid)
{
	/* Tens share a priority: 10 to 19 have the best. */
	return tid >= 10 && tid < 20 ? 50 : tid >= 20 && tid < 30 ? 60 : tid ? 120 : 120;
}

static struct story *begin(void)
{
	static struct story s;

	s = (struct story){.d = mk_begin()};
	mk_host(&s.d);
	mk_trigger(&s.d, HIT);
	mk_channel(&s.d, 0, "sched", TYPE);
	for (uint32_t i = 0; i < NR_EVENTS; i++) {
		mk_event(&s.d, i, 0, events[i].event, events[i].type, TYPE);
		mk_format(&s.d, events[i].type, events[i].system, events[i].format);
	}
	return &s;
}

static void put(struct story *s, int cpu, uint64_t ns, const struct raw *raw)
{
	mk_sample(&s->rings[cpu], ns, raw, sizeof(*raw));
	s->first[cpu] = s->first[cpu] ? s->first[cpu] : ns;
	s->last[cpu] = ns;
}

/* Switches the thread on `cpu` out in `state`. */
static void run(struct story *s, int cpu, uint64_t ns, int state, int next)
{
	int prev = s->current[cpu];

	put(s, cpu, ns,
	    &(struct raw){SWITCH, 0, 0, prev, {prev, prio_of(prev), state, next, prio_of(next)}});
	s->current[cpu] = next;
}

static void wake(struct story *s, int cpu, uint64_t ns, int flags, int whom, int on)
{
	put(s, cpu, ns,
	    &(struct raw){WAKING, (uint8_t)flags, 0, s->current[cpu], {whom, prio_of(whom), on}});
}

static void task(struct story *s, uint32_t tid, uint32_t pid, const char *comm)
{
	mk_task(&s->d, tid, tid, pid, 1, 0, 0);
	mk_comm(&s->d, tid, 0, comm);
}

struct said {
	char *text;
	json_t *json;
};

static char *say(struct reader *r, const struct meta *m, struct why_options opt)
{
	struct why_result res;
	size_t len;
	char *p;
	FILE *out = open_memstream(&p, &len);

	assert_non_null(out);
	assert_int_equal(why_print(r, m, &opt, out, &res, NULL), 0);
	fclose(out);
	return p;
}

/* All keys printed so far. */
static struct schema seen;

/* Ends the dump; opens it for reading. */
static struct reader *finish(struct story *s)
{
	for (uint32_t i = 0; i < NR_CPUS; i++) {
		struct fmt_window w = {.ring = i,
				       .cpu = (int32_t)i,
				       .tid = -1,
				       .armed_ns = s->armed_ns ? s->armed_ns : 1,
				       .paused_ns = HIT + 1000,
				       .nr_records = s->rings[i].nr,
				       .first_ns = s->first[i],
				       .last_ns = s->last[i]};

		mk_window(&s->d, &w);
	}
	for (uint32_t i = 0; i < NR_CPUS; i++) {
		if (s->rings[i].nr)
			mk_block(&s->d, i, 0, s->first[i], s->last[i], &s->rings[i]);
		mk_records_free(&s->rings[i]);
	}
	return mk_end(&s->d);
}

/* Ends the dump and runs `why` in both forms. The output must hold no control characters. */
static struct said ask(struct story *s, struct why_options opt)
{
	struct reader *r = finish(s);
	struct said said;
	struct meta *m;
	unsigned lines = 0;
	char *json;

	m = mk_meta(r);
	said.text = say(r, m, opt);
	opt.json = true;
	json = say(r, m, opt);
	for (const char *p = said.text; *p; p++) {
		assert_true(*p == '\n' || ((uint8_t)*p >= ' ' && *p != 0x7f));
		lines += *p == '\n';
	}
	assert_in_range(lines, 1, 15);
	said.json = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(said.json);
	schema_see(&seen, said.json, "");
	free(json);
	meta_free(m);
	mk_close(&s->d, r);
	return said;
}

static const char *text_of(const struct said *s, const char *key)
{
	return json_string_value(json_object_get(s->json, key));
}

static void expect(const struct said *s, const char *key, const char *want)
{
	const char *got = text_of(s, key);

	if (!got || strcmp(got, want) != 0)
		print_message("%s", s->text);
	assert_non_null(got);
	assert_string_equal(got, want);
}

static void expect_tid(const struct said *s, const char *key, int tid)
{
	json_t *who = json_object_get(s->json, key);

	assert_int_equal(json_integer_value(json_object_get(who, "tid")), tid);
}

static void forget(struct said *s)
{
	free(s->text);
	json_decref(s->json);
}
