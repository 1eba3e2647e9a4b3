/* SPDX-License-Identifier: MIT */
/*
 * The events of one rule, each with its own wakeup ring. Reports their content as "key=value"
 * lines: a tracepoint's fields by its format in tracefs, a probe's arguments by the calling
 * convention. Implements the sources whose hits are plain events; these sources add only their
 * source_ops.
 */
#pragma once

#include "trigger/events/wakeup_ring.h"

struct err;
struct sighting;
struct source;
struct source_env;
struct source_plan;
struct tpfields;

#define TAPS_MAX 16

struct event_source_options {
	uint64_t sample_type; /* as in struct wakeup_ring_options, in addition to stack= */
	const struct rule *rule;
	/* Describes a tracepoint's record; NULL: its fields are listed one by one. */
	void (*about)(const struct tpfields *tp, struct bytes raw, struct sighting *what);
};

/* Takes ownership of the events, also on failure. */
int event_source_open(struct event_list *events, const struct event_source_options *o,
		      const struct source_env *env, struct source **out, struct err *err);
void event_source_close(struct source *t); /* NULL allowed */

/* As in source_ops; call event_source_ready() until it returns 0. */
int event_source_fd(const struct source *t, uint32_t *events);

/* The next hit, merged with directly following hits of the same event, thread and stack. */
int event_source_ready(struct source *t, struct sighting *what, struct err *err);

uint64_t event_source_skip(struct source *t);
int event_source_cpu(struct source *t, int cpu, bool online, struct err *err);
void event_source_brake(struct source *t, bool on);

const struct event_list *event_source_events(const struct source *t);
/* Sets `brakes`, and `costs` to the memory of the rings and "; " and `costs`. */
void event_source_plan(const struct source *t, const char *costs, struct source_plan *out);

/* The members of struct source_ops that all kinds share; open and plan differ. */
#define EVENT_SOURCE_OPS                                                                           \
	.fd = event_source_fd, .ready = event_source_ready, .skip = event_source_skip,             \
	.brake = event_source_brake, .cpu = event_source_cpu, .close = event_source_close
