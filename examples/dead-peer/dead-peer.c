// SPDX-License-Identifier: MIT
/*
 * A checkout asks the bank over a socket 200 times a second and gets an answer within a
 * millisecond. Then a debugger attaches to the bank's process and stops it. The connection stays
 * up, no error occurs, and the checkout sleeps in read() until its own time limit.
 */
#include "../incident.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#define NORMAL_MS  900
#define TIMEOUT_MS 800

static __attribute__((noinline)) void check_account(void)
{
	work_ms(0.3);
}

static pid_t start_bank(int fd)
{
	pid_t pid = fork();
	char order;

	if (pid)
		return pid;
	name_me("bank");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, &order, 1) == 1) {
		check_account();
		if (write(fd, &order, 1) != 1)
			break;
	}
	_exit(0);
}

/* Stops the bank, as an attached debugger does. */
static pid_t start_debugger(pid_t bank)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	name_me("gdb");
	sleep_ms(NORMAL_MS);
	kill(bank, SIGSTOP);
	_exit(0);
}

static __attribute__((noinline)) ssize_t receive(int fd)
{
	char answer = '?';
	ssize_t n = read(fd, &answer, 1);

	return n == 1 && answer != '?' ? 0 : n;
}

static __attribute__((noinline)) ssize_t ask_bank(int fd)
{
	ssize_t n;

	if (write(fd, "?", 1) != 1)
		return -1;
	n = receive(fd);
	return n < 0 ? -1 : n;
}

int main(void)
{
	struct timeval limit = {.tv_usec = TIMEOUT_MS * 1000};
	pid_t bank, debugger;
	int fds[2];

	name_me("checkout");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds)) {
		perror("socketpair");
		return 1;
	}
	bank = start_bank(fds[1]);
	debugger = start_debugger(bank);
	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	while (ask_bank(fds[0]) == 1)
		sleep_ms(5);
	incident("the bank did not answer for %d ms", TIMEOUT_MS);
	kill(bank, SIGKILL);
	waitpid(bank, NULL, 0);
	waitpid(debugger, NULL, 0);
	return 0;
}
