// SPDX-License-Identifier: MIT
/*
 * libFuzzer target for all that shows a dump: its people, its records in the order of time, their
 * fields, script and info in both forms, all exports, the page. Whatever the dump says: time
 * doesn't go back, a line of script is one line, nothing reaches a terminal that it could obey,
 * each line of JSON is JSON, and several threads print what one does. Inputs: fuzz_seed.h.
 *
 *	build/tests/tool_seed seeds CORPUS && build/fuzz/fuzz_view CORPUS
 *	build/tests/tool_seed from DUMP CORPUS		more seeds, of a real dump
 */
#include "tests/fuzz/fuzz_file.h"

#include "dump/file/meta.h"
#include "dump/file/reader.h"
#include "dump/view/export/export.h"
#include "dump/view/html/html.h"
#include "dump/view/info/info.h"
#include "dump/view/model/process_history.h"
#include "dump/view/model/thread_states.h"
#include "dump/view/pt/pt_names.h"
#include "dump/view/pt/pt_spans.h"
#include "dump/view/pt/pt_trace.h"
#include "dump/view/script/script.h"
#include "dump/view/unwind/stack.h"
#include "dump/view/symbols/symbols_writer.h"
#include "dump/view/model/cgroup.h"
#include "dump/view/model/timeline.h"
#include "dump/view/why/why.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>

/* An input may be made to expand: what is printed of it is bounded. */
#define MAX_LINES     300
#define MAX_RECORDS   20000
#define MAX_ALL_BYTES (128u << 10) /* of records: what is printed whole */
#define MAX_PT_BYTES  (16u << 10)  /* of AUX areas: what is decoded, again and again */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct view {
	struct reader *r;
	struct meta *m;
	struct process_history *p;
	struct symbols *s;
	struct stacks *st;
	bool no_pt;
};

/* ---- asking ---- */

static void ask_about(const struct meta *m, const struct process_history *p, uint32_t tid,
		      uint64_t ns, uint64_t addr)
{
	const struct fmt_task *t = history_task(p, tid, ns);
	const char *comm = history_comm(p, tid, ns), *cgroup;
	volatile size_t sum = comm ? strlen(comm) : 0;
	struct history_map map, same;
	struct history_span span;
	char name[64];

	assert(t == history_who(p, tid, ns, &comm, &span));
	assert(span.from_ns <= ns && ns <= span.to_ns);
	assert(t == history_task(p, tid, span.from_ns) && t == history_task(p, tid, span.to_ns));
	assert(comm == history_comm(p, tid, span.from_ns) &&
	       comm == history_comm(p, tid, span.to_ns));
	if (t) {
		cgroup = history_cgroup(p, t, ns);
		cgroup_name(name, sizeof(name), m, cgroup);
		assert(strlen(name) < sizeof(name));
		sum += cgroup_is_named(m, cgroup);
		sum += history_namespace(p, t, ns, 0);
	}
	if (!history_map(p, tid, ns, addr, &map))
		return;
	assert(history_where(p, tid, ns, addr, &same, &span));
	assert(history_map(p, tid, span.from_ns, addr, &map) && map.path == same.path);
	assert(history_map(p, tid, span.to_ns, addr, &map) && map.path == same.path);
	assert(map.f.start <= addr && addr < map.f.end);
	sum += strlen(map.path);
	if (map.build_id_bytes)
		sum += map.build_id[map.build_id_bytes - 1];
	(void)sum;
}

static void ask_people(const struct meta *m, const struct process_history *p)
{
	size_t nr = history_nr_tasks(p);
	struct history_counts c;

	history_counts(p, &c);
	assert(c.nr_tasks == nr);
	for (size_t i = 0; i < nr && i < 1000; i++) {
		const struct fmt_task *t = history_nth(p, i);

		assert(!i || history_nth(p, i - 1)->tid <= t->tid);
		ask_about(m, p, t->tid, t->start_ns, t->start_ns);
		ask_about(m, p, t->tid, t->exit_ns, UINT64_MAX);
		ask_about(m, p, t->ppid, t->start_ns + 1, 0x7000);
	}
}

static void ask_states(struct reader *r)
{
	struct thread_states *t;
	size_t nr;

	if (thread_states_load(r, &t, NULL))
		return;
	nr = thread_states_nr(t);
	for (size_t i = 0; i < nr; i++) {
		const struct thread_state *s = thread_states_nth(t, i);

		assert(thread_states_find(t, s->f.tid)->f.tid == s->f.tid);
		assert(!i || thread_states_nth(t, i - 1)->f.pid <= s->f.pid);
		assert(thread_state_nr_cpus(s) <= FMT_THREAD_MAX_CPU_WORDS * 64);
		assert(strlen(s->wchan) + strlen(s->remote) < MAX_ALL_BYTES * 1024ull);
	}
	thread_states_free(t);
}

/* The same names when asked again, and at both ends of the time for which they hold. */
static void ask_symbols(const struct view *v, uint32_t tid, uint64_t ns, uint64_t addr)
{
	struct symbol_place a[SYMBOLS_MAX_DEPTH], b[SYMBOLS_MAX_DEPTH];
	struct history_span span, same;
	size_t nr = symbols_user(v->s, tid, ns, addr, a, SYMBOLS_MAX_DEPTH, &span);

	assert(nr && nr <= SYMBOLS_MAX_DEPTH && span.from_ns <= ns && ns <= span.to_ns);
	assert(symbols_user(v->s, tid, span.to_ns, addr, b, SYMBOLS_MAX_DEPTH, &same) == nr);
	for (size_t i = 0; i < nr; i++) {
		assert(a[i].function == b[i].function && a[i].image == b[i].image);
		assert(a[i].inlined == (i + 1 < nr) || nr == SYMBOLS_MAX_DEPTH);
	}
	nr = symbols_kernel(v->s, ns, addr, a, 2, NULL);
	assert(nr == 1 || nr == 2);
}

static void ask_stack(const struct view *v, const struct timeline_record *rec)
{
	struct text t = TEXT_INIT(NULL);
	struct stack s;

	stack_get(v->st, rec, &s);
	assert(s.nr <= STACK_MAX_FRAMES && (s.end == STACK_EMPTY) == !s.nr);
	for (size_t i = 0; i < s.nr && i < 40; i++)
		stack_name(&s.frames[i], &t);
	for (size_t i = 0; i < t.b.len; i++)
		assert(t.b.p[i] >= ' ' && t.b.p[i] != 0x7f);
	text_free(&t);
}

static void walk(const struct view *v, uint64_t from_ns)
{
	struct timeline_options opt = {.from_ns = from_ns, .to_ns = UINT64_MAX, .cpu = -1};
	struct timeline_record rec;
	struct timeline *t;
	uint64_t last = from_ns;

	SMALL_OK(timeline_open(v->r, v->m, &opt, &t, NULL));
	for (int i = 0; i < MAX_RECORDS && timeline_next(t, &rec, NULL) > 0; i++) {
		assert(rec.time_ns >= last);
		last = rec.time_ns;
		ask_about(v->m, v->p, rec.tid, rec.time_ns, rec.s.ip);
		ask_symbols(v, rec.tid, rec.time_ns, rec.s.ip);
		ask_stack(v, &rec);
	}
	timeline_nr_bad_blocks(t);
	timeline_close(t);
}

/* ---- Intel PT ---- */

static size_t read_code(void *ctx, uint32_t key, uint64_t address, void *dst, size_t n)
{
	memset(dst, 0x90, n);
	return address % 3 ? n : 0;
}

static int take_payload(void *ctx, struct bytes payload)
{
	assert(payload.len && payload.len <= FMT_BLOCK_BYTES);
	return 0;
}

static int take_call(void *ctx, const struct pt_spans_call *c)
{
	assert(c->from_ns <= c->to_ns);
	return 0;
}

static void follow(const struct view *v, struct pt_trace *t)
{
	struct pt_trace_step s;
	struct pt_spans *spans;
	struct pt_names *names;
	uint64_t last = 0;

	SMALL_OK(pt_names_new(v->p, v->s, &names));
	SMALL_OK(pt_spans_new(names, take_call, NULL, &spans));
	for (int i = 0; i < MAX_RECORDS && pt_trace_next(t, &s, NULL) > 0; i++) {
		assert(s.ns >= last && s.area < pt_trace_nr_areas(t));
		last = s.ns;
		SMALL_OK(pt_spans_step(spans, &s, NULL));
	}
	SMALL_OK(pt_spans_end(spans, last));
	pt_spans_free(spans);
	pt_names_free(names);
}

/* As the symbolizer collects code for a dump. */
static void ask_pt(const struct view *v, uint64_t from_ns)
{
	struct code_cache_options code = {.read = read_code};
	struct pt_trace_options opt = {.from_ns = from_ns, .to_ns = UINT64_MAX};
	struct symbols_writer put = {.out = take_payload};
	struct code_cache_counts counts;
	struct pt_trace *t;

	if (!pt_trace_is_in(v->m))
		return;
	SMALL_OK(code_cache_new(v->r, v->p, &code, &opt.book, NULL));
	SMALL_OK(pt_trace_open(v->r, v->m, v->p, &opt, &t, NULL));
	follow(v, t);
	pt_trace_close(t);
	code_cache_put(opt.book, &put);
	SMALL_OK(symbols_writer_flush(&put));
	symbols_writer_free(&put);
	code_cache_counts(opt.book, &counts);
	code_cache_free(opt.book);
}

/* ---- printing ---- */

struct printed {
	char *p;
	size_t len;
	FILE *out;
};

static void begin(struct printed *t)
{
	*t = (struct printed){0};
	t->out = open_memstream(&t->p, &t->len);
	assert(t->out);
}

static void must_be_harmless(const struct printed *t)
{
	for (size_t i = 0; i < t->len; i++) {
		uint8_t c = (uint8_t)t->p[i];

		assert(c == '\n' || (c >= ' ' && c != 0x7f));
	}
	assert(!t->len || t->p[t->len - 1] == '\n');
}

/* A line of its own for each value, or one value in all. */
static void must_be_json(const struct printed *t, bool lines)
{
	for (size_t at = 0; at < t->len;) {
		const char *end = lines ? memchr(t->p + at, '\n', t->len - at) : t->p + t->len;
		json_error_t e;
		json_t *j;

		assert(end);
		j = json_loadb(t->p + at, (size_t)(end - t->p) - at,
			       JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES * !lines, &e);
		assert(json_is_object(j));
		json_decref(j);
		at = (size_t)(end - t->p) + 1;
	}
}

static void end(struct printed *t, bool json, bool lines)
{
	assert(!fclose(t->out));
	must_be_harmless(t);
	if (json)
		must_be_json(t, lines);
	free(t->p);
}

static void print(const struct view *v, bool json)
{
	struct script_options script = {
		.to_ns = UINT64_MAX, .limit = MAX_LINES, .json = json, .no_pt = v->no_pt};
	struct info_options info = {.path = "FILE", .json = json, .all = true};
	struct script_result lines;
	struct info_result bad;
	struct printed t;

	begin(&t);
	SMALL_OK(script_print(v->r, v->m, &script, t.out, &lines, NULL));
	assert(lines.nr_printed <= MAX_LINES);
	end(&t, json, true);
	begin(&t);
	SMALL_OK(info_print(v->r, v->m, &info, t.out, &bad, NULL));
	end(&t, json, false);
}

static struct printed print_whole(const struct view *v, bool json, unsigned nr_threads,
				  struct script_result *res)
{
	struct script_options opt = {.to_ns = UINT64_MAX, .json = json, .nr_threads = nr_threads};
	struct printed t;

	begin(&t);
	SMALL_OK(script_print(v->r, v->m, &opt, t.out, res, NULL));
	assert(!fclose(t.out));
	return t;
}

static uint64_t bytes_of(struct reader *r, uint16_t section)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < reader_nr_blocks(r); i++)
		if (reader_block(r, i)->h.section == section)
			bytes += reader_block(r, i)->h.content_bytes;
	return bytes;
}

/* The verdict: short, whatever it is about. */
static void print_why(const struct view *v, bool json)
{
	struct why_options opt = {.json = json};
	struct why_result res;
	unsigned lines = 0;
	struct printed t;

	begin(&t);
	SMALL_OK(why_print(v->r, v->m, &opt, t.out, &res, NULL));
	assert(!fflush(t.out));
	for (size_t i = 0; i < t.len; i++)
		lines += t.p[i] == '\n';
	assert(lines && lines <= 15);
	end(&t, json, false);
}

static void print_with_threads(const struct view *v, bool json)
{
	struct script_result alone, crew;
	struct printed a = print_whole(v, json, 1, &alone), b = print_whole(v, json, 2, &crew);

	assert(a.len == b.len && !memcmp(a.p, b.p, a.len));
	assert(alone.nr_printed == crew.nr_printed && alone.nr_bad_blocks == crew.nr_bad_blocks);
	free(a.p);
	free(b.p);
}

/* How often a text is in another. */
static unsigned times_in(const struct printed *t, const char *what)
{
	unsigned nr = 0;

	for (const char *at = t->p;
	     (at = memmem(at, t->len - (size_t)(at - t->p), what, strlen(what))); at++)
		nr++;
	return nr;
}

/* A page, with detail left out: nothing of the dump gets between its own marks. */
static void print_page(const struct view *v)
{
	struct html_options opt = {.to_ns = UINT64_MAX, .max_spans = 8};
	struct html_result res;
	struct printed t;

	begin(&t);
	SMALL_OK(html_write(v->r, v->m, &opt, t.out, &res, NULL));
	assert(!fclose(t.out));
	for (size_t i = 0; i < t.len; i++)
		assert((uint8_t)t.p[i] >= ' ' || t.p[i] == '\n' || t.p[i] == '\t');
	assert(times_in(&t, "<script") == 2 && times_in(&t, "</script>") == 2);
	assert(times_in(&t, "<pre") == 1 && times_in(&t, "</pre>") == 1);
	free(t.p);
}

/* Every format, as for a pipe or as for a file: what is text is harmless. */
static void export_all(const struct view *v, bool seekable)
{
	struct export_options opt = {.to_ns = UINT64_MAX};
	struct export_result res;
	const struct exporter *e;

	for (size_t i = 0; (e = exporter_nth(i)); i++) {
		struct printed t;
		FILE *out;
		int rc;

		begin(&t);
		out = seekable ? tmpfile() : t.out;
		assert(out);
		rc = export_run(v->r, v->m, e, &opt, out, &res, NULL);
		/* Of several AUX areas one has to be named; what is missing of it ends it. */
		if (!strcmp(e->name, "aux") && (rc == -EINVAL || rc == -EBADMSG))
			rc = 0;
		assert(!rc || rc == -ENOTSUP || rc == -E2BIG);
		if (seekable)
			fclose(out);
		assert(!fclose(t.out));
		if (!e->binary)
			must_be_harmless(&t);
		free(t.p);
	}
}

static void use(struct bytes file, bool damaged)
{
	struct view v;

	if (reader_open_bytes(file, damaged, &v.r, NULL))
		return;
	SMALL_OK(meta_load(v.r, &v.m, NULL));
	if (history_load(v.r, &v.p, NULL)) {
		v.p = NULL;
	} else if (!symbols_load(v.r, v.p, &v.s, NULL)) {
		SMALL_OK(stacks_new(v.m, v.p, v.s, &v.st, NULL));
		ask_people(v.m, v.p);
		ask_states(v.r);
		walk(&v, 0);
		walk(&v, v.m->trigger.hit_ns);
		v.no_pt = bytes_of(v.r, FMT_AUX) > MAX_PT_BYTES;
		if (!v.no_pt) {
			ask_pt(&v, 0);
			ask_pt(&v, v.m->trigger.hit_ns / 2);
		}
		print(&v, false);
		print(&v, true);
		if (bytes_of(v.r, FMT_RECORDS) <= MAX_ALL_BYTES && !v.no_pt) {
			print_with_threads(&v, file.len & 1);
			export_all(&v, file.len & 2);
			print_why(&v, file.len & 8);
			if (file.len & 4)
				print_page(&v);
		}
		stacks_free(v.st);
		symbols_free(v.s);
	}
	history_free(v.p);
	meta_free(v.m);
	reader_close(v.r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_shown(data, size, use);
	return 0;
}
