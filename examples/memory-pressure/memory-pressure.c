// SPDX-License-Identifier: MIT
/*
 * An indexer in a container with a memory limit of 64 MiB. Its table of 40 MiB fits; then a second
 * catalogue makes it 120. Nothing fails, but the kernel evicts pages and reads them from disk again
 * on access, over and over, so a round takes far longer than before. It triggers a dump when a
 * round took too long.
 */
#include "../incident.h"

#include "../cgroup.h"

#include <sys/mman.h>

#define MIB	  ((size_t)1 << 20)
#define PAGE	  4096
#define NORMAL_MS 700
#define ROUNDS_MS 1200 /* minimum time under pressure */

static volatile char sink;

static char *catalogue(const char *dir, size_t bytes)
{
	char path[4096], *p, piece[PAGE];
	int fd;

	snprintf(path, sizeof(path), "%s/catalogue.XXXXXX", dir);
	fd = mkstemp(path);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	unlink(path);
	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; i < bytes; i += sizeof(piece))
		if (write(fd, piece, sizeof(piece)) != sizeof(piece))
			exit(1);
	fsync(fd);
	p = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		exit(1);
	return p;
}

/* Accesses each page; returns milliseconds. */
static __attribute__((noinline)) double index_round(const char *table, size_t bytes)
{
	double began = ms_now();

	for (size_t i = 0; i < bytes; i += PAGE)
		sink = table[i];
	return ms_now() - began;
}

static void run_indexer(const char *dir)
{
	double began, usual = 0, took = 0;
	char *table;

	name_me("indexer");
	table = catalogue(dir, 120 * MIB);
	index_round(table, 40 * MIB);
	for (began = ms_now(); ms_now() - began < NORMAL_MS; sleep_ms(20))
		usual = index_round(table, 40 * MIB);
	for (began = ms_now(); ms_now() - began < ROUNDS_MS;)
		took = index_round(table, 120 * MIB);
	incident("a round took %.0f ms, usual %.0f ms", took, usual);
	exit(0);
}

int main(int argc, char **argv)
{
	static const struct group_limit limit = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
						 "67108864", "memory.max", "67108864"};
	struct group g;
	int status = 0;
	pid_t pid;

	if (group_make(&g, "indexer", &limit)) {
		perror("no control group with a memory limit (root is needed)");
		return 77;
	}
	pid = fork();
	if (!pid) {
		if (group_enter(&g))
			_exit(77);
		run_indexer(argc > 1 ? argv[1] : ".");
	}
	waitpid(pid, &status, 0);
	group_remove(&g);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
