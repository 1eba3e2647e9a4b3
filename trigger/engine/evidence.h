/* SPDX-License-Identifier: MIT */
/*
 * Records that prove a hit, byte for byte as the kernel wrote them: the event with its fields, the
 * registers and stack of a crashed thread. They become the records of a channel named "trigger" in
 * the dump, so every ring reader can read them.
 *
 * Reference-counted; callable from any thread. Bounded: records that do not fit are counted.
 */
#pragma once

#include "dump/base/bytes.h"

#include <linux/perf_event.h>

struct evidence;

/* Limit of the records' bytes. */
#define EVIDENCE_MAX_BYTES (64u << 20)
#define EVIDENCE_MAX_KINDS 16

int evidence_new(struct evidence **out);
struct evidence *evidence_get(struct evidence *e); /* NULL allowed */
void evidence_put(struct evidence *e);		   /* NULL allowed */

/* An event that records belong to; each kind has its own record layout. */
struct evidence_kind {
	struct perf_event_attr attr;
	const char *name;   /* "signal:signal_deliver" */
	const char *filter; /* or NULL */
	const char *target; /* a uprobe's PATH:SYMBOL, or NULL */
};

/* Copies `k` and stores its index in *out. 0, -ENOSPC, -ENOMEM. */
int evidence_add_kind(struct evidence *e, const struct evidence_kind *k, size_t *out);
/* Copies one whole record, including its header. 0; -ENOSPC, -ENOMEM: the record is counted as
 * dropped. */
int evidence_add(struct evidence *e, size_t kind, uint32_t cpu, struct bytes rec);

/* Adds a "key=value" line that becomes known only after the hit was reported. Lines beyond
 * EVIDENCE_MAX_LINES are dropped. */
#define EVIDENCE_MAX_LINES 16
void evidence_say(struct evidence *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Announce evidence that is gathered after the hit is reported, such as the stacks of a crashed
 * process' threads. The rings are frozen at once; the dump waits for the evidence before it ends.
 */
void evidence_expect(struct evidence *e);
void evidence_complete(struct evidence *e);
/* Waits for one evidence_complete() per evidence_expect(), at most `max_ns`; false: timeout.
 * Afterwards the evidence is closed: adding fails with -ESHUTDOWN, and is counted as dropped. */
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
/* Line `i` of evidence_say(); NULL: none. */
const char *evidence_line(const struct evidence *e, size_t i);
