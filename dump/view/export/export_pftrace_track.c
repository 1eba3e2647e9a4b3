// SPDX-License-Identifier: MIT
/* Data without a message of its own in Perfetto, as instants: other events on the track of their
 * thread; the trigger, and the start and losses of rings, each on their own track. */
#include "dump/view/export/export_pftrace.h"

#include "dump/base/str.h"
#include "dump/view/print/fields.h"
#include "dump/view/base/pair_ids.h"
#include "dump/view/model/process_history.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_INSTANT 3
/* Tracks of threads follow these. */
#define TRACK_TRIGGER 1u
#define TRACK_RINGS   2u
#define TRACK_THREADS 16u

enum { ANNOTATION_STRING = 6, ANNOTATION_NAME = 10 };
enum { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };

struct pf_tracks {
	struct pair_ids threads; /* tid, key of its task */
	struct text text;
};

int pf_tracks_new(struct pf_tracks **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void pf_tracks_free(struct pf_tracks *t)
{
	if (!t)
		return;
	pair_ids_free(&t->threads);
	text_free(&t->text);
	free(t);
}

/* Begins an instant in pf->packet, with the stack of `rec` (NULL: none). */
static size_t begin(struct pftrace *pf, uint64_t track, const char *category, const char *name,
		    uint64_t ns, const struct timeline_record *rec)
{
	struct text *p = pf_begin(pf, ns);
	uint32_t stack = rec ? pf_stacks_id(pf, rec) : 0;
	size_t event = proto_open(p, PACKET_TRACK_EVENT);
	char safe[256];

	proto_number(p, TRACK_EVENT_TYPE, TYPE_INSTANT);
	proto_number(p, TRACK_EVENT_UUID, track);
	proto_string(p, TRACK_EVENT_CATEGORY, category);
	proto_string(p, TRACK_EVENT_NAME, pf_text(safe, sizeof(safe), name, strlen(name)));
	if (stack)
		proto_number(p, TRACK_EVENT_CALLSTACK, stack);
	return event;
}

static void annotate(struct pftrace *pf, const char *name, const char *value)
{
	size_t m;

	if (!*value)
		return;
	m = proto_open(&pf->packet, TRACK_EVENT_ANNOTATION);
	proto_string(&pf->packet, ANNOTATION_STRING, value);
	proto_string(&pf->packet, ANNOTATION_NAME, name);
	proto_close(&pf->packet, m);
}

static void annotate_foreign(struct pftrace *pf, const char *name, const char *value)
{
	char safe[512];

	annotate(pf, name, pf_text(safe, sizeof(safe), value, strlen(value)));
}

static void end(struct pftrace *pf, size_t event)
{
	proto_close(&pf->packet, event);
	pf_put(pf);
}

static void put_track(struct pftrace *pf, uint64_t uuid, const char *name)
{
	struct text *p = &pf->packet;
	size_t track;

	p->b.len = 0;
	track = proto_open(p, PACKET_TRACK_DESCRIPTOR);
	proto_number(p, TRACK_UUID, uuid);
	proto_string(p, TRACK_NAME, name);
	end(pf, track);
}

/* ---- the trigger and the rings ---- */

static void put_trigger(struct pftrace *pf)
{
	const struct meta *m = pf->x->a.m;
	char name[300];
	size_t event;

	snprintf(name, sizeof(name), "trigger: %s", m->trigger_name);
	event = begin(pf, TRACK_TRIGGER, "trigger", name, m->trigger.hit_ns, NULL);
	annotate_foreign(pf, "rule", m->trigger_rule);
	annotate_foreign(pf, "reason", m->trigger_reason);
	for (size_t n = 0; n < m->nr_saw; n++)
		annotate_foreign(pf, "saw", m->saw[n]);
	end(pf, event);
}

static const char *ring_name(const struct meta *m, const struct fmt_window *w, char *out, size_t n)
{
	const char *channel = m->channels[w->channel].name;

	if (w->cpu >= 0)
		snprintf(out, n, "%s of CPU %d", channel, w->cpu);
	else
		snprintf(out, n, "%s of thread %d", channel, w->tid);
	return out;
}

static void put_beginning(struct pftrace *pf, const struct fmt_window *w)
{
	char ring[128], name[200], lost[40];
	size_t event;

	snprintf(name, sizeof(name), "%s: everything from here on",
		 ring_name(pf->x->a.m, w, ring, sizeof(ring)));
	event = begin(pf, TRACK_RINGS, "ringback", name, w->first_ns, NULL);
	if (w->lost) {
		snprintf(lost, sizeof(lost), "%" PRIu64, w->lost);
		annotate(pf, "lost", lost);
	}
	end(pf, event);
}

void pf_tracks_begin(struct pftrace *pf)
{
	const struct meta *m = pf->x->a.m;

	put_track(pf, TRACK_TRIGGER, "trigger");
	put_track(pf, TRACK_RINGS, "rings: where they begin, what they lost");
	put_trigger(pf);
	for (size_t i = 0; i < m->nr_windows; i++)
		if (meta_is_ring(&m->windows[i]) && m->windows[i].nr_records)
			put_beginning(pf, &m->windows[i]);
}

void pf_tracks_lost(struct pftrace *pf, const struct timeline_record *rec, uint64_t nr)
{
	char ring[128], name[200];

	snprintf(name, sizeof(name), "%s: %" PRIu64 " sample%s lost",
		 ring_name(pf->x->a.m, rec->window, ring, sizeof(ring)), nr, str_plural(nr));
	end(pf, begin(pf, TRACK_RINGS, "ringback", name, rec->time_ns, NULL));
}

/* ---- events ---- */

static void put_thread_track(struct pftrace *pf, uint64_t uuid, const struct timeline_record *rec)
{
	const char *comm = history_comm(pf->x->a.history, rec->tid, rec->time_ns);
	struct text *p = &pf->packet;
	size_t track, thread;
	uint32_t pid, tid;
	char name[72];

	export_who(pf->x, rec, &pid, &tid);
	p->b.len = 0;
	track = proto_open(p, PACKET_TRACK_DESCRIPTOR);
	proto_number(p, TRACK_UUID, uuid);
	thread = proto_open(p, TRACK_THREAD);
	proto_number(p, THREAD_PID, pid);
	proto_number(p, THREAD_TID, tid);
	proto_string(p, THREAD_NAME, pf_text(name, sizeof(name), comm, comm ? strlen(comm) : 0));
	proto_close(p, thread);
	end(pf, track);
}

uint64_t pf_tracks_of(struct pftrace *pf, const struct timeline_record *rec)
{
	const struct fmt_task *task = history_task(pf->x->a.history, rec->tid, rec->time_ns);
	bool is_new = false;
	uint32_t id = pair_ids_add(&pf->tracks->threads, rec->tid, task ? task->key : 0, &is_new);

	if (!id)
		pf->rc = -ENOMEM;
	if (is_new)
		put_thread_track(pf, TRACK_THREADS + id, rec);
	return TRACK_THREADS + id;
}

void pf_tracks_take(struct pftrace *pf, const struct timeline_record *rec)
{
	struct text *text = &pf->tracks->text;
	uint32_t tracepoint = rec->event->f.tracepoint;
	const char *name = tracepoint ? fields_name(pf->x->a.fields, tracepoint) : NULL;
	uint64_t track = pf_tracks_of(pf, rec);
	size_t event = begin(pf, track, tracepoint ? "tracepoint" : "event",
			     name ? name : rec->event->name, rec->time_ns, rec);

	text->b.len = 0;
	if (tracepoint)
		fields_text(pf->x->a.fields, rec->s.raw, text);
	text_char(text, '\0');
	if (text->rc)
		pf->rc = text->rc;
	else
		annotate(pf, "text", (char *)text->b.p);
	end(pf, event);
}
