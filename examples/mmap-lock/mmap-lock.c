// SPDX-License-Identifier: MIT
/*
 * Four threads of a price service serve requests. Each maps a buffer for its answer and unmaps it
 * afterwards, which takes microseconds. Then a thread of the same process loads the new price table
 * and locks it in memory. mlock() allocates all pages while it holds the lock of the address space
 * (mmap_lock), and mmap() of the other threads waits for that lock.
 */
#include "../incident.h"

#include <stdatomic.h>
#include <sys/mman.h>

#define THREADS	   4
#define NORMAL_MS  900
#define LIMIT_MS   150
#define BUFFER	   ((size_t)64 << 10)
#define TABLE	   ((size_t)1 << 30) /* twice as large the second time, if no request is slow before */
#define MAX_TABLES 2
#define NEEDED	   (4 * TABLE)

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

static __attribute__((noinline)) char *get_buffer(void)
{
	char *buffer = map(BUFFER);

	buffer[0] = '{';
	return buffer;
}

static __attribute__((noinline)) void serve_request(void)
{
	char *buffer = get_buffer();

	memset(buffer, 'x', BUFFER);
	munmap(buffer, BUFFER);
}

static struct service service = {.serve = serve_request, .limit_ms = LIMIT_MS, .pause_ms = 3};

static __attribute__((noinline)) void load_prices(size_t bytes)
{
	char *table = map(bytes);

	madvise(table, bytes, MADV_NOHUGEPAGE); /* as most tables that grew over time */
	if (mlock(table, bytes)) {
		perror("mlock");
		exit(77);
	}
}

static void *loader(void *arg)
{
	name_me("price-loader");
	for (int i = 0; i < MAX_TABLES && !service.slow; i++) {
		load_prices(TABLE << i);
		sleep_ms(50);
	}
	if (!service.slow)
		service.done = true;
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS], load;

	if ((size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) < NEEDED) {
		fprintf(stderr, "less than %zu MiB of memory are free\n", NEEDED >> 20);
		return 77;
	}
	for (int i = 0; i < THREADS; i++)
		threads[i] = start(serve_requests, &service);
	sleep_ms(NORMAL_MS);
	load = start(loader, NULL);
	pthread_join(load, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
