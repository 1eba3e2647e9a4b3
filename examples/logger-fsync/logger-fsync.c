// SPDX-License-Identifier: MIT
/*
 * Request threads append a line to a log, under its lock. A logger thread makes the log durable
 * every 30 ms and holds the lock meanwhile: fsync() takes a few milliseconds. Then hundreds of
 * megabytes of a trace are appended to the same file. The next fsync() has to write all of it, and
 * each thread that wants to log waits for the lock.
 */
#include "../incident.h"

#include <stdatomic.h>

#define THREADS	  3
#define NORMAL_MS 900
#define LIMIT_MS  200
#define TRACE	  ((size_t)512 << 20) /* bytes; appended repeatedly until a request is slow */
#define TRACES	  6

static void serve_request(void);

static struct service service = {.serve = serve_request, .limit_ms = LIMIT_MS, .pause_ms = 4};
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int nr_syncs;
static char piece[64 << 10];
static int log_fd, trace_fd;

static void append(int fd, size_t bytes)
{
	if (write(fd, piece, bytes) != (ssize_t)bytes) {
		perror("log");
		exit(1);
	}
}

static __attribute__((noinline)) void make_durable(void)
{
	if (fsync(log_fd)) {
		perror("fsync");
		exit(1);
	}
}

static __attribute__((noinline)) void sync_log(void)
{
	pthread_mutex_lock(&log_lock);
	make_durable();
	pthread_mutex_unlock(&log_lock);
}

static void *logger(void *arg)
{
	name_me("logger");
	while (!service.done) {
		sleep_ms(30);
		sync_log();
		nr_syncs++;
	}
	return arg;
}

static __attribute__((noinline)) void log_line(void)
{
	pthread_mutex_lock(&log_lock);
	append(log_fd, 120);
	pthread_mutex_unlock(&log_lock);
}

static __attribute__((noinline)) void serve_request(void)
{
	work_ms(0.3);
	log_line();
}

/* Appends the trace past the log's lock; another process would do the same. */
static void *append_trace(void *arg)
{
	name_me("tracer");
	for (size_t n = 0; n < TRACE; n += sizeof(piece))
		append(trace_fd, sizeof(piece));
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS], logging;
	char path[4096];

	snprintf(path, sizeof(path), "%s/log.XXXXXX", argc > 1 ? argv[1] : ".");
	log_fd = mkostemp(path, O_APPEND | O_CLOEXEC);
	trace_fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (log_fd < 0 || trace_fd < 0) {
		perror(path);
		return 1;
	}
	unlink(path);
	memset(piece, 'x', sizeof(piece));
	logging = start(logger, NULL);
	for (int i = 0; i < THREADS; i++)
		threads[i] = start(serve_requests, &service);
	sleep_ms(NORMAL_MS);
	for (int i = 0; i < TRACES && !service.slow; i++) {
		int seen;

		pthread_join(start(append_trace, NULL), NULL);
		seen = nr_syncs;
		/* The next fsync() began after the trace. */
		while (!service.done && nr_syncs < seen + 2)
			sleep_ms(10);
	}
	if (!service.slow)
		service.done = true;
	pthread_join(logging, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
