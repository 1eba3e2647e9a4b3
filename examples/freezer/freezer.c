// SPDX-License-Identifier: MIT
/*
 * A web server asks a service in a container 200 times a second. Then a backup of the container is
 * taken: the agent freezes its control group, copies, and thaws it. The service gets no signal and
 * is not told; the web server waits for the answer.
 */
#include "../incident.h"

#include "../cgroup.h"

#include <signal.h>
#include <sys/socket.h>

#define NORMAL_MS 1000
#define COPY_MS	  700
#define LIMIT_MS  200

struct freezer {
	struct group_limit at;
	const char *file, *freeze, *thaw;
};

/* Version 2 beside version 1 or alone; version 1. */
static const struct freezer freezers[] = {
	{{"/sys/fs/cgroup/unified", "cgroup.freeze", "0", "cgroup.freeze", "0"},
	 "cgroup.freeze",
	 "1",
	 "0"},
	{{"/sys/fs/cgroup/freezer", "freezer.state", "THAWED", "freezer.state", "THAWED"},
	 "freezer.state",
	 "FROZEN",
	 "THAWED"},
};
static const struct freezer *freezer;
static struct group container;
static pid_t agent, service;

static int make_container(void)
{
	for (size_t i = 0; i < sizeof(freezers) / sizeof(freezers[0]); i++) {
		freezer = &freezers[i];
		if (!group_make(&container, "inventory", &freezer->at))
			return 0;
		rmdir(container.dir);
	}
	return -1;
}

static __attribute__((noinline)) void count_items(void)
{
	work_ms(0.2);
}

static void run_service(int fd)
{
	char order;

	name_me("inventory");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (group_enter(&container))
		_exit(77);
	while (read(fd, &order, 1) == 1) {
		count_items();
		if (write(fd, &order, 1) != 1)
			break;
	}
	_exit(0);
}

static __attribute__((noinline)) void copy_container(void)
{
	sleep_ms(COPY_MS);
}

static void run_agent(void)
{
	name_me("backup-agent");
	sleep_ms(NORMAL_MS);
	group_write(&container, freezer->file, freezer->freeze);
	copy_container();
	group_write(&container, freezer->file, freezer->thaw);
	_exit(0);
}

static __attribute__((noinline)) bool receive(int fd)
{
	char answer = 0;

	return read(fd, &answer, 1) == 1 && answer == '?';
}

static __attribute__((noinline)) bool ask_inventory(int fd)
{
	return write(fd, "?", 1) == 1 && receive(fd);
}

static void end(int sig)
{
	kill(agent, SIGKILL);
	kill(service, SIGKILL);
	group_write(&container, freezer->file, freezer->thaw);
	while (wait(NULL) > 0)
		continue;
	group_remove(&container);
	_exit(sig ? 128 + sig : 0);
}

int main(void)
{
	double began, took = 0;
	int fds[2];

	if (make_container()) {
		perror("no control group that can be frozen (root is needed)");
		return 77;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) {
		perror("socketpair");
		return 1;
	}
	service = fork();
	if (!service)
		run_service(fds[1]);
	agent = fork();
	if (!agent)
		run_agent();
	signal(SIGTERM, end);
	name_me("webserver");
	while (took < LIMIT_MS) {
		began = ms_now();
		if (!ask_inventory(fds[0]))
			break;
		took = ms_now() - began;
		sleep_ms(5);
	}
	incident("inventory answered after %.0f ms, limit %d ms", took, LIMIT_MS);
	end(0);
}
