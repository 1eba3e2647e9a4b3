// SPDX-License-Identifier: MIT
/*
 * A record as a line for people; see script.h. Close to perf script's columns, but the time counts
 * from the trigger:
 *
 *	            comm     tid [cpu]     seconds     event: what it says
 *	       redis-server    1234 [003]  -1.204812345  sched:sched_switch: prev_comm=...
 *	                          7f3a12345678 libc.so.6+0x12345
 */
#include "dump/view/script/script_impl.h"

#include "dump/base/str.h"
#include "dump/view/print/text_page.h"
#include "dump/view/pt/pt_names.h"

#include <string.h>

#define COLOR_TIME  "\x1b[2m"
#define COLOR_EVENT "\x1b[36m"
#define COLOR_LOSS  "\x1b[1;31m"
#define COLOR_END   "\x1b[0m"

#define FRAME_WIDTH 40

/* Moves the text from `from` on to the right edge of a column. */
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

void script_text_who(const struct printed_task *who, struct text *t)
{
	size_t from = t->b.len;

	if (who->comm) {
		text_safe(t, who->comm, strlen(who->comm));
	} else if (who->tid != UINT32_MAX) {
		text_char(t, ':');
		text_u64(t, who->tid);
	} else {
		text_char(t, '-');
	}
	right(t, from, 16);
	text_char(t, ' ');
	from = t->b.len;
	if (who->tid != UINT32_MAX)
		text_u64(t, who->tid);
	else
		text_char(t, '-');
	right(t, from, 7);
}

/* The source line, and the end of the line. */
static void put_source(const struct symbol_place *at, struct text *t)
{
	const char *file = at->file ? str_base(at->file) : NULL;

	if (!file || !at->line)
		return;
	text_char(t, ' ');
	text_safe(t, file, strlen(file));
	text_char(t, ':');
	text_u64(t, at->line);
}

/* An inlined function, on a line of its own. */
static void put_inlined(const struct symbol_place *at, struct text *t)
{
	const char *name = at->function ? at->function : "[unknown]";

	text_char(t, ' ');
	text_safe(t, name, strlen(name));
	text_str(t, " (inlined)");
	put_source(at, t);
}

/* "function+0x12 (file) source.c:34", or the known part of it. */
static void put_function(const struct frame *f, const struct symbol_place *at, struct text *t)
{
	const char *image = f->kernel || !at->image ? at->image : str_base(at->image);

	text_char(t, ' ');
	if (at->function) {
		text_safe(t, at->function, strlen(at->function));
		text_str(t, "+0x");
		text_hex(t, at->function_off, 1);
		text_str(t, " (");
		if (image)
			text_safe(t, image, strlen(image));
		text_char(t, ')');
	} else if (f->kernel) {
		text_str(t, "[kernel]");
	} else if (image) {
		text_safe(t, image, strlen(image));
		text_str(t, "+0x");
		text_hex(t, at->image_off, 1);
	} else {
		text_str(t, "[unknown]");
	}
	put_source(at, t);
}

/* The address in FRAME_WIDTH columns, then its symbol; one more line for each inlined function. */
void script_text_frame(const struct frame *f, struct text *t)
{
	for (size_t i = 0; i < f->nr; i++) {
		size_t from = t->b.len;

		text_hex(t, f->ip, 1);
		right(t, from, FRAME_WIDTH);
		if (f->places[i].inlined) {
			put_inlined(&f->places[i], t);
			text_char(t, '\n');
		} else {
			put_function(f, &f->places[i], t);
		}
	}
}

static void put_name(struct text *t, const char *event, bool color, bool sample)
{
	text_str(t, color ? COLOR_END : "");
	text_str(t, "  ");
	text_str(t, !color ? "" : sample ? COLOR_EVENT : COLOR_LOSS);
	text_safe(t, event, strlen(event));
	text_char(t, ':');
	text_str(t, color ? COLOR_END : "");
}

void script_text_head(const struct script *s, const char *event, struct text *t)
{
	put_name(t, event, s->opt->color, true);
}

/* ---- the columns ---- */

static char *put_str(char *to, const char *s)
{
	size_t n = strlen(s);

	memcpy(to, s, n);
	return to + n;
}

static char *put_cpu(char *to, int32_t cpu)
{
	if (cpu < 0)
		return put_str(to, " [---] ");
	to = put_str(to, cpu < 10 ? " [00" : cpu < 100 ? " [0" : " [");
	to = put_u64(to, (uint64_t)cpu);
	return put_str(to, "] ");
}

/* Seconds before (-) or after (+) the trigger, to the nanosecond, in 15 columns. */
static char *put_time(char *to, uint64_t time_ns, uint64_t zero_ns)
{
	bool before = time_ns < zero_ns;
	uint64_t ns = before ? zero_ns - time_ns : time_ns - zero_ns, s = ns / 1000000000;

	for (uint64_t limit = 1000; limit > s && limit > 1; limit /= 10)
		*to++ = ' ';
	*to++ = before ? '-' : '+';
	to = put_u64(to, s);
	*to++ = '.';
	return put_nine(to, (uint32_t)(ns % 1000000000));
}

/* The columns before the event's content, which all lines have. */
static void put_columns(struct printer *p, const struct line *l)
{
	bool color = p->s->opt->color;
	struct text *t = &p->text;
	char *to = text_room(t, sizeof(l->who->text) + 64 + PUT_SLACK);

	if (!to)
		return;
	to = put_wide(to, l->who->text, l->who->len);
	to = put_cpu(to, l->cpu);
	if (color)
		to = put_str(to, COLOR_TIME);
	text_end(t, put_time(to, l->rec.time_ns, p->s->a.m->trigger.hit_ns));
	if (!l->head) {
		put_name(t, l->event, color, l->type == PERF_RECORD_SAMPLE);
		return;
	}
	to = text_room(t, l->head->len + PUT_SLACK);
	if (to)
		text_end(t, put_wide(to, l->head->text, l->head->len));
}

/* ---- lines after the event's ---- */

/* Fast path: most frames are the kernel's, and without symbols there is nothing to look up. */
static char *put_kernel_frame(char *to, uint64_t ip)
{
	to = put_str(to, "                        ");
	to = put_hex16(to, ip);
	return put_str(to, " [kernel]\n");
}

static void put_chain(struct printer *p, const struct line *l)
{
	struct record_walk w = {0};
	struct text *t = &p->text;

	while (record_next_ip(&l->rec.s, &w)) {
		char *to = text_room(t, sizeof(((struct printed_place *)0)->text) + PUT_SLACK);
		struct bytes place;

		if (!to)
			return;
		if (w.kernel && w.ip >> 60 && !p->s->has_symbols) {
			text_end(t, put_kernel_frame(to, w.ip));
			continue;
		}
		place = script_place(p, l, w.ip, w.kernel, w.caller);
		text_put(t, place.p, place.len);
		text_char(t, '\n');
	}
}

/* The symbol of `ip` without the address; of inlined functions only the innermost. */
static void put_place(struct printer *p, const struct line *l, uint64_t ip, bool kernel)
{
	struct bytes place = script_place(p, l, ip, kernel, false);
	const uint8_t *end = place.len ? memchr(place.p, '\n', place.len) : NULL;
	size_t len = end ? (size_t)(end - place.p) : place.len;

	if (len > FRAME_WIDTH)
		text_put(&p->text, place.p + FRAME_WIDTH, len - FRAME_WIDTH);
}

static void put_named_hex(struct text *t, const char *name, uint64_t v)
{
	text_str(t, name);
	text_str(t, " 0x");
	text_hex(t, v, 1);
}

/* The callers unwound from the user stack, and why the chain ends. */
static void put_unwound(struct printer *p, const struct line *l)
{
	struct text *t = &p->text;
	struct unwind_chain c;
	struct bytes place;

	if (!script_unwind(p, l, &c))
		return;
	for (size_t i = 0; i < c.nr; i++) {
		place = script_place(p, l, c.frames[i].ip, false, !c.frames[i].exact);
		text_put(t, place.p, place.len);
		text_char(t, '\n');
	}
	if (c.end == UNWIND_COMPLETE)
		return;
	text_fill(t, ' ', 24);
	text_str(t, "ends: ");
	script_unwind_end(&c, t);
	text_char(t, '\n');
}

static void put_user_stack(struct printer *p, const struct line *l)
{
	const struct stack_regs *regs = p->s->regs;
	struct text *t = &p->text;
	uint64_t v;

	text_fill(t, ' ', 24);
	text_str(t, "user stack ");
	text_u64(t, l->rec.s.stack.len);
	text_str(t, " bytes");
	if (regs && script_reg(l, regs->ip, &v)) {
		put_named_hex(t, ", ip", v);
		put_place(p, l, v, false);
	}
	if (regs && script_reg(l, regs->sp, &v))
		put_named_hex(t, ", sp", v);
	text_char(t, '\n');
	put_unwound(p, l);
}

/* ---- content ---- */

/* The content of a sample that is not a tracepoint. */
static void put_counter(struct printer *p, const struct line *l)
{
	const struct record_sample *r = &l->rec.s;
	struct text *t = &p->text;

	if (r->have & PERF_SAMPLE_PERIOD) {
		text_str(t, " period ");
		text_u64(t, r->period);
	}
	if (r->have & PERF_SAMPLE_ADDR)
		put_named_hex(t, " addr", r->addr);
	if (r->have & PERF_SAMPLE_IP) {
		put_named_hex(t, " ip", r->ip);
		put_place(p, l, r->ip, record_kernel_address(r->ip));
	}
}

/* The flags of a PERF_RECORD_AUX. Not OVERWRITE, which is how the recorder uses areas. */
static void put_aux_flags(struct text *t, uint64_t flags)
{
	text_str(t, flags & PERF_AUX_FLAG_TRUNCATED ? " truncated" : "");
	text_str(t, flags & PERF_AUX_FLAG_PARTIAL ? " partial" : "");
	text_str(t, flags & PERF_AUX_FLAG_COLLISION ? " collision" : "");
}

static void put_record(struct text *t, const struct line *l)
{
	struct record_field f;

	for (size_t i = 0; script_record_field(l, i, &f); i++) {
		text_char(t, ' ');
		text_str(t, f.name);
		text_char(t, '=');
		text_u64(t, f.value);
	}
	if (l->type == PERF_RECORD_AUX && script_record_field(l, 2, &f))
		put_aux_flags(t, f.value);
}

static void put_content(struct printer *p, const struct line *l)
{
	const struct record_sample *r = &l->rec.s;
	struct text *t = &p->text;

	if (l->type != PERF_RECORD_SAMPLE) {
		put_record(t, l);
	} else if (!r->have) {
		text_str(t, " raw ");
		text_hexdump(t, l->rec.rec, '\0');
	} else if (script_has_raw(l)) {
		text_char(t, ' ');
		fields_text(p->s->a.fields, r->raw, t);
	} else {
		put_counter(p, l);
	}
}

/* ---- calls of a hardware trace ---- */

#define NAME_WIDTH 8 /* "return: " */
#define MAX_LEVELS 20

static void put_duration(struct text *t, const char *before, uint64_t ns, const char *after)
{
	char time[32];

	text_str(t, before);
	text_str(t, page_fmt_time(time, sizeof(time), ns));
	text_str(t, after);
}

static void put_call(struct text *t, const struct script_call *c)
{
	const struct pt_spans_event *e = c->event;

	switch (e->what) {
	case PT_SPANS_RETURN:
		if (e->ns)
			put_duration(t, "  ", e->ns, "");
		if (e->nr_left)
			text_fmt(t, ", and %u call%s in it that did not return", e->nr_left,
				 str_plural(e->nr_left));
		break;
	case PT_SPANS_CALL:
		text_str(t, e->by_kernel ? "  [by the kernel: a signal]" : "");
		break;
	case PT_SPANS_OUT:
		text_str(t, "  [into the kernel]");
		break;
	case PT_SPANS_BACK:
		if (e->ns)
			put_duration(t, "  [after ", e->ns, "]");
		break;
	default:
		text_str(t, "[the trace has a gap: what was being called is not known]");
		break;
	}
}

void script_text_call(struct printer *p, const struct line *l, const struct script_call *c)
{
	const struct pt_spans_event *e = c->event;
	int32_t levels = e->depth < 0 ? 0 : e->depth > MAX_LEVELS ? MAX_LEVELS : e->depth;
	struct text *t = &p->text;

	put_columns(p, l);
	text_fill(t, ' ', NAME_WIDTH - (int)strlen(l->event) + 2 * levels);
	if (e->depth > MAX_LEVELS) {
		text_char(t, '(');
		text_i64(t, e->depth);
		text_str(t, ") ");
	}
	if (c->at)
		pt_names_put(c->at, e->address, t);
	put_call(t, c);
	text_char(t, '\n');
}

void script_text_line(struct printer *p, const struct line *l)
{
	put_columns(p, l);
	put_content(p, l);
	text_char(&p->text, '\n');
	if (l->rec.s.nr_callchain)
		put_chain(p, l);
	if (l->rec.s.stack.len || l->rec.s.regs)
		put_user_stack(p, l);
}
