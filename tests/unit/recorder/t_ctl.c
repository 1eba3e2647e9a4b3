/* LAYERS: recorder kernel base */
// SPDX-License-Identifier: MIT
/* The control socket: both ends, permissions, slow and misbehaving peers, leftovers, and table.c's
 * output. */
#include "recorder/daemon/ctl.h"

#include "dump/base/err.h"
#include "recorder/base/table.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

static char base[] = "/tmp/t_ctl-XXXXXX";
static char run_dir[128];

static int setup(void **state)
{
	struct err err = ERR_INIT;
	struct ctl *c;

	setenv("RINGBACK_RUNTIME_DIR", run_dir, 1);
	if (ctl_listen("default", &c, &err)) {
		fprintf(stderr, "# %s\n", err.what);
		return -1;
	}
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	ctl_close(*state);
	return 0;
}

static int dial(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.60s/%.40s.sock", run_dir, name);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void say(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Lets the recorder's end work until `fd` has an answer (or its end), at most 8 s; requests that
 * come are answered with their own "n". */
static void hear(struct ctl *c, int fd, char *out, size_t n)
{
	struct pollfd p[2] = {{.fd = ctl_fd(c), .events = POLLIN}, {.fd = fd, .events = POLLIN}};
	struct ctl_client *client;
	json_t *request;
	ssize_t got;

	while (poll(p, 2, 8000) > 0 && !p[1].revents) {
		while (ctl_next(c, &client, &request)) {
			ctl_reply(c, client,
				  json_pack("{s:b, s:O?}", "ok", 1, "n",
					    json_object_get(request, "n")));
			json_decref(request);
		}
	}
	got = recv(fd, out, n - 1, 0);
	out[got > 0 ? got : 0] = '\0';
}

/* ---- one request ---- */

static void a_request_is_answered_and_its_peer_known(void **state)
{
	struct ctl_client *client;
	json_t *request;
	uint32_t pid, uid;
	char line[256];
	int fd = dial("default");

	assert_int_equal(ctl_next(*state, &client, &request), 0);
	say(fd, "{\"cmd\":\"sta");
	assert_int_equal(ctl_next(*state, &client, &request), 0);
	say(fd, "tus\"}\nrubbish");
	assert_int_equal(ctl_next(*state, &client, &request), 1);
	assert_string_equal(json_string_value(json_object_get(request, "cmd")), "status");
	ctl_client_cred(client, &pid, &uid);
	assert_int_equal(pid, getpid());
	assert_int_equal(uid, geteuid());
	json_decref(request);
	assert_int_equal(ctl_next(*state, &client, &request), 0);
	ctl_reply(*state, client, json_pack("{s:b}", "ok", 1));
	line[recv(fd, line, sizeof(line) - 1, 0)] = '\0';
	assert_string_equal(line, "{\"ok\":true}\n");
	close(fd);
}

static void a_request_may_end_with_the_connections_write_side(void **state)
{
	char line[256];
	int fd = dial("default");

	say(fd, "{\"n\":5}");
	shutdown(fd, SHUT_WR);
	hear(*state, fd, line, sizeof(line));
	assert_string_equal(line, "{\"ok\":true,\"n\":5}\n");
	close(fd);
}

/* ---- the metrics socket ---- */

static int dial_metrics(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%.60s/default.metrics", run_dir);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void metrics_are_asked_for_by_http(void **state)
{
	struct ctl_client *client;
	json_t *request = (json_t *)state;
	char line[256];
	int fd = dial_metrics();

	assert_int_equal(ctl_next(*state, &client, &request), 0);
	say(fd, "GET /metrics HTTP/1.1\r\nHost: a\r\n");
	assert_int_equal(ctl_next(*state, &client, &request), 0);
	say(fd, "\r\n");
	assert_int_equal(ctl_next(*state, &client, &request), 1);
	assert_null(request);
	ctl_reply_metrics(*state, client, "a 1\n");
	line[recv(fd, line, sizeof(line) - 1, 0)] = '\0';
	assert_string_equal(line,
			    "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4; "
			    "charset=utf-8\r\nContent-Length: 4\r\nConnection: close\r\n\r\na 1\n");
	close(fd);
}

static void the_metrics_socket_does_nothing_else(void **state)
{
	static const char *const requests[] = {"POST /metrics HTTP/1.1\r\n\r\n", "\r\n\r\n",
					       "{\"cmd\":\"trigger\"}\n\r\n\r\n"};
	struct ctl_client *client;
	json_t *request;
	char line[256];

	for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
		int fd = dial_metrics();

		say(fd, requests[i]);
		assert_int_equal(ctl_next(*state, &client, &request), 0);
		line[recv(fd, line, sizeof(line) - 1, 0)] = '\0';
		assert_non_null(strstr(line, "404 Not Found"));
		close(fd);
	}
}

static void scrapers_leave_room_for_control(void **state)
{
	struct ctl_client *client;
	json_t *request;
	char line[256];
	int fds[5], fd;

	for (int i = 0; i < 5; i++)
		fds[i] = dial_metrics();
	assert_int_equal(ctl_next(*state, &client, &request), 0);
	line[recv(fds[4], line, sizeof(line) - 1, 0)] = '\0';
	assert_non_null(strstr(line, "503 Service Unavailable"));
	fd = dial("default");
	say(fd, "{\"n\":5}\n");
	hear(*state, fd, line, sizeof(line));
	assert_string_equal(line, "{\"ok\":true,\"n\":5}\n");
	close(fd);
	for (int i = 0; i < 5; i++)
		close(fds[i]);
}

/* ---- permissions ---- */

/* Sends `text` over `fd`, or a connection of its own (-1), as a child that has dropped root. */
static void say_as_nobody(int fd, const char *text)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (fd < 0)
			fd = dial("default");
		if (setgid(65534) || setuid(65534) ||
		    send(fd, text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
			_exit(1);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* What counts is who sends, not who connected. */
static void a_dropped_privilege_is_gone(void **state)
{
	struct ctl_client *client;
	json_t *request;
	char line[256];
	int fd;

	if (geteuid())
		skip();
	say_as_nobody(-1, "{\"n\":1}\n");
	for (int i = 0; i < 3; i++)
		assert_int_equal(ctl_next(*state, &client, &request), 0);
	fd = dial("default");
	say(fd, "{\"n\"");
	say_as_nobody(fd, ":1}\n");
	hear(*state, fd, line, sizeof(line));
	assert_non_null(strstr(line, "root may talk to this recorder, not uid 65534"));
	close(fd);
}

static void bad_requests_are_told_why(void **state)
{
	static const char *const bad[] = {"[1]\n", "{\n", "\n", "{\"a\":1,\"a\":2}\n", "\xff\n"};
	char line[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int fd = dial("default");

		say(fd, bad[i]);
		hear(*state, fd, line, sizeof(line));
		assert_string_equal(line,
				    "{\"ok\":false,\"error\":\"the request is no JSON object on "
				    "one line\"}\n");
		close(fd);
	}
}

static void a_line_without_end_is_refused(void **state)
{
	char *much = malloc(65537), line[256];
	int fd = dial("default");

	memset(much, ' ', 65537);
	for (size_t sent = 0; sent < 65537;) {
		struct ctl_client *client;
		json_t *request;
		ssize_t n = send(fd, much, 65537 - sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		sent += n > 0 ? (size_t)n : 0;
		assert_int_equal(ctl_next(*state, &client, &request), 0);
	}
	free(much);
	hear(*state, fd, line, sizeof(line));
	assert_string_equal(line,
			    "{\"ok\":false,\"error\":\"the request is longer than 64 KiB\"}\n");
	close(fd);
}

static void a_client_that_goes_away_while_waiting_does_no_harm(void **state)
{
	struct pollfd p = {.fd = ctl_fd(*state), .events = POLLIN};
	struct err err = {"too late", "try again"};
	struct ctl_client *client;
	json_t *request;
	int fd = dial("default");

	say(fd, "{}\n");
	assert_int_equal(ctl_next(*state, &client, &request), 1);
	json_decref(request);
	close(fd);
	assert_int_equal(ctl_next(*state, &client, &request), 0);
	assert_int_equal(poll(&p, 1, 0), 0); /* no spinning on its hang-up */
	ctl_reply_err(*state, client, &err);
	assert_int_equal(poll(&p, 1, 0), 0);
}

static void a_long_answer_is_written_as_the_peer_reads(void **state)
{
	size_t size = 3 << 20, got = 0;
	char *text = malloc(size + 1), *answer = malloc(size + 100);
	struct ctl_client *client;
	json_t *request;
	int fd = dial("default");

	memset(text, 'x', size);
	text[size] = '\0';
	say(fd, "{}\n");
	assert_int_equal(ctl_next(*state, &client, &request), 1);
	json_decref(request);
	ctl_reply(*state, client, json_pack("{s:s}", "t", text));
	for (;;) {
		ssize_t n = recv(fd, answer + got, size + 100 - got, 0);

		if (n <= 0)
			break;
		got += (size_t)n;
		assert_int_equal(ctl_next(*state, &client, &request), 0);
	}
	assert_int_equal(got, size + strlen("{\"t\":\"\"}\n"));
	free(text);
	free(answer);
	close(fd);
}

static void the_33rd_client_is_turned_away(void **state)
{
	struct ctl_client *client;
	int fds[33];
	json_t *request;
	char line[256];

	for (int i = 0; i < 33; i++) {
		fds[i] = dial("default");
		assert_int_equal(ctl_next(*state, &client, &request), 0);
	}
	hear(*state, fds[32], line, sizeof(line));
	assert_non_null(strstr(line, "32 clients are waiting"));
	say(fds[7], "{\"n\":7}\n");
	hear(*state, fds[7], line, sizeof(line));
	assert_string_equal(line, "{\"ok\":true,\"n\":7}\n");
	for (int i = 0; i < 33; i++)
		close(fds[i]);
}

/* Both wait for the same 5 seconds; nothing wakes the recorder before, or when no peer is left. */
static void silent_and_slow_clients_are_dropped(void **state)
{
	struct pollfd p = {.fd = ctl_fd(*state), .events = POLLIN};
	struct ctl_client *client;
	json_t *request;
	char line[256];
	struct timespec from, to;
	int silent, slow;

	clock_gettime(CLOCK_MONOTONIC, &from);
	silent = dial("default");
	slow = dial("default");
	say(slow, "{");
	while (poll(&p, 1, 0) > 0)
		assert_int_equal(ctl_next(*state, &client, &request), 0);
	/* Not before its time; a busy machine may let this process see it later. */
	poll(&p, 1, CTL_TIMEOUT_MS * 2);
	clock_gettime(CLOCK_MONOTONIC, &to);
	assert_true((to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000 >=
		    CTL_TIMEOUT_MS - 1000);
	hear(*state, silent, line, sizeof(line));
	assert_string_equal(line,
			    "{\"ok\":false,\"error\":\"no whole request came within 5 s\"}\n");
	hear(*state, slow, line, sizeof(line));
	assert_non_null(strstr(line, "no whole request"));
	close(silent);
	close(slow);
	assert_int_equal(ctl_next(*state, &client, &request), 0);
	assert_int_equal(poll(&p, 1, 200), 0);
}

static void running_out_of_descriptors_turns_clients_away(void **state)
{
	struct pollfd p = {.fd = ctl_fd(*state), .events = POLLIN};
	struct rlimit old, none;
	struct ctl_client *client;
	json_t *request;
	char line[256];
	int fd = dial("default");

	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = (rlim_t)fd + 1;
	/* Fill the gaps below, so that none is left. */
	while (dup(fd) >= 0 && fd < 1000 && setrlimit(RLIMIT_NOFILE, &none) == 0)
		;
	assert_int_equal(ctl_next(*state, &client, &request), 0);
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(poll(&p, 1, 0), 0);
	line[recv(fd, line, sizeof(line) - 1, 0)] = '\0';
	assert_non_null(strstr(line, "no file descriptor left"));
	for (int i = fd; i < fd + 2; i++)
		close(i);
}

/* ---- permissions ---- */

static void other_users_are_refused_even_if_they_get_in(void **state)
{
	char line[256], sock[256];
	int to_child[2], status;
	pid_t child;

	if (geteuid())
		skip();
	snprintf(sock, sizeof(sock), "%s/default.sock", run_dir);
	chmod(base, 0755);
	chmod(run_dir, 0755);
	chmod(sock, 0666);
	assert_int_equal(pipe(to_child), 0);
	child = fork();
	if (!child) {
		int fd;
		ssize_t n;

		if (setresuid(65534, 65534, 65534))
			_exit(1);
		fd = dial("default");
		n = write(to_child[1], "x", 1);
		n = recv(fd, line, sizeof(line) - 1, 0);
		line[n > 0 ? n : 0] = '\0';
		_exit(strstr(line, "only uid 0 and root") ? 0 : 2);
	}
	assert_int_equal(read(to_child[0], line, 1), 1);
	assert_int_equal(ctl_next(*state, &(struct ctl_client *){NULL}, &(json_t *){NULL}), 0);
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	close(to_child[0]);
	close(to_child[1]);
	chmod(run_dir, 0700);
	chmod(base, 0700);
}

static void modes_are_private_and_all_is_removed(void **state)
{
	char path[256];
	struct stat st;

	assert_int_equal(stat(run_dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	snprintf(path, sizeof(path), "%s/default.sock", run_dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode, S_IFSOCK | 0600);
	ctl_close(*state);
	*state = NULL;
	assert_int_equal(stat(path, &st), -1);
	snprintf(path, sizeof(path), "%s/default.lock", run_dir);
	assert_int_equal(stat(path, &st), -1);
}

static void expect_refused(const char *dir, int code, const char *what)
{
	struct err err = ERR_INIT;
	struct ctl *c;

	setenv("RINGBACK_RUNTIME_DIR", dir, 1);
	assert_int_equal(ctl_listen("default", &c, &err), code);
	if (!strstr(err.what, what) || !*err.hint)
		fail_msg("%s / %s", err.what, err.hint);
	assert_int_equal(ctl_call("default", json_object(), 1000, &(json_t *){NULL}, &err), code);
}

static void unsafe_directories_are_refused(void **state)
{
	char dir[256];

	snprintf(dir, sizeof(dir), "%s/link", base);
	assert_int_equal(symlink(run_dir, dir), 0);
	expect_refused(dir, -EPERM, "symbolic link");
	unlink(dir);
	snprintf(dir, sizeof(dir), "%s/open", base);
	assert_int_equal(mkdir(dir, 0700), 0);
	chmod(dir, 0770);
	expect_refused(dir, -EPERM, "can be written by others (mode 0770)");
	chmod(dir, 0700);
	if (!chown(dir, 65534, 65534))
		expect_refused(dir, -EPERM, "belongs to uid 65534");
	rmdir(dir);
}

/* ---- names, locks, leftovers ---- */

static void one_recorder_a_name(void **state)
{
	struct err err = ERR_INIT;
	struct ctl *c;
	char pid[32];

	assert_int_equal(ctl_listen("default", &c, &err), -EADDRINUSE);
	snprintf(pid, sizeof(pid), "(pid %d)", getpid());
	assert_non_null(strstr(err.what, pid));
	assert_non_null(strstr(err.hint, "-n NAME"));
	assert_int_equal(ctl_listen("../x", &c, &err), -EINVAL);
	assert_int_equal(ctl_listen(".x", &c, &err), -EINVAL);
	assert_int_equal(ctl_listen("", &c, &err), -EINVAL);
	assert_int_equal(ctl_listen("other", &c, &err), 0);
	ctl_close(c);
}

static void leftovers_of_a_killed_recorder_are_replaced(void **state)
{
	char names[4][CTL_NAME_BYTES];
	struct ctl *c;
	pid_t child;

	child = fork();
	if (!child)
		_exit(ctl_listen("killed", &c, NULL)); /* without ctl_close, as kill -9 does */
	waitpid(child, NULL, 0);
	assert_int_equal(ctl_running(names, 4), 1);
	assert_string_equal(names[0], "default");
	assert_int_equal(ctl_listen("killed", &c, NULL), 0);
	assert_int_equal(ctl_running(names, 4), 2);
	assert_string_equal(names[1], "killed");
	ctl_close(c);
}

static void a_lock_that_is_a_symlink_is_not_followed(void **state)
{
	char lock[256], victim[256];
	struct err err = ERR_INIT;
	struct ctl *c;
	struct stat st;

	snprintf(lock, sizeof(lock), "%s/evil.lock", run_dir);
	snprintf(victim, sizeof(victim), "%s/victim", base);
	assert_int_equal(symlink(victim, lock), 0);
	assert_int_equal(ctl_listen("evil", &c, &err), -ELOOP);
	assert_int_equal(stat(victim, &st), -1);
	unlink(lock);
}

static void a_long_directory_works(void **state)
{
	char dir[300], path[400], names[2][CTL_NAME_BYTES];
	struct ctl *c;

	snprintf(dir, sizeof(dir), "%s/%0150d", base, 0);
	setenv("RINGBACK_RUNTIME_DIR", dir, 1);
	assert_int_equal(ctl_listen("a", &c, NULL), 0);
	assert_int_equal(ctl_running(names, 2), 1);
	assert_int_equal(ctl_path("a", path, sizeof(path), NULL), 0);
	assert_string_equal(path + strlen(dir), "/a.sock");
	assert_int_equal(ctl_path("a", path, 100, NULL), -ENAMETOOLONG);
	ctl_close(c);
	rmdir(dir);
}

static void the_directory_follows_user_and_environment(void **state)
{
	char path[256], want[256];

	unsetenv("RINGBACK_RUNTIME_DIR");
	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	if (geteuid() == 0) {
		assert_int_equal(ctl_path("x", path, sizeof(path), NULL), 0);
		assert_string_equal(path, "/run/ringback/x.sock");
		assert_int_equal(seteuid(65534), 0);
	}
	assert_int_equal(ctl_path("x", path, sizeof(path), NULL), 0);
	assert_string_equal(path, "/run/user/7/ringback/x.sock");
	unsetenv("XDG_RUNTIME_DIR");
	assert_int_equal(ctl_path("x", path, sizeof(path), NULL), 0);
	snprintf(want, sizeof(want), "/tmp/ringback-%u/x.sock", geteuid());
	assert_string_equal(path, want);
	assert_int_equal(seteuid(getuid()), 0);
}

/* ---- the asking end ---- */

struct asking {
	int rc;
	json_t *request, *reply;
	struct err err;
};

static void *ask(void *arg)
{
	struct asking *a = arg;

	a->rc = ctl_call("default", a->request, 5000, &a->reply, &a->err);
	return NULL;
}

/* Asks in a thread; `answer` NULL: the recorder stops instead. */
static void call(struct ctl *c, struct asking *a, json_t *answer, const struct err *err)
{
	struct pollfd p = {.fd = ctl_fd(c), .events = POLLIN};
	struct ctl_client *client;
	pthread_t t;
	json_t *request;

	pthread_create(&t, NULL, ask, a);
	do
		assert_int_equal(poll(&p, 1, 5000), 1);
	while (!ctl_next(c, &client, &request));
	json_decref(request);
	if (err)
		ctl_reply_err(c, client, err);
	else if (answer)
		ctl_reply(c, client, answer);
	else
		ctl_close(c);
	pthread_join(t, NULL);
}

static void calls_get_answers_and_errors(void **state)
{
	const struct err refused = {"no space", "delete something"};
	struct asking a = {.request = json_pack("{s:s}", "cmd", "trigger")};

	call(*state, &a, json_pack("{s:b, s:s}", "ok", 1, "path", "/x.rbd"), NULL);
	assert_int_equal(a.rc, 0);
	assert_string_equal(json_string_value(json_object_get(a.reply, "path")), "/x.rbd");
	json_decref(a.reply);
	a = (struct asking){.request = json_object()};
	call(*state, &a, NULL, &refused);
	assert_int_equal(a.rc, -EREMOTEIO);
	assert_string_equal(a.err.what, "no space");
	assert_string_equal(a.err.hint, "delete something");
	a = (struct asking){.request = json_object()};
	call(*state, &a, NULL, NULL);
	*state = NULL;
	assert_int_equal(a.rc, -EREMOTEIO);
	assert_non_null(strstr(a.err.what, "stopped before it could answer"));
}

static void nobody_there_says_who_is_or_how_to_start(void **state)
{
	struct err err = ERR_INIT;
	json_t *reply;

	assert_int_equal(ctl_call("none", json_object(), 1000, &reply, &err), -ENOENT);
	assert_string_equal(err.what, "no recorder named 'none' is running");
	assert_string_equal(err.hint, "running: default; choose with -n NAME");
	ctl_close(*state);
	*state = NULL;
	assert_int_equal(ctl_call("default", json_object(), 1000, &reply, &err), -ENOENT);
	assert_non_null(strstr(err.hint, "start one: ringback record"));
	setenv("RINGBACK_RUNTIME_DIR", "/nonexistent/x", 1);
	assert_int_equal(ctl_call("default", json_object(), 1000, &reply, &err), -ENOENT);
	assert_non_null(strstr(err.hint, "start one: ringback record"));
}

static void a_silent_recorder_times_out(void **state)
{
	struct err err = ERR_INIT;
	json_t *reply;

	assert_int_equal(ctl_call("default", json_object(), 50, &reply, &err), -ETIMEDOUT);
}

/* ---- tables ---- */

static void tables_are_aligned_and_safe(void **state)
{
	struct table *t = table_new("lr");
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	table_cell(t, "name");
	table_cell(t, "size");
	table_cell(t, "\xc3\xa4\033");
	table_cell(t, "%d MiB", 12);
	assert_int_equal(table_print(t, 1, f), 0);
	fclose(f);
	assert_string_equal(text, " name     size\n \xc3\xa4\\x1b  12 MiB\n");
	free(text);
	table_free(t);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_request_is_answered_and_its_peer_known),
		TEST(a_request_may_end_with_the_connections_write_side),
		TEST(a_dropped_privilege_is_gone),
		TEST(bad_requests_are_told_why),
		TEST(a_line_without_end_is_refused),
		TEST(a_client_that_goes_away_while_waiting_does_no_harm),
		TEST(a_long_answer_is_written_as_the_peer_reads),
		TEST(the_33rd_client_is_turned_away),
		TEST(silent_and_slow_clients_are_dropped),
		TEST(running_out_of_descriptors_turns_clients_away),
		TEST(other_users_are_refused_even_if_they_get_in),
		TEST(modes_are_private_and_all_is_removed),
		TEST(unsafe_directories_are_refused),
		TEST(one_recorder_a_name),
		TEST(leftovers_of_a_killed_recorder_are_replaced),
		TEST(a_lock_that_is_a_symlink_is_not_followed),
		TEST(a_long_directory_works),
		TEST(metrics_are_asked_for_by_http),
		TEST(the_metrics_socket_does_nothing_else),
		TEST(scrapers_leave_room_for_control),
		cmocka_unit_test(the_directory_follows_user_and_environment),
		TEST(calls_get_answers_and_errors),
		TEST(nobody_there_says_who_is_or_how_to_start),
		TEST(a_silent_recorder_times_out),
		cmocka_unit_test(tables_are_aligned_and_safe),
	};
	int rc;

	if (!mkdtemp(base))
		return 1;
	snprintf(run_dir, sizeof(run_dir), "%s/run", base);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(run_dir);
	rmdir(base);
	return rc;
}
