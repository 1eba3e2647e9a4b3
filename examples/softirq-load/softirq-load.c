// SPDX-License-Identifier: MIT
/*
 * Received packets of the loopback interface are steered to one CPU (receive packet steering, RPS).
 * A quote server is pinned to that CPU. Then a market feed on another CPU sends many datagrams to a
 * recorder that is too slow to read them: they are dropped, but first the kernel handles each of
 * them, in softirqs and in ksoftirqd on the server's CPU. The server answers half as many requests.
 */
#include "../incident.h"

#include <arpa/inet.h>
#include <netinet/udp.h>
#include <signal.h>
#include <sys/socket.h>

#define RPS	   "/sys/class/net/lo/queues/rx-0/rps_cpus"
#define PERIOD_MS  500
#define PERIODS	   2	/* without the feed */
#define REQUEST_MS 4	/* of CPU time */
#define LIMIT	   0.65 /* of the usual number of requests */
#define QUOTE	   32	/* bytes */
#define QUOTES	   64	/* of a call */

static char steering[256]; /* as it was */
static pid_t feed = -1;

static int steer(const char *mask)
{
	int fd = open(RPS, O_WRONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, mask, strlen(mask));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

static void restore(void)
{
	steer(steering);
	if (feed > 0)
		kill(feed, SIGKILL);
}

static void on_term(int sig)
{
	restore();
	_exit(128 + sig);
}

static int steer_to(int cpu)
{
	int fd = open(RPS, O_RDONLY | O_CLOEXEC);
	char mask[32];
	ssize_t n = fd < 0 ? -1 : read(fd, steering, sizeof(steering) - 1);

	if (fd >= 0)
		close(fd);
	snprintf(mask, sizeof(mask), "%x", 1u << cpu);
	if (n <= 0 || cpu > 31)
		return -1;
	signal(SIGTERM, on_term);
	signal(SIGINT, on_term);
	return steer(mask);
}

static __attribute__((noinline)) void send_quotes(int fd)
{
	static char quotes[QUOTE * QUOTES];

	send(fd, quotes, sizeof(quotes), 0);
}

/* Sends as fast as it can, to a socket whose owner does not read. */
static void run_feed(int receiver)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), quote = QUOTE;

	if (getsockname(receiver, (struct sockaddr *)&address, &size) || fd < 0 ||
	    connect(fd, (struct sockaddr *)&address, size) ||
	    setsockopt(fd, SOL_UDP, UDP_SEGMENT, &quote, sizeof(quote)))
		return;
	for (;;)
		send_quotes(fd);
}

static __attribute__((noinline)) void answer_request(void)
{
	work_ms(REQUEST_MS);
}

static __attribute__((noinline)) int serve_period(void)
{
	double began = ms_now();
	int n = 0;

	for (; ms_now() - began < PERIOD_MS; n++) {
		answer_request();
		sleep_ms(0.2);
	}
	return n;
}

int main(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int cpu = last_cpu(), receiver = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int n = 0, usual = 0;
	cpu_set_t others;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (receiver < 0 || bind(receiver, (struct sockaddr *)&address, sizeof(address))) {
		perror("UDP socket");
		return 1;
	}
	sched_getaffinity(0, sizeof(others), &others);
	CPU_CLR(cpu, &others);
	if (!CPU_COUNT(&others) || steer_to(cpu)) {
		fprintf(stderr, "packets cannot be steered to another CPU (root and two CPUs are "
				"needed)\n");
		return 77;
	}
	name_me("quote-server");
	stay_on(cpu);
	for (int i = 0; i < PERIODS; i++)
		usual = serve_period();
	feed = fork();
	if (!feed) {
		signal(SIGTERM, SIG_DFL);
		name_me("market-feed");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sched_setaffinity(0, sizeof(others), &others);
		run_feed(receiver);
		_exit(1);
	}
	for (int i = 0; i < 6; i++) {
		n = serve_period();
		if (n < LIMIT * usual)
			break;
	}
	if (n < LIMIT * usual)
		incident("%d requests in %d ms, usual %d", n, PERIOD_MS, usual);
	restore();
	waitpid(feed, NULL, 0);
	return 0;
}
