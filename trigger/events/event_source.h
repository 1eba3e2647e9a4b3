/* SPDX-License-Identifier: MIT */
/*
 * Several events that one rule waits for, each with a tap of its own, and what they carried as
 * "key=value" lines: a tracepoint's fields by its format in tracefs, a probe's arguments by the
 * calling convention. The whole of the sources that are met by an event as such, but for their
 * rules: what stands in their source_ops.
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
	uint64_t sample_type; /* as in struct wakeup_ring_options, besides what stack= says */
	const struct rule *rule;
	/* Says what a tracepoint carried in the place of its fields, one by one; NULL: those. */
	void (*about)(const struct tpfields *tp, struct bytes raw, struct sighting *what);
};

/* Takes the events over, also on failure. */
int event_source_open(struct event_list *events, const struct event_source_options *o,
		      const struct source_env *env, struct source **out, struct err *err);
void event_source_close(struct source *t); /* NULL allowed */

/* As in source_ops; call event_source_ready() until it returns 0. */
int event_source_fd(const struct source *t, uint32_t *events);

/* The next hit, and with it those of the same event, thread and stack that follow it at once. */
int event_source_ready(struct source *t, struct sighting *what, struct err *err);

uint64_t event_source_skip(struct source *t);
int event_source_cpu(struct source *t, int cpu, bool online, struct err *err);
void event_source_brake(struct source *t, bool on);

const struct event_list *event_source_events(const struct source *t);
/* Sets `brakes`, and `costs` to the memory of the rings and "; " and `costs`. */
void event_source_plan(const struct source *t, const char *costs, struct source_plan *out);

/* The rows of struct source_ops that are the same for each kind; open and plan are its own. */
#define EVENT_SOURCE_OPS                                                                           \
	.fd = event_source_fd, .ready = event_source_ready, .skip = event_source_skip,             \
	.brake = event_source_brake, .cpu = event_source_cpu, .close = event_source_close
