// SPDX-License-Identifier: MIT
/*
 * What the two forms of script (script_text.c, script_json.c) both need to know of a record: its
 * call chain resolved by the ledger, its user registers, and the kernel's own records (LOST,
 * THROTTLE).
 */
#include "dump/view/script_impl.h"

#include <linux/perf_event.h>
#include <string.h>

/* ---- call chains ---- */

/* Marks are the last 4095 values (PERF_CONTEXT_MAX). */
static bool is_mark(uint64_t ip)
{
	return ip >= (uint64_t)PERF_CONTEXT_MAX;
}

/* The upper half of the address space, on all 64-bit machines that Linux runs on. */
bool script_kernel_address(uint64_t ip)
{
	return ip >> 63;
}

void script_frame(const struct script *s, const struct line *l, uint64_t ip, bool kernel,
		  struct frame *out)
{
	struct people_map map;

	*out = (struct frame){.ip = ip, .kernel = kernel};
	if (kernel || l->rec.tid == UINT32_MAX)
		return;
	if (people_map(s->people, l->rec.tid, l->rec.time_ns, ip, &map)) {
		out->path = map.path;
		out->off = ip - map.f.start + map.f.pgoff;
	}
}

bool script_next_frame(const struct script *s, const struct line *l, struct chain_walk *w,
		       struct frame *out)
{
	const struct record_sample *r = &l->rec.s;
	uint64_t ip;
	bool kernel;

	while (w->at < r->nr_callchain) {
		memcpy(&ip, r->callchain + 8 * w->at++, sizeof(ip));
		if (is_mark(ip)) {
			w->context = ip;
			continue;
		}
		kernel = w->context ? w->context == (uint64_t)PERF_CONTEXT_KERNEL
				    : script_kernel_address(ip);
		script_frame(s, l, ip, kernel, out);
		return true;
	}
	return false;
}

bool script_reg(const struct line *l, uint8_t reg, uint64_t *v)
{
	uint64_t mask = l->rec.channel->layout.regs_user;

	if (!l->rec.s.regs || !(mask >> reg & 1))
		return false;
	memcpy(v, l->rec.s.regs + 8 * __builtin_popcountll(mask & ((1ull << reg) - 1)), sizeof(*v));
	return true;
}

/*
 * In a channel that mixes tracepoints with other events the others have RAW too: four zero bytes
 * (perf_output_sample() of the kernel).
 */
bool script_has_raw(const struct line *l)
{
	static const uint8_t nothing[4];
	const struct meta_event *e = l->rec.event;
	const struct bytes *raw = &l->rec.s.raw;

	if (e && e->attr.type != PERF_TYPE_TRACEPOINT && raw->len == sizeof(nothing))
		return memcmp(raw->p, nothing, sizeof(nothing)) != 0;
	return raw->len > 0;
}

/* ---- records that are no samples ---- */

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
	{PERF_RECORD_SWITCH, "PERF_RECORD_SWITCH", {0}},
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

bool script_record_field(const struct line *l, size_t i, struct record_field *out)
{
	const struct record_kind *k = record_kind(l->type);
	size_t off = sizeof(struct perf_event_header) + 8 * i;

	if (!k || i >= sizeof(k->fields) / sizeof(k->fields[0]) || !k->fields[i] ||
	    !span_fits(off, 8, l->rec.rec.len))
		return false;
	out->name = k->fields[i];
	memcpy(&out->value, l->rec.rec.p + off, 8);
	return true;
}
