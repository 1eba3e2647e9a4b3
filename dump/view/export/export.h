/* SPDX-License-Identifier: MIT */
/*
 * Writes a dump in a format of another tool. export.c opens the parts that a format needs and walks
 * the records; a format is a table of callbacks in its own file, export_NAME.c:
 *
 *	reader, meta, history ─▶ begin ─▶ record, record, ... ─▶ end ─▶ (always) drop
 *	                                  oldest first
 *
 * To add one, see README.md.
 */
#pragma once

#include "dump/view/analysis/analysis.h"
#include "dump/view/base/text.h"

/* Selects an AUX area; all unset: the only one. */
struct export_area {
	bool has_cpu, has_tid;
	int32_t cpu, tid;
	const char *channel; /* NULL: of any */
};

struct export_options {
	uint64_t from_ns, to_ns; /* inclusive, in the dump's clock; 0 and UINT64_MAX: all */
	const char *path;	 /* of the dump, as given; printed only */
	const char *event;	 /* glob of the events to export; NULL: see EXPORT.md */
	struct export_area area; /* aux only */
	/* Called regularly with numbers of records; may be NULL. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

struct export_result {
	uint64_t nr_records;
	uint64_t nr_cut, nr_left_out; /* as in struct export */
	uint64_t nr_areas_left_out;
	const char *why_area;
	uint64_t nr_calls_left_out;
	uint64_t nr_bad; /* blocks and items that could not be read */
};

/* The context of an exporter; parts that it does not need are NULL. */
struct export
{
	const struct exporter *exporter;
	const struct export_options *opt;
	struct analysis a;
	/* The output; flushed after a record when it is large enough. */
	struct text out;
	bool seekable; /* export_patch() is possible */
	/* Counted by the exporter: */
	uint64_t nr_cut;	    /* records that it shortened */
	uint64_t nr_left_out;	    /* records that the format cannot hold */
	uint64_t nr_areas_left_out; /* AUX areas, likewise */
	const char *why_area;	    /* why the first of them was left out */
	uint64_t nr_calls_left_out; /* the oldest calls of a hardware trace */
	uint64_t nr_bad; /* AUX areas that could not be read as a whole; the exporter counts them */
	void *state;	 /* the exporter's own */
};

/* Each callback returns 0, or a negative errno with `err` set, which ends the export. Errors of
 * x->out are checked by export.c. */
struct exporter {
	const char *name;   /* argument of -f */
	const char *help;   /* one line */
	const char *suffix; /* suffix of file names, with its dot */
	bool binary;	    /* not for a terminal */
	unsigned needs;	    /* ANALYSIS_*: parts to open in x->a */
	/* Called once, first, with the parts open. May be NULL, as all below except `record`. */
	int (*begin)(struct export *x, struct err *err);
	/* Called for each record from_ns to to_ns, oldest first; `rec` is borrowed. */
	int (*record)(struct export *x, const struct timeline_record *rec, struct err *err);
	/* Called once after the last record, even if there was none; not after a failure. */
	int (*end)(struct export *x, struct err *err);
	/* Replaces the others: writes everything to x->out.out and sets *res. */
	int (*all)(struct export *x, struct export_result *res, struct err *err);
	/* Called last if begin was called, also after a failure: frees x->state. */
	void (*drop)(struct export *x);
};

extern const struct exporter export_aux, export_folded, export_ndjson, export_perf, export_pftrace,
	export_pprof;
/* The JSON Schema of a line. */
extern const char export_ndjson_schema[];

/* Row `i` from 0; NULL after the last one. */
const struct exporter *exporter_nth(size_t i);
/* NULL: no such exporter; the hint has the nearest names. */
const struct exporter *exporter_find(const char *name, struct err *err);

/*
 * Writes to `out` and flushes it. Memory is bounded as in the timeline and the ledger. Always sets
 * *res. 0; -EPIPE and other errnos of writing; -ENOMEM; -ENOTSUP when the dump has nothing for the
 * format; -EBADMSG when a needed part is damaged: what is readable is written.
 */
int export_run(struct reader *r, const struct meta *m, const struct exporter *e,
	       const struct export_options *opt, FILE *out, struct export_result *res,
	       struct err *err);

/* ---- for exporters ---- */

/* The CPU of a record; -1: unknown. */
int32_t export_cpu(const struct timeline_record *rec);
/* The process and thread of a record. For an exiting thread, the kernel reports no tid: then the
 * process's first thread. */
void export_who(const struct export *x, const struct timeline_record *rec, uint32_t *pid,
		uint32_t *tid);

/* Overwrites `n` bytes at `off` of a seekable output. 0 or a negative errno, which is also kept in
 * x->out. */
int export_patch(struct export *x, uint64_t off, const void *p, size_t n);
