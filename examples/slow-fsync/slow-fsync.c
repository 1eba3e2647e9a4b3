// SPDX-License-Identifier: MIT
/*
 * A ledger that answers "booked" once the booking is on disk. That takes a few milliseconds, until
 * the monthly statement is appended to the same file: the next booking's fsync() has to write all
 * of it to disk first. The thread triggers a dump when a booking took too long.
 */
#include "../incident.h"

#include <stdatomic.h>

#define NORMAL_MS 800
#define LIMIT_MS  100
#define STATEMENT (384 << 20) /* bytes; appended repeatedly until a booking is slow */

static char piece[1 << 20];
static atomic_bool appended;

static void append(int fd, size_t bytes)
{
	size_t n;

	for (; bytes; bytes -= n) {
		n = bytes < sizeof(piece) ? bytes : sizeof(piece);
		if (write(fd, piece, n) != (ssize_t)n) {
			perror("write");
			exit(1);
		}
	}
}

static __attribute__((noinline)) void make_durable(int fd)
{
	if (fsync(fd)) {
		perror("fsync");
		exit(1);
	}
}

/* Milliseconds until the booking is on disk. */
static __attribute__((noinline)) double book(int fd)
{
	double began = ms_now();

	append(fd, 200);
	make_durable(fd);
	return ms_now() - began;
}

static void *append_statement(void *fd)
{
	name_me("statement");
	append((int)(intptr_t)fd, STATEMENT);
	appended = true;
	return NULL;
}

int main(int argc, char **argv)
{
	char path[4096];
	double began = ms_now(), took = 0;
	pthread_t thread;
	int fd;

	name_me("ledgerd");
	snprintf(path, sizeof(path), "%s/ledger.XXXXXX", argc > 1 ? argv[1] : ".");
	fd = mkstemp(path);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	unlink(path);
	memset(piece, 'x', sizeof(piece));
	while (ms_now() - began < NORMAL_MS) {
		book(fd);
		sleep_ms(10);
	}
	for (int i = 0; i < 8 && took < LIMIT_MS; i++) {
		appended = false;
		thread = start(append_statement, (void *)(intptr_t)fd);
		while (!appended) /* no booking before the statement is appended */
			sleep_ms(10);
		pthread_join(thread, NULL);
		took = book(fd);
	}
	incident("a booking took %.0f ms, limit %d ms", took, LIMIT_MS);
	close(fd);
	return 0;
}
