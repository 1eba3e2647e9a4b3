// SPDX-License-Identifier: MIT
/*
 * `ringback export -f pprof`: a gzip'd profile.proto. Concatenated messages are one message with
 * joined lists to protobuf, so texts, mappings, functions and locations are written at their first
 * use, and samples, which are counted, at the end.
 *
 * Addresses are file offsets, as if each file were mapped whole at 0: symbolizers need that, and it
 * is the same in all processes.
 */
#include "dump/view/export/export_sample.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/base/deflate.h"
#include "dump/view/base/pair_ids.h"
#include "dump/view/base/intern.h"
#include "dump/view/export/proto.h"
#include "dump/view/model/process_history.h"
#include "dump/view/unwind/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define USER_LIMIT   (1ull << 47)
#define KERNEL_START (~0ull << 47)

/* Fields of pprof.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
};
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM };
enum { MAPPING_ID = 1, MAPPING_START, MAPPING_LIMIT, MAPPING_FILENAME = 5, MAPPING_BUILD_ID };
enum { MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_INLINE_FRAMES = 10 };
enum { LOCATION_ID = 1, LOCATION_MAPPING_ID, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION_ID = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILENAME };
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT };

struct pprof_tally {
	uint64_t count, value;
};

struct pprof {
	struct deflate *gzip;
	struct text part; /* the message being written */
	struct intern texts;
	struct pair_ids strings;  /* address of the text; its number is its place in string_table */
	struct pair_ids mappings; /* text of the path, of the build-id */
	struct pair_ids functions; /* texts of name and file */
	struct pair_ids spots;	   /* mapping, function: what a location is in */
	struct pair_ids locations; /* spot, address */
	struct pair_ids nodes;	   /* parent or 0, location: stacks, outermost first */
	struct pair_ids threads;   /* text of the name, pid << 32 | tid */
	struct pair_ids samples;   /* node, thread */
	struct buf tallies;	   /* struct pprof_tally of sample 1 on */
	bool is_time;		   /* values are nanoseconds */
	uint64_t first_ns, last_ns, period;
	int rc;
};

/* Writes the message in p->part and empties it for the next. */
static void put(struct pprof *p)
{
	if (!p->rc)
		p->rc = p->part.rc;
	if (!p->rc)
		p->rc = deflate_put(p->gzip, p->part.b.p, p->part.b.len);
	p->part.b.len = 0;
}

/* proto3 leaves out a number that is 0. */
static void put_number(struct pprof *p, uint32_t field, uint64_t v)
{
	if (v)
		proto_number(&p->part, field, v);
}

static void put_numbers(struct pprof *p, uint32_t field, const uint64_t *v, size_t nr)
{
	size_t list = proto_open(&p->part, field);

	for (size_t i = 0; i < nr; i++) {
		char *to = text_room(&p->part, PROTO_VARINT_BYTES);

		if (to)
			text_end(&p->part, proto_varint(to, v[i]));
	}
	proto_close(&p->part, list);
}

/* As pair_ids_add(); keeps the error. */
static uint32_t check(struct pprof *p, uint32_t id)
{
	if (!id && !p->rc)
		p->rc = -ENOMEM;
	return id;
}

static uint64_t text_id(struct pprof *p, const char *text)
{
	char safe[2048];
	const char *kept;
	uint32_t id;
	bool is_new;

	if (!text || !*text)
		return 0;
	/* Strings of protobuf must be UTF-8. */
	str_safe(safe, sizeof(safe), text, strlen(text));
	kept = intern(&p->texts, (struct bytes){(const uint8_t *)safe, strlen(safe)});
	id = check(p, kept ? pair_ids_add(&p->strings, (uintptr_t)kept, 0, &is_new) : 0);
	if (!id || !is_new)
		return id;
	proto_string(&p->part, PROFILE_STRING_TABLE, kept);
	put(p);
	return id;
}

static uint64_t build_id_text(struct pprof *p, const struct symbol_place *at)
{
	char hex[2 * 20 + 1] = "";

	for (size_t i = 0; i < at->build_id_bytes && i < 20; i++)
		snprintf(hex + 2 * i, 3, "%02x", at->build_id[i]);
	return text_id(p, hex);
}

static uint32_t mapping_of(struct pprof *p, const struct stack_frame *f)
{
	uint64_t filename = text_id(p, f->at.image ? f->at.image : "[unknown]");
	uint64_t build_id = build_id_text(p, &f->at);
	bool is_new;
	uint32_t id = check(p, pair_ids_add(&p->mappings, filename, build_id, &is_new));
	size_t m;

	if (!is_new)
		return id;
	m = proto_open(&p->part, PROFILE_MAPPING);
	put_number(p, MAPPING_ID, id);
	put_number(p, MAPPING_START, f->kernel ? KERNEL_START : 0);
	put_number(p, MAPPING_LIMIT, f->kernel ? UINT64_MAX : USER_LIMIT);
	put_number(p, MAPPING_FILENAME, filename);
	put_number(p, MAPPING_BUILD_ID, build_id);
	/* Without these flags, a tool would look up names in a file of that path on its own
	 * machine. */
	for (uint32_t has = MAPPING_HAS_FUNCTIONS; has <= MAPPING_HAS_INLINE_FRAMES; has++)
		put_number(p, has, true);
	proto_close(&p->part, m);
	put(p);
	return id;
}

static uint32_t function_of(struct pprof *p, const struct symbol_place *at)
{
	uint64_t name, filename;
	uint32_t id;
	bool is_new;
	size_t f;

	if (!at->function)
		return 0;
	name = text_id(p, at->function);
	filename = text_id(p, at->file);
	id = check(p, pair_ids_add(&p->functions, name, filename, &is_new));
	if (!is_new)
		return id;
	f = proto_open(&p->part, PROFILE_FUNCTION);
	put_number(p, FUNCTION_ID, id);
	put_number(p, FUNCTION_NAME, name);
	put_number(p, FUNCTION_SYSTEM_NAME, name);
	put_number(p, FUNCTION_FILENAME, filename);
	proto_close(&p->part, f);
	put(p);
	return id;
}

static void put_line(struct pprof *p, uint32_t function, uint32_t line)
{
	size_t m = proto_open(&p->part, LOCATION_LINE);

	put_number(p, LINE_FUNCTION_ID, function);
	put_number(p, LINE_LINE, line);
	proto_close(&p->part, m);
}

/* Of `nr` frames at one address, all but the last of them inlined. */
static uint32_t location_of(struct pprof *p, const struct stack_frame *f, size_t nr)
{
	const struct symbol_place *outer = &f[nr - 1].at;
	uint64_t address = outer->image && !f->kernel ? outer->image_off : f->ip;
	uint32_t mapping = mapping_of(p, f), functions[SYMBOLS_MAX_DEPTH], id, spot;
	bool is_new;
	size_t m;

	/* Generated code can have another function at the same address in each process. */
	spot = check(p, pair_ids_add(&p->spots, mapping, function_of(p, outer), NULL));
	id = check(p, pair_ids_add(&p->locations, spot, address, &is_new));
	if (!is_new || p->rc)
		return id;
	for (size_t i = 0; i < nr && i < SYMBOLS_MAX_DEPTH; i++)
		functions[i] = function_of(p, &f[i].at);
	m = proto_open(&p->part, PROFILE_LOCATION);
	put_number(p, LOCATION_ID, id);
	put_number(p, LOCATION_MAPPING_ID, mapping);
	put_number(p, LOCATION_ADDRESS, address);
	for (size_t i = 0; i < nr && i < SYMBOLS_MAX_DEPTH; i++)
		if (functions[i])
			put_line(p, functions[i], f[i].at.line);
	proto_close(&p->part, m);
	put(p);
	return id;
}

/* ---- samples ---- */

static uint32_t node_of(struct pprof *p, const struct stack *s)
{
	uint32_t node = 0;
	size_t from;

	for (size_t to = s->nr; to && !p->rc; to = from) {
		for (from = to - 1; from && s->frames[from - 1].at.inlined; from--)
			;
		node = check(p, pair_ids_add(&p->nodes, node,
					     location_of(p, &s->frames[from], to - from), NULL));
	}
	return node;
}

static uint32_t thread_of(struct export *x, const struct timeline_record *rec)
{
	struct pprof *p = x->state;
	uint64_t name = text_id(p, history_comm(x->a.history, rec->tid, rec->time_ns));
	uint32_t pid, tid;

	export_who(x, rec, &pid, &tid);
	return check(p, pair_ids_add(&p->threads, name, (uint64_t)pid << 32 | tid, NULL));
}

static int begin(struct export *x, struct err *err)
{
	struct pprof *p = calloc(1, sizeof(*p));

	x->state = p;
	if (!p)
		return err_set(err, -ENOMEM, "out of memory for stacks");
	p->is_time = true;
	p->rc = deflate_new(DEFLATE_GZIP, DEFLATE_NORMAL, &x->out, &p->gzip, err);
	if (p->rc)
		return p->rc;
	proto_string(&p->part, PROFILE_STRING_TABLE, "");
	put(p);
	return p->rc;
}

static void count(struct pprof *p, const struct timeline_record *rec, uint32_t id)
{
	uint64_t ns = export_sample_ns(rec);
	struct pprof_tally *t = (struct pprof_tally *)p->tallies.p + (id - 1);

	if (!p->first_ns)
		p->first_ns = rec->time_ns;
	p->last_ns = rec->time_ns;
	p->is_time &= ns != 0;
	p->period = ns ? ns : 1;
	t->count++;
	t->value += ns ? ns : rec->s.have & PERF_SAMPLE_PERIOD ? rec->s.period : 1;
}

static int record(struct export *x, const struct timeline_record *rec, struct err *err)
{
	static const struct pprof_tally none;
	struct pprof *p = x->state;
	struct stack s;
	uint32_t id, node;
	bool is_new = false;

	if (!export_is_sample(x, rec))
		return 0;
	stack_get(x->a.stacks, rec, &s);
	if (!s.nr)
		return 0;
	node = node_of(p, &s);
	id = check(p, pair_ids_add(&p->samples, node, thread_of(x, rec), &is_new));
	if (is_new && !p->rc)
		p->rc = buf_put(&p->tallies, &none, sizeof(none));
	if (!p->rc)
		count(p, rec, id);
	return p->rc == -ENOMEM ? err_set(err, p->rc, "out of memory for stacks") : p->rc;
}

static void put_label(struct pprof *p, uint64_t key, uint64_t str, uint64_t num)
{
	size_t m = proto_open(&p->part, SAMPLE_LABEL);

	put_number(p, LABEL_KEY, key);
	put_number(p, LABEL_STR, str);
	put_number(p, LABEL_NUM, num);
	proto_close(&p->part, m);
}

static void put_sample(struct pprof *p, uint32_t id)
{
	const struct pprof_tally *t = (const struct pprof_tally *)p->tallies.p + (id - 1);
	const uint64_t values[] = {t->count, t->value};
	uint64_t locations[STACK_MAX_FRAMES], parent, thread, name, ids;
	uint64_t keys[] = {text_id(p, "thread"), text_id(p, "tid"), text_id(p, "pid")};
	size_t nr = 0, m;

	pair_ids_get(&p->samples, id, &parent, &thread);
	while (parent && nr < STACK_MAX_FRAMES)
		pair_ids_get(&p->nodes, (uint32_t)parent, &parent, &locations[nr++]);
	pair_ids_get(&p->threads, (uint32_t)thread, &name, &ids);
	m = proto_open(&p->part, PROFILE_SAMPLE);
	put_numbers(p, SAMPLE_LOCATION_ID, locations, nr);
	put_numbers(p, SAMPLE_VALUE, values, 2);
	put_label(p, keys[0], name, 0);
	put_label(p, keys[1], 0, (uint32_t)ids);
	put_label(p, keys[2], 0, ids >> 32);
	proto_close(&p->part, m);
	put(p);
}

static void put_value_type(struct pprof *p, uint32_t field, uint64_t type, uint64_t unit)
{
	size_t m = proto_open(&p->part, field);

	put_number(p, VALUE_TYPE_TYPE, type);
	put_number(p, VALUE_TYPE_UNIT, unit);
	proto_close(&p->part, m);
}

/* The types of the values, and the time. */
static void put_head(struct export *x)
{
	struct pprof *p = x->state;
	uint64_t samples = text_id(p, "samples"), number = text_id(p, "count");
	uint64_t type = text_id(p, p->is_time ? "cpu" : "events");
	uint64_t unit = text_id(p, p->is_time ? "nanoseconds" : "count");

	put_value_type(p, PROFILE_SAMPLE_TYPE, samples, number);
	put_value_type(p, PROFILE_SAMPLE_TYPE, type, unit);
	put_number(p, PROFILE_TIME_NANOS, p->first_ns + (uint64_t)x->a.m->host.real_minus_clock);
	put_number(p, PROFILE_DURATION_NANOS, p->last_ns - p->first_ns);
	put_value_type(p, PROFILE_PERIOD_TYPE, type, unit);
	put_number(p, PROFILE_PERIOD, p->period);
	put_number(p, PROFILE_DEFAULT_SAMPLE_TYPE, type);
	put(p);
}

static int end(struct export *x, struct err *err)
{
	struct pprof *p = x->state;

	if (!pair_ids_nr(&p->samples))
		return export_no_samples(x, err);
	put_head(x);
	for (uint32_t id = 1; id <= pair_ids_nr(&p->samples) && !p->rc; id++)
		put_sample(p, id);
	if (!p->rc)
		p->rc = deflate_end(p->gzip);
	return p->rc && !x->out.rc ? err_sys(err, p->rc, "pprof") : 0;
}

static void drop(struct export *x)
{
	struct pprof *p = x->state;

	if (!p)
		return;
	deflate_free(p->gzip);
	text_free(&p->part);
	intern_free(&p->texts);
	pair_ids_free(&p->strings);
	pair_ids_free(&p->mappings);
	pair_ids_free(&p->functions);
	pair_ids_free(&p->spots);
	pair_ids_free(&p->locations);
	pair_ids_free(&p->nodes);
	pair_ids_free(&p->threads);
	pair_ids_free(&p->samples);
	buf_free(&p->tallies);
	free(p);
}

const struct exporter export_pprof = {
	.name = "pprof",
	.help = "a profile for pprof, gzip'd, with files and lines",
	.suffix = ".pb.gz",
	.binary = true,
	.needs = ANALYSIS_STACKS,
	.begin = begin,
	.record = record,
	.end = end,
	.drop = drop,
};
