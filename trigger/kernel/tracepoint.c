// SPDX-License-Identifier: MIT
/* Tracepoints in tracefs; see tracepoint.h. */
#include "trigger/kernel/tracepoint.h"

#include "dump/base/closest.h"
#include "dump/base/err.h"
#include "dump/base/str.h"
#include "trigger/kernel/tracefs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tracepoint_search {
	const char *system_pattern, *name_pattern;
	int (*each)(void *ctx, const char *system, const char *name, uint32_t id);
	void *ctx;
	struct err *err;
	const char *system; /* being listed now */
	size_t nr_systems, nr_events;
};

static bool is_pattern(const char *s)
{
	return strpbrk(s, "*?") != NULL;
}

static bool matches(const char *pattern, const char *name)
{
	return is_pattern(pattern) ? str_glob(pattern, name) : !strcmp(pattern, name);
}

static int read_id(const char *system, const char *name, uint32_t *id, struct err *err)
{
	char path[300];
	struct buf text = {0};
	int rc;

	snprintf(path, sizeof(path), "events/%s/%s/id", system, name);
	rc = tracefs_read(path, &text, err);
	if (rc)
		return rc;
	*id = (uint32_t)strtoul((char *)text.p, NULL, 10);
	buf_free(&text);
	return 0;
}

static int one_event(void *ctx, const char *name)
{
	struct tracepoint_search *s = ctx;
	uint32_t id;
	int rc;

	if (!matches(s->name_pattern, name))
		return 0;
	rc = read_id(s->system, name, &id, s->err);
	if (rc == -ENOENT) /* removed meanwhile, with its module */
		return 0;
	if (rc)
		return rc;
	s->nr_events++;
	return s->each(s->ctx, s->system, name, id);
}

static int one_system(void *ctx, const char *system)
{
	struct tracepoint_search *s = ctx;
	char path[300];

	if (!matches(s->system_pattern, system))
		return 0;
	if (is_pattern(s->system_pattern) && !strcmp(system, "ftrace"))
		return 0;
	s->nr_systems++;
	s->system = system;
	snprintf(path, sizeof(path), "events/%s", system);
	return tracefs_list(path, one_event, s, s->err);
}

/* ---- suggestions ---- */

struct offer {
	struct closest *closest;
	const char *system; /* being listed now */
	const char *only;   /* pattern of the systems to search, NULL: all */
	const char *exact;  /* NULL: offer close names; else only this name */
};

static int offer_event(void *ctx, const char *name)
{
	struct offer *o = ctx;
	char full[256];

	if (o->exact && strcmp(o->exact, name))
		return 0;
	snprintf(full, sizeof(full), "%s:%s", o->system, name);
	closest_add(o->closest, name, full);
	return 0;
}

static int offer_events(void *ctx, const char *system)
{
	struct offer *o = ctx;
	char path[300];

	if (o->only && !matches(o->only, system))
		return 0;
	o->system = system;
	snprintf(path, sizeof(path), "events/%s", system);
	tracefs_list(path, offer_event, o, NULL);
	return 0;
}

static int offer_system(void *ctx, const char *system)
{
	closest_add(ctx, system, NULL);
	return 0;
}

void tracepoint_closest(struct closest *c)
{
	struct offer o = {.closest = c};

	tracefs_list("events", offer_events, &o, NULL);
}

static int no_system(const struct tracepoint_search *s)
{
	struct closest c;
	struct offer o = {.closest = &c, .exact = s->name_pattern};

	if (is_pattern(s->system_pattern)) {
		err_set(s->err, -ENOENT, "no tracepoint system matches '%s'", s->system_pattern);
		err_hint(s->err, "the systems are the directories of tracefs' events; perf list "
				 "tracepoint shows them");
		return -ENOENT;
	}
	err_set(s->err, -ENOENT, "this kernel has no tracepoint system '%s'", s->system_pattern);
	closest_init(&c, s->name_pattern);
	tracefs_list("events", offer_events, &o, NULL);
	if (!c.nr) {
		closest_init(&c, s->system_pattern);
		tracefs_list("events", offer_system, &c, NULL);
	}
	closest_hint(&c, s->err,
		     "it may belong to a kernel module that is not loaded; perf list "
		     "tracepoint shows what is there");
	return -ENOENT;
}

static int no_event(const struct tracepoint_search *s)
{
	struct closest c;
	struct offer o = {.closest = &c, .only = s->system_pattern};
	char otherwise[300];

	if (is_pattern(s->name_pattern))
		err_set(s->err, -ENOENT, "no event of tracepoint system '%s' matches '%s'",
			s->system_pattern, s->name_pattern);
	else
		err_set(s->err, -ENOENT, "tracepoint system '%s' has no event '%s'",
			s->system_pattern, s->name_pattern);
	closest_init(&c, s->name_pattern);
	tracefs_list("events", offer_events, &o, NULL);
	if (!c.nr) {
		o.only = NULL;
		o.exact = s->name_pattern;
		tracefs_list("events", offer_events, &o, NULL);
	}
	snprintf(otherwise, sizeof(otherwise), "perf list '%s:*' shows what is there",
		 s->system_pattern);
	closest_hint(&c, s->err, otherwise);
	return -ENOENT;
}

int tracepoint_find(const char *system, const char *name,
		    int (*each)(void *ctx, const char *system, const char *name, uint32_t id),
		    void *ctx, struct err *err)
{
	struct tracepoint_search s = {.system_pattern = system,
				      .name_pattern = name,
				      .each = each,
				      .ctx = ctx,
				      .err = err};
	int rc;

	rc = tracefs_list("events", one_system, &s, err);
	if (rc)
		return rc;
	if (!s.nr_systems)
		return no_system(&s);
	if (!s.nr_events)
		return no_event(&s);
	return 0;
}
