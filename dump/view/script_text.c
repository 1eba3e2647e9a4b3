// SPDX-License-Identifier: MIT
/*
 * A record as a line for people; see script.h. Close to perf script's columns, but the time counts
 *from the trigger:
 *
 *	            comm     tid [cpu]     seconds     event: what it says
 *	       redis-server    1234 [003]  -1.204812345  sched:sched_switch: prev_comm=...
 *	                          7f3a12345678 libc.so.6+0x12345
 */
#include "dump/view/script_impl.h"

#include <string.h>

#define COLOR_TIME  "\x1b[2m"
#define COLOR_EVENT "\x1b[36m"
#define COLOR_LOSS  "\x1b[1;31m"
#define COLOR_END   "\x1b[0m"

/* What follows from `from` on, moved to the right edge of a column. */
static void right(struct text *t, size_t from, int width)
{
	size_t len = t->b.len - from;
	int fill = width - (int)len;

	if (fill <= 0 || t->rc)
		return;
	text_fill(t, ' ', fill);
	if (t->rc)
		return;
	memmove(t->b.p + from + fill, t->b.p + from, len);
	memset(t->b.p + from, ' ', (size_t)fill);
}

static void put_comm(struct script *s, const struct line *l)
{
	struct text *t = &s->text;
	size_t from = t->b.len;

	if (l->comm) {
		text_safe(t, l->comm, strlen(l->comm));
	} else if (l->rec.tid != UINT32_MAX) {
		text_char(t, ':');
		text_u64(t, l->rec.tid);
	} else {
		text_char(t, '-');
	}
	right(t, from, 16);
	text_char(t, ' ');
	from = t->b.len;
	if (l->rec.tid != UINT32_MAX)
		text_u64(t, l->rec.tid);
	else
		text_char(t, '-');
	right(t, from, 7);
}

static void put_cpu(struct text *t, int32_t cpu)
{
	if (cpu < 0) {
		text_str(t, " [---] ");
		return;
	}
	text_str(t, cpu < 10 ? " [00" : cpu < 100 ? " [0" : " [");
	text_u64(t, (uint64_t)cpu);
	text_str(t, "] ");
}

/* Seconds before (-) or after (+) the trigger, to the nanosecond. */
static void put_time(struct text *t, uint64_t time_ns, uint64_t zero_ns)
{
	bool before = time_ns < zero_ns;
	uint64_t ns = before ? zero_ns - time_ns : time_ns - zero_ns, rest = ns % 1000000000;
	size_t from = t->b.len;
	char digits[10] = ".000000000";

	for (int i = 9; i > 0; i--, rest /= 10)
		digits[i] = (char)('0' + rest % 10);
	text_char(t, before ? '-' : '+');
	text_u64(t, ns / 1000000000);
	text_put(t, digits, sizeof(digits));
	right(t, from, 15);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void put_place(struct text *t, const struct frame *f)
{
	const char *name;

	if (f->kernel) {
		text_str(t, " [kernel]");
	} else if (f->path) {
		name = base_name(f->path);
		text_char(t, ' ');
		text_safe(t, name, strlen(name));
		text_str(t, "+0x");
		text_hex(t, f->off, 1);
	} else {
		text_str(t, " [unknown]");
	}
}

static void put_chain(struct script *s, const struct line *l)
{
	struct chain_walk w = {0};
	struct frame f;

	while (script_next_frame(s, l, &w, &f)) {
		size_t from = s->text.b.len;

		text_hex(&s->text, f.ip, 1);
		right(&s->text, from, 40);
		put_place(&s->text, &f);
		text_char(&s->text, '\n');
	}
}

static void put_named_hex(struct text *t, const char *name, uint64_t v)
{
	text_str(t, name);
	text_str(t, " 0x");
	text_hex(t, v, 1);
}

static void put_user_stack(struct script *s, const struct line *l)
{
	struct text *t = &s->text;
	uint64_t v;

	text_fill(t, ' ', 24);
	text_str(t, "user stack ");
	text_u64(t, l->rec.s.stack.len);
	text_str(t, " bytes");
	if (s->regs && script_reg(l, s->regs->ip, &v)) {
		struct frame f;

		put_named_hex(t, ", ip", v);
		script_frame(s, l, v, false, &f);
		put_place(t, &f);
	}
	if (s->regs && script_reg(l, s->regs->sp, &v))
		put_named_hex(t, ", sp", v);
	text_char(t, '\n');
}

/* What a sample that is no tracepoint says. */
static void put_counter(struct script *s, const struct line *l)
{
	const struct record_sample *r = &l->rec.s;
	struct text *t = &s->text;
	struct frame f;

	if (r->have & PERF_SAMPLE_PERIOD) {
		text_str(t, " period ");
		text_u64(t, r->period);
	}
	if (r->have & PERF_SAMPLE_ADDR)
		put_named_hex(t, " addr", r->addr);
	if (r->have & PERF_SAMPLE_IP) {
		put_named_hex(t, " ip", r->ip);
		script_frame(s, l, r->ip, script_kernel_address(r->ip), &f);
		put_place(t, &f);
	}
}

static void put_record(struct script *s, const struct line *l)
{
	struct record_field f;

	for (size_t i = 0; script_record_field(l, i, &f); i++) {
		text_char(&s->text, ' ');
		text_str(&s->text, f.name);
		text_char(&s->text, '=');
		text_u64(&s->text, f.value);
	}
}

static void put_content(struct script *s, const struct line *l)
{
	const struct record_sample *r = &l->rec.s;

	if (l->type != PERF_RECORD_SAMPLE) {
		put_record(s, l);
	} else if (!r->have) {
		text_str(&s->text, " raw ");
		text_hexdump(&s->text, l->rec.rec, '\0');
	} else if (script_has_raw(l)) {
		text_char(&s->text, ' ');
		fields_text(s->fields, r->raw, &s->text);
	} else {
		put_counter(s, l);
	}
}

void script_text_line(struct script *s, const struct line *l)
{
	bool color = s->opt->color;
	struct text *t = &s->text;

	put_comm(s, l);
	put_cpu(t, l->cpu);
	text_str(t, color ? COLOR_TIME : "");
	put_time(t, l->rec.time_ns, s->m->trigger.hit_ns);
	text_str(t, color ? COLOR_END : "");
	text_str(t, "  ");
	text_str(t, !color ? "" : l->type == PERF_RECORD_SAMPLE ? COLOR_EVENT : COLOR_LOSS);
	text_safe(t, l->event, strlen(l->event));
	text_char(t, ':');
	text_str(t, color ? COLOR_END : "");
	put_content(s, l);
	text_char(t, '\n');
	if (l->rec.s.nr_callchain)
		put_chain(s, l);
	if (l->rec.s.stack.len || l->rec.s.regs)
		put_user_stack(s, l);
}
