// SPDX-License-Identifier: MIT
/* Prints a record as an object on one line; see SCHEMA.md, which a test compares with this code. */
#include "dump/view/script/script_impl.h"

#include "dump/view/pt/pt_names.h"

#include <string.h>

/* A count, or null when unknown. */
static void put_known(struct json *j, const char *key, bool known, uint64_t v)
{
	if (known)
		json_u64(j, key, v);
	else
		json_cstr(j, key, NULL);
}

/* The keys that depend only on the thread, each preceded by a comma. */
void script_json_who(const struct printed_task *who, struct text *t)
{
	struct json j = {.t = t, .more = true};
	bool has_pid = who->pid != WHO_NO_PID;

	put_known(&j, "tid", who->tid != UINT32_MAX, who->tid);
	put_known(&j, "pid", has_pid || who->task,
		  has_pid     ? who->pid
		  : who->task ? who->task->pid
			      : 0);
	json_cstr(&j, "comm", who->comm);
}

void script_json_head(const char *event, struct text *t)
{
	struct json j = {.t = t, .more = true};

	json_cstr(&j, "event", event);
}

static void put_source(const struct symbol_place *at, struct json *j)
{
	if (at->file)
		json_cstr(j, "file", at->file);
	if (at->line)
		json_u64(j, "line", at->line);
}

static void put_inlined(const struct frame *f, struct json *j)
{
	json_open(j, "inlined", '[');
	for (size_t i = 0; i + 1 < f->nr; i++) {
		json_open(j, NULL, '{');
		json_cstr(j, "function", f->places[i].function);
		put_source(&f->places[i], j);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void script_json_frame(const struct frame *f, struct text *t)
{
	const struct symbol_place *at = &f->places[f->nr - 1];
	struct json j = {.t = t};

	json_open(&j, NULL, '{');
	json_hex(&j, "ip", f->ip);
	if (at->image)
		json_cstr(&j, "dso", at->image);
	if (at->image && !f->kernel)
		json_hex(&j, "off", at->image_off);
	if (at->function) {
		json_cstr(&j, "function", at->function);
		json_u64(&j, "offset", at->function_off);
	}
	put_source(at, &j);
	if (f->nr > 1)
		put_inlined(f, &j);
	json_close(&j, '}');
}

static void put_chain(struct printer *p, const struct line *l, struct json *j)
{
	struct record_walk w = {0};

	json_open(j, "chain", '[');
	while (record_next_ip(&l->rec.s, &w))
		json_made(j, NULL, script_place(p, l, w.ip, w.kernel, w.caller));
	json_close(j, ']');
}

/* The callers unwound from the user stack, and why the chain ends. */
static void put_unwound(struct printer *p, const struct line *l, struct json *j)
{
	struct text end = TEXT_INIT(NULL);
	struct unwind_chain c;

	if (!script_unwind(p, l, &c))
		return;
	json_open(j, "chain", '[');
	for (size_t i = 0; i < c.nr; i++)
		json_made(j, NULL, script_place(p, l, c.frames[i].ip, false, !c.frames[i].exact));
	json_close(j, ']');
	if (c.end == UNWIND_COMPLETE)
		return;
	script_unwind_end(&c, &end);
	text_char(&end, '\0');
	json_cstr(j, "end", end.rc ? "" : (const char *)end.b.p);
	text_free(&end);
}

static void put_user_stack(struct printer *p, const struct line *l, struct json *j)
{
	const struct script *s = p->s;
	uint64_t v;

	json_open(j, "user_stack", '{');
	json_u64(j, "bytes", l->rec.s.stack.len);
	if (s->regs && script_reg(l, s->regs->ip, &v))
		json_hex(j, "ip", v);
	if (s->regs && script_reg(l, s->regs->sp, &v))
		json_hex(j, "sp", v);
	put_unwound(p, l, j);
	json_close(j, '}');
}

static void put_record(const struct line *l, struct json *j)
{
	struct record_field f;

	json_open(j, "fields", '{');
	for (size_t i = 0; script_record_field(l, i, &f); i++)
		json_u64(j, f.name, f.value);
	json_close(j, '}');
}

static void put_counter(struct printer *p, const struct line *l, struct json *j)
{
	const struct record_sample *r = &l->rec.s;

	if (r->have & PERF_SAMPLE_PERIOD)
		json_u64(j, "period", r->period);
	if (r->have & PERF_SAMPLE_ADDR)
		json_hex(j, "addr", r->addr);
	if (r->have & PERF_SAMPLE_IP)
		json_made(j, "at", script_place(p, l, r->ip, record_kernel_address(r->ip), false));
}

/* The keys that begin each line. */
static void put_columns(struct printer *p, const struct line *l, struct json *j)
{
	struct text *t = &p->text;

	json_open(j, NULL, '{');
	json_i64(j, "t", (int64_t)(l->rec.time_ns - p->s->a.m->trigger.hit_ns));
	json_ns(j, "time", l->rec.time_ns);
	put_known(j, "cpu", l->cpu >= 0, (uint64_t)l->cpu);
	text_put(t, l->who->text, l->who->len);
	if (l->head)
		text_put(t, l->head->text, l->head->len);
	else
		script_json_head(l->event, t);
}

/* A call from a hardware trace. */
void script_json_call(struct printer *p, const struct line *l, const struct script_call *c)
{
	const struct pt_spans_event *e = c->event;
	struct json j = {.t = &p->text};

	put_columns(p, l, &j);
	json_open(&j, "fields", '{');
	json_i64(&j, "depth", e->depth);
	if (e->address)
		json_hex(&j, "ip", e->address);
	if (c->at && c->at->image)
		json_cstr(&j, "dso", c->at->image);
	if (c->at && c->at->function)
		json_cstr(&j, "function", c->at->function);
	if (c->at)
		json_u64(&j, "offset", c->at->off);
	if (e->ns)
		json_u64(&j, "ns", e->ns);
	if (e->nr_left)
		json_u64(&j, "left", e->nr_left);
	if (e->by_kernel)
		json_bool(&j, "signal", true);
	json_close(&j, '}');
	json_close(&j, '}');
	text_char(&p->text, '\n');
}

void script_json_line(struct printer *p, const struct line *l)
{
	const struct record_sample *r = &l->rec.s;
	const struct script *s = p->s;
	struct text *t = &p->text;
	struct json j = {.t = t};

	put_columns(p, l, &j);
	if (l->type != PERF_RECORD_SAMPLE)
		put_record(l, &j);
	else if (!r->have)
		json_bytes(&j, "raw", l->rec.rec);
	else if (script_has_raw(l))
		fields_json(s->a.fields, r->raw, &j);
	if (l->type == PERF_RECORD_SAMPLE)
		put_counter(p, l, &j);
	if (r->nr_callchain)
		put_chain(p, l, &j);
	if (r->stack.len || r->regs)
		put_user_stack(p, l, &j);
	json_close(&j, '}');
	text_char(t, '\n');
}
