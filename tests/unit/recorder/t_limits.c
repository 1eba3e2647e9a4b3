/* LAYERS: recorder trigger kernel dump base */
// SPDX-License-Identifier: MIT
/*
 * Control groups with limits, of both versions, from a made-up tree: which are written, what their
 * counters start, and their processes.
 */
#include "recorder/ledger/cgroup_limits.h"

#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/file/writer.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char root[64];

static void put(const char *path, const char *text)
{
	char full[256];
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void make(const char *path)
{
	char full[256];

	snprintf(full, sizeof(full), "%s/%s", root, path);
	assert_int_equal(mkdir(full, 0700), 0);
}

static int setup(void **state)
{
	char mounts[256];

	strcpy(root, "/tmp/t_limits.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(mounts, sizeof(mounts),
		 "none %s/two cgroup2 rw 0 0\nnone %s/one cgroup rw,memory,cpu 0 0\n"
		 "none %s/other cgroup rw,pids 0 0\n",
		 root, root, root);
	put("mounts", mounts);
	make("two");
	make("two/shop");
	put("two/shop/cpu.max", "20000 100000\n");
	put("two/shop/cpu.stat",
	    "usage_usec 9\nnr_periods 7\nnr_throttled 5\nthrottled_usec 300\n");
	put("two/shop/memory.max", "max\n");
	put("two/shop/cgroup.procs", "11\n");
	make("two/shop/api");
	put("two/shop/api/cpu.max", "max 100000\n");
	put("two/shop/api/memory.max", "67108864\n");
	put("two/shop/api/memory.current", "1000\n");
	put("two/shop/api/memory.events", "low 0\nmax 3\noom 1\noom_kill 1\n");
	put("two/shop/api/cgroup.procs", "12\n13\n");
	make("two/free");
	put("two/free/cpu.max", "max 100000\n");
	put("two/free/cgroup.procs", "14\n");
	make("one");
	make("one/old");
	put("one/old/cpu.cfs_quota_us", "30000\n");
	put("one/old/cpu.cfs_period_us", "50000\n");
	put("one/old/cpu.stat", "nr_periods 1\nnr_throttled 2\nthrottled_time 4000\n");
	put("one/old/memory.limit_in_bytes", "9223372036854771712\n");
	make("other");
	make("other/none");
	put("other/none/cpu.max", "1 1\n");
	return 0;
}

static int teardown(void **state)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command) ? -1 : 0;
}

static struct meta *written(struct cgroup_limits *l)
{
	const struct writer_options opt = {.max_blocks = 16};
	int fd = memfd_create("dump", MFD_CLOEXEC);
	char path[64];
	struct writer *w;
	struct reader *r;
	struct meta *m;
	uint64_t bytes;

	assert_int_equal(writer_new(&opt, &w, NULL), 0);
	assert_int_equal(writer_begin(w, fd, 1, NULL), 0);
	assert_int_equal(cgroup_limits_write(l, w, NULL), 0);
	assert_int_equal(writer_finish(w, &bytes, NULL), 0);
	writer_free(w);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(reader_open(path, &r, NULL), 0);
	assert_int_equal(meta_load(r, &m, NULL), 0);
	reader_close(r);
	close(fd);
	assert_true(m->knows_cgroups);
	return m;
}

static const struct meta_cgroup *group(const struct meta *m, const char *path)
{
	for (size_t i = 0; i < m->nr_cgroups; i++)
		if (!strcmp(m->cgroups[i].path, path))
			return &m->cgroups[i];
	return NULL;
}

static struct cgroup_limits *look(void)
{
	struct cgroup_limits *l;
	char path[100];

	snprintf(path, sizeof(path), "%s/mounts", root);
	assert_int_equal(cgroup_limits_new(path, &l), 0);
	return l;
}

static void groups_with_limits_are_written(void **state)
{
	struct cgroup_limits *l = look();
	struct meta *m = written(l);
	const struct meta_cgroup *g = group(m, "/shop");

	assert_int_equal(m->nr_cgroups, 3);
	assert_non_null(g);
	assert_int_equal(g->f.version, 2);
	assert_int_equal(g->f.flags, 0);
	assert_int_equal(g->f.quota_ns, 20000000);
	assert_int_equal(g->f.period_ns, 100000000);
	assert_int_equal(g->f.nr_throttled, 0); /* nothing since the first look */
	assert_int_equal(g->f.memory_limit_bytes, 0);
	assert_int_equal(g->f.nr_pids, 3); /* those below it are in it */
	assert_int_equal(meta_cgroup_pid(g, 0) + meta_cgroup_pid(g, 1) + meta_cgroup_pid(g, 2), 36);
	g = group(m, "/shop/api");
	assert_non_null(g);
	assert_int_equal(g->f.quota_ns, 0);
	assert_int_equal(g->f.memory_limit_bytes, 67108864);
	assert_int_equal(g->f.nr_pids, 2);
	g = group(m, "/old");
	assert_non_null(g);
	assert_int_equal(g->f.version, 1);
	assert_int_equal(g->f.quota_ns, 30000000);
	assert_int_equal(g->f.period_ns, 50000000);
	assert_int_equal(g->f.memory_limit_bytes, 0);
	meta_free(m);
	cgroup_limits_free(l);
}

static void counters_are_counted_from_the_last_look(void **state)
{
	struct cgroup_limits *l = look();
	struct meta *m;

	put("two/shop/cpu.stat", "nr_throttled 9\nthrottled_usec 1300\n");
	put("two/shop/api/memory.events", "max 10\noom_kill 3\n");
	make("two/shop/new");
	put("two/shop/new/cpu.max", "1000 100000\n");
	put("two/shop/new/cpu.stat", "nr_throttled 4\nthrottled_usec 8\n");
	m = written(l);
	assert_int_equal(group(m, "/shop")->f.nr_throttled, 4);
	assert_int_equal(group(m, "/shop")->f.throttled_ns, 1000000);
	assert_int_equal(group(m, "/shop/api")->f.nr_limit_hits, 7);
	assert_int_equal(group(m, "/shop/api")->f.nr_oom_kills, 2);
	assert_int_equal(group(m, "/shop/new")->f.flags, FMT_CGROUP_NEW);
	assert_int_equal(group(m, "/shop/new")->f.nr_throttled, 4);
	meta_free(m);
	m = written(l);
	assert_int_equal(group(m, "/shop")->f.nr_throttled, 0);
	assert_int_equal(group(m, "/shop/new")->f.flags, 0);
	meta_free(m);
	cgroup_limits_free(l);
}

static void no_hierarchy_is_no_error(void **state)
{
	struct cgroup_limits *l;
	struct meta *m;

	assert_int_equal(cgroup_limits_new("/nonexistent", &l), 0);
	m = written(l);
	assert_int_equal(m->nr_cgroups, 0);
	meta_free(m);
	cgroup_limits_free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(groups_with_limits_are_written, setup, teardown),
		cmocka_unit_test_setup_teardown(counters_are_counted_from_the_last_look, setup,
						teardown),
		cmocka_unit_test(no_hierarchy_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
