/* SPDX-License-Identifier: MIT */
/*
 * What stops hardware traces at the very instruction that meets a rule: a rule's event once more,
 * in the group of each trace's event (attr.aux_pause, Linux 6.13). The rule's own event stays
 * outside, for it has to count hits also while the trace's group is off.
 *
 *	rule's event, CPU 2 ─▶ tap ─▶ wakes the recorder
 *	trace, CPU 2 ◀─ the same event, a member of its group: a brake; notes when
 *	trace, CPU 3 ◀─ a brake
 *
 * A brake stops only the trace of the CPU it is met on. What it has stopped stands until the
 * recorder lets it run (recorder/capture/aux_resume.h), whatever is switched off and on meanwhile.
 *
 * Traces come and go with CPUs, brakes with rules, in any order: `brakes` knows all of both. Main
 * loop's thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct aux_pause; /* of one event of a rule, on all traces */
struct aux_pauses;
struct event;
struct rule;
struct source_env;

int aux_pauses_new(struct aux_pauses **out); /* 0 or -ENOMEM */
void aux_pauses_free(struct aux_pauses *b);  /* NULL allowed; behind its last brake */

/*
 * A trace of all that runs on `cpu`: the event that leads its group, and the one whose ring gets a
 * record each time it is stopped. Both are borrowed until it is dropped; that it is not there is no
 * error. 0 or -ENOMEM.
 */
int aux_pauses_add_trace(struct aux_pauses *b, int cpu, int trace_fd, int notes_fd);
void aux_pauses_drop_trace(struct aux_pauses *b, int trace_fd);
/*
 * Whether brakes are not on yet that should be: the kernel puts an event on that joins a group, or
 * is enabled in it, no sooner than when the group is switched on the next time. Until it is said
 * that all traces were.
 */
bool aux_pauses_changed(const struct aux_pauses *b);
void aux_pauses_settled(struct aux_pauses *b);
size_t aux_pauses_nr_traces(const struct aux_pauses *b);

/* Why a rule does not stop traces in the kernel; NULL: it may. */
const char *aux_pause_unfit(const struct rule *r, const struct source_env *env);
/* Whether each hit of `e` is one of the kernel's own, on whatever CPU it comes. */
bool aux_pause_can(const struct event *e);

/* Brakes for `e` (borrowed), which aux_pause_can(). 0 or -ENOMEM. */
int aux_pause_new(struct aux_pauses *b, const struct event *e, struct aux_pause **out);
void aux_pause_free(struct aux_pause *k); /* NULL allowed */
/* Off: hits leave traces alone, for none would get a dump. NULL allowed. */
void aux_pause_set(struct aux_pause *k, bool on);
/* Traces that it stops; NULL allowed. */
size_t aux_pause_nr(const struct aux_pause *k);
