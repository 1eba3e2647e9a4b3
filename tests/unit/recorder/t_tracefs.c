/* LAYERS: recorder kernel view dump base */
// SPDX-License-Identifier: MIT
/* tracefs is read without being mounted for others, and a user without permission is told what to type.
 */
#include "dump/base/err.h"
#include "trigger/kernel/tracefs.h"

#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void need_tracefs(void)
{
	if (tracefs_dir(NULL) < 0)
		skip();
}

static int nr_tracefs_mounts(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[4096];
	int nr = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		nr += strstr(line, " - tracefs ") != NULL;
	fclose(f);
	return nr;
}

/* Others may mount it while we look; reading it must not. */
static void nothing_is_mounted_for_it(void **state)
{
	int before = nr_tracefs_mounts();

	need_tracefs();
	if (before == 0 && nr_tracefs_mounts() != 0)
		fail_msg("tracefs is mounted now");
}

static void the_descriptor_is_opened_once(void **state)
{
	need_tracefs();
	assert_int_equal(tracefs_dir(NULL), tracefs_dir(NULL));
}

static void files_are_read_whole_and_terminated(void **state)
{
	struct buf b = {0};
	struct err err = ERR_INIT;

	need_tracefs();
	assert_int_equal(tracefs_read("events/sched/sched_switch/format", &b, &err), 0);
	assert_non_null(strstr((char *)b.p, "name: sched_switch"));
	assert_non_null(strstr((char *)b.p, "print fmt:"));
	assert_int_equal(strlen((char *)b.p), b.len);
	/* again into the same buffer: replaced, not appended */
	assert_int_equal(tracefs_read("events/header_page", &b, &err), 0);
	assert_null(strstr((char *)b.p, "sched_switch"));
	buf_free(&b);
}

static void a_missing_file_leaves_the_result_alone(void **state)
{
	struct buf b = {0};
	struct err err = ERR_INIT;

	need_tracefs();
	assert_int_equal(tracefs_read("events/no/such/file", &b, &err), -ENOENT);
	assert_non_null(strstr(err.what, "events/no/such/file"));
	assert_null(b.p);
}

struct seen {
	char last[256];
	int nr, stop_at;
	bool sorted;
};

static int see(void *ctx, const char *name)
{
	struct seen *s = ctx;

	if (strcmp(s->last, name) >= 0)
		s->sorted = false;
	snprintf(s->last, sizeof(s->last), "%s", name);
	s->nr++;
	return s->nr == s->stop_at ? 42 : 0;
}

static void directories_are_listed_sorted_until_told_to_stop(void **state)
{
	struct seen all = {.sorted = true}, some = {.stop_at = 3, .sorted = true};
	struct err err = ERR_INIT;

	need_tracefs();
	assert_int_equal(tracefs_list("events/sched", see, &all, &err), 0);
	assert_true(all.nr > 5 && all.sorted);
	assert_int_equal(tracefs_list("events/sched", see, &some, &err), 42);
	assert_int_equal(some.nr, 3);
	assert_int_equal(tracefs_list("events/nothing", see, &some, &err), -ENOENT);
}

static void who_may_not_read_is_told_what_to_type(void **state)
{
	pid_t pid;
	int status;

	if (geteuid() != 0)
		skip();
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct err err = ERR_INIT;
		struct buf b = {0};
		int rc;

		if (setgroups(0, NULL) || setgid(65534) || setuid(65534))
			_exit(99);
		rc = tracefs_read("events/sched/sched_switch/id", &b, &err);
		if (rc == 0) /* readable by all on this machine */
			_exit(0);
		_exit(rc == -EACCES && strstr(err.hint, "sudo mount") &&
				      strstr(err.hint, "gid=65534")
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* first: a descriptor that root opened would be inherited */
		cmocka_unit_test(who_may_not_read_is_told_what_to_type),
		cmocka_unit_test(nothing_is_mounted_for_it),
		cmocka_unit_test(the_descriptor_is_opened_once),
		cmocka_unit_test(files_are_read_whole_and_terminated),
		cmocka_unit_test(a_missing_file_leaves_the_result_alone),
		cmocka_unit_test(directories_are_listed_sorted_until_told_to_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
