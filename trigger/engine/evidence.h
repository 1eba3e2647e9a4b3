/* SPDX-License-Identifier: MIT */
/*
 * Records that show what met a rule, byte for byte as the kernel wrote them: the event itself with
 * its fields, the registers and stack of who crashed. They go into the dump as the records of a
 * channel named "trigger", so whoever reads rings reads them too.
 *
 * Shared by counting references; any thread. Bounded: what does not fit is counted.
 */
#pragma once

#include "dump/base/bytes.h"

#include <linux/perf_event.h>

struct evidence;

/* At most this many bytes of records. */
#define EVIDENCE_MAX_BYTES (64u << 20)
#define EVIDENCE_MAX_KINDS 16

int evidence_new(struct evidence **out);
struct evidence *evidence_get(struct evidence *e); /* NULL allowed */
void evidence_put(struct evidence *e);		   /* NULL allowed */

/* One event that records may be of; each has a layout of its own. */
struct evidence_kind {
	struct perf_event_attr attr;
	const char *name;   /* "signal:signal_deliver" */
	const char *filter; /* or NULL */
	const char *target; /* a uprobe's PATH:SYMBOL, or NULL */
};

/* Copies `k`; its index in *out. 0, -ENOSPC, -ENOMEM. */
int evidence_add_kind(struct evidence *e, const struct evidence_kind *k, size_t *out);
/* Copies one whole record (with its header). 0; -ENOSPC, -ENOMEM: counted. */
int evidence_add(struct evidence *e, size_t kind, uint32_t cpu, struct bytes rec);

/* One more "key=value" line of what was seen, known only after the hit was told; those behind the
 * first EVIDENCE_MAX_LINES are dropped. */
#define EVIDENCE_MAX_LINES 16
void evidence_say(struct evidence *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Evidence that is still being gathered when the hit is told, as the stacks of a crashed process'
 * threads: the rings are frozen at once, and the dump waits for it before its end.
 */
void evidence_expect(struct evidence *e);
void evidence_complete(struct evidence *e);
/* Until there was an evidence_complete() for each evidence_expect(), or `max_ns` have passed;
 * false: it is still expected. From then on nothing more is taken: adding is -ESHUTDOWN, and
 * counted. */
bool evidence_wait(struct evidence *e, uint64_t max_ns);

/* ---- for the dump; after evidence_wait() ---- */
size_t evidence_nr_kinds(const struct evidence *e);
const struct evidence_kind *evidence_kind_at(const struct evidence *e, size_t i);
struct evidence_record {
	size_t kind;
	uint32_t cpu;
	struct bytes rec;
};
size_t evidence_nr(const struct evidence *e);
struct evidence_record evidence_at(const struct evidence *e, size_t i);
uint64_t evidence_nr_dropped(const struct evidence *e);
/* Line `i` of what was said; NULL: there is none. */
const char *evidence_line(const struct evidence *e, size_t i);
