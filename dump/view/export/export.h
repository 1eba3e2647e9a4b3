/* SPDX-License-Identifier: MIT */
/*
 * A dump in a format of other tools. What all formats need is opened and gone through here; a
 * format is a row of callbacks in a file of its own, export_NAME.c:
 *
 *	reader, meta, people, ... ─▶ begin ─▶ record, record, ... ─▶ end ─▶ (always) drop
 *	                                      oldest first
 *
 * To add one: its file with a struct exporter, its declaration below, its row in export.c and its
 * item in recorder/dist/ringback-export.1.
 */
#pragma once

#include "dump/view/base/text.h"
#include "dump/view/model/timeline.h"

struct err;
struct fields;
struct process_history;
struct reader;
struct stacks;
struct symbols;

/* What is opened before begin. */
#define EXPORT_PEOPLE  1u
#define EXPORT_FIELDS  2u
#define EXPORT_SYMBOLS 4u /* and people */
#define EXPORT_STACKS  8u /* and symbols, people */

/* Which AUX area; nothing said: the only one. */
struct export_area {
	bool has_cpu, has_tid;
	int32_t cpu, tid;
	const char *channel; /* NULL: of any */
};

struct export_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	const char *path;	 /* of the dump, as given; printed only */
	const char *event; /* formats that count samples: of events of this name, with * and ?;
			    * NULL: of those that sample the CPU */
	struct export_area area; /* of formats that are about one */
	/* Called now and then, with records; NULL: nobody wants to know. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

struct export_result {
	uint64_t nr_records;
	uint64_t nr_cut, nr_left_out; /* as in struct export; as the following */
	uint64_t nr_areas_left_out;
	const char *why_area;
	uint64_t nr_calls_left_out;
	uint64_t nr_bad; /* blocks and items that could not be read */
};

/* What an exporter works with; what it didn't ask for is NULL. */
struct export
{
	const struct exporter *exporter;
	const struct export_options *opt;
	struct reader *r;
	const struct meta *m;
	struct process_history *history;
	struct fields *fields;
	struct symbols *symbols;
	struct stacks *stacks;
	/* What it puts here is written to the output: after each record when there is enough. */
	struct text out;
	bool seekable;		    /* export_patch() is possible */
	uint64_t nr_cut;	    /* records that it had to shorten; it counts them */
	uint64_t nr_left_out;	    /* records that the format has no way to say; it counts them */
	uint64_t nr_areas_left_out; /* AUX areas, likewise */
	const char *why_area;	    /* the first of them was */
	uint64_t nr_calls_left_out; /* calls of a hardware's trace, the oldest; it counts them */
	uint64_t nr_bad; /* AUX areas that could not be read as a whole; the exporter counts them */
	void *state;	 /* the exporter's own */
};

/* Each callback returns 0, or a negative errno with `err` set, which ends the export. Failures of
 * x->out need not be looked at. */
struct exporter {
	const char *name;   /* what is typed after -f */
	const char *help;   /* one line */
	const char *suffix; /* what such files' names end in, with its dot */
	bool binary;	    /* nothing for a terminal */
	unsigned needs;	    /* EXPORT_* */
	/* Called once and first, when all that was asked for is open. May be NULL, as may be those
	 * below but `record`. */
	int (*begin)(struct export *x, struct err *err);
	/* Called for each record from_ns to to_ns, oldest first; `rec` is borrowed. */
	int (*record)(struct export *x, const struct timeline_record *rec, struct err *err);
	/* Called once after the last record, also when there was none; not after a failure. */
	int (*end)(struct export *x, struct err *err);
	/* Instead of all these: writes everything to x->out.out itself, and counts. */
	int (*all)(struct export *x, struct export_result *res, struct err *err);
	/* Called last when begin was called, however it ended: frees x->state. */
	void (*drop)(struct export *x);
};

extern const struct exporter export_aux, export_folded, export_ndjson, export_perf, export_pftrace,
	export_pprof;
/* Of a line of ndjson, as a JSON Schema. */
extern const char export_ndjson_schema[];

/* The row at `i`, counted up from 0; NULL behind the last one. */
const struct exporter *exporter_nth(size_t i);
/* NULL, with the nearest ones in `err`'s hint, when there is none of this name. */
const struct exporter *exporter_find(const char *name, struct err *err);

/*
 * Writes all of it to `out`, which is flushed, not closed. Memory is bounded by the timeline's and
 * the ledger's bounds. *res is set in any case. 0; -EPIPE and other errnos of writing; -ENOMEM;
 * -ENOTSUP when the dump has nothing that the format could hold; -EBADMSG when what had to be whole
 * is not: what could be had is written.
 */
int export_run(struct reader *r, const struct meta *m, const struct exporter *e,
	       const struct export_options *opt, FILE *out, struct export_result *res,
	       struct err *err);

/* ---- for exporters ---- */

/* The CPU that a record is of; -1: unknown. */
int32_t export_cpu(const struct timeline_record *rec);
/* Whom a record is of; the kernel tells no thread of one that is just going away: then the
 * process's first. */
void export_who(const struct export *x, const struct timeline_record *rec, uint32_t *pid,
		uint32_t *tid);

/* Writes over `n` bytes at `off` of the output, all of which have been put before; only where it is
 * seekable. 0 or a negative errno, remembered in x->out too. */
int export_patch(struct export *x, uint64_t off, const void *p, size_t n);
