/* LAYERS: base */
/* SPDX-License-Identifier: MIT */
/*
 * tool_aux sequence CPU BYTES: the known sequence for that CPU, for intel_pt to play back.
 *
 * tool_aux PMU CPU PAGES ROUNDS TICKS: a small client of an AUX area of the test module
 * (tests/vm/module), in the guest. It maps the data ring read-only and backward, sets aux_offset
 * and aux_size through a second, short-lived mapping, and maps the area read-only. CPU -1: this
 * thread, on any CPU. Each of the ROUNDS enables the event, waits for at least TICKS ticks of the
 * module, and disables it. Then head, area and newest PERF_RECORD_AUX must agree with the known
 * sequence and with the number of bytes that the module reports. Prints one line per round. Errors
 * go to stderr and make it exit with 1.
 */
#include "tests/helpers/pmu_type.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DATA_PAGES 16

struct client {
	const char *pmu;
	int cpu, fd;
	size_t page_bytes, bytes; /* bytes: size of the area */
	const struct perf_event_mmap_page *page;
	const uint8_t *area;
	bool counts; /* its head never wraps */
	int wrong;
};

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void open_client(struct client *c)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = pmu_type(c->pmu),
		.write_backward = 1,
		.disabled = 1,
	};
	size_t data = (DATA_PAGES + 1) * c->page_bytes;
	struct perf_event_mmap_page *rw;

	c->fd = (int)syscall(SYS_perf_event_open, &attr, c->cpu < 0 ? 0 : -1, c->cpu, -1, 0UL);
	if (c->fd < 0)
		die("perf_event_open");
	c->page = mmap(NULL, data, PROT_READ, MAP_SHARED, c->fd, 0);
	if (c->page == MAP_FAILED)
		die("mapping the data ring");
	rw = mmap(NULL, data, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (rw == MAP_FAILED)
		die("mapping it to be written");
	rw->aux_offset = data;
	rw->aux_size = c->bytes;
	c->area = mmap(NULL, c->bytes, PROT_READ, MAP_SHARED, c->fd, (off_t)data);
	if (c->area == MAP_FAILED)
		die("mapping the AUX area");
	munmap(rw, data);
}

/* Ticks of that PMU in the module so far, on the client's CPU or on all. */
static unsigned long long ticks(const struct client *c)
{
	FILE *f = fopen("/sys/kernel/debug/ringback/ticks", "r");
	unsigned long long all = 0, n;
	char pmu[64];
	int cpu;

	if (!f)
		die("/sys/kernel/debug/ringback/ticks");
	while (fscanf(f, "%63s %d %llu", pmu, &cpu, &n) == 3)
		if (!strcmp(pmu, c->pmu) && (c->cpu < 0 || c->cpu == cpu))
			all += n;
	fclose(f);
	return all;
}

/* An offline CPU has no ticks. */
static bool is_off(int cpu)
{
	char path[64];
	int on = 1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	f = fopen(path, "r");
	if (f && fscanf(f, "%d", &on) != 1)
		on = 1;
	if (f)
		fclose(f);
	return !on;
}

/* Waits for `nr` ticks: asleep, or busy when this thread is the one traced. */
static void pass(const struct client *c, unsigned long long nr)
{
	unsigned long long end = ticks(c) + nr;

	while (ticks(c) < end && (c->cpu < 0 || !is_off(c->cpu)))
		if (c->cpu >= 0)
			usleep(1000);
}

/* Bytes that the module wrote to the buffer until the last stop on that CPU. */
static uint64_t written_on(const struct client *c)
{
	FILE *f = fopen("/sys/kernel/debug/ringback/written", "r");
	unsigned long long written, bytes;
	char pmu[64];
	int cpu;

	if (!f)
		die("/sys/kernel/debug/ringback/written");
	while (fscanf(f, "%63s %d %llu %llu", pmu, &cpu, &written, &bytes) == 4)
		if (!strcmp(pmu, c->pmu) && cpu == c->cpu) {
			fclose(f);
			return written;
		}
	fclose(f);
	fprintf(stderr, "nothing known of %s on CPU %d\n", c->pmu, c->cpu);
	exit(1);
}

/* The same for a thread, which may stop on any CPU: taken from the newest word in the area. Only
 * for rates of whole words. */
static uint64_t written_here(const struct client *c)
{
	uint64_t newest = 0, word;

	for (size_t at = 0; at < c->bytes; at += 8) {
		memcpy(&word, c->area + at, 8);
		if (word > newest)
			newest = word;
	}
	return 8 * newest;
}

static uint8_t sequence(const struct client *c, uint64_t at)
{
	return (uint8_t)(((uint64_t)(c->cpu + 1) << 48 | (at / 8 + 1)) >> at % 8 * 8);
}

static void want(struct client *c, const char *what, uint64_t got, uint64_t wanted)
{
	if (got == wanted)
		return;
	fprintf(stderr, "%s: %#llx, not %#llx\n", what, (unsigned long long)got,
		(unsigned long long)wanted);
	c->wrong++;
}

static void check_area(struct client *c, uint64_t written)
{
	uint64_t from = written > c->bytes ? written - c->bytes : 0;
	uint64_t bad = 0;

	for (uint64_t at = from; at < written; at++)
		bad += c->area[at % c->bytes] != sequence(c, at);
	for (uint64_t at = written; at < c->bytes; at++)
		bad += c->area[at] != 0;
	want(c, "bytes that are not the sequence's", bad, 0);
}

/* The newest record must be at data_head. */
static void check_record(struct client *c, uint64_t head, uint64_t since)
{
	struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
	} r;
	const uint8_t *data = (const uint8_t *)c->page + c->page->data_offset;
	uint64_t data_head = __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE);

	for (size_t i = 0; i < sizeof(r); i++)
		((uint8_t *)&r)[i] = data[(data_head + i) % c->page->data_size];
	want(c, "type of the newest record", r.header.type, PERF_RECORD_AUX);
	want(c, "its offset", r.offset, head);
	want(c, "its size", r.size, c->counts ? since : c->bytes);
	want(c, "its flag of an area that is overwritten", r.flags & PERF_AUX_FLAG_OVERWRITE,
	     PERF_AUX_FLAG_OVERWRITE);
	printf(" flags=%#llx", (unsigned long long)r.flags);
}

int main(int argc, char **argv)
{
	struct client c = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE)};
	uint64_t before = 0;

	if (argc == 4 && !strcmp(argv[1], "sequence")) {
		c.cpu = atoi(argv[2]);
		for (uint64_t at = 0; at < strtoul(argv[3], NULL, 0); at++)
			putchar(sequence(&c, at));
		return 0;
	}
	if (argc != 6) {
		fprintf(stderr, "usage: tool_aux PMU CPU PAGES ROUNDS TICKS, or: tool_aux sequence "
				"CPU BYTES\n");
		return 2;
	}
	c.pmu = argv[1];
	c.counts = !strcmp(c.pmu, "rb_aux_count");
	c.cpu = atoi(argv[2]);
	c.bytes = strtoul(argv[3], NULL, 0) * c.page_bytes;
	open_client(&c);
	for (int rounds = atoi(argv[4]); rounds > 0; rounds--) {
		uint64_t head, written;

		if (ioctl(c.fd, PERF_EVENT_IOC_ENABLE, 0))
			die("on");
		pass(&c, strtoul(argv[5], NULL, 0));
		if (ioctl(c.fd, PERF_EVENT_IOC_DISABLE, 0))
			die("off");
		head = __atomic_load_n(&c.page->aux_head, __ATOMIC_ACQUIRE);
		written = c.cpu < 0 ? written_here(&c) : written_on(&c);
		want(&c, "aux_head", head, c.counts ? written : written % c.bytes);
		check_area(&c, written);
		printf("written=%llu head=%llu wraps=%llu", (unsigned long long)written,
		       (unsigned long long)head, (unsigned long long)(written / c.bytes));
		/* A preempted thread has written more than one record; without new bytes the kernel
		 * writes none. */
		if (c.cpu >= 0 && written > before)
			check_record(&c, head, written - before);
		printf(" data_tail=%llu aux_tail=%llu\n", (unsigned long long)c.page->data_tail,
		       (unsigned long long)c.page->aux_tail);
		want(&c, "tails not moved by the reader", c.page->data_tail | c.page->aux_tail, 0);
		before = written;
	}
	return c.wrong != 0;
}
