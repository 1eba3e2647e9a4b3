// SPDX-License-Identifier: MIT
/*
 * A gateway sends a copy of each order over TCP to an indexer. Then the indexer merges its segments,
 * for 600 ms, without reading. The buffers of the connection fill up within some requests; after
 * that, send() sleeps, and so does the gateway.
 */
#include "../incident.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>

#define NORMAL_MS 900
#define MERGE_MS  600
#define LIMIT_MS  200
#define ORDER	  8192	/* bytes */
#define BUFFER	  65536 /* bytes */

static __attribute__((noinline)) void index_orders(void)
{
	work_ms(0.1);
}

static __attribute__((noinline)) void merge_segments(void)
{
	work_ms(MERGE_MS);
}

static void serve_index(int listener)
{
	static char orders[4 * ORDER];
	double began = ms_now();
	bool merged = false;
	int fd = accept(listener, NULL, NULL);

	while (recv(fd, orders, sizeof(orders), 0) > 0) {
		index_orders();
		if (!merged && ms_now() - began > NORMAL_MS) {
			merged = true;
			merge_segments();
		}
	}
}

static __attribute__((noinline)) void send_order(int fd)
{
	static char order[ORDER];
	ssize_t n;

	for (size_t sent = 0; sent < sizeof(order); sent += (size_t)n) {
		n = send(fd, order + sent, sizeof(order) - sent, MSG_NOSIGNAL);
		if (n < 0) {
			perror("send");
			exit(1);
		}
	}
}

/* Milliseconds that an order took. */
static __attribute__((noinline)) double accept_order(int fd)
{
	double began = ms_now();

	work_ms(0.2);
	send_order(fd);
	return ms_now() - began;
}

/* A TCP socket with small buffers; an accepted one inherits its size. */
static int make_socket(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), bytes = BUFFER;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes))) {
		perror("socket");
		exit(1);
	}
	return fd;
}

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	double began = ms_now(), took = 0;
	socklen_t size = sizeof(address);
	int listener = make_socket(), fd = make_socket();
	pid_t indexer;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size)) {
		perror("listen");
		return 1;
	}
	indexer = fork();
	if (!indexer) {
		name_me("indexer");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fd);
		serve_index(listener);
		_exit(0);
	}
	close(listener);
	name_me("gateway");
	if (connect(fd, (struct sockaddr *)&address, size)) {
		perror("connect");
		return 1;
	}
	while (took < LIMIT_MS && ms_now() - began < 20000) {
		took = accept_order(fd);
		sleep_ms(4);
	}
	incident("an order took %.0f ms, limit %d ms", took, LIMIT_MS);
	close(fd);
	waitpid(indexer, NULL, 0);
	return 0;
}
