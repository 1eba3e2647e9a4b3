/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/* Reading /proc: texts as the kernel writes them, and the real thing with children of this test. */
#include "recorder/ledger/proc_scan.h"

#include "trigger/kernel/clock.h"
#include "recorder/ledger/proc_file.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define S	    1000000000ull
#define NR_CHILDREN 500

/* ---- texts ---- */

static void stat_is_read_around_any_name(void **state)
{
	static const char text[] =
		"123 (a) b (c) R 7 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 3 0 500 "
		"0 0 18446744073709551615\n";
	struct proc_file_stat st;

	assert_true(proc_file_parse_stat(text, 0, &st));
	assert_string_equal(st.comm, "a) b (c");
	assert_int_equal(st.ppid, 7);
	assert_int_equal(st.nr_threads, 3);
	assert_int_equal(st.start_ns, 500 * (S / sysconf(_SC_CLK_TCK)));
	assert_false(st.gone);
	/* The machine slept a second: what ticks since boot is that much more. */
	assert_true(proc_file_parse_stat(text, S, &st));
	assert_int_equal(st.start_ns, 500 * (S / sysconf(_SC_CLK_TCK)) - S);
	assert_true(proc_file_parse_stat(text, 3600 * S, &st));
	assert_int_equal(st.start_ns, 1);
	assert_false(proc_file_parse_stat("123 (a", 0, &st));
	assert_false(proc_file_parse_stat("", 0, &st));
	assert_false(proc_file_parse_stat("123 (a) R 7 1", 0, &st));
}

static void stat_says_who_is_gone(void **state)
{
	static const char tail[] = "7 1 1 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 %d 0 500 0 0";
	struct proc_file_stat st;
	char text[128], with[96];

	snprintf(with, sizeof(with), tail, 1);
	snprintf(text, sizeof(text), "5 (x) Z %s", with);
	assert_true(proc_file_parse_stat(text, 0, &st) && st.gone);
	snprintf(with, sizeof(with), tail, 2);
	snprintf(text, sizeof(text), "5 (x) Z %s", with);
	assert_true(proc_file_parse_stat(text, 0, &st) && !st.gone);
	snprintf(text, sizeof(text), "5 (x) X %s", with);
	assert_true(proc_file_parse_stat(text, 0, &st) && st.gone);
}

static void names_are_as_records_have_them(void **state)
{
	static const struct {
		const char *name, *want;
		unsigned flags;
	} cases[] = {
		{"new\\nline", "new\nline", 0},
		{"back\\\\slash", "back\\slash", 0},
		{"kworker/0:1-events", "kworker/0:1", 0x04208060},
		{"kworker/u8:2+loop0", "kworker/u8:2", 0x04208060},
		{"kworker/R-netns", "kworker/R-netns", 0x04208060},
		{"kworker/0:1-fake", "kworker/0:1-fak", 0x400000},
		{"a_kernel_thread_with_a_long_name", "a_kernel_thread", 0x208040},
	};
	struct proc_file_stat st;
	char text[160];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text),
			 "9 (%s) I 2 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 50 0 0", cases[i].name,
			 cases[i].flags);
		assert_true(proc_file_parse_stat(text, 0, &st));
		assert_string_equal(st.comm, cases[i].want);
	}
}

static void only_executable_mappings_are_taken(void **state)
{
	char text[] =
		"55d000000000-55d000001000 r--p 00000000 fe:01 42                  /usr/bin/x\n"
		"55d000001000-55d000005000 r-xp 00001000 fe:01 42                  /usr/bin/x\n"
		"7f0000000000-7f0000001000 rwxp 00000000 00:00 0 \n"
		"7f0000002000-7f0000003000 r-xs 00000000 00:05 7                   /a b\\012c "
		"(deleted)\n"
		"7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                   [vdso]\n";
	struct buf maps = {0};
	struct ledger_seen_map *m;

	assert_int_equal(proc_file_parse_maps(text, &maps), 0);
	assert_int_equal(maps.len, 4 * sizeof(*m));
	m = (struct ledger_seen_map *)maps.p;
	assert_int_equal(m[0].start, 0x55d000001000);
	assert_int_equal(m[0].end, 0x55d000005000);
	assert_int_equal(m[0].pgoff, 0x1000);
	assert_int_equal(m[0].maj, 0xfe);
	assert_int_equal(m[0].min, 1);
	assert_int_equal(m[0].ino, 42);
	assert_int_equal(m[0].prot, PROT_READ | PROT_EXEC);
	assert_int_equal(m[0].flags, MAP_PRIVATE);
	assert_string_equal(m[0].path, "/usr/bin/x");
	assert_int_equal(m[1].prot, PROT_READ | PROT_WRITE | PROT_EXEC);
	assert_string_equal(m[1].path, "//anon");
	assert_int_equal(m[2].flags, MAP_SHARED);
	assert_string_equal(m[2].path, "/a b\nc (deleted)");
	assert_string_equal(m[3].path, "[vdso]");
	buf_free(&maps);
}

static void the_cgroup_that_says_most_is_taken(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{"0::/system.slice/x.service\n", "/system.slice/x.service"},
		{"3:perf_event:/y\n1:name=systemd:/x\n0::/x/y:z\n", "/x/y:z"},
		{"4:memory:/m\n3:cpu,perf_event:/y\n0::/\n", "cpu,perf_event:/y"},
		{"4:memory:/m\n3:perf_event,cpu:/y\n", "perf_event,cpu:/y"},
		{"5:no_perf_event:/n\n4:memory:/m\n3:perf_event:/\n0::/\n", "no_perf_event:/n"},
		{"5:pids:/\n4:memory:/m\n3:cpuset:/c\n0::/\n", "memory:/m"},
		{"5:pids:/\n3:perf_event:/\n0::/\n", "/"},
		{"5:pids:/\n3:perf_event:/\n", "pids:/"},
		{"0::/../other (deleted)\n", "/../other (deleted)"},
		{"garbage\n\n0::/x", "/x"},
		{"garbage", ""},
		{"", ""},
	};
	char text[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "%s", cases[i].text);
		assert_string_equal(proc_file_parse_cgroup(text), cases[i].want);
	}
}

/* ---- the real /proc ---- */

struct children {
	pid_t pid[NR_CHILDREN];
	int release[2]; /* they live until it is closed */
};

static void start_children(struct children *c, int nr)
{
	int ready[2];
	char byte;

	assert_int_equal(pipe(c->release), 0);
	assert_int_equal(pipe(ready), 0);
	for (int i = 0; i < nr; i++) {
		c->pid[i] = fork();
		assert_true(c->pid[i] >= 0);
		if (c->pid[i])
			continue;
		close(c->release[1]);
		prctl(PR_SET_NAME, "scan-child");
		if (write(ready[1], "x", 1) != 1 || read(c->release[0], &byte, 1) != 0)
			_exit(1);
		_exit(0);
	}
	for (int i = 0; i < nr; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
}

static void end_children(struct children *c, int nr)
{
	close(c->release[1]);
	close(c->release[0]);
	for (int i = 0; i < nr; i++)
		assert_int_equal(waitpid(c->pid[i], NULL, 0), c->pid[i]);
}

static struct ledger *new_ledger(void)
{
	struct ledger *l;

	assert_int_equal(ledger_new(64 << 20, &l, NULL), 0);
	return l;
}

static void assert_comm(struct ledger *l, uint32_t tid, const char *want)
{
	char comm[16];

	assert_true(ledger_comm(l, tid, clock_ns(), comm));
	assert_string_equal(comm, want);
}

/* As stat(2) tells them, the seven that records have. */
static void assert_namespaces(struct ledger *l, pid_t pid)
{
	static const char *const names[] = {"net", "uts", "ipc", "pid", "user", "mnt", "cgroup"};
	struct fmt_namespace v[LEDGER_MAX_NAMESPACES];
	char path[64];
	struct stat st;
	size_t nr = 0;

	assert_true(ledger_namespaces(l, pid, clock_ns(), v) > 0);
	for (uint32_t i = 0; i < 7; i++) {
		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, names[i]);
		if (stat(path, &st))
			continue;
		assert_int_equal(v[nr].kind, i);
		assert_int_equal(v[nr].ino, st.st_ino);
		assert_int_equal(v[nr++].dev, st.st_dev);
	}
	assert_int_equal(ledger_namespaces(l, pid, clock_ns(), v), nr);
}

struct sleeper {
	pthread_barrier_t barrier;
	pid_t tid;
};

static void *sleep_in_a_thread(void *arg)
{
	struct sleeper *s = arg;

	prctl(PR_SET_NAME, "scan-thread");
	s->tid = gettid();
	pthread_barrier_wait(&s->barrier);
	pthread_barrier_wait(&s->barrier);
	return NULL;
}

static void everything_that_runs_is_found(void **state)
{
	struct ledger *l = new_ledger();
	struct children c;
	struct proc_scan *scan;
	struct sleeper s;
	pthread_t thread;
	char path[256];

	start_children(&c, 1);
	pthread_barrier_init(&s.barrier, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, sleep_in_a_thread, &s), 0);
	pthread_barrier_wait(&s.barrier);
	assert_int_equal(proc_scan_start(l, NULL, 0, &scan, NULL), 0);
	assert_true(proc_scan_wait(scan, true, UINT64_MAX));
	assert_true(proc_scan_wait(scan, false, 0));
	assert_comm(l, c.pid[0], "scan-child");
	assert_comm(l, s.tid, "scan-thread");
	assert_comm(l, getpid(), "t_proc_scan");
	assert_namespaces(l, c.pid[0]);
	assert_namespaces(l, s.tid);
	assert_true(ledger_cgroup(l, s.tid, clock_ns(), path, sizeof(path)));
	assert_non_null(strchr(path, '/'));
	for (int i = 0; i < 2; i++) {
		pid_t who = i ? c.pid[0] : s.tid;

		assert_true(
			ledger_path(l, who, clock_ns(), (uintptr_t)new_ledger, path, sizeof(path)));
		assert_non_null(strstr(path, "/t_proc_scan"));
		assert_true(ledger_path(l, who, clock_ns(), (uintptr_t)memcpy, path, sizeof(path)));
	}
	pthread_barrier_wait(&s.barrier);
	pthread_join(thread, NULL);
	pthread_barrier_destroy(&s.barrier);
	proc_scan_free(scan);
	end_children(&c, 1);
	ledger_free(l);
}

static void start_times_are_in_the_ledgers_clock(void **state)
{
	uint64_t before, after;
	struct ledger *l = new_ledger();
	struct proc_scan *scan;
	struct children c;
	char comm[16];

	before = clock_ns();
	start_children(&c, 1);
	after = clock_ns();
	assert_int_equal(proc_scan_start(l, NULL, 0, &scan, NULL), 0);
	assert_true(proc_scan_wait(scan, false, UINT64_MAX));
	assert_false(ledger_comm(l, c.pid[0], before - 20000000, comm));
	assert_true(ledger_comm(l, c.pid[0], after, comm));
	proc_scan_free(scan);
	end_children(&c, 1);
	ledger_free(l);
}

static void who_is_elsewhere_is_told_apart(void **state)
{
	struct fmt_namespace mine[LEDGER_MAX_NAMESPACES], its[LEDGER_MAX_NAMESPACES];
	struct ledger *l = new_ledger();
	struct proc_scan *scan;
	int ready[2];
	pid_t pid;
	char c;

	if (geteuid())
		skip();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c = unshare(CLONE_NEWUTS | CLONE_NEWNET) ? 'x' : 'o';
		if (write(ready[1], &c, 1) == 1)
			pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_int_equal(c, 'o');
	assert_int_equal(proc_scan_start(l, NULL, 0, &scan, NULL), 0);
	assert_true(proc_scan_wait(scan, false, UINT64_MAX));
	proc_scan_free(scan);
	assert_namespaces(l, pid);
	assert_true(ledger_namespaces(l, getpid(), clock_ns(), mine) > FMT_NS_USER);
	assert_true(ledger_namespaces(l, pid, clock_ns(), its) > FMT_NS_USER);
	assert_int_not_equal(its[FMT_NS_NET].ino, mine[FMT_NS_NET].ino);
	assert_int_not_equal(its[FMT_NS_UTS].ino, mine[FMT_NS_UTS].ino);
	assert_int_equal(its[FMT_NS_USER].ino, mine[FMT_NS_USER].ino);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(ready[0]);
	close(ready[1]);
	ledger_free(l);
}

static void only_targets_and_their_descendants_are_read(void **state)
{
	uint32_t me = getpid();
	struct ledger *l = new_ledger();
	struct proc_scan *scan;
	struct ledger_stats stats;
	struct children c;
	char comm[16];

	start_children(&c, 3);
	assert_int_equal(proc_scan_start(l, &me, 1, &scan, NULL), 0);
	assert_true(proc_scan_wait(scan, true, UINT64_MAX));
	ledger_stats(l, &stats);
	/* This process with the scan's own thread, and three children. */
	assert_int_equal(stats.nr_tasks, 5);
	assert_int_equal(stats.nr_tombstones, 0);
	assert_comm(l, c.pid[2], "scan-child");
	assert_false(ledger_comm(l, 1, clock_ns(), comm));
	proc_scan_free(scan);
	end_children(&c, 3);
	ledger_free(l);
}

static void a_second_scan_finds_who_is_gone(void **state)
{
	struct ledger *l = new_ledger();
	struct ledger_stats first, second;
	struct proc_scan *scan;
	struct children c;

	start_children(&c, 20);
	assert_int_equal(proc_scan_start(l, NULL, 0, &scan, NULL), 0);
	assert_true(proc_scan_wait(scan, true, UINT64_MAX));
	proc_scan_free(scan);
	ledger_stats(l, &first);
	end_children(&c, 20);
	assert_int_equal(proc_scan_start(l, NULL, 0, &scan, NULL), 0);
	assert_true(proc_scan_wait(scan, true, UINT64_MAX));
	proc_scan_free(scan);
	ledger_stats(l, &second);
	assert_true(second.nr_tombstones >= first.nr_tombstones + 20);
	assert_comm(l, c.pid[19], "scan-child"); /* still known */
	ledger_free(l);
}

static void a_scan_may_be_given_up(void **state)
{
	struct ledger *l = new_ledger();
	struct proc_scan *scan;

	for (int i = 0; i < 20; i++) {
		assert_int_equal(proc_scan_start(l, NULL, 0, &scan, NULL), 0);
		proc_scan_free(scan);
	}
	proc_scan_free(NULL);
	ledger_free(l);
}

static void many_processes_are_read_quickly(void **state)
{
	struct ledger *l = new_ledger();
	struct ledger_stats stats;
	struct proc_scan *scan;
	struct children c;
	uint64_t t0, t1, t2;

	start_children(&c, NR_CHILDREN);
	t0 = clock_ns();
	assert_int_equal(proc_scan_start(l, NULL, 0, &scan, NULL), 0);
	assert_true(proc_scan_wait(scan, false, UINT64_MAX));
	t1 = clock_ns();
	assert_true(proc_scan_wait(scan, true, UINT64_MAX));
	t2 = clock_ns();
	ledger_stats(l, &stats);
	print_message("# %llu tasks: names %llu us each, mappings %llu us each, %llu KiB\n",
		      (unsigned long long)stats.nr_tasks,
		      (unsigned long long)(t1 - t0) / stats.nr_tasks / 1000,
		      (unsigned long long)(t2 - t1) / stats.nr_tasks / 1000,
		      (unsigned long long)stats.bytes / 1024);
	for (int i = 0; i < NR_CHILDREN; i++)
		assert_comm(l, c.pid[i], "scan-child");
	proc_scan_free(scan);
	end_children(&c, NR_CHILDREN);
	ledger_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_is_read_around_any_name),
		cmocka_unit_test(stat_says_who_is_gone),
		cmocka_unit_test(names_are_as_records_have_them),
		cmocka_unit_test(only_executable_mappings_are_taken),
		cmocka_unit_test(the_cgroup_that_says_most_is_taken),
		cmocka_unit_test(everything_that_runs_is_found),
		cmocka_unit_test(who_is_elsewhere_is_told_apart),
		cmocka_unit_test(start_times_are_in_the_ledgers_clock),
		cmocka_unit_test(only_targets_and_their_descendants_are_read),
		cmocka_unit_test(a_second_scan_finds_who_is_gone),
		cmocka_unit_test(a_scan_may_be_given_up),
		cmocka_unit_test(many_processes_are_read_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
