/* LAYERS: recorder kernel view dump base */
// SPDX-License-Identifier: MIT
/* The capability probe agrees with what can be opened, as root and as nobody, and is quick and
 * quiet. */
#include "dump/base/err.h"
#include "trigger/kernel/caps.h"
#include "trigger/kernel/event.h"
#include "trigger/kernel/settings.h"
#include "trigger/kernel/tracefs.h"
#include "tests/helpers/now.h"

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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

static void the_probe_leaves_nothing_open_and_is_quick(void **state)
{
	uint64_t before, best = UINT64_MAX;
	struct caps c;

	caps_probe(&c); /* opens tracefs, which is kept */
	before = setting_open_fds();
	for (int i = 0; i < 5; i++) {
		uint64_t from = now_ns();

		caps_probe(&c);
		if (now_ns() - from < best)
			best = now_ns() - from;
	}
	assert_int_equal(setting_open_fds(), before);
	assert_true(best < 50 * 1000 * 1000);
}

static void the_probe_changes_no_limit(void **state)
{
	struct rlimit a, b;
	struct caps c;

	getrlimit(RLIMIT_NOFILE, &a);
	caps_probe(&c);
	getrlimit(RLIMIT_NOFILE, &b);
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(c.nofile >= a.rlim_cur);
}

static void what_it_says_can_be_done(void **state)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
				    .size = sizeof(a),
				    .config = PERF_COUNT_SW_CPU_CLOCK,
				    .sample_period = 1000000,
				    .disabled = 1};
	struct caps c;
	int64_t v;
	int fd;

	caps_probe(&c);
	if (setting_number("kernel/perf_event_paranoid", &v))
		assert_int_equal(c.paranoid, v);
	assert_int_equal(c.root, geteuid() == 0);
	fd = event_open(&a, 0, -1, -1, 0);
	assert_int_equal(fd >= 0, c.kernel_samples);
	if (fd >= 0)
		close(fd);
	fd = event_open(&a, -1, 0, -1, 0);
	assert_int_equal(fd >= 0, c.system_wide && c.kernel_samples);
	if (fd >= 0)
		close(fd);
	if (c.cgroup_v2)
		assert_int_equal(access(c.cgroup_v2_mount, F_OK), 0);
	if (c.cgroup_v1)
		assert_int_equal(access(c.cgroup_v1_mount, F_OK), 0);
}

static void lines_are_names_and_values(void **state)
{
	char lines[64][96], two[2][96];
	struct caps c;
	size_t nr;

	caps_probe(&c);
	nr = caps_lines(&c, lines, 64);
	assert_true(nr > 20 && nr < 64);
	for (size_t i = 0; i < nr; i++)
		assert_true(strchr(lines[i], '=') > lines[i]);
	assert_int_equal(caps_lines(&c, two, 2), 2);
}

/* Runs `body` in a child as user nobody; the exit code is that of the first failed check. */
static void as_nobody(int (*body)(void))
{
	pid_t pid;
	int status;

	if (geteuid() != 0)
		skip();
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(99);
		_exit(body());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int probe_as_nobody(void)
{
	struct caps c;

	caps_probe(&c);
	if (c.root || c.perfmon || c.ipc_lock)
		return 1;
	if (c.uprobes || c.namespaces)
		return 2;
	if (!c.perf_event)
		return 3;
	if (c.system_wide != (c.paranoid < 1))
		return 4;
	if (c.kernel_samples != (c.paranoid < 2))
		return 5;
	if (c.paranoid < 3 && !(c.write_backward && c.clockid))
		return 6;
	if (c.tracepoints && c.paranoid > -1)
		return 7;
	return 0;
}

static void nobody_gets_the_users_view(void **state)
{
	as_nobody(probe_as_nobody);
}

/* The real mlock limit: a ring that is too large for user nobody. */
static int map_as_nobody(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
				    .size = sizeof(a),
				    .config = PERF_COUNT_SW_DUMMY,
				    .disabled = 1,
				    .exclude_kernel = 1,
				    .sample_period = 1};
	struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
	size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 256 << 20;
	struct err err = ERR_INIT;
	struct caps c;
	void *p;
	int fd;

	setrlimit(RLIMIT_MEMLOCK, &none);
	caps_probe(&c);
	fd = event_open(&a, 0, -1, -1, 0);
	if (fd < 0)
		return event_strerror(&err, fd, "x", &a, 0, -1, 0, &c) == fd && *err.hint ? 0 : 1;
	p = mmap(NULL, bytes + page, PROT_READ, MAP_SHARED, fd, 0);
	if (c.paranoid < 0)
		return 0;
	if (p != MAP_FAILED || errno != EPERM)
		return 2;
	event_strerror(&err, -errno, "dummy", &a, 0, -1, bytes, &c);
	return strstr(err.what, "a ring of 256 MiB") && strstr(err.what, "RLIMIT_MEMLOCK=0 B") ? 0
											       : 3;
}

static void nobody_is_told_of_the_mlock_limit(void **state)
{
	as_nobody(map_as_nobody);
}

/* Denials for real: the sentence names the setting with its value. */
static int denied_as_nobody(void)
{
	struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE,
				    .size = sizeof(a),
				    .config = PERF_COUNT_SW_CPU_CLOCK,
				    .sample_period = 1000000,
				    .disabled = 1};
	struct err err = ERR_INIT;
	char want[64];
	struct caps c;
	int fd;

	caps_probe(&c);
	fd = event_open(&a, -1, 0, -1, 0);
	if (c.paranoid < 1)
		return fd < 0;
	if (fd >= 0)
		return 1;
	event_strerror(&err, fd, "cpu-clock", &a, -1, 0, 0, &c);
	snprintf(want, sizeof(want), "kernel.perf_event_paranoid=%d", c.paranoid);
	return strstr(err.what, want) && strstr(err.hint, "sysctl") ? 0 : 2;
}

static void nobody_is_told_of_paranoid(void **state)
{
	as_nobody(denied_as_nobody);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: a descriptor of tracefs that root opened would be inherited */
		cmocka_unit_test(nobody_gets_the_users_view),
		cmocka_unit_test(nobody_is_told_of_the_mlock_limit),
		cmocka_unit_test(nobody_is_told_of_paranoid),
		cmocka_unit_test(the_probe_leaves_nothing_open_and_is_quick),
		cmocka_unit_test(the_probe_changes_no_limit),
		cmocka_unit_test(what_it_says_can_be_done),
		cmocka_unit_test(lines_are_names_and_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
