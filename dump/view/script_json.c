// SPDX-License-Identifier: MIT
/* A record as an object on a line of its own; see SCHEMA.md, which a test holds to this. */
#include "dump/view/script_impl.h"

#include <string.h>

/* A count, or null when it is not known. */
static void put_known(struct json *j, const char *key, bool known, uint64_t v)
{
	if (known)
		json_u64(j, key, v);
	else
		json_cstr(j, key, NULL);
}

static void put_who(struct json *j, const struct line *l)
{
	const struct timeline_record *r = &l->rec;
	bool has_pid = r->s.have & PERF_SAMPLE_TID;

	put_known(j, "cpu", l->cpu >= 0, (uint64_t)l->cpu);
	put_known(j, "tid", r->tid != UINT32_MAX, r->tid);
	put_known(j, "pid", has_pid || l->task, has_pid ? r->s.pid : l->task ? l->task->pid : 0);
	json_cstr(j, "comm", l->comm);
}

static void put_frame(struct json *j, const char *key, const struct frame *f)
{
	json_open(j, key, '{');
	json_hex(j, "ip", f->ip);
	if (f->kernel) {
		json_cstr(j, "dso", "[kernel]");
	} else if (f->path) {
		json_cstr(j, "dso", f->path);
		json_hex(j, "off", f->off);
	}
	json_close(j, '}');
}

static void put_chain(struct script *s, const struct line *l, struct json *j)
{
	struct chain_walk w = {0};
	struct frame f;

	json_open(j, "chain", '[');
	while (script_next_frame(s, l, &w, &f))
		put_frame(j, NULL, &f);
	json_close(j, ']');
}

static void put_user_stack(struct script *s, const struct line *l, struct json *j)
{
	uint64_t v;

	json_open(j, "user_stack", '{');
	json_u64(j, "bytes", l->rec.s.stack.len);
	if (s->regs && script_reg(l, s->regs->ip, &v))
		json_hex(j, "ip", v);
	if (s->regs && script_reg(l, s->regs->sp, &v))
		json_hex(j, "sp", v);
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

static void put_counter(struct script *s, const struct line *l, struct json *j)
{
	const struct record_sample *r = &l->rec.s;
	struct frame f;

	if (r->have & PERF_SAMPLE_PERIOD)
		json_u64(j, "period", r->period);
	if (r->have & PERF_SAMPLE_ADDR)
		json_hex(j, "addr", r->addr);
	if (r->have & PERF_SAMPLE_IP) {
		script_frame(s, l, r->ip, script_kernel_address(r->ip), &f);
		put_frame(j, "at", &f);
	}
}

void script_json_line(struct script *s, const struct line *l)
{
	const struct record_sample *r = &l->rec.s;
	struct json j = {.t = &s->text};

	json_open(&j, NULL, '{');
	json_i64(&j, "t", (int64_t)(l->rec.time_ns - s->m->trigger.hit_ns));
	json_ns(&j, "time", l->rec.time_ns);
	put_who(&j, l);
	json_cstr(&j, "event", l->event);
	if (l->type != PERF_RECORD_SAMPLE)
		put_record(l, &j);
	else if (!r->have)
		json_bytes(&j, "raw", l->rec.rec);
	else if (script_has_raw(l))
		fields_json(s->fields, r->raw, &j);
	if (l->type == PERF_RECORD_SAMPLE)
		put_counter(s, l, &j);
	if (r->nr_callchain)
		put_chain(s, l, &j);
	if (r->stack.len || r->regs)
		put_user_stack(s, l, &j);
	json_close(&j, '}');
	text_char(&s->text, '\n');
}
