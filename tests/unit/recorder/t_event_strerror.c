/* LAYERS: recorder kernel view dump base */
// SPDX-License-Identifier: MIT
/* Each way perf_event_open and mmap can fail is told with the setting's present value and a
 * command. */
#include "dump/base/err.h"
#include "trigger/kernel/caps.h"
#include "trigger/kernel/event.h"
#include "trigger/kernel/pmu.h"
#include "trigger/kernel/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static const struct caps nobody = {.paranoid = 2, .perf_event = true, .write_backward = true};
static const struct caps root = {
	.paranoid = 2, .root = true, .perfmon = true, .perf_event = true, .write_backward = true};

struct call {
	int code;
	struct perf_event_attr attr;
	int pid, cpu;
	size_t mmap_bytes;
	const struct caps *caps;
};

static void expect(const struct call *c, const char *what, const char *hint)
{
	struct err err = ERR_INIT;
	int rc = event_strerror(&err, c->code, "thing", &c->attr, c->pid, c->cpu, c->mmap_bytes,
				c->caps ? c->caps : &nobody);

	assert_int_equal(rc, c->code);
	if (!strstr(err.what, what) || !strstr(err.hint, hint))
		fail_msg("'%s', hint '%s'; wanted '%s', hint '%s'", err.what, err.hint, what, hint);
	assert_non_null(strstr(err.what, "thing"));
	assert_true(strlen(err.what) < sizeof(err.what) - 1);
	assert_true(strlen(err.hint) < sizeof(err.hint) - 1);
}

/* "NAME=VALUE" of a sysctl as it is now. */
static char *now(char *out, size_t n, const char *file, const char *name)
{
	int64_t v = -1;

	setting_number(file, &v);
	snprintf(out, n, "%s=%lld", name, (long long)v);
	return out;
}

static void system_wide_without_right(void **state)
{
	struct call c = {.code = -EACCES, .pid = -1};

	c.attr.type = PERF_TYPE_SOFTWARE;
	expect(&c, "recording of whole CPUs is refused by kernel.perf_event_paranoid=2",
	       "sudo sysctl kernel.perf_event_paranoid=0");
	expect(&c, "", "sudo setcap cap_perfmon,");
}

static void kernel_side_without_right(void **state)
{
	struct call c = {.code = -EACCES, .pid = 0};

	c.attr.type = PERF_TYPE_SOFTWARE;
	expect(&c, "kernel side is refused by kernel.perf_event_paranoid=2",
	       "sudo sysctl kernel.perf_event_paranoid=1");
	expect(&c, "", "append :u");
}

static void tracepoint_without_right(void **state)
{
	struct call c = {.code = -EPERM, .pid = 0};

	c.attr.type = PERF_TYPE_TRACEPOINT;
	expect(&c, "the data of tracepoints is refused by kernel.perf_event_paranoid=2",
	       "sudo sysctl kernel.perf_event_paranoid=-1");
}

static void any_event_where_the_distribution_forbids_all(void **state)
{
	struct caps caps = {.paranoid = 3};
	struct call c = {.code = -EACCES, .pid = 0, .caps = &caps};

	c.attr.exclude_kernel = 1;
	expect(&c, "refused by kernel.perf_event_paranoid=3",
	       "sudo sysctl kernel.perf_event_paranoid=2");
}

static void uprobe_without_right(void **state)
{
	struct call c = {.code = -EACCES, .pid = 0};

	if (!pmu_type("uprobe", &c.attr.type))
		skip();
	expect(&c,
	       "uprobes need CAP_PERFMON, which no setting of kernel.perf_event_paranoid (now 2)",
	       "setcap");
}

static void process_of_another_user(void **state)
{
	struct call c = {.code = -EACCES, .pid = (int)getpid()};
	char what[64];

	c.attr.exclude_kernel = 1;
	snprintf(what, sizeof(what), "no permission to trace process %d", (int)getpid());
	expect(&c, what, "run as root or as its user");
}

static void refused_in_a_container(void **state)
{
	struct call c = {.code = -EPERM, .pid = -1, .caps = &root};

	expect(&c, "kernel.perf_event_paranoid=2 does not forbid it: a container",
	       "--cap-add PERFMON");
}

static void too_many_descriptors(void **state)
{
	struct call c = {.code = -EMFILE, .pid = -1};
	struct rlimit was, low = {.rlim_cur = 40};
	struct err err = ERR_INIT;
	int fds[64], nr = 0;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	low.rlim_max = was.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	while (nr < 64 && (fds[nr] = open("/dev/null", O_RDONLY)) >= 0)
		nr++;
	event_strerror(&err, c.code, "thing", &c.attr, -1, 0, 0, &root);
	while (nr)
		close(fds[--nr]);
	setrlimit(RLIMIT_NOFILE, &was);
	assert_non_null(strstr(err.what, "40 descriptors are open and RLIMIT_NOFILE is 40"));
	assert_non_null(strstr(err.hint, "ulimit -n 160"));
}

static void the_machine_has_too_many_files(void **state)
{
	struct call c = {.code = -ENFILE, .pid = -1};
	char what[64];

	expect(&c, now(what, sizeof(what), "fs/file-max", "fs.file-max"),
	       "sudo sysctl fs.file-max=");
}

static void frequency_above_the_limit(void **state)
{
	struct call c = {.code = -EINVAL, .pid = -1};
	char what[64];

	c.attr.freq = 1;
	c.attr.sample_freq = 50000000;
	expect(&c,
	       now(what, sizeof(what), "kernel/perf_event_max_sample_rate",
		   "kernel.perf_event_max_sample_rate"),
	       "sudo sysctl kernel.perf_event_max_sample_rate=50000000");
}

static void invalid_for_other_reasons(void **state)
{
	struct caps old = root;
	struct call c = {.code = -EINVAL, .pid = -1, .caps = &old};

	c.attr.type = PERF_TYPE_HARDWARE;
	c.attr.precise_ip = 2;
	expect(&c, "does not accept it", "without :p it may work");
	c.attr = (struct perf_event_attr){.type = PERF_TYPE_TRACEPOINT};
	expect(&c, "does not accept it", "can't be opened through perf");
	c.attr.write_backward = 1;
	old.write_backward = false;
	expect(&c, "no backward rings", "4.7");
}

static void stack_above_the_limit(void **state)
{
	struct call c = {.code = -EOVERFLOW, .pid = -1};
	char what[64];

	c.attr.sample_max_stack = 1000;
	expect(&c,
	       now(what, sizeof(what), "kernel/perf_event_max_stack",
		   "kernel.perf_event_max_stack"),
	       "sudo sysctl kernel.perf_event_max_stack=1000");
}

static void what_is_not_there(void **state)
{
	struct call c = {.code = -ENODEV, .pid = -1, .cpu = 100000};

	c.attr.type = PERF_TYPE_HARDWARE;
	expect(&c, "CPU 100000 is not online", "/sys/devices/system/cpu/online");
	c.cpu = -1;
	expect(&c, "the hardware does not have it", "use cpu-clock");
	c.code = -ENOENT;
	expect(&c, "this processor, or virtual machine, does not have it", "use cpu-clock");
	c.attr = (struct perf_event_attr){.type = PERF_TYPE_TRACEPOINT, .config = 77};
	expect(&c, "tracepoint 77 is no longer there", "module");
	c.attr = (struct perf_event_attr){.type = PERF_TYPE_SOFTWARE};
	expect(&c, "the kernel does not know it", "perf list");
	c.code = -ESRCH;
	c.pid = 4000000;
	expect(&c, "there is no process or thread 4000000", "ps -p 4000000");
	c.code = -ENOSYS;
	expect(&c, "no perf_event_open", "CONFIG_PERF_EVENTS");
	c.code = -E2BIG;
	expect(&c, "too old", "doctor");
}

static void what_is_taken_or_can_not_sample(void **state)
{
	struct call c = {.code = -EBUSY, .pid = -1};

	c.attr.type = PERF_TYPE_MAX + 10;
	expect(&c, "another program uses it", "grep perf_event");
	c.code = -ENOSPC;
	expect(&c, "all slots of its kind are taken", "record fewer");
	c.code = -EOPNOTSUPP;
	expect(&c, "count but not sample", "cpu-clock");
	c.attr.precise_ip = 2;
	expect(&c, "precise addresses (:p, level 2)", "leave out the :p");
	c.code = -ENOMEM;
	expect(&c, "no memory", "smaller rings");
	c.code = -EIO;
	expect(&c, strerror(EIO), "");
}

static void rings_above_the_mlock_limit(void **state)
{
	struct call c = {.code = -EPERM, .pid = -1, .mmap_bytes = 8 << 20};
	char what[64];

	expect(&c,
	       now(what, sizeof(what), "kernel/perf_event_mlock_kb", "kernel.perf_event_mlock_kb"),
	       "sudo sysctl kernel.perf_event_mlock_kb=");
	expect(&c, "a ring of 8 MiB", "ulimit -l unlimited");
	expect(&c, "RLIMIT_MEMLOCK=", "-m");
	c.code = -ENOMEM;
	expect(&c, "can't map a ring of 8 MiB", "smaller rings");
	c.code = -ENODEV;
	expect(&c, strerror(ENODEV), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(system_wide_without_right),
		cmocka_unit_test(kernel_side_without_right),
		cmocka_unit_test(tracepoint_without_right),
		cmocka_unit_test(any_event_where_the_distribution_forbids_all),
		cmocka_unit_test(uprobe_without_right),
		cmocka_unit_test(process_of_another_user),
		cmocka_unit_test(refused_in_a_container),
		cmocka_unit_test(too_many_descriptors),
		cmocka_unit_test(the_machine_has_too_many_files),
		cmocka_unit_test(frequency_above_the_limit),
		cmocka_unit_test(invalid_for_other_reasons),
		cmocka_unit_test(stack_above_the_limit),
		cmocka_unit_test(what_is_not_there),
		cmocka_unit_test(what_is_taken_or_can_not_sample),
		cmocka_unit_test(rings_above_the_mlock_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
