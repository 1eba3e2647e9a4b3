// SPDX-License-Identifier: MIT
/*
 * Calls that Intel PT recorded, as slices on a track below each thread's. Perfetto requires that a
 * slice ends before the one around it.
 */
#include "dump/view/export/export_pftrace.h"

#include "dump/view/pt/pt_calls.h"

#include <inttypes.h>
#include <string.h>

#define TYPE_BEGIN 1
#define TYPE_END   2
#define MAX_CALLS  2000000u
#define MAX_DEPTH  512
/* The uuid of a track of calls is this plus the thread's. */
#define TRACK_CALLS (1ull << 40)

/* The calls of one thread that are open. */
struct writer_stack {
	uint64_t track;
	uint64_t ends[MAX_DEPTH];
	size_t nr;
	struct text name;
};

static void put_event(struct pftrace *pf, uint64_t track, uint64_t type, const char *name,
		      uint64_t ns)
{
	struct text *p = pf_begin(pf, ns);
	size_t event = proto_open(p, PACKET_TRACK_EVENT);

	proto_number(p, TRACK_EVENT_TYPE, type);
	proto_number(p, TRACK_EVENT_UUID, track);
	if (name) {
		proto_string(p, TRACK_EVENT_CATEGORY, "intel_pt");
		proto_string(p, TRACK_EVENT_NAME, name);
	}
	proto_close(p, event);
	pf_put(pf);
}

/* Ends the calls from `depth` on, at `ns` at the latest. */
static void end_calls(struct pftrace *pf, struct writer_stack *s, size_t depth, uint64_t ns)
{
	while (s->nr > depth) {
		uint64_t end = s->ends[--s->nr];

		put_event(pf, s->track, TYPE_END, NULL, end < ns ? end : ns);
	}
}

static void begin_thread(struct pftrace *pf, struct writer_stack *s, const struct pt_spans_call *c)
{
	const struct timeline_record rec = {.tid = c->tid, .time_ns = c->to_ns};
	uint64_t parent = pf_tracks_of(pf, &rec);
	struct text *p = &pf->packet;
	size_t track;

	s->track = TRACK_CALLS + parent;
	p->b.len = 0;
	track = proto_open(p, PACKET_TRACK_DESCRIPTOR);
	proto_number(p, TRACK_UUID, s->track);
	proto_string(p, TRACK_NAME, "calls (Intel PT)");
	proto_number(p, TRACK_PARENT, parent);
	proto_close(p, track);
	pf_put(pf);
}

static void put_call(struct pftrace *pf, struct pt_calls *calls, struct writer_stack *s,
		     const struct pt_spans_call *c)
{
	size_t depth = c->depth < MAX_DEPTH ? (size_t)c->depth : MAX_DEPTH - 1;
	uint64_t end = c->to_ns;

	end_calls(pf, s, depth, c->from_ns);
	s->name.b.len = 0;
	pt_calls_name(calls, c, &s->name);
	text_char(&s->name, '\0');
	if (s->name.rc) {
		pf->rc = s->name.rc;
		return;
	}
	put_event(pf, s->track, TYPE_BEGIN, (const char *)s->name.b.p, c->from_ns);
	if (s->nr && s->ends[s->nr - 1] < end)
		end = s->ends[s->nr - 1];
	s->ends[s->nr++] = end;
}

void pf_pt_put(struct pftrace *pf, struct err *err)
{
	struct export *x = pf->x;
	const struct pt_calls_options opt = {x->opt->from_ns, x->opt->to_ns, MAX_CALLS};
	const struct pt_spans_call *c = NULL;
	struct writer_stack s = {0};
	struct pt_calls *calls;

	pf->rc = pf->rc ? pf->rc
			: pt_calls_load(x->a.r, x->a.m, x->a.history, x->a.symbols, &opt, &calls,
					err);
	if (pf->rc || !calls)
		return;
	x->nr_calls_left_out = pt_calls_nr_left_out(calls);
	for (size_t i = 0; i < pt_calls_nr(calls) && !pf->rc; i++) {
		const struct pt_spans_call *next = pt_calls_nth(calls, i);

		if (!c || c->tid != next->tid) {
			end_calls(pf, &s, 0, UINT64_MAX);
			begin_thread(pf, &s, next);
		}
		c = next;
		put_call(pf, calls, &s, c);
	}
	end_calls(pf, &s, 0, UINT64_MAX);
	text_free(&s.name);
	pt_calls_free(calls);
}
