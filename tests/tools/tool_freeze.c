/* LAYERS: view dump base */
// SPDX-License-Identifier: MIT
/*
 * Measures freezes: sends SIGUSR2 to a recorder, waits for the path of the dump in its output file,
 * and reads from the dump when the rings were paused. Arguments: PID STDOUT-FILE COUNT. Prints one
 * line per dump, in us: the time from kill() to the last ring paused, and the skew between first
 * and last ring. Deletes the dumps.
 */
#include "dump/base/err.h"
#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "tests/helpers/now.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Waits up to 20 s for line `n` of the file. */
static int wait_line(const char *file, int n, char *line, size_t size)
{
	for (int tries = 0; tries < 10000; tries++) {
		FILE *f = fopen(file, "re");
		int i = -1;

		while (f && i < n && fgets(line, (int)size, f))
			i++;
		if (f)
			fclose(f);
		if (i == n && strchr(line, '\n')) {
			*strchr(line, '\n') = '\0';
			return 0;
		}
		usleep(2000);
	}
	return -1;
}

static int measure(pid_t pid, const char *file, int i)
{
	struct reader *r = NULL;
	struct meta *m = NULL;
	struct err err = ERR_INIT;
	char path[4096];
	uint64_t sent, last;

	usleep(20000 + rand() % 30000);
	sent = now_ns();
	if (kill(pid, SIGUSR2) || wait_line(file, i, path, sizeof(path))) {
		fprintf(stderr, "no dump came\n");
		return -1;
	}
	if (reader_open(path, &r, &err) || meta_load(r, &m, &err)) {
		fprintf(stderr, "%s: %s\n", path, err.what);
		return -1;
	}
	last = m->trigger.hit_ns + m->stats.signal_ns;
	printf("%.1f %.1f\n", (double)(last - sent) / 1e3, (double)m->stats.pause_ns / 1e3);
	meta_free(m);
	reader_close(r);
	unlink(path);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	for (int i = 0; i < atoi(argv[3]); i++)
		if (measure((pid_t)atoi(argv[1]), argv[2], i))
			return 1;
	return 0;
}
