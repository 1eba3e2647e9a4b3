// SPDX-License-Identifier: MIT
/*
 * A web application saves each upload as twenty small files in one directory. Then a cleaner with
 * sixteen threads creates and removes thousands of files in the same directory. Each of these calls
 * takes the lock of the directory's inode for a moment, and open(O_CREAT) and unlink() of the
 * application queue for it behind the others, forty times for one upload.
 */
#include "../incident.h"

#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>

#define NORMAL_MS 1000
#define CLEANERS  16
#define PARTS	  20
#define LIMIT_MS  200

static char dir[4000];
static pid_t cleaner;

static __attribute__((noinline)) void create_file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY, 0600);

	if (fd >= 0)
		close(fd);
}

static __attribute__((noinline)) int remove_file(const char *path)
{
	return unlink(path) ? errno : 0;
}

static void *clean_files(void *number)
{
	char path[4100], name[16];

	snprintf(name, sizeof(name), "cleaner-%d", (int)(intptr_t)number);
	name_me(name);
	for (unsigned i = 0;; i++) {
		snprintf(path, sizeof(path), "%s/old.%d.%u", dir, (int)(intptr_t)number, i % 100);
		create_file(path);
		remove_file(path);
	}
	return NULL;
}

static void run_cleaner(void)
{
	name_me("cleaner");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sleep_ms(NORMAL_MS);
	for (int i = 1; i < CLEANERS; i++)
		start(clean_files, (void *)(intptr_t)i);
	clean_files(0);
}

static __attribute__((noinline)) void receive_part(void)
{
	sleep_ms(1);
}

/* Milliseconds until all parts of an upload are saved. */
static __attribute__((noinline)) double save_upload(void)
{
	double began = ms_now();
	char path[4100];

	for (int i = 0; i < PARTS; i++) {
		receive_part();
		snprintf(path, sizeof(path), "%s/upload.%d", dir, i);
		create_file(path);
		remove_file(path);
	}
	return ms_now() - began;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static void end(int status)
{
	kill(cleaner, SIGKILL);
	waitpid(cleaner, NULL, 0);
	nftw(dir, remove_entry, 10, FTW_DEPTH | FTW_PHYS);
	_exit(status);
}

static void on_sigterm(int sig)
{
	end(128 + sig);
}

int main(int argc, char **argv)
{
	double took = 0;

	snprintf(dir, sizeof(dir), "%s/uploads.XXXXXX", argc > 1 ? argv[1] : ".");
	if (!mkdtemp(dir)) {
		perror(dir);
		return 1;
	}
	cleaner = fork();
	if (!cleaner)
		run_cleaner();
	signal(SIGTERM, on_sigterm);
	name_me("webapp");
	for (double began = ms_now(); took < LIMIT_MS && ms_now() - began < 3 * NORMAL_MS;) {
		took = save_upload();
		sleep_ms(5);
	}
	if (took < LIMIT_MS) {
		fprintf(stderr, "the lock of a directory is not contended here\n");
		end(77);
	}
	incident("an upload took %.0f ms, limit %d ms", took, LIMIT_MS);
	end(0);
}
