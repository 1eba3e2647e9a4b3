/* SPDX-License-Identifier: MIT */
/*
 * Pauses hardware traces in the kernel, at the instruction that hits a rule. A second event like
 * the rule's joins the group of each trace's event (attr.aux_pause, Linux 6.13). The rule's own
 * event stays outside the group, since it must count hits while the group is off.
 *
 *	rule's event, CPU 2 ─▶ wakeup ring ─▶ wakes the recorder
 *	trace, CPU 2 ◀─ pause event, a member of its group; records the time
 *	trace, CPU 3 ◀─ pause event
 *
 * A pause event pauses only the trace of the CPU it fires on. The trace stays paused until the
 * recorder resumes it (recorder/trace/aux_resume.h), even if events are disabled and enabled
 * meanwhile.
 *
 * Traces come and go with CPUs, pause events with rules, in any order: struct aux_pauses has all of
 * both. Call from the main loop's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct aux_pause; /* one event of a rule, on all traces */
struct aux_pauses;
struct event;
struct rule;
struct source_env;

int aux_pauses_new(struct aux_pauses **out); /* 0 or -ENOMEM */
void aux_pauses_free(struct aux_pauses *b);  /* NULL allowed; after its last aux_pause */

/*
 * Adds the trace of `cpu`: `trace_fd` leads the group; the ring of `notes_fd` gets a record of each
 * pause. Both are borrowed until the trace is dropped. Dropping an unknown trace is no error. 0 or
 * -ENOMEM.
 */
int aux_pauses_add_trace(struct aux_pauses *b, int cpu, int trace_fd, int notes_fd);
void aux_pauses_drop_trace(struct aux_pauses *b, int trace_fd);
/*
 * True: some pause events are not active yet. The kernel activates an event that joins a group, or
 * is enabled in it, only when the group is enabled the next time. aux_pauses_settled() says that
 * all groups were.
 */
bool aux_pauses_changed(const struct aux_pauses *b);
void aux_pauses_settled(struct aux_pauses *b);
size_t aux_pauses_nr_traces(const struct aux_pauses *b);

/* Why a rule must not pause traces in the kernel; NULL: it may. */
const char *aux_pause_unfit(const struct rule *r, const struct source_env *env);
/* Whether every occurrence of `e` is a hit in the kernel's view, on any CPU: a tracepoint or uprobe
 * with period 1. */
bool aux_pause_can(const struct event *e);

/* Pause events for `e` (borrowed), for which aux_pause_can() is true. 0 or -ENOMEM. */
int aux_pause_new(struct aux_pauses *b, const struct event *e, struct aux_pause **out);
void aux_pause_free(struct aux_pause *k); /* NULL allowed */
/* Off: hits pause no trace, since none would get a dump. NULL allowed. */
void aux_pause_set(struct aux_pause *k, bool on);
/* The number of traces that it pauses. NULL allowed. */
size_t aux_pause_nr(const struct aux_pause *k);
