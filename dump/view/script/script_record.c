// SPDX-License-Identifier: MIT
/* Content of records that script_text.c and script_json.c both print: user registers, and the
 * kernel's own records (LOST, THROTTLE). */
#include "dump/view/script/script_impl.h"

#include <linux/perf_event.h>
#include <string.h>

bool script_reg(const struct line *l, uint8_t reg, uint64_t *v)
{
	uint64_t mask = l->rec.channel->layout.regs_user;

	if (!l->rec.s.regs || !(mask >> reg & 1))
		return false;
	memcpy(v, l->rec.s.regs + 8 * __builtin_popcountll(mask & ((1ull << reg) - 1)), sizeof(*v));
	return true;
}

/* In a channel that mixes tracepoints with other events, the others have RAW too: four zero bytes
 * (perf_output_sample() of the kernel). */
bool script_has_raw(const struct line *l)
{
	static const uint8_t nothing[4];
	const struct meta_event *e = l->rec.event;
	const struct bytes *raw = &l->rec.s.raw;

	if (e && e->attr.type != PERF_TYPE_TRACEPOINT && raw->len == sizeof(nothing))
		return memcmp(raw->p, nothing, sizeof(nothing)) != 0;
	return raw->len > 0;
}

/* ---- records other than samples ---- */

struct record_kind {
	uint16_t type;
	const char *name;
	const char *fields[3]; /* u64 each, after the header */
};

static const struct record_kind record_kinds[] = {
	{PERF_RECORD_LOST, "PERF_RECORD_LOST", {"id", "lost"}},
	{PERF_RECORD_THROTTLE, "PERF_RECORD_THROTTLE", {"time", "id", "stream_id"}},
	{PERF_RECORD_UNTHROTTLE, "PERF_RECORD_UNTHROTTLE", {"time", "id", "stream_id"}},
	{PERF_RECORD_LOST_SAMPLES, "PERF_RECORD_LOST_SAMPLES", {"lost"}},
	{PERF_RECORD_AUX, "PERF_RECORD_AUX", {"aux_offset", "aux_size", "flags"}},
	{PERF_RECORD_AUX_OUTPUT_HW_ID, "PERF_RECORD_AUX_OUTPUT_HW_ID", {"hw_id"}},
	{PERF_RECORD_ITRACE_START, "PERF_RECORD_ITRACE_START", {0}},
	{PERF_RECORD_SWITCH, "PERF_RECORD_SWITCH", {0}},
	{PERF_RECORD_SWITCH_CPU_WIDE, "PERF_RECORD_SWITCH_CPU_WIDE", {0}},
	{PERF_RECORD_MMAP2, "PERF_RECORD_MMAP2", {0}},
	{PERF_RECORD_COMM, "PERF_RECORD_COMM", {0}},
	{PERF_RECORD_FORK, "PERF_RECORD_FORK", {0}},
	{PERF_RECORD_EXIT, "PERF_RECORD_EXIT", {0}},
};

static const struct record_kind *record_kind(uint16_t type)
{
	for (size_t i = 0; i < sizeof(record_kinds) / sizeof(record_kinds[0]); i++)
		if (record_kinds[i].type == type)
			return &record_kinds[i];
	return NULL;
}

const char *script_record_name(uint16_t type)
{
	const struct record_kind *k = record_kind(type);

	return k ? k->name : "PERF_RECORD_other";
}

bool script_record_unasked(uint16_t type)
{
	return type == PERF_RECORD_SWITCH || type == PERF_RECORD_SWITCH_CPU_WIDE ||
	       type == PERF_RECORD_ITRACE_START;
}

/* PERF_RECORD_SWITCH has its content in the header. */
static bool switch_field(const struct line *l, size_t i, struct record_field *out)
{
	struct perf_event_header h;

	memcpy(&h, l->rec.rec.p, sizeof(h));
	out->name = i ? "preempt" : "out";
	out->value = !!(h.misc &
			(i ? PERF_RECORD_MISC_SWITCH_OUT_PREEMPT : PERF_RECORD_MISC_SWITCH_OUT));
	return i < 2;
}

bool script_record_field(const struct line *l, size_t i, struct record_field *out)
{
	const struct record_kind *k = record_kind(l->type);
	size_t off = sizeof(struct perf_event_header) + 8 * i;

	if (l->type == PERF_RECORD_SWITCH || l->type == PERF_RECORD_SWITCH_CPU_WIDE)
		return switch_field(l, i, out);
	if (!k || i >= sizeof(k->fields) / sizeof(k->fields[0]) || !k->fields[i] ||
	    !span_fits(off, 8, l->rec.rec.len))
		return false;
	out->name = k->fields[i];
	memcpy(&out->value, l->rec.rec.p + off, 8);
	return true;
}
