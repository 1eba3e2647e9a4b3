// SPDX-License-Identifier: MIT
/*
 * Samples with their stacks. Names, files, frames and stacks get a number at their first use and
 * are written in that packet.
 */
#include "dump/view/export/export_pftrace.h"

#include "dump/view/base/pair_ids.h"
#include "dump/view/base/intern.h"
#include "dump/view/model/process_history.h"
#include "dump/view/unwind/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MODE_KERNEL 1
#define MODE_USER   2

/* Fields of perfetto.proto. */
enum {
	INTERNED_FUNCTION_NAME = 5,
	INTERNED_FRAME = 6,
	INTERNED_CALLSTACK = 7,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH = 17,
	INTERNED_MAPPING = 19,
};
enum { STRING_IID = 1, STRING_STR };
enum { MAPPING_IID = 1, MAPPING_BUILD_ID, MAPPING_PATH_IDS = 7 };
enum { FRAME_IID = 1, FRAME_NAME, FRAME_MAPPING, FRAME_REL_PC };
enum { CALLSTACK_IID = 1, CALLSTACK_FRAME_IDS };
enum { SAMPLE_CPU = 1, SAMPLE_PID, SAMPLE_TID, SAMPLE_CALLSTACK, SAMPLE_CPU_MODE };

struct pf_stacks {
	struct intern texts;
	struct pair_ids names, paths, ids; /* address of the text */
	struct pair_ids mappings;	   /* path, build-id */
	struct pair_ids spots;		   /* mapping, name */
	struct pair_ids frames;		   /* spot, place */
	struct pair_ids nodes;		   /* parent or 0, frame: stacks, outermost first */
	struct pair_ids written;	   /* node: the stack is out */
	struct text name;
	struct text fresh; /* fields of InternedData that are new in this packet */
	struct stack stack;
	uint64_t frame_ids[STACK_MAX_FRAMES];
};

int pf_stacks_new(struct pf_stacks **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void pf_stacks_free(struct pf_stacks *s)
{
	if (!s)
		return;
	intern_free(&s->texts);
	pair_ids_free(&s->names);
	pair_ids_free(&s->paths);
	pair_ids_free(&s->ids);
	pair_ids_free(&s->mappings);
	pair_ids_free(&s->spots);
	pair_ids_free(&s->frames);
	pair_ids_free(&s->nodes);
	pair_ids_free(&s->written);
	text_free(&s->name);
	text_free(&s->fresh);
	free(s);
}

/* As pair_ids_add(); keeps the error. */
static uint32_t number(struct pftrace *pf, struct pair_ids *m, uint64_t a, uint64_t b, bool *is_new)
{
	uint32_t id = pair_ids_add(m, a, b, is_new);

	if (!id)
		pf->rc = -ENOMEM;
	return id;
}

/* The number of `text` in its table; a new one is written with the bytes `as`. */
static uint64_t text_id(struct pftrace *pf, struct pair_ids *table, uint32_t field,
			const char *text, struct bytes as)
{
	struct pf_stacks *s = pf->stacks;
	const char *kept = intern(&s->texts, (struct bytes){(const uint8_t *)text, strlen(text)});
	bool is_new = false;
	uint32_t id = kept ? number(pf, table, (uintptr_t)kept, 0, &is_new) : 0;
	size_t m;

	if (!kept)
		pf->rc = -ENOMEM;
	if (!id || !is_new)
		return id;
	m = proto_open(&s->fresh, field);
	proto_number(&s->fresh, STRING_IID, id);
	proto_bytes(&s->fresh, STRING_STR, as.p, as.len);
	proto_close(&s->fresh, m);
	return id;
}

static uint64_t path_id(struct pftrace *pf, const char *image)
{
	char safe[1024];

	if (!image)
		image = "[unknown]";
	pf_text(safe, sizeof(safe), image, strlen(image));
	return text_id(pf, &pf->stacks->paths, INTERNED_PATH, safe,
		       (struct bytes){(const uint8_t *)safe, strlen(safe)});
}

/* Interned by its hexadecimal digits, written as bytes; 0: unknown. */
static uint64_t build_id_id(struct pftrace *pf, const struct symbol_place *at)
{
	size_t n = at->build_id_bytes < 20 ? at->build_id_bytes : 20;
	char hex[2 * 20 + 1] = "";

	if (!n)
		return 0;
	for (size_t k = 0; k < n; k++)
		snprintf(hex + 2 * k, 3, "%02x", at->build_id[k]);
	return text_id(pf, &pf->stacks->ids, INTERNED_BUILD_ID, hex,
		       (struct bytes){at->build_id, n});
}

static uint32_t mapping_id(struct pftrace *pf, const struct symbol_place *at)
{
	struct text *t = &pf->stacks->fresh;
	uint64_t path = path_id(pf, at->image), build_id = build_id_id(pf, at);
	bool is_new = false;
	uint32_t id = number(pf, &pf->stacks->mappings, path, build_id, &is_new);
	size_t m;

	if (!id || !is_new)
		return id;
	m = proto_open(t, INTERNED_MAPPING);
	proto_number(t, MAPPING_IID, id);
	if (build_id)
		proto_number(t, MAPPING_BUILD_ID, build_id);
	proto_number(t, MAPPING_PATH_IDS, path);
	proto_close(t, m);
	return id;
}

static uint32_t frame_id(struct pftrace *pf, const struct stack_frame *at)
{
	struct pf_stacks *s = pf->stacks;
	uint32_t mapping = mapping_id(pf, &at->at), spot, id;
	uint64_t place = at->at.image && !at->kernel ? at->at.image_off : at->ip, name;
	bool is_new = false;
	size_t m;

	s->name.b.len = 0;
	stack_name(at, &s->name);
	text_char(&s->name, '\0');
	if (s->name.rc) {
		pf->rc = s->name.rc;
		return 0;
	}
	name = text_id(pf, &s->names, INTERNED_FUNCTION_NAME, (const char *)s->name.b.p,
		       (struct bytes){s->name.b.p, strlen((const char *)s->name.b.p)});
	spot = number(pf, &s->spots, mapping, name, NULL);
	id = number(pf, &s->frames, spot, place, &is_new);
	if (pf->rc || !is_new)
		return id;
	m = proto_open(&s->fresh, INTERNED_FRAME);
	proto_number(&s->fresh, FRAME_IID, id);
	proto_number(&s->fresh, FRAME_NAME, name);
	proto_number(&s->fresh, FRAME_MAPPING, mapping);
	proto_number(&s->fresh, FRAME_REL_PC, place);
	proto_close(&s->fresh, m);
	return id;
}

/* The stack's number: its node. */
static uint32_t stack_id(struct pftrace *pf, const struct stack *st)
{
	struct pf_stacks *s = pf->stacks;
	uint32_t node = 0;
	bool is_new = false;
	size_t m;

	for (size_t i = st->nr; i-- && !pf->rc;) {
		uint32_t frame = frame_id(pf, &st->frames[i]);

		s->frame_ids[st->nr - 1 - i] = frame;
		node = number(pf, &s->nodes, node, frame, NULL);
	}
	if (pf->rc || !number(pf, &s->written, node, 0, &is_new) || !is_new)
		return node;
	m = proto_open(&s->fresh, INTERNED_CALLSTACK);
	proto_number(&s->fresh, CALLSTACK_IID, node);
	for (size_t i = 0; i < st->nr; i++)
		proto_number(&s->fresh, CALLSTACK_FRAME_IDS, s->frame_ids[i]);
	proto_close(&s->fresh, m);
	return node;
}

uint32_t pf_stacks_id(struct pftrace *pf, const struct timeline_record *rec)
{
	struct pf_stacks *s = pf->stacks;
	uint32_t id;

	stack_get(pf->x->a.stacks, rec, &s->stack);
	if (!s->stack.nr)
		return 0;
	s->fresh.b.len = 0;
	id = stack_id(pf, &s->stack);
	if (s->fresh.rc)
		pf->rc = s->fresh.rc;
	if (s->fresh.b.len)
		proto_bytes(&pf->packet, PACKET_INTERNED_DATA, s->fresh.b.p, s->fresh.b.len);
	return id;
}

bool pf_stacks_take(struct pftrace *pf, const struct timeline_record *rec)
{
	int64_t cpu = export_cpu(rec);
	struct text *p = pf_begin(pf, rec->time_ns);
	uint32_t pid, tid, id = pf_stacks_id(pf, rec);
	size_t sample;

	if (!id)
		return pf->rc != 0;
	export_who(pf->x, rec, &pid, &tid);
	sample = proto_open(p, PACKET_PERF_SAMPLE);
	if (cpu >= 0)
		proto_number(p, SAMPLE_CPU, (uint64_t)cpu);
	proto_number(p, SAMPLE_PID, pid);
	proto_number(p, SAMPLE_TID, tid);
	proto_number(p, SAMPLE_CALLSTACK, id);
	proto_number(p, SAMPLE_CPU_MODE,
		     pf->stacks->stack.frames[0].kernel ? MODE_KERNEL : MODE_USER);
	proto_close(p, sample);
	pf_put(pf);
	return true;
}
