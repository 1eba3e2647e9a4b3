// SPDX-License-Identifier: MIT
/*
 * Samples with their stacks. Names, files, frames and stacks get a number when they are first met
 * and are written in the packet of the sample that met them.
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
/* What one sample can be the first to have: itself, and of each frame a name, a path, an id. */
#define MAX_NEW (STACK_MAX_FRAMES + 8)

struct fresh {
	Perfetto__InternedString names[MAX_NEW], *name[MAX_NEW];
	Perfetto__InternedString paths[MAX_NEW], *path[MAX_NEW];
	Perfetto__InternedString ids[MAX_NEW], *id[MAX_NEW];
	Perfetto__Mapping mappings[MAX_NEW], *mapping[MAX_NEW];
	uint64_t path_ids[MAX_NEW];
	Perfetto__Frame frames[MAX_NEW], *frame[MAX_NEW];
	uint64_t frame_ids[STACK_MAX_FRAMES];
	Perfetto__Callstack stack, *stacks;
	struct stack of;
	Perfetto__InternedData data;
};

struct pf_stacks {
	struct intern texts;
	struct pair_ids names, paths, ids; /* address of the text */
	struct pair_ids mappings;	   /* path, build-id */
	struct pair_ids spots;		   /* mapping, name */
	struct pair_ids frames;		   /* spot, place */
	struct pair_ids nodes;		   /* parent or 0, frame: stacks, outermost first */
	struct pair_ids written;	   /* node: the stack is out */
	struct text name;
	struct fresh *fresh;
};

int pf_stacks_new(struct pf_stacks **out)
{
	struct pf_stacks *s = calloc(1, sizeof(*s));

	if (s)
		s->fresh = calloc(1, sizeof(*s->fresh));
	if (!s || !s->fresh) {
		free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
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
	free(s->fresh);
	free(s);
}

/* A number of idmap; 0 is out of memory. */
static uint32_t number(struct pftrace *pf, struct pair_ids *m, uint64_t a, uint64_t b, bool *is_new)
{
	uint32_t id = pair_ids_add(m, a, b, is_new);

	if (!id)
		pf->rc = -ENOMEM;
	return id;
}

/* The text's number in its table, of which `list` are the new ones. */
static uint64_t text_id(struct pftrace *pf, struct pair_ids *table, const char *text,
			Perfetto__InternedString *strings, Perfetto__InternedString **list,
			size_t *nr)
{
	struct pf_stacks *s = pf->stacks;
	const char *kept = intern(&s->texts, (struct bytes){(const uint8_t *)text, strlen(text)});
	bool is_new = false;
	uint32_t id = kept ? number(pf, table, (uintptr_t)kept, 0, &is_new) : 0;

	if (!kept)
		pf->rc = -ENOMEM;
	if (!id || !is_new || *nr == MAX_NEW)
		return id;
	strings[*nr] = (Perfetto__InternedString)PERFETTO__INTERNED_STRING__INIT;
	PF_SET(&strings[*nr], iid, id);
	PF_SET(&strings[*nr], str, ((ProtobufCBinaryData){strlen(kept), (uint8_t *)kept}));
	list[*nr] = &strings[*nr];
	++*nr;
	return id;
}

static uint64_t path_id(struct pftrace *pf, const char *image)
{
	struct fresh *f = pf->stacks->fresh;
	char safe[1024];

	pf_text(safe, sizeof(safe), image ? image : "[unknown]",
		strlen(image ? image : "[unknown]"));
	return text_id(pf, &pf->stacks->paths, safe, f->paths, f->path, &f->data.n_mapping_paths);
}

/* Written as the bytes they are, kept by their digits; 0: none is known. */
static uint64_t build_id_id(struct pftrace *pf, const struct symbol_place *at)
{
	struct fresh *f = pf->stacks->fresh;
	size_t n = at->build_id_bytes < 20 ? at->build_id_bytes : 20, i = f->data.n_build_ids;
	char hex[2 * 20 + 1] = "";
	uint64_t id;

	if (!n)
		return 0;
	for (size_t k = 0; k < n; k++)
		snprintf(hex + 2 * k, 3, "%02x", at->build_id[k]);
	id = text_id(pf, &pf->stacks->ids, hex, f->ids, f->id, &f->data.n_build_ids);
	if (f->data.n_build_ids > i)
		f->ids[i].str = (ProtobufCBinaryData){n, (uint8_t *)at->build_id};
	return id;
}

static uint32_t mapping_id(struct pftrace *pf, const struct symbol_place *at)
{
	struct fresh *f = pf->stacks->fresh;
	uint64_t path = path_id(pf, at->image), build_id = build_id_id(pf, at);
	bool is_new = false;
	uint32_t id = number(pf, &pf->stacks->mappings, path, build_id, &is_new);
	size_t i = f->data.n_mappings;

	if (!id || !is_new || i == MAX_NEW)
		return id;
	f->mappings[i] = (Perfetto__Mapping)PERFETTO__MAPPING__INIT;
	PF_SET(&f->mappings[i], iid, id);
	if (build_id)
		PF_SET(&f->mappings[i], build_id, build_id);
	f->path_ids[i] = path;
	f->mappings[i].n_path_string_ids = 1;
	f->mappings[i].path_string_ids = &f->path_ids[i];
	f->mapping[i] = &f->mappings[i];
	f->data.n_mappings++;
	return id;
}

static uint32_t frame_id(struct pftrace *pf, const struct stack_frame *at)
{
	struct pf_stacks *s = pf->stacks;
	struct fresh *f = s->fresh;
	uint32_t mapping = mapping_id(pf, &at->at), spot, id;
	uint64_t place = at->at.image && !at->kernel ? at->at.image_off : at->ip, name;
	size_t i = f->data.n_frames;
	bool is_new = false;

	s->name.b.len = 0;
	stack_name(at, &s->name);
	text_char(&s->name, '\0');
	if (s->name.rc) {
		pf->rc = s->name.rc;
		return 0;
	}
	name = text_id(pf, &s->names, (const char *)s->name.b.p, f->names, f->name,
		       &f->data.n_function_names);
	spot = number(pf, &s->spots, mapping, name, NULL);
	id = number(pf, &s->frames, spot, place, &is_new);
	if (pf->rc || !is_new || i == MAX_NEW)
		return id;
	f->frames[i] = (Perfetto__Frame)PERFETTO__FRAME__INIT;
	PF_SET(&f->frames[i], iid, id);
	PF_SET(&f->frames[i], function_name_id, name);
	PF_SET(&f->frames[i], mapping_id, mapping);
	PF_SET(&f->frames[i], rel_pc, place);
	f->frame[i] = &f->frames[i];
	f->data.n_frames++;
	return id;
}

static void begin_fresh(struct fresh *f)
{
	f->data = (Perfetto__InternedData)PERFETTO__INTERNED_DATA__INIT;
	f->data.function_names = f->name;
	f->data.mapping_paths = f->path;
	f->data.build_ids = f->id;
	f->data.mappings = f->mapping;
	f->data.frames = f->frame;
}

static bool has_fresh(const Perfetto__InternedData *d)
{
	return d->n_function_names || d->n_mapping_paths || d->n_build_ids || d->n_mappings ||
	       d->n_frames || d->n_callstacks;
}

/* The stack's number: its node. */
static uint32_t stack_id(struct pftrace *pf, const struct stack *st)
{
	struct pf_stacks *s = pf->stacks;
	struct fresh *f = s->fresh;
	uint32_t node = 0;
	bool is_new = false;

	for (size_t i = st->nr; i-- && !pf->rc;) {
		uint32_t frame = frame_id(pf, &st->frames[i]);

		f->frame_ids[st->nr - 1 - i] = frame;
		node = number(pf, &s->nodes, node, frame, NULL);
	}
	if (pf->rc || !number(pf, &s->written, node, 0, &is_new) || !is_new)
		return node;
	f->stack = (Perfetto__Callstack)PERFETTO__CALLSTACK__INIT;
	PF_SET(&f->stack, iid, node);
	f->stack.n_frame_ids = st->nr;
	f->stack.frame_ids = f->frame_ids;
	f->stacks = &f->stack;
	f->data.n_callstacks = 1;
	f->data.callstacks = &f->stacks;
	return node;
}

uint32_t pf_stacks_id(struct pftrace *pf, const struct timeline_record *rec,
		      Perfetto__TracePacket *packet)
{
	struct fresh *f = pf->stacks->fresh;
	uint32_t id;

	stack_get(pf->x->stacks, rec, &f->of);
	if (!f->of.nr)
		return 0;
	begin_fresh(f);
	id = stack_id(pf, &f->of);
	packet->interned_data = has_fresh(&f->data) ? &f->data : NULL;
	return id;
}

bool pf_stacks_take(struct pftrace *pf, const struct timeline_record *rec)
{
	int64_t cpu = export_cpu(rec);
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__PerfSample sample = PERFETTO__PERF_SAMPLE__INIT;
	uint32_t pid, tid, id = pf_stacks_id(pf, rec, &packet);

	if (!id)
		return pf->rc != 0;
	PF_SET(&sample, callstack_iid, id);
	if (cpu >= 0)
		PF_SET(&sample, cpu, (uint32_t)cpu);
	export_who(pf->x, rec, &pid, &tid);
	PF_SET(&sample, pid, pid);
	PF_SET(&sample, tid, tid);
	PF_SET(&sample, cpu_mode, pf->stacks->fresh->of.frames[0].kernel ? MODE_KERNEL : MODE_USER);
	packet.perf_sample = &sample;
	PF_SET(&packet, timestamp, pf_ns(pf, rec->time_ns));
	pf_put(pf, &packet);
	return true;
}
