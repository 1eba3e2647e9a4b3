/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/*
 * Source file: lines of bounded length; paths that other users cannot redirect; what is appended,
 * rotation, truncation, and a file that is written to all the time.
 */
#include "trigger/engine/engine.h"

#include "dump/base/err.h"
#include "trigger/sources/file_lines.h"
#include "trigger/sources/safe_path.h"
#include "tests/helpers/now.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

struct place {
	char dir[64];
	struct engine *e;
};

static int setup(void **state)
{
	const struct engine_options opt = {0};
	struct place *p = calloc(1, sizeof(*p));

	strcpy(p->dir, "/tmp/t_file.XXXXXX");
	*state = p;
	return !mkdtemp(p->dir) || engine_new(&opt, &p->e, NULL) ? -1 : 0;
}

static int teardown(void **state)
{
	struct place *p = *state;
	char command[100];

	engine_free(p->e);
	snprintf(command, sizeof(command), "rm -rf '%s'", p->dir);
	if (system(command))
		return -1;
	free(p);
	return 0;
}

static const char *path(const struct place *p, const char *name)
{
	static char buf[16][128];
	static int turn;
	char *out = buf[turn++ % 16];

	snprintf(out, sizeof(buf[0]), "%s/%s", p->dir, name);
	return out;
}

static void put(const char *file, int flags, const char *text, size_t n)
{
	int fd = open(file, O_WRONLY | O_CREAT | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, n), n);
	close(fd);
}

static void append(const char *file, const char *text)
{
	put(file, O_APPEND, text, strlen(text));
}

static int add(struct place *p, const char *name, const char *regex, struct err *err)
{
	char text[200];

	snprintf(text, sizeof(text), "file:%s/%s~%s", p->dir, name, regex);
	return engine_add(p->e, text, err);
}

/* A hit within `ms`; 0: none. */
static int next(struct place *p, int ms, struct sighting *what)
{
	uint64_t end = now_ns() + (uint64_t)ms * 1000000;
	const struct rule *rule;

	for (uint64_t now; (now = now_ns()) < end;) {
		int rc;

		engine_wait(p->e, (int)((end - now) / 1000000) + 1);
		rc = engine_poll(p->e, &rule, what, NULL);
		if (rc)
			return rc;
	}
	return 0;
}

static const char *line_of(const struct sighting *what)
{
	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strncmp(what->saw[i], "line=", 5))
			return what->saw[i] + 5;
	return "";
}

/* A hit for that line comes. */
static void expect(struct place *p, const char *line)
{
	struct sighting what;

	assert_int_equal(next(p, 5000, &what), 1);
	assert_string_equal(line_of(&what), line);
}

static void expect_none(struct place *p)
{
	struct sighting what;

	if (next(p, 300, &what))
		fail_msg("a hit for '%s'", line_of(&what));
}

/* ---- lines ---- */

/* Feeds `n` bytes in pieces of `step`; lines come out with '|' behind each. */
static void split(struct file_lines *l, const char *text, size_t n, size_t step, char *out)
{
	const char *line;
	size_t len;

	for (size_t from = 0; from < n; from += step) {
		const char *at = text + from;
		size_t left = n - from < step ? n - from : step;

		while (file_lines_next(l, &at, &left, &line, &len)) {
			out += sprintf(out, "%.*s", (int)len, line);
			out += sprintf(out, "|");
		}
		assert_int_equal(left, 0);
	}
}

static void lines_are_the_same_however_they_come(void **state)
{
	static const char text[] = "one\n\ntwo three\n\nfour";

	for (size_t step = 1; step <= sizeof(text); step++) {
		struct file_lines l = {.len = 0};
		const char *line;
		char out[64] = "";
		size_t len;

		split(&l, text, sizeof(text) - 1, step, out);
		assert_string_equal(out, "one||two three||");
		assert_true(file_lines_rest(&l, &line, &len));
		assert_int_equal(len, 4);
		assert_memory_equal(line, "four", 4);
		assert_false(file_lines_rest(&l, &line, &len));
	}
}

static void of_a_long_line_the_beginning_counts(void **state)
{
	static char text[3 * LINES_MAX], out[3 * LINES_MAX];

	memset(text, 'x', sizeof(text));
	strcpy(text + 2 * LINES_MAX, "y\nshort\n");
	for (size_t step = 1; step < sizeof(text); step = step * 3 + 1) {
		struct file_lines l = {.len = 0};

		split(&l, text, strlen(text), step, out);
		assert_int_equal(strlen(out), LINES_MAX + 1 + 6);
		assert_string_equal(out + LINES_MAX, "|short|");
	}
}

/* ---- paths ---- */

static int try_path(const char *file, struct err *err)
{
	struct safe_path p;
	int rc = safe_path_open(file, &p, err);

	assert_true(rc ? p.fd < 0 : p.fd >= 0);
	safe_path_close(&p);
	return rc;
}

static void only_regular_files_are_opened(void **state)
{
	struct place *p = *state;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct err err = ERR_INIT;
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path(p, "socket"));
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(mkfifo(path(p, "fifo"), 0600), 0);
	append(path(p, "file"), "");
	assert_int_equal(try_path(path(p, "file"), &err), 0);
	assert_int_equal(try_path(path(p, "./../nosuch"), &err), -ENOENT);
	assert_int_equal(try_path(path(p, "fifo"), &err), -EINVAL);
	assert_non_null(strstr(err.what, "is a FIFO, not a regular file"));
	/* There was no reader. */
	assert_int_equal(open(path(p, "fifo"), O_WRONLY | O_NONBLOCK), -1);
	assert_int_equal(errno, ENXIO);
	assert_int_equal(try_path(path(p, "socket"), &err), -EINVAL);
	assert_int_equal(try_path("/dev/null", &err), -EINVAL);
	assert_int_equal(try_path(p->dir, &err), -EINVAL);
	assert_int_equal(try_path("/", &err), -EINVAL);
	assert_int_equal(try_path("file", &err), -EINVAL);
	assert_int_equal(try_path(path(p, "file/x"), &err), -ENOTDIR);
	close(fd);
}

static void symlinks_are_followed_only_where_nobody_else_makes_them(void **state)
{
	struct place *p = *state;
	struct err err = ERR_INIT;

	append(path(p, "file"), "");
	assert_int_equal(mkdir(path(p, "open"), 0777), 0);
	assert_int_equal(chmod(path(p, "open"), 01777), 0);
	assert_int_equal(mkdir(path(p, "dir"), 0755), 0);
	append(path(p, "open/file"), "");
	append(path(p, "dir/file"), "");
	assert_int_equal(symlink("file", path(p, "good")), 0);
	assert_int_equal(symlink(path(p, "dir"), path(p, "gooddir")), 0);
	assert_int_equal(symlink("good", path(p, "good2")), 0);
	assert_int_equal(symlink("loop", path(p, "loop")), 0);
	assert_int_equal(symlink("../file", path(p, "open/bad")), 0);
	assert_int_equal(symlink("../dir", path(p, "open/baddir")), 0);
	assert_int_equal(symlink("open/bad", path(p, "hop")), 0);

	assert_int_equal(try_path(path(p, "good2"), &err), 0);
	assert_int_equal(try_path(path(p, "gooddir/file"), &err), 0);
	assert_int_equal(try_path(path(p, "dir/../gooddir/../good"), &err), 0);
	assert_int_equal(try_path(path(p, "open/file"), &err), 0);
	assert_int_equal(try_path(path(p, "loop"), &err), -ELOOP);
	assert_int_equal(try_path(path(p, "open/bad"), &err), -ELOOP);
	assert_non_null(
		strstr(err.what, "'bad' is a symlink in a directory that others may write"));
	assert_int_equal(try_path(path(p, "open/baddir/file"), &err), -ELOOP);
	assert_int_equal(try_path(path(p, "hop"), &err), -ELOOP);
	if (geteuid())
		return;
	/* Its owner may write to it. */
	assert_int_equal(chown(p->dir, 65534, 65534), 0);
	assert_int_equal(try_path(path(p, "good"), &err), -ELOOP);
	assert_int_equal(try_path(path(p, "file"), &err), 0);
}

/* ---- rules ---- */

static void what_can_never_be_is_refused_with_the_reason(void **state)
{
	struct place *p = *state;
	static const char *const bad[][2] = {
		{"file", "column 5: expected ':' and a path"},
		{"file:/x", "column 8: expected '~' and a regular expression"},
		{"file:/x>3", "column 8: expected '~'"},
		{"file:x~y", "column 6: expected an absolute path, found 'x'"},
		{"file:/tmp/x~(", "column 13: expected a POSIX extended regular expression"},
		{"file:/tmp/x~(a)\\1", "column 13: a regular expression with"},
		{"file:/tmp/x~y;pid-from=(", "column 24: expected a POSIX extended regular"},
		{"load>100;pid-from=x", "column 19: load takes no pid-from="},
		{"file:/tmp/x~y;for=1s", "a line in a file has no duration or value"},
	};
	struct err err = ERR_INIT;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(engine_add(p->e, bad[i][0], &err), -EINVAL);
		if (!strstr(err.what, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], err.what);
	}
	assert_int_equal(add(p, "no/such", "x", &err), -ENOENT);
	assert_non_null(strstr(err.hint, "its directory must be there"));
	assert_int_equal(mkfifo(path(p, "fifo"), 0600), 0);
	assert_int_equal(add(p, "fifo", "x", &err), -EINVAL);
	assert_int_equal(add(p, "new", "a\\\\1|\\.b", &err), 0);
}

static void appended_lines_match_and_older_ones_are_not_read(void **state)
{
	struct place *p = *state;
	const char *log = path(p, "log");
	struct sighting what;

	append(log, "ERROR old\nERROR half");
	assert_int_equal(add(p, "log", "^ERROR [a-z]+$", NULL), 0);
	expect_none(p);
	append(log, " of it\n");
	append(log, "fine\nERROR 1\n");
	expect_none(p);
	append(log, "ERROR new\n");
	expect(p, "ERROR new");
	/* A line counts when it is complete. */
	append(log, "ERROR slo");
	expect_none(p);
	append(log, "wly\n");
	expect(p, "ERROR slowly");
	append(log, "ERROR a\nx\nERROR b\nERROR c\n");
	assert_int_equal(next(p, 5000, &what), 1);
	assert_int_equal(what.nr_hits, 3);
	assert_string_equal(line_of(&what), "ERROR a");
}

static void bytes_that_are_no_text_do_no_harm(void **state)
{
	struct place *p = *state;
	static char big[LINES_MAX * 40];
	const char *log = path(p, "log");

	assert_int_equal(add(p, "log", "bad.*end", NULL), 0);
	put(log, O_APPEND, "x\0\xff\xfe bad\0\x1b[2J\xc3 end\n", 19);
	expect(p, "x\\x00\\xff\\xfe bad\\x00\\x1b[2J\\xc3 end");
	/* Longer than is looked at, and then one that counts. */
	memset(big, 'b', sizeof(big));
	memcpy(big + sizeof(big) - 30, "bad end", 7);
	put(log, O_APPEND, big, sizeof(big));
	append(log, "\nbad\tend\n");
	expect(p, "bad\\x09end");
}

static void a_file_that_comes_later_is_read_from_its_beginning(void **state)
{
	struct place *p = *state;

	assert_int_equal(add(p, "later", "ERROR", NULL), 0);
	append(path(p, "other"), "ERROR elsewhere\n");
	expect_none(p);
	append(path(p, "later"), "ERROR first\n");
	expect(p, "ERROR first");
	append(path(p, "later"), "ERROR second\n");
	expect(p, "ERROR second");
}

static void rotation_is_followed(void **state)
{
	struct place *p = *state;
	const char *log = path(p, "log"), *old = path(p, "log.1"), *next_log = path(p, "log.new");

	append(log, "ERROR before\n");
	assert_int_equal(add(p, "log", "ERROR", NULL), 0);
	append(log, "fine\n");
	expect_none(p);
	/* logrotate: renamed, still written to, then there is a new one. */
	assert_int_equal(rename(log, old), 0);
	append(old, "ERROR to the old one\n");
	expect(p, "ERROR to the old one");
	append(old, "ERROR unfinished");
	append(log, "ERROR to the new one\n");
	expect(p, "ERROR unfinished");
	append(log, "ERROR more\n");
	expect(p, "ERROR more");
	/* Replaced at once. */
	append(next_log, "ERROR in the next\n");
	assert_int_equal(rename(next_log, log), 0);
	expect(p, "ERROR in the next");
	/* copytruncate */
	assert_int_equal(truncate(log, 0), 0);
	append(log, "ERROR anew\n");
	expect(p, "ERROR anew");
	assert_int_equal(unlink(log), 0);
	append(log, "ERROR created\n");
	expect(p, "ERROR created");
}

static void what_is_older_is_not_read_when_it_is_moved_there(void **state)
{
	struct place *p = *state;
	const char *log = path(p, "log"), *older = path(p, "older");

	append(older, "ERROR old\n");
	usleep(20000);
	assert_int_equal(add(p, "log", "ERROR", NULL), 0);
	assert_int_equal(rename(older, log), 0);
	expect_none(p);
	append(log, "ERROR new\n");
	expect(p, "ERROR new");
}

static void what_takes_its_name_is_not_opened(void **state)
{
	struct place *p = *state;
	const char *log = path(p, "log");

	append(log, "");
	assert_int_equal(chmod(p->dir, 01777), 0);
	append(path(p, "secret"), "ERROR secret\n");
	assert_int_equal(add(p, "log", "ERROR", NULL), 0);
	assert_int_equal(unlink(log), 0);
	assert_int_equal(symlink("secret", log), 0);
	append(path(p, "secret"), "ERROR more\n");
	expect_none(p);
	assert_int_equal(unlink(log), 0);
	assert_int_equal(mkfifo(log, 0600), 0);
	expect_none(p);
	assert_int_equal(open(log, O_WRONLY | O_NONBLOCK), -1);
	assert_int_equal(unlink(log), 0);
	append(log, "ERROR here\n");
	expect(p, "ERROR here");
}

static void symlinks_of_the_owner_are_followed_when_they_change(void **state)
{
	struct place *p = *state;
	const char *log = path(p, "current");

	assert_int_equal(mkdir(path(p, "logs"), 0700), 0);
	append(path(p, "logs/1"), "ERROR old\n");
	assert_int_equal(symlink("logs/1", log), 0);
	assert_int_equal(add(p, "current", "ERROR", NULL), 0);
	append(log, "ERROR 1\n");
	expect(p, "ERROR 1");
	append(path(p, "logs/2"), "ERROR 2\n");
	assert_int_equal(symlink("logs/2", path(p, "new")), 0);
	assert_int_equal(rename(path(p, "new"), log), 0);
	expect(p, "ERROR 2");
	/* Where it leads to is rotated. */
	assert_int_equal(rename(path(p, "logs/2"), path(p, "logs/3")), 0);
	append(path(p, "logs/2"), "ERROR 3\n");
	expect(p, "ERROR 3");
}

static void a_directory_that_goes_and_comes_back_is_found(void **state)
{
	struct place *p = *state;

	assert_int_equal(mkdir(path(p, "d"), 0700), 0);
	assert_int_equal(add(p, "d/log", "ERROR", NULL), 0);
	assert_int_equal(rmdir(path(p, "d")), 0);
	expect_none(p);
	assert_int_equal(mkdir(path(p, "d"), 0700), 0);
	append(path(p, "d/log"), "ERROR again\n");
	expect(p, "ERROR again");
}

/* How often the engine is woken in `ms` while a line is written each millisecond. */
static int wakeups_under_writes(struct place *p, const char *log, int ms)
{
	uint64_t end = now_ns() + (uint64_t)ms * 1000000;
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600), n = 0;
	const struct rule *rule;
	struct sighting what;

	while (now_ns() < end) {
		assert_int_equal(write(fd, "fine\n", 5), 5);
		n += engine_wait(p->e, 1);
		assert_int_equal(engine_poll(p->e, &rule, &what, NULL), 0);
	}
	close(fd);
	return n;
}

static void a_file_that_is_written_to_all_the_time_wakes_once_a_second(void **state)
{
	struct place *p = *state;
	const char *log = path(p, "log");
	const struct rule *rule;
	struct sighting what;
	uint64_t begin;
	int n, looks = 0;

	assert_int_equal(add(p, "log", "ERROR", NULL), 0);
	wakeups_under_writes(p, log, 100);
	begin = now_ns();
	n = wakeups_under_writes(p, log, 4000);
	print_message("# %d wake-ups in 4 s of writes\n", n);
	assert_true((uint64_t)n <= (now_ns() - begin) / 1000000000 + 1);
	append(log, "ERROR at last\n");
	assert_int_equal(next(p, 60000, &what), 1);
	assert_string_equal(line_of(&what), "ERROR at last");
	/* After a while without writes it sleeps until it is told. */
	while (engine_wait(p->e, 3000)) {
		assert_int_equal(engine_poll(p->e, &rule, &what, NULL), 0);
		assert_true(++looks < 60);
	}
	append(log, "ERROR at once\n");
	assert_int_equal(next(p, 60000, &what), 1);
}

static void a_lot_at_once_is_read_to_its_end(void **state)
{
	struct place *p = *state;
	static char big[5 << 20];
	struct sighting what;
	uint32_t nr = 0;

	for (size_t i = 0; i < sizeof(big); i += 8)
		memcpy(big + i, i % 4096 ? "nothing\n" : "ERROR 1\n", 8);
	assert_int_equal(add(p, "log", "ERROR", NULL), 0);
	put(path(p, "log"), O_APPEND, big, sizeof(big));
	while (nr < sizeof(big) / 4096) {
		assert_int_equal(next(p, 5000, &what), 1);
		nr += what.nr_hits;
	}
	assert_int_equal(nr, sizeof(big) / 4096);
	expect_none(p);
}

/* ---- sender of a line ---- */

static const char *saw(const struct sighting *what, const char *key)
{
	for (uint32_t i = 0; i < what->nr_saw; i++)
		if (!strncmp(what->saw[i], key, strlen(key)))
			return what->saw[i] + strlen(key);
	return NULL;
}

static void the_line_says_whose_it_is(void **state)
{
	struct place *p = *state;
	struct sighting what;
	char line[80];

	assert_int_equal(add(p, "log", "ERROR;pid-from=worker ([0-9]+)", NULL), 0);
	snprintf(line, sizeof(line), "ERROR 7 of worker %d failed\n", (int)getppid());
	append(path(p, "log"), line);
	assert_int_equal(next(p, 5000, &what), 1);
	assert_int_equal(what.pid, getppid());
	assert_true(what.comm[0] != '\0');
	append(path(p, "log"), "ERROR of worker 4194305\n");
	assert_int_equal(next(p, 5000, &what), 1);
	assert_int_equal(what.pid, 0);
	assert_string_equal(saw(&what, "pid="), "4194305 (no such process)");
	append(path(p, "log"), "ERROR of worker 99999999999999999999\n");
	assert_int_equal(next(p, 5000, &what), 1);
	assert_int_equal(what.pid, 0);
}

/* A child that has the file open until the pipe is closed. */
static pid_t hold(const char *file, int flags, const int pipe_fd[2])
{
	int ready[2];
	pid_t child;
	char c;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		close(pipe_fd[1]);
		if (open(file, flags) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		_exit(read(pipe_fd[0], &c, 1) != 0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

/* The one that can write to it; a reader is not asked, of two writers neither is named. */
static void the_one_writer_is_whose_it_is(void **state)
{
	struct place *p = *state;
	char real[PATH_MAX], want[64];
	struct sighting what;
	pid_t child[3];
	int fd[2];

	append(path(p, "log"), "");
	assert_non_null(realpath(path(p, "log"), real));
	assert_int_equal(add(p, "log", "ERROR", NULL), 0);
	assert_int_equal(pipe(fd), 0);
	child[0] = hold(real, O_WRONLY | O_APPEND, fd);
	child[1] = hold(real, O_RDONLY, fd);
	append(real, "ERROR one\n");
	assert_int_equal(next(p, 5000, &what), 1);
	assert_int_equal(what.pid, child[0]);
	snprintf(want, sizeof(want), "t_file (%d)", (int)child[0]);
	assert_string_equal(saw(&what, "writer="), want);
	child[2] = hold(real, O_RDWR, fd);
	append(real, "ERROR two\n");
	assert_int_equal(next(p, 5000, &what), 1);
	assert_int_equal(what.pid, 0);
	assert_non_null(saw(&what, "writer="));
	close(fd[0]);
	close(fd[1]);
	for (int i = 0; i < 3; i++)
		waitpid(child[i], NULL, 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_the_same_however_they_come),
		cmocka_unit_test(of_a_long_line_the_beginning_counts),
		T(only_regular_files_are_opened),
		T(symlinks_are_followed_only_where_nobody_else_makes_them),
		T(what_can_never_be_is_refused_with_the_reason),
		T(appended_lines_match_and_older_ones_are_not_read),
		T(bytes_that_are_no_text_do_no_harm),
		T(a_file_that_comes_later_is_read_from_its_beginning),
		T(rotation_is_followed),
		T(what_is_older_is_not_read_when_it_is_moved_there),
		T(what_takes_its_name_is_not_opened),
		T(symlinks_of_the_owner_are_followed_when_they_change),
		T(a_directory_that_goes_and_comes_back_is_found),
		T(a_file_that_is_written_to_all_the_time_wakes_once_a_second),
		T(a_lot_at_once_is_read_to_its_end),
		T(the_line_says_whose_it_is),
		T(the_one_writer_is_whose_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
