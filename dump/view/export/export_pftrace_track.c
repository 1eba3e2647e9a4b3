// SPDX-License-Identifier: MIT
/*
 * What Perfetto has no form of its own for: other events on the track of their thread, the trigger
 * on one of its own, and on another where rings begin and what they lost.
 */
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
/* Tracks of threads come behind these. */
#define TRACK_TRIGGER 1u
#define TRACK_RINGS   2u
#define TRACK_THREADS 16u
#define MAX_NOTES     16

struct pf_tracks {
	struct pair_ids threads; /* tid, key of its task */
	struct text text;
};

/* An instant that is being put together. */
struct instant {
	Perfetto__TrackEvent event;
	Perfetto__DebugAnnotation notes[MAX_NOTES], *note[MAX_NOTES];
	char *category;
	char name[256];
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

static void begin(struct instant *i, uint64_t track, char *category, const char *name)
{
	i->event = (Perfetto__TrackEvent)PERFETTO__TRACK_EVENT__INIT;
	PF_SET(&i->event, type, TYPE_INSTANT);
	PF_SET(&i->event, track_uuid, track);
	i->category = category;
	i->event.categories = &i->category;
	i->event.n_categories = 1;
	pf_text(i->name, sizeof(i->name), name, strlen(name));
	i->event.name = i->name;
	i->event.debug_annotations = i->note;
}

/* `value` must be UTF-8 and last until put(). */
static void annotate(struct instant *i, char *name, char *value)
{
	size_t n = i->event.n_debug_annotations;

	if (n == MAX_NOTES || !*value)
		return;
	i->notes[n] = (Perfetto__DebugAnnotation)PERFETTO__DEBUG_ANNOTATION__INIT;
	i->notes[n].name = name;
	i->notes[n].string_value = value;
	i->note[n] = &i->notes[n];
	i->event.n_debug_annotations++;
}

/* `rec` is whose stack goes with it, NULL: none. */
static void put(struct pftrace *pf, struct instant *i, const struct timeline_record *rec,
		uint64_t ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	uint32_t stack = rec ? pf_stacks_id(pf, rec, &packet) : 0;

	if (stack)
		PF_SET(&i->event, callstack_iid, stack);
	packet.track_event = &i->event;
	PF_SET(&packet, timestamp, pf_ns(pf, ns));
	pf_put(pf, &packet);
}

static void put_track(struct pftrace *pf, uint64_t uuid, char *name,
		      Perfetto__ThreadDescriptor *thread)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;

	PF_SET(&track, uuid, uuid);
	track.name = name;
	track.thread = thread;
	packet.track_descriptor = &track;
	pf_put(pf, &packet);
}

/* ---- the trigger and the rings ---- */

static void put_trigger(struct pftrace *pf)
{
	const struct meta *m = pf->x->m;
	char name[300], rule[512], reason[512], saw[MAX_NOTES][256];
	struct instant i;

	snprintf(name, sizeof(name), "trigger: %s", m->trigger_name);
	begin(&i, TRACK_TRIGGER, "trigger", name);
	annotate(&i, "rule", pf_text(rule, sizeof(rule), m->trigger_rule, strlen(m->trigger_rule)));
	annotate(&i, "reason",
		 pf_text(reason, sizeof(reason), m->trigger_reason, strlen(m->trigger_reason)));
	for (size_t n = 0; n < m->nr_saw && n < MAX_NOTES; n++)
		annotate(&i, "saw", pf_text(saw[n], sizeof(saw[n]), m->saw[n], strlen(m->saw[n])));
	put(pf, &i, NULL, m->trigger.hit_ns);
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
	struct instant i;

	snprintf(name, sizeof(name), "%s: everything from here on",
		 ring_name(pf->x->m, w, ring, sizeof(ring)));
	begin(&i, TRACK_RINGS, "ringback", name);
	if (w->lost) {
		snprintf(lost, sizeof(lost), "%" PRIu64, w->lost);
		annotate(&i, "lost", lost);
	}
	put(pf, &i, NULL, w->first_ns);
}

void pf_tracks_begin(struct pftrace *pf)
{
	const struct meta *m = pf->x->m;

	put_track(pf, TRACK_TRIGGER, "trigger", NULL);
	put_track(pf, TRACK_RINGS, "rings: where they begin, what they lost", NULL);
	put_trigger(pf);
	for (size_t i = 0; i < m->nr_windows; i++)
		if (meta_is_ring(&m->windows[i]) && m->windows[i].nr_records)
			put_beginning(pf, &m->windows[i]);
}

void pf_tracks_lost(struct pftrace *pf, const struct timeline_record *rec, uint64_t nr)
{
	char ring[128], name[200];
	struct instant i;

	snprintf(name, sizeof(name), "%s: %" PRIu64 " sample%s lost",
		 ring_name(pf->x->m, rec->window, ring, sizeof(ring)), nr, str_plural(nr));
	begin(&i, TRACK_RINGS, "ringback", name);
	put(pf, &i, NULL, rec->time_ns);
}

/* ---- events ---- */

uint64_t pf_tracks_of(struct pftrace *pf, const struct timeline_record *rec)
{
	struct pf_tracks *t = pf->tracks;
	const struct fmt_task *task = history_task(pf->x->history, rec->tid, rec->time_ns);
	const char *comm = history_comm(pf->x->history, rec->tid, rec->time_ns);
	Perfetto__ThreadDescriptor thread = PERFETTO__THREAD_DESCRIPTOR__INIT;
	bool is_new = false;
	uint32_t pid, tid, id = pair_ids_add(&t->threads, rec->tid, task ? task->key : 0, &is_new);
	char name[72];

	if (!id)
		pf->rc = -ENOMEM;
	if (is_new) {
		export_who(pf->x, rec, &pid, &tid);
		PF_SET(&thread, pid, (int32_t)pid);
		PF_SET(&thread, tid, (int32_t)tid);
		thread.thread_name = pf_text(name, sizeof(name), comm, comm ? strlen(comm) : 0);
		put_track(pf, TRACK_THREADS + id, NULL, &thread);
	}
	return TRACK_THREADS + id;
}

void pf_tracks_take(struct pftrace *pf, const struct timeline_record *rec)
{
	struct pf_tracks *t = pf->tracks;
	const char *name = rec->event->name;
	struct instant i;

	if (rec->event->f.tracepoint && fields_name(pf->x->fields, rec->event->f.tracepoint))
		name = fields_name(pf->x->fields, rec->event->f.tracepoint);
	begin(&i, pf_tracks_of(pf, rec), rec->event->f.tracepoint ? "tracepoint" : "event", name);
	t->text.b.len = 0;
	if (rec->event->f.tracepoint)
		fields_text(pf->x->fields, rec->s.raw, &t->text);
	text_char(&t->text, '\0');
	if (t->text.rc)
		pf->rc = t->text.rc;
	else
		annotate(&i, "text", (char *)t->text.b.p);
	put(pf, &i, rec, rec->time_ns);
}
