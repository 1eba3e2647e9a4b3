/* LAYERS: trigger kernel base */
// SPDX-License-Identifier: MIT
/* Who is heard on the programs' socket: what counts is who sends a message, not who connected. */
#include "trigger/client/app_socket.h"

#include "dump/base/err.h"
#include "trigger/client/ringback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define NOBODY 65534

/* An abstract name, so that no directory is needed. */
static struct sockaddr_un addr = {.sun_family = AF_UNIX};

static int type = SOCK_SEQPACKET;

static int setup(void **state)
{
	int fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct err err = ERR_INIT;
	struct app_socket *t;

	snprintf(addr.sun_path + 1, sizeof(addr.sun_path) - 1, "t_app_socket-%d", getpid());
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 8) ||
	    app_socket_new(&t, &err) || app_socket_listen(t, fd, 100, &err))
		return -1;
	*state = t;
	return 0;
}

static int setup_stream(void **state)
{
	type = SOCK_STREAM;
	return setup(state);
}

static int teardown(void **state)
{
	type = SOCK_SEQPACKET;
	app_socket_free(*state);
	return 0;
}

static int dial(void)
{
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		abort();
	return fd;
}

static void say(int fd, uint32_t kind)
{
	struct ringback_message m = {.version = RINGBACK_VERSION_1, .kind = kind};

	if (write(fd, &m, sizeof(m)) != sizeof(m))
		abort();
}

/* Sends over `fd`, or a connection of its own (-1), as a child that has dropped root. */
static pid_t say_as_nobody(int fd, gid_t gid, uint32_t kind)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (fd < 0)
			fd = dial();
		if (setgid(gid) || setuid(NOBODY))
			abort();
		say(fd, kind);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	return pid;
}

static bool takes(struct app_socket *t, uint32_t kind, struct app_socket_message *m)
{
	for (int i = 0; i < 3; i++) /* accepts, then receives */
		app_socket_pump(t);
	if (!app_socket_take(t, kind, NULL, NULL, m))
		return false;
	free(m->more);
	return true;
}

static void a_plain_write_is_heard(void **state)
{
	struct app_socket_message m;
	int fd = dial();

	say(fd, RINGBACK_TRIGGER);
	assert_true(takes(*state, RINGBACK_TRIGGER, &m));
	assert_int_equal(m.pid, getpid());
	assert_int_equal(m.uid, geteuid());
	close(fd);
}

static void who_dropped_root_is_no_longer_root(void **state)
{
	struct app_socket_message m;

	if (geteuid())
		skip();
	say_as_nobody(-1, NOBODY, RINGBACK_TRIGGER);
	say_as_nobody(-1, NOBODY, RINGBACK_HEARTBEAT);
	assert_false(takes(*state, RINGBACK_TRIGGER, &m));
	assert_false(takes(*state, RINGBACK_HEARTBEAT, &m));
	assert_int_equal(app_socket_nr_dropped(*state), 2);
}

static void a_descriptor_gives_no_privilege(void **state)
{
	struct app_socket_message m;
	int fd;

	if (geteuid())
		skip();
	fd = dial();
	say_as_nobody(fd, NOBODY, RINGBACK_TRIGGER);
	assert_false(takes(*state, RINGBACK_TRIGGER, &m));
	/* The group may still talk, and its owner. */
	say_as_nobody(fd, 100, RINGBACK_TRIGGER);
	assert_true(takes(*state, RINGBACK_TRIGGER, &m));
	assert_int_equal(m.uid, NOBODY);
	say(fd, RINGBACK_TRIGGER);
	assert_true(takes(*state, RINGBACK_TRIGGER, &m));
	assert_int_equal(m.uid, 0);
	close(fd);
}

/* The workers of a server have the connection of their master, which started as root. */
static void a_worker_tells_of_its_own_crash(void **state)
{
	struct app_socket_message m;
	pid_t pid;
	int fd;

	if (geteuid())
		skip();
	fd = dial();
	pid = say_as_nobody(fd, NOBODY, RINGBACK_CRASH);
	assert_true(takes(*state, RINGBACK_CRASH, &m));
	assert_int_equal(m.pid, pid);
	assert_int_equal(m.uid, NOBODY);
	close(fd);
}

static void a_stream_of_triggers_is_heard(void **state)
{
	struct app_socket_message m;
	int fd = dial();

	say(fd, RINGBACK_TRIGGER);
	say(fd, RINGBACK_HEARTBEAT); /* its timer could not be received */
	say(fd, RINGBACK_CRASH);
	assert_true(takes(*state, RINGBACK_TRIGGER, &m));
	assert_int_equal(m.pid, getpid());
	assert_false(takes(*state, RINGBACK_HEARTBEAT, &m));
	assert_false(takes(*state, RINGBACK_CRASH, &m));
	assert_int_equal(app_socket_nr_dropped(*state), 2);
	say(fd, RINGBACK_TRIGGER);
	assert_true(takes(*state, RINGBACK_TRIGGER, &m));
	close(fd);
}

static void a_part_of_a_message_ends_its_stream(void **state)
{
	struct app_socket_message m;
	int fd = dial();
	char c;

	assert_int_equal(write(fd, "part", 4), 4);
	assert_false(takes(*state, RINGBACK_TRIGGER, &m));
	assert_int_equal(app_socket_nr_dropped(*state), 1);
	assert_int_equal(read(fd, &c, 1), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_plain_write_is_heard, setup, teardown),
		cmocka_unit_test_setup_teardown(who_dropped_root_is_no_longer_root, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_descriptor_gives_no_privilege, setup, teardown),
		cmocka_unit_test_setup_teardown(a_worker_tells_of_its_own_crash, setup, teardown),
		cmocka_unit_test_setup_teardown(a_stream_of_triggers_is_heard, setup_stream,
						teardown),
		cmocka_unit_test_setup_teardown(a_part_of_a_message_ends_its_stream, setup_stream,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
