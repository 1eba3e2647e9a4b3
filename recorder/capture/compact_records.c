// SPDX-License-Identifier: MIT
/* Reads compact records and makes samples of them; see compact_records.h. Called by window.c and
 * compact_run.c. */
#include "recorder/capture/compact_records.h"

#include "dump/base/err.h"
#include "dump/base/tpfields.h"
#include "trigger/bpf/compact.h"
#include "trigger/kernel/tracefs.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static uint32_t bits(uint64_t record, unsigned shift, uint32_t mask)
{
	return (uint32_t)(record >> shift) & mask;
}

static int32_t prio_of(uint64_t record, unsigned shift)
{
	uint32_t prio = bits(record, shift, COMPACT_PRIO_MASK);

	return prio == COMPACT_PRIO_MASK ? -1 : (int32_t)prio;
}

void compact_begin(struct compact_reader *r, const struct compact_head *head)
{
	*r = (struct compact_reader){
		.epoch = head->key & COMPACT_EPOCH_MASK,
		.tid = head->tid,
		.prio = (int32_t)head->prio,
	};
}

static void read_switch(struct compact_reader *r, uint64_t record, struct compact_event *e)
{
	uint32_t state = bits(record, COMPACT_STATE_SHIFT, COMPACT_STATE_MASK);

	e->next_tid = r->tid;
	e->next_prio = r->prio;
	e->prio = prio_of(record, COMPACT_PRIO_SHIFT);
	e->state = state ? 1u << (state - 1) : 0;
	e->running = r->tid = e->tid;
	r->prio = e->prio;
}

static void read_wake(struct compact_reader *r, uint64_t record, struct compact_event *e)
{
	e->running = r->tid;
	e->cpu = bits(record, COMPACT_CPU_SHIFT, COMPACT_CPU_MASK);
	e->context = bits(record, COMPACT_CONTEXT_SHIFT, COMPACT_HARDIRQ | COMPACT_SOFTIRQ);
	e->prio = r->more ? prio_of(r->more, COMPACT_MORE_PRIO_SHIFT) : COMPACT_PRIO;
	e->old_cpu = bits(r->more, COMPACT_MORE_CPU_SHIFT, COMPACT_CPU_MASK);
	r->more = 0;
}

int compact_read(struct compact_reader *r, uint64_t record, struct compact_event *e)
{
	*e = (struct compact_event){
		.kind = record & 0xf,
		.tid = bits(record, COMPACT_TID_SHIFT, COMPACT_TID_MASK),
		.ns = r->epoch << COMPACT_TIME_BITS | record >> COMPACT_TIME_SHIFT,
	};
	switch (e->kind) {
	case COMPACT_SWITCH:
		read_switch(r, record, e);
		return 1;
	case COMPACT_WAKING:
	case COMPACT_WAKEUP:
	case COMPACT_WAKEUP_NEW:
	case COMPACT_MIGRATE:
		read_wake(r, record, e);
		return 1;
	case COMPACT_MORE:
		r->more = record;
		return 0;
	case COMPACT_WAS:
		r->prio = prio_of(record, COMPACT_MORE_PRIO_SHIFT);
		r->tid = bits(record, COMPACT_WAS_TID_SHIFT, COMPACT_TID_MASK);
		return 0;
	case COMPACT_EPOCH:
		r->epoch = record >> 4 & COMPACT_EPOCH_MASK;
		return 0;
	default:
		return -EBADMSG;
	}
}

/* ---- samples ---- */

/* Where the values of an event go in its raw data. */
enum raw_slot {
	SLOT_COMM,
	SLOT_NEXT_COMM,
	SLOT_TID,
	SLOT_NEXT_TID,
	SLOT_PRIO,
	SLOT_NEXT_PRIO,
	SLOT_STATE,
	SLOT_CPU,
	SLOT_OLD_CPU,
	SLOT_SUCCESS,
	NR_SLOTS
};

static const char *const switch_fields[NR_SLOTS] = {
	[SLOT_COMM] = "prev_comm",   [SLOT_NEXT_COMM] = "next_comm",
	[SLOT_TID] = "prev_pid",     [SLOT_NEXT_TID] = "next_pid",
	[SLOT_PRIO] = "prev_prio",   [SLOT_NEXT_PRIO] = "next_prio",
	[SLOT_STATE] = "prev_state",
};
static const char *const wake_fields[NR_SLOTS] = {
	[SLOT_COMM] = "comm",	   [SLOT_TID] = "pid",	       [SLOT_PRIO] = "prio",
	[SLOT_CPU] = "target_cpu", [SLOT_SUCCESS] = "success", /* always 1, not in newer kernels */
};
static const char *const move_fields[NR_SLOTS] = {
	[SLOT_COMM] = "comm",	 [SLOT_TID] = "pid",	      [SLOT_PRIO] = "prio",
	[SLOT_CPU] = "dest_cpu", [SLOT_OLD_CPU] = "orig_cpu",
};

/* The sample before its raw data. */
struct compact_sample_head {
	struct perf_event_header h;
	uint64_t ns;
	uint32_t raw_bytes;
};

#define HEAD_BYTES (offsetof(struct compact_sample_head, raw_bytes) + sizeof(uint32_t))

struct raw_place {
	uint16_t offset, size; /* size 0: none */
	uint16_t loc;	       /* of a name: where its __data_loc is; 0: none */
};

#define COMM_BYTES 16

struct event_layout {
	uint32_t bytes; /* of the sample; 0: not in the channel */
	uint16_t common_type;
	struct raw_place at[NR_SLOTS];
};

struct compact_layout {
	struct event_layout event[COMPACT_KINDS];
};

static const char *const *fields_of(unsigned kind)
{
	return kind == COMPACT_SWITCH	 ? switch_fields
	       : kind == COMPACT_MIGRATE ? move_fields
					 : wake_fields;
}

static bool is_optional(unsigned slot)
{
	return slot == SLOT_SUCCESS;
}

static int place_fields(struct event_layout *l, unsigned kind, const struct tpfields *tp)
{
	const char *const *names = fields_of(kind);
	uint32_t raw_bytes = tp->min_bytes;

	for (unsigned i = 0; i < NR_SLOTS; i++) {
		const struct field *f =
			names[i] ? tpfields_find(tp, names[i], strlen(names[i])) : NULL;
		bool text = i == SLOT_COMM || i == SLOT_NEXT_COMM;
		bool dynamic = f && f->flags & FIELD_DYNAMIC;

		if (!f && names[i] && !is_optional(i))
			return -EPROTO;
		if (!f)
			continue;
		if (text && !dynamic ? f->size != COMM_BYTES : f->size != 4 && f->size != 8)
			return -EPROTO;
		l->at[i] = (struct raw_place){(uint16_t)f->offset, (uint16_t)f->size, 0};
		if (!dynamic)
			continue;
		/* The name comes after all fields, with room for the longest. */
		l->at[i] = (struct raw_place){(uint16_t)raw_bytes, COMM_BYTES, (uint16_t)f->offset};
		raw_bytes += COMM_BYTES;
	}
	/* The kernel pads the raw data with its length to 8 bytes. */
	raw_bytes = (raw_bytes + 4 + 7) / 8 * 8 - 4;
	l->bytes = (uint32_t)HEAD_BYTES + raw_bytes;
	return l->bytes <= COMPACT_GROWTH * 8 ? 0 : -EPROTO;
}

static int add_event(struct compact_layout *l, const struct event *e, struct err *err)
{
	unsigned kind = compact_kind(e->name);
	struct tpfields tp = {0};
	struct buf text = {0};
	char path[256];
	int rc;

	snprintf(path, sizeof(path), "events/sched/%s/format", e->name + strlen("sched:"));
	rc = tracefs_read(path, &text, err);
	if (rc)
		return rc;
	rc = tpfields_open((struct bytes){text.p, text.len}, &tp);
	if (!rc) {
		rc = place_fields(&l->event[kind], kind, &tp);
		tpfields_close(&tp);
	}
	l->event[kind].common_type = (uint16_t)e->attr.config;
	buf_free(&text);
	return rc ? err_sys(err, rc, "the format of %s is not the expected one", e->name) : 0;
}

int compact_layout_new(const struct event_list *events, struct compact_layout **out,
		       struct err *err)
{
	struct compact_layout *l = calloc(1, sizeof(*l));
	int rc = l ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; i < events->nr && !rc; i++)
		rc = add_event(l, events->v[i], err);
	if (rc)
		compact_layout_free(l);
	else
		*out = l;
	return rc;
}

void compact_layout_free(struct compact_layout *l)
{
	free(l);
}

uint32_t compact_sample_bytes(const struct compact_layout *l, enum compact_kind kind)
{
	return l->event[kind].bytes;
}

static void put_number(uint8_t *raw, struct raw_place at, int64_t v)
{
	/* Little-endian, as the whole recorder. */
	memcpy(raw + at.offset, &v, at.size);
}

static void put_comm(uint8_t *raw, struct raw_place at, const char comm[16])
{
	uint32_t loc = at.offset | (uint32_t)(strnlen(comm, COMM_BYTES - 1) + 1) << 16;

	memcpy(raw + at.offset, comm, at.size);
	if (at.loc)
		memcpy(raw + at.loc, &loc, sizeof(loc));
}

/* Bits of common_flags (include/linux/trace_events.h). */
#define FLAG_IRQS_OFF 0x01
#define FLAG_HARDIRQ  0x08
#define FLAG_SOFTIRQ  0x10

static uint8_t flags_of(const struct compact_event *e)
{
	return (uint8_t)(FLAG_IRQS_OFF | (e->context & COMPACT_HARDIRQ ? FLAG_HARDIRQ : 0) |
			 (e->context & COMPACT_SOFTIRQ ? FLAG_SOFTIRQ : 0));
}

void compact_sample(const struct compact_layout *layout, const struct compact_event *e,
		    const char comm[16], const char next_comm[16], uint8_t *out)
{
	const struct event_layout *l = &layout->event[e->kind];
	struct compact_sample_head head = {
		.h = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, (uint16_t)l->bytes},
		.ns = e->ns,
		.raw_bytes = l->bytes - (uint32_t)HEAD_BYTES,
	};
	uint8_t *raw = out + HEAD_BYTES;

	memcpy(out, &head, HEAD_BYTES);
	memset(raw, 0, head.raw_bytes);
	memcpy(raw, &l->common_type, sizeof(l->common_type));
	raw[2] = flags_of(e);
	memcpy(raw + 4, &e->running, sizeof(e->running));
	put_comm(raw, l->at[SLOT_COMM], comm);
	put_comm(raw, l->at[SLOT_NEXT_COMM], next_comm);
	put_number(raw, l->at[SLOT_TID], e->tid);
	put_number(raw, l->at[SLOT_NEXT_TID], e->next_tid);
	put_number(raw, l->at[SLOT_PRIO], e->prio);
	put_number(raw, l->at[SLOT_NEXT_PRIO], e->next_prio);
	put_number(raw, l->at[SLOT_STATE], e->state);
	put_number(raw, l->at[SLOT_CPU], e->cpu);
	put_number(raw, l->at[SLOT_OLD_CPU], e->old_cpu);
	put_number(raw, l->at[SLOT_SUCCESS], 1);
}
