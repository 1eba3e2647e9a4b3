// SPDX-License-Identifier: MIT
/*
 * The events of one rule; see event_source.h. A record of a wakeup ring is borrowed until the next
 * read of that ring. A record that was read too early, because it is a different hit, is kept as
 * `next`.
 */
#include "trigger/events/event_source.h"

#include "dump/base/err.h"
#include "dump/base/str.h"
#include "dump/base/tpfields.h"
#include "trigger/events/aux_pause.h"
#include "trigger/kernel/settings.h"
#include "trigger/kernel/tracefs.h"
#include "trigger/engine/source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct one {
	struct wakeup_ring *tap;
	struct tpfields fields; /* of a tracepoint; empty when its format is unreadable */
	bool has_fields;
};

struct source {
	struct event_source_options opt;
	struct event_list events;
	struct one v[TAPS_MAX];
	size_t nr;
	int epoll_fd;
	size_t turn;
	/* Read, but not reported yet. */
	struct wakeup_ring_sample next;
	size_t next_of;
	bool has_next;
};

/* ---- opening ---- */

/* Without a format the hit is reported without its fields. */
static void read_fields(struct one *o, const char *name)
{
	struct buf format = {0};
	char path[300];
	const char *colon = strchr(name, ':');

	snprintf(path, sizeof(path), "events/%.*s/%s/format", (int)(colon - name), name, colon + 1);
	if (!tracefs_read(path, &format, NULL))
		o->has_fields = !tpfields_open((struct bytes){format.p, format.len}, &o->fields);
	buf_free(&format);
}

static int open_one(struct source *t, const struct event *e, const struct source_env *env,
		    struct err *err)
{
	struct wakeup_ring_options options = {
		.event = e,
		.sample_type = t->opt.sample_type,
		.brakes = env && !aux_pause_unfit(t->opt.rule, env) ? env->brakes : NULL,
	};
	struct one *o = &t->v[t->nr];
	int rc;

	wakeup_ring_set_stack(&options, t->opt.rule);
	rc = wakeup_ring_open(&options, env, &o->tap, err);
	if (rc)
		return rc;
	t->nr++;
	if (e->kind == EVENT_TRACEPOINT)
		read_fields(o, e->name);
	return source_wait(&t->epoll_fd, wakeup_ring_fd(o->tap), e->name, err);
}

static int open_all(struct source *t, const struct source_env *env, struct err *err)
{
	int rc = 0;

	if (t->events.nr > TAPS_MAX) {
		err_set(err, -E2BIG, "this matches %zu events; a rule waits for at most %d",
			t->events.nr, TAPS_MAX);
		err_hint(err, "narrow the pattern, or make several rules of it");
		return -E2BIG;
	}
	for (size_t i = 0; i < t->events.nr && !rc; i++)
		rc = open_one(t, t->events.v[i], env, err);
	return rc;
}

int event_source_open(struct event_list *events, const struct event_source_options *o,
		      const struct source_env *env, struct source **out, struct err *err)
{
	struct source *t = calloc(1, sizeof(*t));
	int rc;

	if (!t) {
		event_list_free(events);
		return err_set(err, -ENOMEM, "out of memory for a trigger");
	}
	t->opt = *o;
	t->epoll_fd = -1;
	t->events = *events;
	*events = (struct event_list){0};
	rc = open_all(t, env, err);
	if (rc)
		event_source_close(t);
	else
		*out = t;
	return rc;
}

void event_source_close(struct source *t)
{
	if (!t)
		return;
	while (t->nr) {
		struct one *o = &t->v[--t->nr];

		if (o->has_fields)
			tpfields_close(&o->fields);
		wakeup_ring_close(o->tap);
	}
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	event_list_free(&t->events);
	free(t);
}

int event_source_fd(const struct source *t, uint32_t *events)
{
	return t->epoll_fd;
}

int event_source_cpu(struct source *t, int cpu, bool online, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < t->nr && !rc; i++)
		rc = wakeup_ring_cpu(t->v[i].tap, cpu, online, err);
	return rc;
}

void event_source_brake(struct source *t, bool on)
{
	for (size_t i = 0; i < t->nr; i++)
		wakeup_ring_brake(t->v[i].tap, on);
}

const struct event_list *event_source_events(const struct source *t)
{
	return &t->events;
}

void event_source_plan(const struct source *t, const char *costs, struct source_plan *out)
{
	unsigned cpus = setting_cpus_online();
	char events[32] = "";

	for (size_t i = 0; i < t->nr; i++)
		out->brakes |= wakeup_ring_brakes(t->v[i].tap);
	if (t->nr > 1)
		snprintf(events, sizeof(events), " and %zu events", t->nr);
	snprintf(out->costs, sizeof(out->costs), "a ring of 64 KiB for each of %u CPU%s%s; %s",
		 cpus, str_plural(cpus), events, costs);
}

/* ---- content of an event ---- */

static void add_array(struct sighting *what, const struct field *f, struct bytes b)
{
	char text[120] = "";
	size_t len = 0;

	for (size_t at = 0; span_fits(at, f->elem_bytes, b.len) && len < sizeof(text) - 24;
	     at += f->elem_bytes)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%#" PRIx64,
					at ? "," : "", field_value(b.p + at, f->elem_bytes, false));
	sighting_add(what, "%s={%s}", f->name, text);
}

static void add_field(struct sighting *what, const struct field *f, struct bytes raw)
{
	struct bytes b;
	char text[160];

	if (f->flags & FIELD_STRING) {
		if (field_string(f, raw, &b))
			sighting_add(what, "%s=%s", f->name,
				     str_safe(text, sizeof(text), (const char *)b.p, b.len));
	} else if (f->flags & FIELD_ARRAY) {
		if (field_bytes(f, raw, &b))
			add_array(what, f, b);
	} else if (f->flags & FIELD_POINTER) {
		sighting_add(what, "%s=%#" PRIx64, f->name, field_number(f, raw));
	} else if (f->flags & FIELD_SIGNED) {
		sighting_add(what, "%s=%" PRId64, f->name, (int64_t)field_number(f, raw));
	} else {
		sighting_add(what, "%s=%" PRIu64, f->name, field_number(f, raw));
	}
}

static void add_fields(struct sighting *what, const struct tpfields *tp, struct bytes raw)
{
	if (!tpfields_fits(tp, raw))
		return;
	for (size_t i = 0; i < tp->nr_fields; i++)
		if (!(tp->fields[i].flags & FIELD_COMMON))
			add_field(what, &tp->fields[i], raw);
}

static bool is_return(const struct event *e)
{
	return !strncmp(e->name, "uretprobe:", 10);
}

/* Arguments or result in registers, by the calling convention: their types are unknown. */
static void add_registers(struct sighting *what, const struct event *e,
			  const struct wakeup_ring_sample *s)
{
	struct event_call call;

	if (!event_user_call(s->regs, &call))
		return;
	if (is_return(e))
		sighting_add(what, "returned=%#" PRIx64, call.result);
	for (unsigned i = 0; i < EVENT_ARGS && !is_return(e); i++)
		sighting_add(what, "arg%u=%#" PRIx64, i + 1, call.arg[i]);
}

static void tell(const struct source *t, size_t i, const struct wakeup_ring_sample *s,
		 struct sighting *what)
{
	const struct event *e = t->events.v[i];

	wakeup_ring_sighting(t->v[i].tap, s, what);
	if (t->v[i].has_fields && t->opt.about && tpfields_fits(&t->v[i].fields, s->raw)) {
		t->opt.about(&t->v[i].fields, s->raw, what);
		return;
	}
	sighting_add(what, "event=%s", e->name);
	if (t->v[i].has_fields)
		add_fields(what, &t->v[i].fields, s->raw);
	else if (e->kind == EVENT_UPROBE)
		add_registers(what, e, s);
	else if (t->opt.sample_type & PERF_SAMPLE_ADDR)
		sighting_add(what, "address=%#" PRIx64, s->addr);
}

/* ---- hits ---- */

/* Reads the next record of any wakeup ring into `next`. */
static int read_next(struct source *t, struct err *err)
{
	for (size_t n = 0; n < t->nr && !t->has_next; n++) {
		size_t i = t->turn % t->nr;
		int rc = wakeup_ring_next(t->v[i].tap, &t->next, err);

		if (rc < 0)
			return rc;
		if (rc) {
			t->next_of = i;
			t->has_next = true;
		} else {
			t->turn++;
		}
	}
	return t->has_next;
}

static uint64_t take_lost(struct source *t)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < t->nr; i++)
		lost += wakeup_ring_take_lost(t->v[i].tap);
	return lost;
}

static uint32_t more(uint32_t nr, uint64_t add)
{
	return add < UINT32_MAX - nr ? nr + (uint32_t)add : UINT32_MAX;
}

/* Adds hits that left no record to the sighting before them. */
static void add_lost(struct source *t, struct sighting *what)
{
	uint64_t lost = take_lost(t);

	if (!lost)
		return;
	what->nr_hits = more(what->nr_hits, lost);
	sighting_add(what, "without_record=%" PRIu64, lost);
}

int event_source_ready(struct source *t, struct sighting *what, struct err *err)
{
	uint64_t hash;
	uint32_t tid;
	size_t of;
	int rc = read_next(t, err);

	if (rc <= 0) {
		if (!rc)
			add_lost(t, what);
		return rc ? rc : what->nr_hits > 0;
	}
	of = t->next_of;
	tid = t->next.tid;
	hash = wakeup_ring_sample_hash(&t->next);
	tell(t, of, &t->next, what);
	for (;;) {
		t->has_next = false;
		rc = read_next(t, err);
		if (rc <= 0 || t->next_of != of || t->next.tid != tid ||
		    wakeup_ring_sample_hash(&t->next) != hash)
			break;
		what->nr_hits = more(what->nr_hits, 1);
	}
	if (!rc)
		add_lost(t, what);
	return rc < 0 ? rc : 1;
}

uint64_t event_source_skip(struct source *t)
{
	uint64_t nr = t->has_next;

	t->has_next = false;
	for (size_t i = 0; i < t->nr; i++)
		nr += wakeup_ring_skip(t->v[i].tap);
	return nr;
}
