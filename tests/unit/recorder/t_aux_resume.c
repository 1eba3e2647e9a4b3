/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * Whether a trace stands, and since when, by the notes of its stops and starts: on a ring that this
 * test writes as the kernel does. And what asks the kernel for it: the attr's new word.
 */
#include "recorder/trace/aux_resume.h"
#include "trigger/kernel/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SIZE 4096u
#define RUN  7u /* id of the event that lets it run */

struct fake {
	struct aux_resume notes;
	struct perf_event_mmap_page page;
	uint8_t data[SIZE];
};

static struct fake *fake_new(void)
{
	struct fake *f = test_calloc(1, sizeof(*f));

	f->notes = (struct aux_resume){
		.fd = -1,
		.id = RUN,
		.ring = {.page = &f->page, .data = f->data, .size = SIZE, .fd = -1},
	};
	return f;
}

/* A record of `type` with id and time, at the newest end. */
static void put(struct fake *f, uint32_t type, uint64_t id, uint64_t ns)
{
	struct {
		struct perf_event_header h;
		uint64_t id, ns;
	} rec = {{type, 0, sizeof(rec)}, id, ns};
	uint64_t head = f->page.data_head - sizeof(rec);

	for (size_t i = 0; i < sizeof(rec); i++)
		f->data[(head + i) % SIZE] = ((uint8_t *)&rec)[i];
	f->page.data_head = head;
}

static void note(struct fake *f, uint64_t id, uint64_t ns)
{
	put(f, PERF_RECORD_SAMPLE, id, ns);
}

static void assert_stands(const struct fake *f, uint64_t since_ns, uint64_t last_ns)
{
	uint64_t last = 0;

	assert_int_equal(aux_resume_stands(&f->notes, &last), since_ns);
	assert_int_equal(last, last_ns);
	assert_int_equal(aux_resume_stands(&f->notes, NULL), since_ns);
}

static void it_runs_until_an_event_stops_it(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	assert_stands(f, 0, 0);
	note(f, 3, 1000);
	assert_stands(f, 1000, 1000);
	note(f, RUN, 1010);
	assert_stands(f, 0, 0);
	test_free(f);
}

static void the_first_of_several_stops_it(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	note(f, 3, 900);
	note(f, RUN, 950);
	note(f, 4, 1000);
	note(f, 3, 1001);
	note(f, 4, 1002);
	assert_stands(f, 1000, 1002);
	test_free(f);
}

static void other_records_tell_nothing(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	note(f, RUN, 950);
	put(f, PERF_RECORD_THROTTLE, 3, 960);
	assert_stands(f, 0, 0);
	note(f, 3, 1000);
	put(f, PERF_RECORD_THROTTLE, RUN, 1001);
	assert_stands(f, 1000, 1000);
	test_free(f);
}

/* What came before is gone: as far as the ring reaches back. */
static void thousands_of_stops_go_around(void **state)
{
	struct fake *f = fake_new();
	uint64_t since;

	(void)state;
	note(f, RUN, 1);
	for (uint64_t i = 0; i < 5000; i++)
		note(f, 3, 1000 + i);
	since = aux_resume_stands(&f->notes, NULL);
	assert_in_range(since, 5999 - SIZE / 24, 5999 - SIZE / 24 + 1);
	note(f, RUN, 7000);
	assert_stands(f, 0, 0);
	test_free(f);
}

/* PERF_EVENT_IOC_REFRESH fails here; where it did not, it is asked for once until it has come. */
static void a_refused_start_is_no_start(void **state)
{
	struct fake *f = fake_new();

	(void)state;
	note(f, 3, 1000);
	assert_false(aux_resume_let_run(&f->notes, 2000));
	test_free(f);
}

/* As <linux/perf_event.h> of Linux 6.13 has it: behind aux_sample_size, before sig_data. */
static void the_action_is_where_the_kernel_reads_it(void **state)
{
	struct perf_event_attr a = {0};
	uint32_t word;

	(void)state;
	event_set_aux_action(&a, EVENT_AUX_PAUSE);
	memcpy(&word, (char *)&a + offsetof(struct perf_event_attr, sig_data) - 4, sizeof(word));
	assert_int_equal(word, 2);
	event_set_aux_action(&a, EVENT_AUX_RESUME);
	memcpy(&word, (char *)&a + offsetof(struct perf_event_attr, sig_data) - 4, sizeof(word));
	assert_int_equal(word, 4);
	assert_int_equal(a.aux_sample_size, 0);
	assert_int_equal(a.sig_data, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_until_an_event_stops_it),
		cmocka_unit_test(the_first_of_several_stops_it),
		cmocka_unit_test(other_records_tell_nothing),
		cmocka_unit_test(thousands_of_stops_go_around),
		cmocka_unit_test(a_refused_start_is_no_start),
		cmocka_unit_test(the_action_is_where_the_kernel_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
