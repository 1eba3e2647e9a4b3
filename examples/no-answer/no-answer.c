// SPDX-License-Identifier: MIT
/*
 * A checkout asks a tax service by TCP, a connection for each request. The service has two locks:
 * the thread that answers takes the rates, then the audit log; the one that updates the rates takes
 * them in the other order. That goes well until both are at it at the same time. From then on the
 * service accepts and reads a request, and never answers. A watchdog of the checkout notices.
 */
#include "../incident.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

#define NORMAL_MS 900
#define LIMIT_MS  900

static pthread_mutex_t rates_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t audit_lock = PTHREAD_MUTEX_INITIALIZER;

static struct sockaddr_in address = {.sin_family = AF_INET};
static _Atomic double asked_at; /* 0: no request is under way */
static _Atomic int connection = -1;

static __attribute__((noinline)) void append_to_audit(double ms)
{
	pthread_mutex_lock(&audit_lock);
	work_ms(ms);
	pthread_mutex_unlock(&audit_lock);
}

static __attribute__((noinline)) void compute_tax(void)
{
	pthread_mutex_lock(&rates_lock);
	work_ms(0.1);
	append_to_audit(0.05);
	pthread_mutex_unlock(&rates_lock);
}

static __attribute__((noinline)) void replace_rates(void)
{
	pthread_mutex_lock(&rates_lock);
	work_ms(0.2);
	pthread_mutex_unlock(&rates_lock);
}

/* Notes each changed rate, then replaces all of them. Many have changed at the end of a year. */
static __attribute__((noinline)) void update_rates(void)
{
	pthread_mutex_lock(&audit_lock);
	work_ms(60);
	replace_rates();
	pthread_mutex_unlock(&audit_lock);
}

static void *run_updates(void *arg)
{
	double began = ms_now();

	name_me("rate-updater");
	while (ms_now() - began < NORMAL_MS) {
		replace_rates();
		sleep_ms(30);
	}
	update_rates();
	return arg;
}

static void serve_taxes(int listener)
{
	char request[64];
	int fd;

	start(run_updates, NULL);
	while ((fd = accept(listener, NULL, NULL)) >= 0) {
		if (recv(fd, request, sizeof(request), 0) > 0) {
			compute_tax();
			send(fd, request, sizeof(request), MSG_NOSIGNAL);
		}
		close(fd);
	}
}

static __attribute__((noinline)) bool wait_for_answer(int fd)
{
	char answer[64];

	return recv(fd, answer, sizeof(answer), 0) > 0;
}

static __attribute__((noinline)) bool ask_tax(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool answered;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    send(fd, "total 47.11", 12, MSG_NOSIGNAL) < 0) {
		perror("tax-service");
		exit(1);
	}
	connection = fd;
	asked_at = ms_now();
	answered = wait_for_answer(fd);
	asked_at = 0;
	close(fd);
	return answered;
}

/* Looks at the request that is under way, and gives it up when it has taken too long. */
static void *watch(void *arg)
{
	double asked;

	name_me("watchdog");
	do {
		sleep_ms(50);
		asked = asked_at;
	} while (asked == 0 || ms_now() - asked < LIMIT_MS);
	incident("checkout has waited %.0f ms for an answer", ms_now() - asked);
	shutdown(connection, SHUT_RDWR);
	return arg;
}

int main(void)
{
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);
	pthread_t watchdog;
	pid_t service;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) ||
	    listen(listener, 16) || getsockname(listener, (struct sockaddr *)&address, &size)) {
		perror("socket");
		return 1;
	}
	service = fork();
	if (!service) {
		name_me("tax-service");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve_taxes(listener);
		_exit(1);
	}
	close(listener);
	name_me("checkout");
	watchdog = start(watch, NULL);
	while (ask_tax())
		sleep_ms(5);
	pthread_join(watchdog, NULL);
	kill(service, SIGKILL);
	waitpid(service, NULL, 0);
	return 0;
}
