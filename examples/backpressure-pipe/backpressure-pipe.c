// SPDX-License-Identifier: MIT
/*
 * A service writes a record of each request to a pipe, and an archiver at the other end stores it.
 * Then the archiver compresses a full segment, for 600 ms, without reading. The pipe takes 64 KiB;
 * after that, write() sleeps, and so does the service.
 */
#include "../incident.h"

#include <signal.h>

#define NORMAL_MS   900
#define COMPRESS_MS 600
#define LIMIT_MS    200
#define RECORD	    8192 /* bytes */

static __attribute__((noinline)) void store(void)
{
	work_ms(0.1);
}

static __attribute__((noinline)) void compress_segment(void)
{
	work_ms(COMPRESS_MS);
}

static pid_t start_archiver(const int fds[2])
{
	static char records[4 * RECORD];
	double began = ms_now();
	bool compressed = false;
	pid_t pid = fork();

	if (pid)
		return pid;
	name_me("archiver");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(fds[1]);
	while (read(fds[0], records, sizeof(records)) > 0) {
		store();
		if (!compressed && ms_now() - began > NORMAL_MS) {
			compressed = true;
			compress_segment();
		}
	}
	_exit(0);
}

static __attribute__((noinline)) void write_record(int fd)
{
	static char record[RECORD];

	if (write(fd, record, sizeof(record)) != RECORD) {
		perror("write");
		exit(1);
	}
}

/* Milliseconds that a request took. */
static __attribute__((noinline)) double serve_request(int fd)
{
	double began = ms_now();

	work_ms(0.2);
	write_record(fd);
	return ms_now() - began;
}

int main(void)
{
	double began = ms_now(), took = 0;
	pid_t archiver;
	int fds[2];

	name_me("api");
	if (pipe2(fds, O_CLOEXEC)) {
		perror("pipe");
		return 1;
	}
	archiver = start_archiver(fds);
	close(fds[0]);
	while (took < LIMIT_MS && ms_now() - began < 20000) {
		took = serve_request(fds[1]);
		sleep_ms(4);
	}
	incident("a request took %.0f ms, limit %d ms", took, LIMIT_MS);
	close(fds[1]);
	waitpid(archiver, NULL, 0);
	return 0;
}
