/* SPDX-License-Identifier: MIT */
/*
 * The sections that describe a dump's records: channels, attributes, names, sample ids and
 * tracepoint formats. Their texts are read from tracefs once, at start.
 */
#pragma once

#include <stdint.h>

struct err;
struct fmt_event;
struct event_formats;
struct perf_event_attr;
struct recording;
struct writer;

int event_formats_new(const struct recording *r, struct event_formats **out, struct err *err);
void event_formats_free(struct event_formats *f);

/* Writes the CHANNELS and FORMATS sections; ring ids are those of the windows. No allocation. */
void event_formats_write(const struct event_formats *f, struct recording *r, struct writer *w);

/* Adds the format of another tracepoint. Does nothing if tracefs has no such event. Allocates. */
void event_formats_write_one(const struct event_formats *f, const char *name, uint32_t id,
			     struct writer *w);

/* Writes one event into the CHANNELS section; texts may be NULL. The caller must clear the pointers
 * in `attr`. No allocation. */
void event_formats_put_event(struct writer *w, const struct fmt_event *e,
			     const struct perf_event_attr *attr, const char *name,
			     const char *filter, const char *target);
