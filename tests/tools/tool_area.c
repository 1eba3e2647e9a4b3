/* LAYERS: dump base */
// SPDX-License-Identifier: MIT
/*
 * tool_area DUMP...: checks the AUX areas in dumps, given in the order in which they were made.
 * Each must hold what the test module's PMUs (tests/vm/module) wrote: a part of the known sequence
 * without a gap, from its beginning unless the area is full. As much of it must be new as was
 * written since the dump before, or since the sequence began anew. Prints one line per area. Errors
 * go to stderr and make it exit with 1.
 *
 * tool_area pmu DUMP: the config of each AUX event, and the files of its PMU, as PATH=CONTENT.
 *
 * tool_area tails PID: how many rings a recorder maps read-only, and on how many a reader has moved
 * a tail, data_tail or aux_tail.
 */
#include "dump/file/aux_areas.h"
#include "dump/base/err.h"
#include "dump/file/reader.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_AREAS 64

/* End of an area in the dump before. */
struct place {
	char channel[32];
	int32_t cpu, tid;
	uint64_t end;
};

static struct place places[MAX_AREAS];
static size_t nr_places;
static int wrong;

static void say(const char *dump, const struct dump_area *a, const char *what, uint64_t got,
		uint64_t wanted)
{
	fprintf(stderr, "%s: %s cpu %d tid %d: %s: %" PRIu64 ", not %" PRIu64 "\n", dump,
		a->channel->name, a->cpu, a->tid, what, got, wanted);
	wrong++;
}

/* Bytes of the area that the PMU uses. */
static uint64_t used_of(const struct dump_area *a)
{
	return a->f.area_bytes - (strcmp(a->event->pmu, "intel_bts") ? 0 : a->f.area_bytes % 24);
}

static uint64_t word_at(uint64_t mark, uint64_t at)
{
	return mark | (at / 8 + 1);
}

static uint64_t nr_bad(struct bytes b, uint64_t mark, uint64_t begin)
{
	uint64_t bad = 0;

	for (uint64_t i = 0; i < b.len; i++)
		bad += b.p[i] != (uint8_t)(word_at(mark, begin + i) >> (begin + i) % 8 * 8);
	return bad;
}

/* Offset of the bytes in the sequence: of the first word after which the next bytes agree. */
static uint64_t begin_of(struct bytes b, uint64_t mark)
{
	struct bytes some = {b.p, b.len < 64 ? b.len : 64};

	for (uint64_t at = 0; at < 8 && at + 8 <= b.len; at++) {
		uint64_t word, nr, begin;

		memcpy(&word, b.p + at, 8);
		nr = word & 0xffffffffffff;
		begin = 8 * (nr - 1) - at;
		if (nr && 8 * (nr - 1) >= at && !nr_bad(some, mark, begin))
			return begin;
	}
	return 0;
}

static struct place *place_of(const struct dump_area *a)
{
	for (size_t i = 0; i < nr_places; i++)
		if (places[i].cpu == a->cpu && places[i].tid == a->tid &&
		    !strcmp(places[i].channel, a->channel->name))
			return &places[i];
	if (nr_places == MAX_AREAS)
		exit(2);
	places[nr_places] = (struct place){.cpu = a->cpu, .tid = a->tid};
	snprintf(places[nr_places].channel, sizeof(places[0].channel), "%s", a->channel->name);
	return &places[nr_places++];
}

/* Bytes written since the dump before; for the first dump, its own new_bytes. */
static uint64_t written_since(const struct dump_area *a, uint64_t end)
{
	size_t nr = nr_places;
	struct place *p = place_of(a);
	uint64_t since = end < p->end ? end : end - p->end;

	if (nr < nr_places)
		since = a->f.new_bytes;
	p->end = end;
	return since < used_of(a) ? since : used_of(a);
}

static void check_area(const char *dump, struct reader *r, const struct dump_area *a)
{
	uint64_t mark = (uint64_t)(a->cpu + 1) << 48, begin, end, bad, since;
	struct err err = ERR_INIT;
	struct buf out = {0};
	struct bytes b;

	if (!a->channel || !a->event) {
		fprintf(stderr, "%s: an area of no channel\n", dump);
		exit(1);
	}
	if (aux_load(r, a, UINT64_MAX, &out, &err)) {
		fprintf(stderr, "%s: %s\n", dump, err.what);
		wrong++;
		return;
	}
	b = (struct bytes){out.p, out.len};
	begin = begin_of(b, mark);
	end = begin + b.len;
	bad = nr_bad(b, mark, begin);
	if (bad)
		say(dump, a, "bytes that are not the sequence's", bad, 0);
	if (b.len != a->f.bytes)
		say(dump, a, "bytes", b.len, a->f.bytes);
	if (b.len != (end < used_of(a) ? end : used_of(a)))
		say(dump, a, "bytes of all that was written", b.len, end);
	if (a->f.head != (a->f.flags & FMT_AUX_COUNTING ? end : end % used_of(a)) &&
	    a->f.head != end)
		say(dump, a, "end of what is there", end, a->f.head);
	since = written_since(a, end);
	if (a->f.new_bytes != since)
		say(dump, a, "bytes that are new", a->f.new_bytes, since);
	printf("channel=%s cpu=%d tid=%d size=%" PRIu64 " bytes=%" PRIu64 " new=%" PRIu64
	       " end=%" PRIu64 " head=%" PRIu64 " flags=%#x aux=%u stop=%" PRIu64 " copy=%" PRIu64
	       " blackout=%" PRIu64 "\n",
	       a->channel->name, a->cpu, a->tid, a->f.area_bytes, a->f.bytes, a->f.new_bytes, end,
	       a->f.head, a->f.flags, a->f.nr_aux, a->f.stop_ns, a->f.copy_ns, a->f.blackout_ns);
	buf_free(&out);
}

static void check_dump(const char *path)
{
	struct err err = ERR_INIT;
	struct aux_list list;
	struct reader *r;
	struct meta *m;
	int rc = reader_open(path, &r, &err);

	if (!rc)
		rc = meta_load(r, &m, &err);
	if (!rc)
		rc = aux_list_load(r, m, &list, &err);
	if (rc) {
		fprintf(stderr, "%s: %s\n", path, err.what);
		exit(1);
	}
	for (size_t i = 0; i < list.nr; i++)
		check_area(path, r, &list.v[i]);
	aux_list_free(&list);
	meta_free(m);
	reader_close(r);
}

/* ---- PMU ---- */

static int print_pmus(const char *path)
{
	struct err err = ERR_INIT;
	struct reader *r;
	struct meta *m;
	int rc = reader_open(path, &r, &err);

	if (!rc)
		rc = meta_load(r, &m, &err);
	if (rc) {
		fprintf(stderr, "%s: %s\n", path, err.what);
		return 1;
	}
	for (size_t i = 0; i < m->nr_events; i++) {
		const struct meta_event *e = &m->events[i];
		const char *p = (const char *)e->pmu_files.p, *end = p + e->pmu_files.len;

		if (!*e->pmu)
			continue;
		printf("%s config=%#llx\n", e->pmu, (unsigned long long)e->attr.config);
		while (p < end) {
			const char *content = p + strlen(p) + 1;

			printf("%s=%s\n", p, content);
			p = content + strlen(content) + 1;
		}
	}
	meta_free(m);
	reader_close(r);
	return 0;
}

/* ---- tails ---- */

static int tails(const char *pid)
{
	char path[64], line[512], mode[8];
	uint64_t start, end, size, nr = 0, moved = 0;
	struct perf_event_mmap_page page;
	FILE *maps;
	int mem;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	maps = fopen(path, "r");
	snprintf(path, sizeof(path), "/proc/%s/mem", pid);
	mem = open(path, O_RDONLY);
	if (!maps || mem < 0)
		return 1;
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", &start, &end, mode) != 3 ||
		    !strstr(line, "[perf_event]") || mode[1] == 'w')
			continue;
		size = end - start;
		if (!(size & (size - 1))) /* an area has no control page before it */
			continue;
		if (pread(mem, &page, sizeof(page), (off_t)start) != sizeof(page))
			return 1;
		nr++;
		moved += page.data_tail || page.aux_tail;
	}
	printf("rings=%" PRIu64 " moved=%" PRIu64 "\n", nr, moved);
	fclose(maps);
	close(mem);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "tails"))
		return tails(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "pmu"))
		return print_pmus(argv[2]);
	if (argc < 2) {
		fprintf(stderr,
			"usage: tool_area DUMP..., tool_area pmu DUMP, or: tool_area tails PID\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		check_dump(argv[i]);
	return wrong != 0;
}
