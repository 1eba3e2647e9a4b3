/* LAYERS: recorder trigger kernel view dump base */
// SPDX-License-Identifier: MIT
/*
 * Measures how long a dump stops a trace, and two other ways to save as much for comparison.
 *
 * tool_blackout PID STDOUT-FILE PMU BYTES TURNS DIRECTORY CPU...: PID is a recorder and STDOUT-FILE
 * its output. The tool opens one area of its own per CPU, on another PMU, mapped as the recorder
 * maps its areas. Each turn takes these steps, with a pause before each:
 *
 *	dump	asks the recorder for a dump and reads the times of its areas from it
 *	memcpy	stops the tool's own areas and copies all at once into locked memory from
 *		malloc(), each by a thread of its own that slept until then
 *	write	likewise, by write(2) to files in the directory
 *
 * The threads have the same priority as the recorder's. The recorder's times include stopping,
 * waking and starting again; memcpy and write do not. Prints one line per turn, in us, for the area
 * that took longest: blackout, copying within it, memcpy, write. Deletes the dumps.
 *
 * tool_blackout memory BYTES TURNS DIRECTORY NR: the same without the kernel's AUX areas, on NR
 * pieces of memory that are rewritten before each turn. The blackout then lasts from the start of
 * the recorder's thread pool until the piece is copied.
 */
#include "dump/file/aux_areas.h"
#include "dump/base/err.h"
#include "dump/file/reader.h"
#include "recorder/trace/aux.h"
#include "dump/base/thread_pool.h"
#include "tests/helpers/pmu_type.h"
#include "trigger/kernel/clock.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_AREAS  64
#define IDLE_US	   200000
#define RING_BYTES (64u << 10)

struct area {
	struct aux aux;
	struct ring ring;
	uint8_t *from; /* target of aux.live when the area is a memfd */
	uint8_t *to;
	int file;
	uint64_t ns; /* duration of the thread's copy */
	pthread_t thread;
};

static struct area areas[MAX_AREAS];
static size_t nr_areas, size;
static bool to_file;
static pthread_barrier_t begin, end;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- areas of this tool ---- */

static void *copier(void *arg)
{
	struct sched_param first = {.sched_priority = 1};
	struct area *a = arg;
	uint64_t t;

	if (sched_setscheduler(0, SCHED_FIFO, &first))
		die("going first");
	for (;;) {
		pthread_barrier_wait(&begin);
		t = clock_ns();
		if (!to_file)
			memcpy(a->to, a->aux.live, size);
		else if (write(a->file, a->aux.live, size) != (ssize_t)size)
			die("writing");
		a->ns = clock_ns() - t;
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static int open_event(const char *pmu, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = pmu_type(pmu),
		.write_backward = 1,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0UL);
}

/* A memfd with the layout of an event's ring and area. */
static int open_memory(struct area *a)
{
	off_t before = (off_t)(RING_BYTES + (size_t)sysconf(_SC_PAGESIZE));
	int fd = memfd_create("area", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, before + (off_t)size))
		return -1;
	a->from = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, before);
	return a->from == MAP_FAILED ? -1 : fd;
}

static void open_area(struct area *a, const char *pmu, int cpu, const char *dir)
{
	char path[4096];
	int fd = pmu ? open_event(pmu, cpu) : open_memory(a);

	if (fd < 0 || ring_map(&a->ring, fd, RING_BYTES, true) ||
	    aux_open(&a->aux, &a->ring, size, size))
		die("an area");
	a->to = malloc(size);
	snprintf(path, sizeof(path), "%s/area-%d", dir, cpu);
	a->file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (!a->to || a->file < 0)
		die(path);
	memset(a->to, 1, size);
	mlock(a->to, size);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	if (pthread_create(&a->thread, NULL, copier, a))
		die("a thread");
}

static void all_ioctl(unsigned long request)
{
	for (size_t i = 0; i < nr_areas; i++)
		if (!areas[i].from)
			ioctl(areas[i].ring.fd, request, 0);
}

static void open_areas(const char *pmu, char **cpus, const char *dir)
{
	pthread_barrier_init(&begin, NULL, (unsigned)nr_areas + 1);
	pthread_barrier_init(&end, NULL, (unsigned)nr_areas + 1);
	for (size_t i = 0; i < nr_areas; i++)
		open_area(&areas[i], pmu, pmu ? atoi(cpus[i]) : (int)i, dir);
}

/* Waits while the areas fill. */
static void pass(void)
{
	static int nr;

	nr++;
	for (size_t i = 0; i < nr_areas; i++)
		if (areas[i].from)
			memset(areas[i].from, nr, size);
	usleep(IDLE_US);
}

/* Time of the slowest thread. */
static uint64_t turn_ns(bool file)
{
	uint64_t most = 0;

	pass();
	to_file = file;
	all_ioctl(PERF_EVENT_IOC_DISABLE);
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	all_ioctl(PERF_EVENT_IOC_ENABLE);
	for (size_t i = 0; i < nr_areas; i++) {
		most = areas[i].ns > most ? areas[i].ns : most;
		if (ftruncate(areas[i].file, 0) || lseek(areas[i].file, 0, SEEK_SET))
			die("emptying a file");
	}
	return most;
}

/* ---- areas of the recorder ---- */

/* Waits up to 20 s for the path of dump `n`. */
static void wait_path(const char *file, int n, char *path, size_t room)
{
	for (int tries = 0; tries < 1000; tries++) {
		FILE *f = fopen(file, "re");
		int i = -1;

		while (f && i < n && fgets(path, (int)room, f))
			i++;
		if (f)
			fclose(f);
		if (i == n && strchr(path, '\n')) {
			*strchr(path, '\n') = '\0';
			return;
		}
		usleep(20000);
	}
	fprintf(stderr, "no dump came\n");
	exit(1);
}

static void dump(pid_t pid, const char *out, int n, struct fmt_window_aux *longest)
{
	struct err err = ERR_INIT;
	struct aux_list list;
	struct reader *r;
	struct meta *m;
	char path[4096];
	int rc;

	usleep(IDLE_US);
	if (kill(pid, SIGUSR2))
		die("the recorder");
	wait_path(out, n, path, sizeof(path));
	rc = reader_open(path, &r, &err);
	if (!rc)
		rc = meta_load(r, &m, &err);
	if (!rc)
		rc = aux_list_load(r, m, &list, &err);
	if (rc || !list.nr) {
		fprintf(stderr, "%s: %s\n", path, rc ? err.what : "no areas");
		exit(1);
	}
	*longest = list.v[0].f;
	for (size_t i = 1; i < list.nr; i++)
		if (list.v[i].f.blackout_ns > longest->blackout_ns)
			*longest = list.v[i].f;
	aux_list_free(&list);
	meta_free(m);
	reader_close(r);
	unlink(path);
}

/* ---- memory ---- */

static void copy_area(void *ctx, size_t i)
{
	struct area *a = (struct area *)ctx + i;

	aux_copy(&a->aux);
	aux_started(&a->aux);
}

static void copy_all(struct thread_pool *pool, struct fmt_window_aux *longest)
{
	pass();
	thread_pool_expect(pool);
	for (size_t i = 0; i < nr_areas; i++)
		aux_stopped(&areas[i].aux, &areas[i].ring, 0);
	thread_pool_start(pool, copy_area, areas, nr_areas);
	thread_pool_finish(pool);
	*longest = areas[0].aux.window;
	for (size_t i = 1; i < nr_areas; i++)
		if (areas[i].aux.window.blackout_ns > longest->blackout_ns)
			*longest = areas[i].aux.window;
}

/* ---- turns ---- */

static void turn(const struct fmt_window_aux *w)
{
	uint64_t copy = turn_ns(false), file = turn_ns(true);

	printf("%.0f %.0f %.0f %.0f\n", (double)w->blackout_ns / 1e3, (double)w->copy_ns / 1e3,
	       (double)copy / 1e3, (double)file / 1e3);
}

/* The recorder's threads have the same priority. */
static void run_first(void)
{
	struct sched_param p = {.sched_priority = 1};

	sched_setscheduler(0, SCHED_FIFO, &p);
}

static int of_memory(char **argv)
{
	struct thread_pool_options opt = {.started = run_first};
	struct fmt_window_aux w;
	struct thread_pool *pool;

	size = strtoul(argv[2], NULL, 0);
	nr_areas = strtoul(argv[5], NULL, 0);
	opt.nr_threads = (unsigned)nr_areas;
	if (!nr_areas || nr_areas > 8 || thread_pool_new(&opt, &pool))
		return 1;
	open_areas(NULL, NULL, argv[4]);
	for (int i = 0; i < atoi(argv[3]); i++) {
		copy_all(pool, &w);
		turn(&w);
	}
	thread_pool_free(pool);
	return 0;
}

static int of_recorder(int argc, char **argv)
{
	struct fmt_window_aux w;

	size = strtoul(argv[4], NULL, 0);
	nr_areas = (size_t)argc - 7;
	open_areas(argv[3], &argv[7], argv[6]);
	for (int i = 0; i < atoi(argv[5]); i++) {
		dump(atoi(argv[1]), argv[2], i, &w);
		turn(&w);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "memory"))
		return of_memory(argv);
	if (argc >= 8 && argc - 7 <= MAX_AREAS)
		return of_recorder(argc, argv);
	fprintf(stderr,
		"usage: tool_blackout PID STDOUT-FILE PMU BYTES TURNS DIRECTORY CPU..., or: "
		"tool_blackout memory BYTES TURNS DIRECTORY NR\n");
	return 2;
}
