// SPDX-License-Identifier: MIT
/*
 * The features of a perf.data (host, clocks, event names, build-ids): a table with a function each;
 * see export_perf.h. Bits and layouts are those of perf's perf.data-file-format.txt; the tracing
 * data has the format of trace-cmd.
 */
#include "dump/view/export/export_perf.h"

#include "dump/view/print/fields.h"
#include "dump/view/symbols/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	BIT_TRACING_DATA = 1,
	BIT_BUILD_ID = 2,
	BIT_HOSTNAME = 3,
	BIT_OSRELEASE = 4,
	BIT_VERSION = 5,
	BIT_ARCH = 6,
	BIT_NRCPUS = 7,
	BIT_CPUDESC = 8,
	BIT_CPUID = 9,
	BIT_TOTAL_MEM = 10,
	BIT_CMDLINE = 11,
	BIT_EVENT_DESC = 12,
	BIT_AUXTRACE = 18,
	BIT_SAMPLE_TIME = 21,
	BIT_CLOCKID = 23,
	BIT_CLOCK_DATA = 29,
};

#define RECORD_BUILD_ID	   67u
#define MISC_BUILD_ID_SIZE (1u << 15)

/* Length, text, NUL, zeros up to a multiple of 64. */
static bool put_string(struct text *t, const char *s, size_t n)
{
	size_t room = align_up(n + 1, 64);

	perf_u32(t, (uint32_t)room);
	text_put(t, s, n);
	text_fill(t, '\0', (int)(room - n));
	return n > 0;
}

/* ---- host ---- */

static bool hostname(struct perf_export *p, struct text *t)
{
	return put_string(t, p->x->a.m->hostname, strlen(p->x->a.m->hostname));
}

/* The uname is "Linux 6.1.0-13-amd64 #1 SMP ... x86_64". */
static bool osrelease(struct perf_export *p, struct text *t)
{
	const char *s = strchr(p->x->a.m->uname, ' ');

	return s && put_string(t, s + 1, strcspn(s + 1, " "));
}

static bool arch(struct perf_export *p, struct text *t)
{
	const char *s = strrchr(p->x->a.m->uname, ' ');

	return s && put_string(t, s + 1, strlen(s + 1));
}

static bool version(struct perf_export *p, struct text *t)
{
	return put_string(t, p->x->a.m->recorder, strlen(p->x->a.m->recorder));
}

static bool nr_cpus(struct perf_export *p, struct text *t)
{
	perf_u32(t, p->x->a.m->host.nr_cpus_possible);
	perf_u32(t, p->x->a.m->host.nr_cpus_online);
	return p->x->a.m->host.nr_cpus_online;
}

static bool cpu_model(struct perf_export *p, struct text *t)
{
	return put_string(t, p->x->a.m->cpu_model, strlen(p->x->a.m->cpu_model));
}

static bool cpu_id(struct perf_export *p, struct text *t)
{
	return put_string(t, p->x->a.m->cpu_id, strlen(p->x->a.m->cpu_id));
}

static bool total_mem(struct perf_export *p, struct text *t)
{
	perf_u64(t, p->x->a.m->host.mem_total_bytes / 1024);
	return p->x->a.m->host.mem_total_bytes;
}

static bool cmdline(struct perf_export *p, struct text *t)
{
	struct bytes b = p->x->a.m->cmdline, rest = b;
	uint32_t nr = 0;

	for (const uint8_t *end; rest.len; nr++) {
		end = memchr(rest.p, 0, rest.len);
		bytes_take(&rest, end ? (size_t)(end + 1 - rest.p) : rest.len, &(struct bytes){0});
	}
	perf_u32(t, nr);
	while (b.len) {
		size_t n = strnlen((const char *)b.p, b.len);

		put_string(t, (const char *)b.p, n);
		bytes_take(&b, n < b.len ? n + 1 : n, &(struct bytes){0});
	}
	return nr;
}

/* ---- clocks ---- */

static bool sample_time(struct perf_export *p, struct text *t)
{
	perf_u64(t, p->first_ns);
	perf_u64(t, p->last_ns);
	return p->has_sample;
}

static bool clockid(struct perf_export *p, struct text *t)
{
	perf_u64(t, 1); /* its resolution */
	return true;
}

static bool clock_data(struct perf_export *p, struct text *t)
{
	const struct meta *m = p->x->a.m;

	perf_u32(t, 1); /* version */
	perf_u32(t, m->host.clockid);
	perf_u64(t, m->trigger.hit_ns + (uint64_t)m->host.real_minus_clock);
	perf_u64(t, m->trigger.hit_ns);
	return m->host.real_minus_clock;
}

/* ---- events ---- */

static bool event_desc(struct perf_export *p, struct text *t)
{
	perf_u32(t, (uint32_t)p->nr_evsels);
	perf_u32(t, p->attr_bytes);
	for (size_t i = 0; i < p->nr_evsels; i++) {
		const struct perf_evsel *s = &p->evsels[i];

		text_put(t, &s->attr, p->attr_bytes);
		perf_u32(t, (uint32_t)s->nr_ids);
		put_string(t, s->name, strnlen(s->name, 1024));
		text_put(t, p->ids + s->first_id, s->nr_ids * 8);
	}
	return true;
}

/* ---- tracing data ---- */

/* The layout of ftrace's pages. The file has none, but perf requires the layout. */
static const char some_header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				       "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				       "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

struct tracepoint {
	uint32_t id;
	const char *system, *name;
	int system_bytes;
	struct bytes format; /* empty: unknown */
};

static int compare_tracepoints(const void *a, const void *b)
{
	const struct tracepoint *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static struct tracepoint *find(struct tracepoint *v, size_t nr, uint32_t id)
{
	struct tracepoint like = {.id = id};

	return nr ? bsearch(&like, v, nr, sizeof(*v), compare_tracepoints) : NULL;
}

static void find_formats(const struct perf_export *p, struct tracepoint *v, size_t nr)
{
	const struct meta *m = p->x->a.m;

	for (size_t i = 0; i < m->nr_tracepoints; i++) {
		struct tracepoint *tp = find(v, nr, m->tracepoints[i].id);

		/* perf rejects a file with an invalid format. */
		if (tp && fields_tracepoint(p->x->a.fields, tp->id))
			tp->format = m->tracepoints[i].format;
	}
}

/* Lists the tracepoints of the events once each, by id. `out` has room for all events. */
static size_t list_tracepoints(const struct perf_export *p, struct tracepoint *out)
{
	size_t nr = 0, kept = 0;

	for (size_t i = 0; i < p->nr_evsels; i++) {
		const struct perf_evsel *s = &p->evsels[i];
		const char *colon = strchr(s->name, ':');

		if (s->attr.type != PERF_TYPE_TRACEPOINT || s->attr.config > UINT32_MAX)
			continue;
		out[nr++] = (struct tracepoint){
			.id = (uint32_t)s->attr.config,
			.system = colon ? s->name : "unknown",
			.system_bytes = colon ? (int)(colon - s->name) : 7,
			.name = colon ? colon + 1 : s->name,
		};
	}
	qsort(out, nr, sizeof(*out), compare_tracepoints);
	for (size_t i = 0; i < nr; i++)
		if (!kept || out[kept - 1].id != out[i].id)
			out[kept++] = out[i];
	find_formats(p, out, kept);
	return kept;
}

/* A format with the common fields only, for a tracepoint without one. */
static void put_some_format(struct text *t, const struct tracepoint *tp)
{
	struct text f = TEXT_INIT(NULL);

	text_str(&f, "name: ");
	text_str(&f, tp->name);
	text_fmt(&f,
		 "\nID: %" PRIu32 "\nformat:\n"
		 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		 "print fmt: \"\"\n",
		 tp->id);
	perf_u64(t, f.b.len);
	text_put(t, f.b.p, f.b.len);
	if (f.rc && !t->rc)
		t->rc = f.rc;
	text_free(&f);
}

/* A system for each tracepoint: perf accepts the same one twice. */
static void put_tracepoint(struct text *t, const struct tracepoint *tp)
{
	text_put(t, tp->system, (size_t)tp->system_bytes);
	text_char(t, '\0');
	perf_u32(t, 1);
	if (!tp->format.len) {
		put_some_format(t, tp);
		return;
	}
	perf_u64(t, tp->format.len);
	text_put(t, tp->format.p, tp->format.len);
}

static void put_tracing_data(struct text *t, const struct meta *m, const struct tracepoint *tp,
			     size_t nr)
{
	struct bytes page = m->header_page;
	uint32_t page_bytes = m->host.page_bytes ? m->host.page_bytes : 4096;

	if (!page.len)
		page = (struct bytes){(const uint8_t *)some_header_page,
				      sizeof(some_header_page) - 1};
	text_put(t, "\x17\x08\x44tracing0.5", 13);
	text_put(t, "\0\0\x08", 3); /* end of the version, little-endian, bytes of a long */
	perf_u32(t, page_bytes);
	text_put(t, "header_page", 12);
	perf_u64(t, page.len);
	text_put(t, page.p, page.len);
	text_put(t, "header_event", 13);
	perf_u64(t, 0);
	perf_u32(t, 0); /* ftrace's own events */
	perf_u32(t, (uint32_t)nr);
	for (size_t i = 0; i < nr; i++)
		put_tracepoint(t, &tp[i]);
	perf_u32(t, 0); /* kallsyms */
	perf_u32(t, 0); /* printk formats */
}

bool perf_tracing_data(struct perf_export *p, struct text *t)
{
	struct tracepoint *tp = calloc(p->nr_evsels + 1, sizeof(*tp));
	size_t nr;

	if (!tp) {
		t->rc = -ENOMEM;
		return true;
	}
	nr = list_tracepoints(p, tp);
	if (nr)
		put_tracing_data(t, p->x->a.m, tp, nr);
	free(tp);
	return nr;
}

/* ---- build-ids ---- */

static int compare_paths(const void *a, const void *b)
{
	const struct history_map *x = a, *y = b;

	return (x->path > y->path) - (x->path < y->path);
}

static void put_build_id(struct text *t, uint16_t mode, const struct history_map *m)
{
	size_t n = strnlen(m->path, 4095), room = align_up(36 + n + 1, 8) - 36;
	struct {
		struct perf_event_header h;
		int32_t pid;
		uint8_t id[20], id_bytes, reserved[3];
	} b = {
		.h =
			{
				.type = RECORD_BUILD_ID,
				.misc = mode | MISC_BUILD_ID_SIZE,
				.size = (uint16_t)(sizeof(b) + room),
			},
		.pid = -1,
		.id_bytes = m->build_id_bytes,
	};

	_Static_assert(sizeof(b) == 36, "build_id_event");
	memcpy(b.id, m->build_id, m->build_id_bytes);
	text_put(t, &b, sizeof(b));
	text_put(t, m->path, n);
	text_fill(t, '\0', (int)(room - n));
}

/* The dump has no build-ids of modules. */
static bool put_kernel_id(const struct perf_export *p, struct text *t)
{
	struct symbol_place first;
	struct history_map kernel = {.path = "[kernel.kallsyms]"};
	uint64_t end;
	size_t at = 0;

	while (symbols_kernel_part(p->x->a.symbols, &at, &first, &end)) {
		if (strcmp(first.image, kernel.path) || !first.build_id_bytes)
			continue;
		kernel.build_id = first.build_id;
		kernel.build_id_bytes = first.build_id_bytes;
		put_build_id(t, PERF_RECORD_MISC_KERNEL, &kernel);
		return true;
	}
	return false;
}

bool perf_build_ids(struct perf_export *p, struct text *t)
{
	bool has_kernel = put_kernel_id(p, t);
	struct history_counts nr;
	struct history_map *maps;
	size_t kept = 0;

	history_counts(p->x->a.history, &nr);
	maps = calloc(nr.nr_maps + 1, sizeof(*maps));
	if (!maps) {
		t->rc = -ENOMEM;
		return true;
	}
	for (size_t i = 0; i < nr.nr_maps; i++) {
		history_nth_map(p->x->a.history, i, &maps[kept]);
		kept += maps[kept].build_id_bytes > 0;
	}
	qsort(maps, kept, sizeof(*maps), compare_paths);
	for (size_t i = 0; i < kept; i++)
		if (!i || maps[i].path != maps[i - 1].path)
			put_build_id(t, PERF_RECORD_MISC_USER, &maps[i]);
	free(maps);
	return kept || has_kernel;
}

/* ---- the table, by bit ---- */

const struct perf_feature perf_features[] = {
	{BIT_TRACING_DATA, false, perf_tracing_data},
	{BIT_BUILD_ID, false, perf_build_ids},
	{BIT_HOSTNAME, true, hostname},
	{BIT_OSRELEASE, true, osrelease},
	{BIT_VERSION, true, version},
	{BIT_ARCH, true, arch},
	{BIT_NRCPUS, true, nr_cpus},
	{BIT_CPUDESC, true, cpu_model},
	{BIT_CPUID, true, cpu_id},
	{BIT_TOTAL_MEM, true, total_mem},
	{BIT_CMDLINE, true, cmdline},
	{BIT_EVENT_DESC, true, event_desc},
	{BIT_AUXTRACE, false, perf_aux_index},
	{BIT_SAMPLE_TIME, false, sample_time},
	{BIT_CLOCKID, true, clockid},
	{BIT_CLOCK_DATA, true, clock_data},
};

const size_t perf_nr_features = sizeof(perf_features) / sizeof(perf_features[0]);
