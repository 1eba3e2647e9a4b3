// SPDX-License-Identifier: MIT
/*
 * The thread that writes to stdout and stderr; see async_output.h. Called by log.c, started by
 * cmd_record.c.
 *
 * Descriptors are shared with others (the terminal, the command), so they can't be made
 * non-blocking. Instead the thread waits until poll() says that there is room, which for a pipe
 * means PIPE_BUF bytes, and writes no more than that at a time.
 */
#include "recorder/base/async_output.h"

#include "dump/base/bytes.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/clock.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MAX_WAITING_BYTES (256u << 10)
#define PATIENCE_NS	  2000000000ull

/* The queue of one descriptor. */
struct stream {
	struct buf waiting; /* [done, len) */
	size_t done;
	uint64_t nr_dropped; /* messages dropped since the last notice of it */
};

/* Static: there is one stdout and one stderr. */
static struct {
	pthread_mutex_t lock;
	pthread_t thread;
	int wake_fd;
	bool started, stopping;
	struct stream streams[2];
} output = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake_fd = -1};

static const int fds[2] = {STDOUT_FILENO, STDERR_FILENO};

static void write_now(int fd, const uint8_t *p, size_t n)
{
	while (n) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return;
		p += done;
		n -= (size_t)done;
	}
}

/* ---- the thread ---- */

static size_t nr_waiting(const struct stream *s)
{
	return s->waiting.len - s->done;
}

/* Fills in the descriptors to poll and returns their number. The lock is held. */
static nfds_t to_poll(struct pollfd p[3], size_t index[3])
{
	nfds_t n = 1;

	p[0] = (struct pollfd){.fd = output.wake_fd, .events = POLLIN};
	for (size_t i = 0; i < 2; i++) {
		if (!nr_waiting(&output.streams[i]))
			continue;
		index[n] = i;
		p[n++] = (struct pollfd){.fd = fds[i], .events = POLLOUT};
	}
	return n;
}

/* Writes one piece with the lock released. False on EAGAIN. */
static bool write_piece(size_t i)
{
	struct stream *s = &output.streams[i];
	uint8_t piece[PIPE_BUF];
	size_t n;
	ssize_t done;

	pthread_mutex_lock(&output.lock);
	n = nr_waiting(s) < sizeof(piece) ? nr_waiting(s) : sizeof(piece);
	memcpy(piece, s->waiting.p + s->done, n);
	pthread_mutex_unlock(&output.lock);
	do
		done = write(fds[i], piece, n);
	while (done < 0 && errno == EINTR);
	if (done < 0 && errno == EAGAIN)
		return false;
	pthread_mutex_lock(&output.lock);
	/* The descriptor is broken: drop everything. */
	s->done += done < 0 ? nr_waiting(s) : (size_t)done;
	if (!nr_waiting(s))
		s->waiting.len = s->done = 0;
	pthread_mutex_unlock(&output.lock);
	return true;
}

/* The timeout for poll() in ms. -1: none; 0: the thread must end. */
static int wait_ms(nfds_t nr, uint64_t moved_ns)
{
	uint64_t now = clock_ns();

	if (!output.stopping)
		return -1;
	if (nr == 1 || now - moved_ns >= PATIENCE_NS)
		return 0;
	return (int)((moved_ns + PATIENCE_NS - now) / 1000000) + 1;
}

static void *run(void *arg)
{
	uint64_t moved_ns = clock_ns(), n;
	size_t index[3];
	struct pollfd p[3];
	sigset_t all;
	nfds_t nr;
	int ms;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_setname_np(pthread_self(), "ringback-out");
	for (;;) {
		pthread_mutex_lock(&output.lock);
		nr = to_poll(p, index);
		ms = wait_ms(nr, moved_ns);
		pthread_mutex_unlock(&output.lock);
		if (!ms)
			return NULL;
		if (poll(p, nr, ms) < 0 && errno != EINTR)
			return NULL;
		if (p[0].revents && read(output.wake_fd, &n, sizeof(n)) == sizeof(n))
			moved_ns = clock_ns();
		for (nfds_t i = 1; i < nr; i++)
			if (p[i].revents && write_piece(index[i]))
				moved_ns = clock_ns();
	}
}

/* ---- callers ---- */

static void wake(void)
{
	uint64_t one = 1;

	while (write(output.wake_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

int output_start(struct err *err)
{
	int rc;

	output.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (output.wake_fd < 0)
		return err_sys(err, -errno, "eventfd");
	output.stopping = false;
	rc = -pthread_create(&output.thread, NULL, run, NULL);
	if (rc) {
		close(output.wake_fd);
		output.wake_fd = -1;
		return err_sys(err, rc, "can't start the thread that writes messages");
	}
	pthread_mutex_lock(&output.lock);
	output.started = true;
	pthread_mutex_unlock(&output.lock);
	return 0;
}

void output_stop(void)
{
	pthread_mutex_lock(&output.lock);
	if (!output.started) {
		pthread_mutex_unlock(&output.lock);
		return;
	}
	output.started = false;
	output.stopping = true;
	pthread_mutex_unlock(&output.lock);
	wake();
	pthread_join(output.thread, NULL);
	close(output.wake_fd);
	output.wake_fd = -1;
	for (size_t i = 0; i < 2; i++) {
		buf_free(&output.streams[i].waiting);
		output.streams[i] = (struct stream){0};
	}
}

/* Drops the written part and appends `n` bytes. False: no room. */
static bool append(struct stream *s, const void *p, size_t n)
{
	size_t left = nr_waiting(s);

	if (left + n > MAX_WAITING_BYTES)
		return false;
	if (s->done) {
		memmove(s->waiting.p, s->waiting.p + s->done, left);
		s->waiting.len = left;
		s->done = 0;
	}
	return !buf_put(&s->waiting, p, n);
}

static void put(struct stream *s, const void *p, size_t n)
{
	char told[96];

	if (s->nr_dropped && nr_waiting(s) < MAX_WAITING_BYTES / 2) {
		snprintf(told, sizeof(told),
			 "ringback: output was not read for a while: %lu message%s dropped\n",
			 s->nr_dropped, str_plural(s->nr_dropped));
		if (s == &output.streams[1])
			append(s, told, strlen(told));
		s->nr_dropped = 0;
	}
	if (s->nr_dropped || !append(s, p, n))
		s->nr_dropped++;
}

void output_put(int fd, const void *p, size_t n)
{
	bool started;

	pthread_mutex_lock(&output.lock);
	started = output.started;
	if (started) {
		put(&output.streams[fd == fds[1]], p, n);
		wake();
	}
	pthread_mutex_unlock(&output.lock);
	if (!started)
		write_now(fd, p, n);
}
