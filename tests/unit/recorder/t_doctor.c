/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* What doctor says is so: the ring size it recommends can be mapped, the commands name what is in
 * the way. */
#include "recorder/cli/doctor.h"
#include "trigger/kernel/event.h"

#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* An unused uid, because locked memory is counted per user. */
#define SOMEBODY 61234

static int as_somebody(int (*body)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgroups(0, NULL) || setgid(SOMEBODY) || setuid(SOMEBODY))
			_exit(99);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Maps `nr` rings of `bytes`, all held until the process ends. */
static bool map_rings(unsigned nr, uint64_t bytes)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
				    .size = sizeof(a),
				    .config = PERF_COUNT_SW_DUMMY,
				    .sample_period = 1,
				    .disabled = 1,
				    .exclude_kernel = 1,
				    .write_backward = 1};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned i = 0; i < nr; i++) {
		int fd = event_open(&a, 0, -1, -1, 0);

		if (fd < 0 || mmap(NULL, bytes + page, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
			return false;
	}
	return true;
}

static int map_recommended(void)
{
	struct rlimit lock = {.rlim_cur = 4 << 20, .rlim_max = 4 << 20};
	struct doctor d;

	setrlimit(RLIMIT_MEMLOCK, &lock);
	doctor_examine(&d);
	if (!d.caps.write_backward)
		return 77;
	if (!d.ring_bytes || d.ring_bytes & (d.ring_bytes - 1))
		return 1;
	if (!map_rings((unsigned)(d.total_ring_bytes / d.ring_bytes), d.ring_bytes))
		return 2;
	return 0;
}

static void the_recommended_rings_can_be_mapped(void **state)
{
	int rc;

	if (geteuid() != 0)
		skip();
	rc = as_somebody(map_recommended);
	if (rc == 77)
		skip();
	assert_int_equal(rc, 0);
}

static const struct doctor_line *find(const struct doctor *d, const char *name)
{
	for (size_t i = 0; i < d->nr; i++)
		if (!strcmp(d->lines[i].name, name))
			return &d->lines[i];
	return NULL;
}

static int check_somebody(void)
{
	const struct doctor_line *l;
	struct doctor d;
	char value[64];

	doctor_examine(&d);
	snprintf(value, sizeof(value), "kernel.perf_event_paranoid=%d", d.caps.paranoid);
	l = find(&d, "whole machine");
	if (d.caps.paranoid > 0 && d.caps.perf_event &&
	    (!l || l->state != DOCTOR_NO || !strstr(l->text, value) ||
	     strcmp(l->allow, "sudo sysctl kernel.perf_event_paranoid=0") ||
	     !strstr(l->keep, "/etc/sysctl.d/")))
		return 1;
	l = find(&d, "tracepoint data");
	if (d.caps.paranoid > -1 && d.caps.perf_event &&
	    (!l || strcmp(l->allow, "sudo sysctl kernel.perf_event_paranoid=-1")))
		return 2;
	l = find(&d, "uprobes");
	if (d.caps.perf_event && (!l || l->state == DOCTOR_OK))
		return 3;
	if (!d.nr_limited || !strstr(d.verdict, "found; "))
		return 4;
	return 0;
}

static void who_is_limited_is_told_the_value_and_the_command(void **state)
{
	if (geteuid() != 0)
		skip();
	assert_int_equal(as_somebody(check_somebody), 0);
}

static void the_verdict_counts_what_is_limited(void **state)
{
	struct doctor d;
	unsigned nr = 0;

	doctor_examine(&d);
	assert_true(d.nr > 10 && d.nr < sizeof(d.lines) / sizeof(d.lines[0]));
	for (size_t i = 0; i < d.nr; i++) {
		const struct doctor_line *l = &d.lines[i];

		assert_true(*l->text && *l->name && *l->group);
		assert_true(strlen(l->name) <= 18);
		nr += l->wanted && (l->state == DOCTOR_LIMITED || l->state == DOCTOR_NO);
	}
	assert_int_equal(d.nr_limited, nr);
	assert_int_equal(!strcmp(d.verdict, "no limits: everything that ringback needs is allowed"),
			 nr == 0);
}

static void foreign_text_is_made_safe(void **state)
{
	struct doctor d = {.nr = 0};
	struct doctor_line *l = doctor_add(&d, "g", "n", DOCTOR_FACT, false, "a\033[31m%s\n",
					   "\x9b"
					   "b");

	assert_string_equal(l->text, "a\\x1b[31m\\x9bb\\x0a");
	for (int i = 0; i < 100; i++)
		doctor_add(&d, "g", "n", DOCTOR_FACT, false, "%d", i);
	assert_int_equal(d.nr, sizeof(d.lines) / sizeof(d.lines[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: what root opened would be inherited */
		cmocka_unit_test(the_recommended_rings_can_be_mapped),
		cmocka_unit_test(who_is_limited_is_told_the_value_and_the_command),
		cmocka_unit_test(the_verdict_counts_what_is_limited),
		cmocka_unit_test(foreign_text_is_made_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
