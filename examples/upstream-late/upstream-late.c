// SPDX-License-Identifier: MIT
/*
 * A shop looks up an address for each order: it asks a resolver by UDP, as a DNS client does. The
 * resolver asks its own database, also by UDP. Answers take less than a millisecond, until the
 * database reloads its zone file before it answers: 600 ms. The shop waits for the resolver, which
 * waits for the database.
 */
#include "../incident.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#define NORMAL_MS 900
#define RELOAD_MS 600
#define LIMIT_MS  200

/* A UDP socket on the loopback interface. */
static int make_socket(struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*address = (struct sockaddr_in){.sin_family = AF_INET};
	address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)address, size) ||
	    getsockname(fd, (struct sockaddr *)address, &size)) {
		perror("UDP socket");
		exit(1);
	}
	return fd;
}

static __attribute__((noinline)) void look_up(void)
{
	work_ms(0.1);
}

static __attribute__((noinline)) void reload_zone(void)
{
	work_ms(RELOAD_MS);
}

static __attribute__((noinline)) ssize_t receive(int fd, char *bytes, size_t size)
{
	ssize_t n = recv(fd, bytes, size, 0);

	return n < 0 ? -1 : n;
}

/* Sends a question and waits for its answer. */
static __attribute__((noinline)) void ask(const struct sockaddr_in *server, int fd)
{
	char name[64] = "shop.example";

	if (sendto(fd, name, sizeof(name), 0, (const void *)server, sizeof(*server)) < 0 ||
	    receive(fd, name, sizeof(name)) < 0) {
		perror("UDP");
		exit(1);
	}
}

static void serve_zone(int fd)
{
	double began = ms_now();
	bool reloaded = false;
	struct sockaddr_in client;
	socklen_t size = sizeof(client);
	char name[64];

	while (recvfrom(fd, name, sizeof(name), 0, (struct sockaddr *)&client, &size) > 0) {
		if (!reloaded && ms_now() - began > NORMAL_MS) {
			reloaded = true;
			reload_zone();
		}
		look_up();
		sendto(fd, name, sizeof(name), 0, (struct sockaddr *)&client, size);
		size = sizeof(client);
	}
}

static void serve_names(int fd, const struct sockaddr_in *zone)
{
	struct sockaddr_in own, client;
	socklen_t size = sizeof(client);
	int upstream = make_socket(&own);
	char name[64];

	while (recvfrom(fd, name, sizeof(name), 0, (struct sockaddr *)&client, &size) > 0) {
		ask(zone, upstream);
		sendto(fd, name, sizeof(name), 0, (struct sockaddr *)&client, size);
		size = sizeof(client);
	}
}

static bool start_process(const char *name, pid_t *pid)
{
	*pid = fork();
	if (*pid)
		return false;
	name_me(name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return true;
}

int main(void)
{
	struct sockaddr_in zone, names, own;
	double began = ms_now(), asked, took = 0;
	int zone_fd = make_socket(&zone), names_fd = make_socket(&names), fd = make_socket(&own);
	pid_t zone_db, resolver;

	if (start_process("zone-db", &zone_db))
		serve_zone(zone_fd);
	else if (start_process("resolver", &resolver))
		serve_names(names_fd, &zone);
	if (!zone_db || !resolver)
		_exit(0);
	name_me("webshop");
	while (took < LIMIT_MS && ms_now() - began < 20000) {
		asked = ms_now();
		ask(&names, fd);
		took = ms_now() - asked;
		sleep_ms(4);
	}
	incident("a lookup took %.0f ms, limit %d ms", took, LIMIT_MS);
	kill(resolver, SIGKILL);
	kill(zone_db, SIGKILL);
	waitpid(resolver, NULL, 0);
	waitpid(zone_db, NULL, 0);
	return 0;
}
