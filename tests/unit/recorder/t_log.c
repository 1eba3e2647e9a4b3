/* LAYERS: recorder kernel base */
// SPDX-License-Identifier: MIT
/* Messages on stderr: plain in a pipe, one status line on a terminal, whole lines from many
 * threads. */
#include "recorder/base/log.h"

#include "dump/base/err.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>
#include <cmocka.h>

#define CLEAR "\r\033[K"

struct capture {
	int saved, from;
	char text[65536];
};

/* stderr goes to `to`; what is written there is read at `from`. */
static void begin(struct capture *c, int from, int to)
{
	fflush(stderr);
	c->from = from;
	c->saved = dup(STDERR_FILENO);
	dup2(to, STDERR_FILENO);
	close(to);
}

static void begin_pipe(struct capture *c)
{
	int fd[2];

	assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
	begin(c, fd[0], fd[1]);
}

/* A terminal `columns` wide that changes nothing of what it gets. */
static void begin_terminal(struct capture *c, unsigned short columns)
{
	struct winsize size = {.ws_row = 25, .ws_col = columns};
	struct termios raw;
	int master, slave;

	memset(&raw, 0, sizeof(raw));
	cfmakeraw(&raw);
	assert_int_equal(openpty(&master, &slave, NULL, &raw, &size), 0);
	begin(c, master, slave);
}

/* What was written so far; all of it is there, since it went there with write(2). */
static const char *end(struct capture *c)
{
	size_t len = 0;
	ssize_t n;
	struct pollfd p = {.fd = c->from, .events = POLLIN};

	while (len < sizeof(c->text) - 1 && poll(&p, 1, 0) > 0) {
		n = read(c->from, c->text + len, sizeof(c->text) - 1 - len);
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	c->text[len] = '\0';
	dup2(c->saved, STDERR_FILENO);
	close(c->saved);
	close(c->from);
	return c->text;
}

static int setup(void **state)
{
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	log_set_level(LOG_NORMAL);
	return 0;
}

static void a_pipe_gets_plain_lines(void **state)
{
	const struct err err = {"it failed", "type this"}, plain = {"it failed", ""};
	struct capture c;

	begin_pipe(&c);
	log_info("recording %d", 1);
	log_verbose("not shown");
	log_status("not shown");
	log_warn("look");
	log_err(&err);
	log_warn_err(&plain);
	assert_string_equal(end(&c), "ringback: recording 1\n"
				     "ringback: warning: look\n"
				     "ringback: it failed\n  hint: type this\n"
				     "ringback: warning: it failed\n");
}

static void levels_choose(void **state)
{
	const struct err err = {"e", ""};
	struct capture c;

	begin_pipe(&c);
	log_set_level(LOG_QUIET);
	log_info("no");
	log_warn("w");
	log_err(&err);
	log_set_level(LOG_VERBOSE);
	log_verbose("v");
	assert_string_equal(end(&c), "ringback: warning: w\nringback: e\nringback: v\n");
}

static void a_caret_stays_below_its_place(void **state)
{
	const struct err err = {"bad rule", "load>x\n     ^"};
	struct capture c;

	begin_pipe(&c);
	log_err(&err);
	assert_string_equal(end(&c), "ringback: bad rule\n  hint: load>x\n             ^\n");
}

static void escape_sequences_do_not_reach_the_terminal(void **state)
{
	const struct err err = {"no \033[2J process", "\x07"};
	struct capture c;

	begin_terminal(&c, 80);
	setenv("NO_COLOR", "1", 1);
	log_err(&err);
	log_info("comm %s", "a\rb\xff");
	assert_string_equal(end(&c), "ringback: no \\x1b[2J process\n  hint: \\x07\n"
				     "ringback: comm a\\x0db\\xff\n");
}

static void the_status_line_stays_below_messages(void **state)
{
	struct capture c;

	begin_terminal(&c, 80);
	assert_true(log_is_terminal());
	log_status("horizon %s", "31 s");
	log_info("dump");
	log_status(NULL);
	log_info("bye");
	assert_string_equal(end(&c), CLEAR "horizon 31 s" CLEAR "ringback: dump\nhorizon 31 s" CLEAR
					   "ringback: bye\n");
}

static void the_status_line_is_cut_to_the_width(void **state)
{
	struct capture c;

	begin_terminal(&c, 10);
	log_status("\xc3\xa4\xc3\xb6\xc3\xbc"
		   "45678901234");
	assert_string_equal(end(&c), CLEAR "\xc3\xa4\xc3\xb6\xc3\xbc"
					   "456789");
	begin_terminal(&c, 80);
	log_status(NULL);
	end(&c);
}

static void warnings_are_coloured_unless_told_not_to(void **state)
{
	struct capture c;

	begin_terminal(&c, 80);
	log_warn("w");
	assert_string_equal(end(&c), "\033[33mringback: warning: \033[0mw\n");
	setenv("NO_COLOR", "1", 1);
	begin_terminal(&c, 80);
	log_warn("w");
	assert_string_equal(end(&c), "ringback: warning: w\n");
}

static void a_dumb_terminal_gets_no_status(void **state)
{
	struct capture c;

	setenv("TERM", "dumb", 1);
	begin_terminal(&c, 80);
	assert_false(log_is_terminal());
	log_status("no");
	log_warn("w");
	assert_string_equal(end(&c), "ringback: warning: w\n");
}

static void *write_lines(void *arg)
{
	for (int i = 0; i < 100; i++)
		log_info("thread %d line %d %s", *(int *)arg, i,
			 "................................");
	return NULL;
}

static void lines_of_threads_do_not_mix(void **state)
{
	int ids[4] = {0, 1, 2, 3}, next[4] = {0}, thread, number, n = 0;
	pthread_t t[4];
	struct capture c;
	char *line, *rest;

	begin_pipe(&c);
	fcntl(STDERR_FILENO, F_SETPIPE_SZ, 1 << 16);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, write_lines, &ids[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	end(&c);
	for (rest = c.text; (line = strsep(&rest, "\n")) && *line; n++) {
		char dots[64];

		assert_int_equal(
			sscanf(line, "ringback: thread %d line %d %63s", &thread, &number, dots),
			3);
		assert_string_equal(dots, "................................");
		assert_int_equal(number, next[thread]++);
	}
	assert_int_equal(n, 400);
}

/* Stands for the journal's socket, and tells by the environment that stderr is its stream. */
static int journal_open(char dir[32], char path[64])
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	char stream[64];
	struct stat st;

	strcpy(dir, "/tmp/t_log-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, 64, "%s/socket", dir);
	strcpy(addr.sun_path, path);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%lu:%lu", st.st_dev, st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	return fd;
}

static void journal_close(int fd, const char *dir, const char *path)
{
	unsetenv("JOURNAL_STREAM");
	log_to_journal(path);
	close(fd);
	unlink(path);
	rmdir(dir);
}

/* The next entry as "NAME=value NAME=value"; "": none. */
static const char *next_entry(int fd, char out[4096])
{
	char raw[4096], *p = raw, *end;
	ssize_t n = recv(fd, raw, sizeof(raw), 0);
	uint64_t length;

	*out = '\0';
	for (end = raw + (n > 0 ? n : 0); p < end;) {
		char *newline = memchr(p, '\n', (size_t)(end - p));

		assert_non_null(newline);
		memcpy(&length, newline + 1, sizeof(length));
		length = le64toh(length);
		assert_true(newline + 9 + length < end && newline[9 + length] == '\n');
		sprintf(out + strlen(out), "%s%.*s=%.*s", *out ? " " : "", (int)(newline - p), p,
			(int)length, newline + 9);
		p = newline + 9 + length + 1;
	}
	return out;
}

static void the_journal_gets_priorities_and_fields(void **state)
{
	const struct err err = {"it \033 failed", "type this\nor that"};
	char dir[32], path[64], got[4096];
	struct capture c;
	int fd;

	begin_pipe(&c);
	fd = journal_open(dir, path);
	log_to_journal(path);
	log_info("recording %d", 1);
	log_warn("look");
	log_err(&err);
	log_event(LOG_DUMP, (const char *[]){"RINGBACK_DUMP", "/a\nb", "RINGBACK_RULE", "", NULL},
		  "dump");
	assert_string_equal(end(&c), "");
	assert_string_equal(next_entry(fd, got),
			    "MESSAGE=recording 1 PRIORITY=6 SYSLOG_IDENTIFIER=ringback");
	assert_string_equal(next_entry(fd, got),
			    "MESSAGE=look PRIORITY=4 SYSLOG_IDENTIFIER=ringback");
	assert_string_equal(next_entry(fd, got),
			    "MESSAGE=it \\x1b failed\nhint: type this\n      or that PRIORITY=3 "
			    "SYSLOG_IDENTIFIER=ringback");
	assert_string_equal(next_entry(fd, got),
			    "MESSAGE=dump PRIORITY=6 SYSLOG_IDENTIFIER=ringback "
			    "MESSAGE_ID=6d2b9c2037f748b5952485ce64a16060 RINGBACK_DUMP=/a\nb");
	journal_close(fd, dir, path);
}

static void what_the_journal_does_not_take_goes_to_stderr(void **state)
{
	char dir[32], path[64], got[4096];
	struct capture c;
	int fd, nr = 0;

	begin_pipe(&c);
	fd = journal_open(dir, path);
	log_to_journal(path);
	for (int i = 0; i < 1000; i++)
		log_warn("full");
	while (*next_entry(fd, got))
		nr++;
	assert_true(nr > 0 && nr < 1000);
	unlink(path);
	log_warn("gone");
	assert_non_null(
		strstr(end(&c), "<4>ringback: warning: full\n<4>ringback: warning: full\n"));
	assert_non_null(strstr(c.text, "<4>ringback: warning: gone\n"));
	journal_close(fd, dir, path);
}

static void another_stderr_is_not_the_journal(void **state)
{
	char dir[32], path[64], got[4096];
	struct capture c;
	int fd = journal_open(dir, path);

	begin_pipe(&c);
	log_to_journal(path);
	log_info("plain");
	assert_string_equal(end(&c), "ringback: plain\n");
	assert_string_equal(next_entry(fd, got), "");
	journal_close(fd, dir, path);
}

static void a_closed_stderr_does_no_harm(void **state)
{
	int saved = dup(STDERR_FILENO);

	close(STDERR_FILENO);
	log_warn("nobody hears");
	dup2(saved, STDERR_FILENO);
	close(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_pipe_gets_plain_lines, setup),
		cmocka_unit_test_setup(levels_choose, setup),
		cmocka_unit_test_setup(a_caret_stays_below_its_place, setup),
		cmocka_unit_test_setup(escape_sequences_do_not_reach_the_terminal, setup),
		cmocka_unit_test_setup(the_status_line_stays_below_messages, setup),
		cmocka_unit_test_setup(the_status_line_is_cut_to_the_width, setup),
		cmocka_unit_test_setup(warnings_are_coloured_unless_told_not_to, setup),
		cmocka_unit_test_setup(a_dumb_terminal_gets_no_status, setup),
		cmocka_unit_test_setup(lines_of_threads_do_not_mix, setup),
		cmocka_unit_test_setup(the_journal_gets_priorities_and_fields, setup),
		cmocka_unit_test_setup(what_the_journal_does_not_take_goes_to_stderr, setup),
		cmocka_unit_test_setup(another_stderr_is_not_the_journal, setup),
		cmocka_unit_test_setup(a_closed_stderr_does_no_harm, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
