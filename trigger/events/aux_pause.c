// SPDX-License-Identifier: MIT
/* All traces, all pause events, and one perf event for each pair of them; see aux_pause.h. A failed
 * perf_event_open is ignored: the recorder then stops that trace after it wakes up. */
#include "trigger/events/aux_pause.h"

#include "dump/base/array.h"
#include "trigger/kernel/event.h"
#include "trigger/engine/source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

struct trace {
	int cpu, fd, notes_fd;
};

struct member {
	int fd;
	int trace_fd; /* leads the group */
};

struct aux_pause {
	struct aux_pauses *of;
	const struct event *event;
	bool off;
	struct member *v;
	size_t nr;
};

struct aux_pauses {
	struct trace *traces;
	size_t nr_traces;
	struct aux_pause **v;
	size_t nr;
	bool changed;
};

int aux_pauses_new(struct aux_pauses **out)
{
	struct aux_pauses *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	*out = b;
	return 0;
}

void aux_pauses_free(struct aux_pauses *b)
{
	if (!b)
		return;
	free(b->traces);
	free(b->v);
	free(b);
}

size_t aux_pauses_nr_traces(const struct aux_pauses *b)
{
	return b->nr_traces;
}

bool aux_pauses_changed(const struct aux_pauses *b)
{
	return b->changed;
}

void aux_pauses_settled(struct aux_pauses *b)
{
	b->changed = false;
}

/* ---- one pause event on one trace ---- */

static void set_attr(struct perf_event_attr *a, const struct event *e)
{
	*a = e->attr;
	a->size = sizeof(*a);
	a->sample_type = EVENT_NOTE_SAMPLE;
	a->write_backward = 1;
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	a->disabled = 1;
	a->watermark = 1;
	a->wakeup_watermark = UINT32_MAX;
	event_set_aux_action(a, EVENT_AUX_PAUSE);
}

static int open_member(const struct aux_pause *k, const struct trace *t)
{
	struct perf_event_attr a;
	int fd;

	set_attr(&a, k->event);
	fd = event_open(&a, -1, t->cpu, t->fd, 0);
	if (fd < 0)
		return fd;
	if ((k->event->filter && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, k->event->filter)) ||
	    ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, t->notes_fd)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	if (!k->off)
		ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

static int join(struct aux_pause *k, const struct trace *t)
{
	int fd;

	if (!array_room(k->v, k->nr))
		return -ENOMEM;
	fd = open_member(k, t);
	if (fd >= 0) {
		k->v[k->nr++] = (struct member){fd, t->fd};
		k->of->changed = true;
	}
	return 0;
}

static void leave(struct aux_pause *k, int trace_fd)
{
	for (size_t i = k->nr; i-- > 0;) {
		if (k->v[i].trace_fd != trace_fd)
			continue;
		close(k->v[i].fd);
		k->v[i] = k->v[--k->nr];
	}
}

/* ---- traces ---- */

int aux_pauses_add_trace(struct aux_pauses *b, int cpu, int trace_fd, int notes_fd)
{
	int rc = 0;

	if (!array_room(b->traces, b->nr_traces))
		return -ENOMEM;
	b->traces[b->nr_traces++] = (struct trace){cpu, trace_fd, notes_fd};
	for (size_t i = 0; i < b->nr && !rc; i++)
		rc = join(b->v[i], &b->traces[b->nr_traces - 1]);
	return rc;
}

void aux_pauses_drop_trace(struct aux_pauses *b, int trace_fd)
{
	for (size_t i = 0; i < b->nr; i++)
		leave(b->v[i], trace_fd);
	for (size_t i = b->nr_traces; i-- > 0;)
		if (b->traces[i].fd == trace_fd)
			b->traces[i] = b->traces[--b->nr_traces];
}

/* ---- rules ---- */

const char *aux_pause_unfit(const struct rule *r, const struct source_env *env)
{
	int64_t post = r->post_ns >= 0 ? r->post_ns : env ? env->post_ns : 0;

	if (post > 0)
		return "what comes after a hit is wanted, too (post=)";
	if (r->probability < 1)
		return "most hits get no dump (probability=)";
	return NULL;
}

bool aux_pause_can(const struct event *e)
{
	return (e->kind == EVENT_TRACEPOINT || e->kind == EVENT_UPROBE) && !e->attr.freq &&
	       e->attr.sample_period == 1;
}

int aux_pause_new(struct aux_pauses *b, const struct event *e, struct aux_pause **out)
{
	struct aux_pause *k = calloc(1, sizeof(*k));
	int rc = 0;

	if (!k || !array_room(b->v, b->nr)) {
		free(k);
		return -ENOMEM;
	}
	k->of = b;
	k->event = e;
	b->v[b->nr++] = k;
	for (size_t i = 0; i < b->nr_traces && !rc; i++)
		rc = join(k, &b->traces[i]);
	if (rc)
		aux_pause_free(k);
	else
		*out = k;
	return rc;
}

void aux_pause_free(struct aux_pause *k)
{
	struct aux_pauses *b;

	if (!k)
		return;
	b = k->of;
	while (k->nr)
		close(k->v[--k->nr].fd);
	for (size_t i = b->nr; i-- > 0;)
		if (b->v[i] == k)
			b->v[i] = b->v[--b->nr];
	free(k->v);
	free(k);
}

void aux_pause_set(struct aux_pause *k, bool on)
{
	if (!k || k->off == !on)
		return;
	k->off = !on;
	k->of->changed |= on && k->nr;
	for (size_t i = 0; i < k->nr; i++)
		ioctl(k->v[i].fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

size_t aux_pause_nr(const struct aux_pause *k)
{
	return k ? k->nr : 0;
}
