/* SPDX-License-Identifier: MIT */
/*
 * The state of a perf.data being written; private to export_perf*.c:
 *
 *	export_perf.c        the row; samples, rewritten so that perf can tell them apart
 *	export_perf_file.c   header, attributes, ids; the same for a pipe
 *	export_perf_head.c   features: tracing data, build-ids, host
 *	export_perf_side.c   COMM, FORK, MMAP2, EXIT from the ledger
 *	export_perf_data.c   mappings of files that the ledger does not have
 *	export_perf_aux.c    AUX areas: see export_perf_aux.h
 *
 * The file is (tools/perf/Documentation/perf.data-file-format.txt of the kernel's sources):
 *
 *	header │ attrs │ ids │ records │ places of features │ features
 *
 * and on a pipe, which cannot be patched: a short header │ attrs, names and features as records │
 * records.
 */
#pragma once

#include "dump/view/export/export.h"
#include "dump/view/model/process_history.h"

/* See dump/format/FORMAT.md. */
#define PERF_MAX_CHANNELS 64

/* An event as perf sees it. */
struct perf_evsel {
	const struct meta_event *e;
	struct perf_event_attr attr; /* sample_type as in this file, not as in the dump */
	const char *name;
	uint64_t id;		 /* of samples that have none of their own */
	size_t first_id, nr_ids; /* all its ids, in perf_export.ids */
};

/* A sideband record to make from the ledger, at its time. */
struct perf_side {
	uint64_t ns;
	uint32_t step;	/* the order at the same time: enum perf_step */
	uint32_t index; /* of the task, name or mapping */
};

struct perf_aux;
struct perf_data;

struct perf_export {
	struct export *x;
	struct perf_evsel *evsels;
	size_t nr_evsels;
	uint32_t *of_event; /* index into evsels by event id; UINT32_MAX: none */
	const struct perf_evsel *of_channel[PERF_MAX_CHANNELS]; /* its first; NULL: none */
	uint64_t *ids;
	uint32_t attr_bytes; /* of each attr in the file */
	uint32_t ip_reg;     /* bit of REGS_USER; UINT32_MAX: unknown machine */

	uint64_t off;	   /* bytes put so far */
	uint64_t data_off; /* where the records begin */
	uint64_t round_off;
	uint64_t first_ns, last_ns; /* of samples */
	bool has_sample, has_sides;
	struct buf rec; /* the record being made */

	struct perf_side *sides;
	size_t nr_sides, next_side;
	const struct fmt_task **by_key;
	struct perf_data *data; /* NULL: not needed */
	struct perf_aux *aux;	/* NULL: the file has no AUX area */
};

/* ---- records ---- */

/* A record is made in p->rec: begun, appended to, put. */
void perf_rec_begin(struct perf_export *p, uint32_t type, uint16_t misc);
int perf_rec_add(struct perf_export *p, const void *from, size_t n);
/* Text with its NUL and zeros up to a multiple of 8. */
int perf_rec_text(struct perf_export *p, const char *text);
/* The sample_id at the end of a record that is no sample, in the layout of `e`. */
int perf_rec_id(struct perf_export *p, const struct perf_evsel *e, uint32_t pid, uint32_t tid,
		uint64_t time_ns, uint32_t cpu);
/* Writes it; sets its size. -E2BIG when it is longer than a record can be. */
int perf_rec_put(struct perf_export *p);
/* Bytes that are no record. */
void perf_put(struct perf_export *p, const void *from, size_t n);

/* ---- export_perf_file.c ---- */

/* Everything before the first record. */
int perf_file_begin(struct perf_export *p, struct err *err);
/* Everything after the last one. */
int perf_file_end(struct perf_export *p, struct err *err);

/* ---- export_perf_head.c ---- */

/* A feature; make() returns false when the dump has nothing for it. */
struct perf_feature {
	uint32_t bit;
	bool on_pipe; /* as a record PERF_RECORD_HEADER_FEATURE; others have their own or none */
	bool (*make)(struct perf_export *p, struct text *t);
};

extern const struct perf_feature perf_features[];
extern const size_t perf_nr_features;

bool perf_tracing_data(struct perf_export *p, struct text *t);
bool perf_build_ids(struct perf_export *p, struct text *t);

/* ---- export_perf_side.c ---- */

/* Collects the sideband records; `floor_ns` is the first record's time. */
int perf_sides_begin(struct perf_export *p, uint64_t floor_ns);
/* Writes them up to `ns`. */
int perf_sides_until(struct perf_export *p, uint64_t ns);

/* ---- export_perf_data.c ---- */

#define PERF_MAX_DATA 4

/* Collects the data segments of files; *out stays NULL if no event has copies of stacks. 0,
 * -ENOMEM, -E2BIG. */
int perf_data_new(const struct perf_export *p, struct perf_data **out, struct err *err);
void perf_data_free(struct perf_data *d);
/*
 * The data mappings of the file whose first code segment is mapped as `code`; returns their number.
 */
size_t perf_data_maps(const struct perf_data *d, const struct history_map *code,
		      struct history_map out[PERF_MAX_DATA]);

/* ---- export_perf_aux.c ---- */

/* Selects the AUX areas to write; p's events must be set. *out stays NULL if there are none. */
int perf_aux_new(struct perf_export *p, struct perf_aux **out, struct err *err);
void perf_aux_free(struct perf_aux *a);
/* Writes them. */
int perf_aux_put(struct perf_export *p, struct err *err);
/* The feature with the places of the AUXTRACE records. */
bool perf_aux_index(struct perf_export *p, struct text *t);

/* A time before all decodable trace, or `first_ns` if that is earlier. */
uint64_t perf_aux_floor(const struct perf_export *p, uint64_t first_ns);
size_t perf_aux_nr(const struct perf_export *p);
/* True if area i needs a record of the thread that ran first; *ns: since when it ran. */
bool perf_aux_ran(const struct perf_export *p, size_t i, uint64_t *ns);
int perf_aux_put_ran(struct perf_export *p, size_t i, uint64_t ns);

/* Little-endian numbers for features. */
static inline void perf_u32(struct text *t, uint32_t v)
{
	text_put(t, &v, sizeof(v));
}

static inline void perf_u64(struct text *t, uint64_t v)
{
	text_put(t, &v, sizeof(v));
}
