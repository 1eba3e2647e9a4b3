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

struct brake; /* of one event of a rule, on all traces */
struct brakes;
struct event;
struct rule;
struct source_env;

int brakes_new(struct brakes **out); /* 0 or -ENOMEM */
void brakes_free(struct brakes *b);  /* NULL allowed; behind its last brake */

/*
 * A trace of all that runs on `cpu`: the event that leads its group, and the one whose ring gets a
 * record each time it is stopped. Both are borrowed until it is dropped; that it is not there is no
 * error. 0 or -ENOMEM.
 */
int brakes_add_trace(struct brakes *b, int cpu, int trace_fd, int notes_fd);
void brakes_drop_trace(struct brakes *b, int trace_fd);
/*
 * Whether brakes are not on yet that should be: the kernel puts an event on that joins a group, or
 * is enabled in it, no sooner than when the group is switched on the next time. Until it is said
 * that all traces were.
 */
bool brakes_changed(const struct brakes *b);
void brakes_settled(struct brakes *b);
size_t brakes_nr_traces(const struct brakes *b);

/* Why a rule does not stop traces in the kernel; NULL: it may. */
const char *brake_unfit(const struct rule *r, const struct source_env *env);
/* Whether each hit of `e` is one of the kernel's own, on whatever CPU it comes. */
bool brake_can(const struct event *e);

/* Brakes for `e` (borrowed), which brake_can(). 0 or -ENOMEM. */
int brake_new(struct brakes *b, const struct event *e, struct brake **out);
void brake_free(struct brake *k); /* NULL allowed */
/* Off: hits leave traces alone, for none would get a dump. NULL allowed. */
void brake_set(struct brake *k, bool on);
/* Traces that it stops; NULL allowed. */
size_t brake_nr(const struct brake *k);
