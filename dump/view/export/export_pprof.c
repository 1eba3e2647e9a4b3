// SPDX-License-Identifier: MIT
/*
 * `ringback export -f pprof`: a gzip'd profile.proto. A message is written as many small ones: put
 * after one another, protobuf reads them as one, its lists joined. So texts, mappings, functions
 * and locations go out as they are first met; samples, which are counted, at the end.
 *
 * Addresses are offsets in the file, as if each file was mapped whole at 0: that is what
 * symbolizers need, and what stays true of all processes.
 */
#include "dump/view/export/export_sample.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/view/base/deflate.h"
#include "dump/view/base/pair_ids.h"
#include "dump/view/base/intern.h"
#include "dump/view/model/process_history.h"
#include "dump/view/unwind/stack.h"

#include <errno.h>
#include <pprof.pb-c.h>
#include <stdlib.h>
#include <string.h>

#define USER_LIMIT   (1ull << 47)
#define KERNEL_START (~0ull << 47)

struct tally {
	uint64_t count, value;
};

struct pprof {
	struct deflate *gzip;
	struct buf packed; /* the last message */
	struct intern texts;
	struct pair_ids strings;  /* address of the text; its number is its place in string_table */
	struct pair_ids mappings; /* text of the path, of the build-id */
	struct pair_ids functions; /* texts of name and file */
	struct pair_ids spots;	   /* mapping, function: what a location is in */
	struct pair_ids locations; /* spot, address */
	struct pair_ids nodes;	   /* parent or 0, location: stacks, outermost first */
	struct pair_ids threads;   /* text of the name, pid << 32 | tid */
	struct pair_ids samples;   /* node, thread */
	struct buf tallies;	   /* struct tally of sample 1 on */
	bool is_time;		   /* values are nanoseconds */
	uint64_t first_ns, last_ns, period;
	int rc;
};

static void put(struct pprof *p, const Pprof__Profile *part)
{
	size_t n = pprof__profile__get_packed_size(part);

	p->packed.len = 0;
	if (!p->rc)
		p->rc = buf_reserve(&p->packed, n);
	if (p->rc)
		return;
	pprof__profile__pack(part, p->packed.p);
	p->rc = deflate_put(p->gzip, p->packed.p, n);
}

/* A number of idmap; 0 is out of memory. */
static uint32_t check(struct pprof *p, uint32_t id)
{
	if (!id && !p->rc)
		p->rc = -ENOMEM;
	return id;
}

static int64_t text_id(struct pprof *p, const char *text)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char safe[2048];
	const char *kept;
	uint32_t id;
	bool is_new;
	char *list[1];

	if (!text || !*text)
		return 0;
	/* What is not UTF-8 is no string of protobuf. */
	str_safe(safe, sizeof(safe), text, strlen(text));
	kept = intern(&p->texts, (struct bytes){(const uint8_t *)safe, strlen(safe)});
	id = check(p, kept ? pair_ids_add(&p->strings, (uintptr_t)kept, 0, &is_new) : 0);
	if (!id || !is_new)
		return id;
	list[0] = (char *)kept;
	part.n_string_table = 1;
	part.string_table = list;
	put(p, &part);
	return id;
}

static int64_t build_id_text(struct pprof *p, const struct symbol_place *at)
{
	char hex[2 * 20 + 1] = "";

	for (size_t i = 0; i < at->build_id_bytes && i < 20; i++)
		snprintf(hex + 2 * i, 3, "%02x", at->build_id[i]);
	return text_id(p, hex);
}

static uint32_t mapping_of(struct pprof *p, const struct stack_frame *f)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Mapping m = PPROF__MAPPING__INIT, *list[] = {&m};
	bool is_new;

	m.filename = text_id(p, f->at.image ? f->at.image : "[unknown]");
	m.build_id = build_id_text(p, &f->at);
	m.id = check(
		p, pair_ids_add(&p->mappings, (uint64_t)m.filename, (uint64_t)m.build_id, &is_new));
	if (!is_new)
		return (uint32_t)m.id;
	m.memory_start = f->kernel ? KERNEL_START : 0;
	m.memory_limit = f->kernel ? UINT64_MAX : USER_LIMIT;
	/* Else a tool looks for the file on its own machine and names what it finds. */
	m.has_functions = m.has_filenames = m.has_line_numbers = m.has_inline_frames = true;
	part.n_mapping = 1;
	part.mapping = list;
	put(p, &part);
	return (uint32_t)m.id;
}

static uint32_t function_of(struct pprof *p, const struct symbol_place *at)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function f = PPROF__FUNCTION__INIT, *list[] = {&f};
	bool is_new;

	if (!at->function)
		return 0;
	f.name = f.system_name = text_id(p, at->function);
	f.filename = text_id(p, at->file);
	f.id = check(p,
		     pair_ids_add(&p->functions, (uint64_t)f.name, (uint64_t)f.filename, &is_new));
	if (!is_new)
		return (uint32_t)f.id;
	part.n_function = 1;
	part.function = list;
	put(p, &part);
	return (uint32_t)f.id;
}

/* Of `nr` frames at one address, all but the last of them inlined. */
static uint32_t location_of(struct pprof *p, const struct stack_frame *f, size_t nr)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Location l = PPROF__LOCATION__INIT, *list[] = {&l};
	Pprof__Line lines[SYMBOLS_MAX_DEPTH], *line[SYMBOLS_MAX_DEPTH];
	const struct symbol_place *outer = &f[nr - 1].at;
	uint32_t spot;
	bool is_new;

	l.mapping_id = mapping_of(p, f);
	l.address = outer->image && !f->kernel ? outer->image_off : f->ip;
	/* One address may be different functions' in two processes that make code. */
	spot = check(p, pair_ids_add(&p->spots, l.mapping_id, function_of(p, outer), NULL));
	l.id = check(p, pair_ids_add(&p->locations, spot, l.address, &is_new));
	if (!is_new || p->rc)
		return (uint32_t)l.id;
	for (size_t i = 0; i < nr && i < SYMBOLS_MAX_DEPTH; i++) {
		lines[i] = (Pprof__Line)PPROF__LINE__INIT;
		lines[i].function_id = function_of(p, &f[i].at);
		lines[i].line = f[i].at.line;
		line[i] = &lines[i];
		l.n_line += lines[i].function_id != 0;
	}
	l.line = line;
	part.n_location = 1;
	part.location = list;
	put(p, &part);
	return (uint32_t)l.id;
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
	int64_t name = text_id(p, history_comm(x->history, rec->tid, rec->time_ns));
	uint32_t pid, tid;

	export_who(x, rec, &pid, &tid);
	return check(p, pair_ids_add(&p->threads, (uint64_t)name, (uint64_t)pid << 32 | tid, NULL));
}

static int begin(struct export *x, struct err *err)
{
	struct pprof *p = calloc(1, sizeof(*p));
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char *empty[] = {""};

	x->state = p;
	if (!p)
		return err_set(err, -ENOMEM, "out of memory for stacks");
	p->is_time = true;
	p->rc = deflate_new(DEFLATE_GZIP, DEFLATE_NORMAL, &x->out, &p->gzip, err);
	if (p->rc)
		return p->rc;
	part.n_string_table = 1;
	part.string_table = empty;
	put(p, &part);
	return p->rc;
}

static void count(struct pprof *p, const struct timeline_record *rec, uint32_t id)
{
	uint64_t ns = export_sample_ns(rec);
	struct tally *t = (struct tally *)p->tallies.p + (id - 1);

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
	static const struct tally none;
	struct pprof *p = x->state;
	struct stack s;
	uint32_t id, node;
	bool is_new = false;

	if (!export_is_sample(x, rec))
		return 0;
	stack_get(x->stacks, rec, &s);
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

static size_t add_labels(struct pprof *p, uint32_t thread, Pprof__Label labels[3])
{
	static const char *const keys[] = {"thread", "tid", "pid"};
	uint64_t name, ids;

	pair_ids_get(&p->threads, thread, &name, &ids);
	for (size_t i = 0; i < 3; i++) {
		labels[i] = (Pprof__Label)PPROF__LABEL__INIT;
		labels[i].key = text_id(p, keys[i]);
	}
	labels[0].str = (int64_t)name;
	labels[1].num = (uint32_t)ids;
	labels[2].num = (int64_t)(ids >> 32);
	return 3;
}

static void put_sample(struct pprof *p, uint32_t id)
{
	const struct tally *t = (const struct tally *)p->tallies.p + (id - 1);
	uint64_t locations[STACK_MAX_FRAMES], parent, thread;
	int64_t values[] = {(int64_t)t->count, (int64_t)t->value};
	Pprof__Label labels[3], *label[] = {&labels[0], &labels[1], &labels[2]};
	Pprof__Sample s = PPROF__SAMPLE__INIT, *list[] = {&s};
	Pprof__Profile part = PPROF__PROFILE__INIT;

	pair_ids_get(&p->samples, id, &parent, &thread);
	while (parent && s.n_location_id < STACK_MAX_FRAMES)
		pair_ids_get(&p->nodes, (uint32_t)parent, &parent, &locations[s.n_location_id++]);
	s.location_id = locations;
	s.n_value = 2;
	s.value = values;
	s.n_label = add_labels(p, (uint32_t)thread, labels);
	s.label = label;
	part.n_sample = 1;
	part.sample = list;
	put(p, &part);
}

/* What the numbers are; and when. */
static void put_head(struct export *x)
{
	struct pprof *p = x->state;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__ValueType types[2] = {PPROF__VALUE_TYPE__INIT, PPROF__VALUE_TYPE__INIT};
	Pprof__ValueType *list[] = {&types[0], &types[1]};

	types[0].type = text_id(p, "samples");
	types[0].unit = text_id(p, "count");
	types[1].type = text_id(p, p->is_time ? "cpu" : "events");
	types[1].unit = text_id(p, p->is_time ? "nanoseconds" : "count");
	part.n_sample_type = 2;
	part.sample_type = list;
	part.period_type = &types[1];
	part.period = (int64_t)p->period;
	part.default_sample_type = types[1].type;
	part.time_nanos = (int64_t)p->first_ns + x->m->host.real_minus_clock;
	part.duration_nanos = (int64_t)(p->last_ns - p->first_ns);
	put(p, &part);
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
	buf_free(&p->packed);
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
	.needs = EXPORT_STACKS,
	.begin = begin,
	.record = record,
	.end = end,
	.drop = drop,
};
