// SPDX-License-Identifier: MIT
/*
 * An order service connects to a ledger for each order. A deployment stops the ledger and starts
 * the new version 400 ms later. The connections in between are refused, and the order service backs
 * off: 20, 40, 80, 160, 320 ms. The last of these sleeps goes on while the ledger is back: an outage
 * of 400 ms costs an order 620 ms.
 */
#include "../incident.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#define NORMAL_MS 900
#define UNPACK_MS 400
#define LIMIT_MS  200

static struct sockaddr_in address = {.sin_family = AF_INET};

static int tcp_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	if (fd < 0) {
		perror("socket");
		exit(1);
	}
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return fd;
}

/* Binds to the port of the ledger, or to a free one that is the ledger's from now on. */
static int bind_port(void)
{
	socklen_t size = sizeof(address);
	int fd = tcp_socket();

	if (bind(fd, (struct sockaddr *)&address, size) ||
	    getsockname(fd, (struct sockaddr *)&address, &size)) {
		perror("bind");
		exit(1);
	}
	return fd;
}

static __attribute__((noinline)) void book(void)
{
	work_ms(0.1);
}

static pid_t start_ledger(void)
{
	pid_t pid = fork();
	int listening, fd;
	char order;

	if (pid)
		return pid;
	name_me("ledger");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	listening = bind_port();
	listen(listening, 16);
	while ((fd = accept(listening, NULL, NULL)) >= 0) {
		if (read(fd, &order, 1) == 1) {
			book();
			send(fd, &order, 1, MSG_NOSIGNAL);
		}
		close(fd);
	}
	_exit(1);
}

/* Runs the ledger, and replaces it once. */
static pid_t start_deployment(void)
{
	pid_t pid = fork(), ledger;

	if (pid)
		return pid;
	name_me("deploy");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ledger = start_ledger();
	sleep_ms(NORMAL_MS);
	kill(ledger, SIGTERM);
	waitpid(ledger, NULL, 0);
	sleep_ms(UNPACK_MS);
	waitpid(start_ledger(), NULL, 0);
	_exit(0);
}

static bool send_order(void)
{
	int fd = tcp_socket();
	char order = '?';
	bool ok = !connect(fd, (struct sockaddr *)&address, sizeof(address)) &&
		  send(fd, &order, 1, MSG_NOSIGNAL) == 1 && read(fd, &order, 1) == 1;

	close(fd);
	return ok;
}

static __attribute__((noinline)) void wait_ms(double ms)
{
	sleep_ms(ms);
}

static __attribute__((noinline)) void back_off(double ms)
{
	wait_ms(ms);
}

static __attribute__((noinline)) void place_order(void)
{
	for (double ms = 20; !send_order(); ms *= 2)
		back_off(ms);
}

int main(void)
{
	double began, due, took = 0;
	pid_t deployment;

	name_me("orders");
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	close(bind_port());
	deployment = start_deployment();
	while (!send_order())
		sleep_ms(5);
	began = ms_now();
	while (took < LIMIT_MS && ms_now() - began < 20000) {
		due = ms_now();
		place_order();
		took = ms_now() - due;
		sleep_ms(4);
	}
	incident("an order took %.0f ms, limit %d ms", took, LIMIT_MS);
	kill(deployment, SIGKILL); /* and so the ledger */
	waitpid(deployment, NULL, 0);
	return 0;
}
