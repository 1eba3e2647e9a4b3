// SPDX-License-Identifier: MIT
/*
 * A server keeps 1.5 GB of tables in memory. Its session threads map buffers for each answer and
 * write to it. Then a snapshot thread forks a child for each table, which would write the table to
 * a disk. Each fork() copies the page tables of all 1.5 GB, and holds the lock of the address space
 * meanwhile: mmap(), munmap() and page faults of the sessions wait.
 */
#include "../incident.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define SESSIONS  2
#define TABLES	  16
#define TABLE	  ((size_t)96 << 20) /* bytes */
#define NORMAL_MS 1000
#define BUFFERS	  100 /* of an answer */
#define BUFFER	  ((size_t)8 << 10)
#define PAGE	  4096
#define LIMIT_MS  200

static char *tables[TABLES];
static _Atomic pid_t writers[TABLES];
static atomic_flag told = ATOMIC_FLAG_INIT;
static atomic_bool done;

static size_t available_mb(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	size_t kb = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %zu", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb >> 10;
}

static char *map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

static void *load_table(void *arg)
{
	char **table = arg;

	*table = map(TABLE);
	for (size_t i = 0; i < TABLE; i += PAGE)
		(*table)[i] = 1;
	return arg;
}

static __attribute__((noinline)) void write_table(const char *table)
{
	volatile char sum = 0;

	for (size_t i = 0; i < TABLE; i += 64 * PAGE)
		sum = (char)(sum + table[i]);
	pause(); /* a disk would take long */
}

static __attribute__((noinline)) void fork_writer(int i)
{
	writers[i] = fork();
	if (writers[i])
		return;
	name_me("table-writer");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	write_table(tables[i]);
	_exit(0);
}

/* Its children end with this thread. */
static void *take_snapshot(void *arg)
{
	name_me("snapshot");
	for (int i = 0; i < TABLES; i++)
		fork_writer(i);
	for (int i = 0; i < TABLES; i++)
		waitpid(writers[i], NULL, 0);
	return arg;
}

static __attribute__((noinline)) void fill_buffer(void)
{
	char *p = map(BUFFER);

	for (size_t i = 0; i < BUFFER; i += PAGE)
		p[i] = 1;
	munmap(p, BUFFER);
}

static __attribute__((noinline)) void answer(void)
{
	for (int i = 0; i < BUFFERS; i++)
		fill_buffer();
}

static void *run_session(void *arg)
{
	double began, took;

	name_me("session");
	while (!done) {
		began = ms_now();
		answer();
		took = ms_now() - began;
		if (took > LIMIT_MS && !atomic_flag_test_and_set(&told)) {
			incident("an answer took %.0f ms, limit %d ms", took, LIMIT_MS);
			done = true;
		}
		sleep_ms(3); /* the next question */
	}
	return arg;
}

int main(void)
{
	pthread_t threads[SESSIONS], loading[TABLES], snapshot;

	if (available_mb() < 2 * TABLES * (TABLE >> 20)) {
		fprintf(stderr, "less than %zu MiB of memory are available\n",
			2 * TABLES * (TABLE >> 20));
		return 77;
	}
	name_me("table-server");
	for (int i = 0; i < TABLES; i++)
		loading[i] = start(load_table, &tables[i]);
	for (int i = 0; i < TABLES; i++)
		pthread_join(loading[i], NULL);
	for (int i = 0; i < SESSIONS; i++)
		threads[i] = start(run_session, NULL);
	sleep_ms(NORMAL_MS);
	snapshot = start(take_snapshot, NULL);
	while (!writers[TABLES - 1])
		sleep_ms(20);
	sleep_ms(500);
	done = true;
	for (int i = 0; i < SESSIONS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < TABLES; i++)
		kill(writers[i], SIGKILL);
	pthread_join(snapshot, NULL);
	return 0;
}
