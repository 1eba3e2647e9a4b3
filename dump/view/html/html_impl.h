/* SPDX-License-Identifier: MIT */
/*
 * Shared by html*.c. How data gets into the page:
 *
 *	dump ─▶ why_load() ─▶ columns ─▶ deflate ─▶ base64 ─▶ page
 *	        schedule,     one kind of number each, which compresses well;
 *	        verdict       preceded by JSON with names and the like
 */
#pragma once

#include "dump/view/html/html.h"
#include "dump/view/info/info_impl.h"
#include "dump/view/base/json.h"
#include "dump/view/base/row_map.h"
#include "dump/view/why/why_impl.h"

/* Numbers of one kind in a row, as LEB128. */
enum column_id {
	COL_SPAN_GAP, /* ns since the end of the thread's previous span; the first: since base_ns */
	COL_SPAN_NS,
	COL_SPAN_STATE, /* enum span_state, or HTML_MERGED */
	COL_SPAN_FLAGS,
	COL_SPAN_CPU,	   /* + 1 */
	COL_SPAN_BY,	   /* thread + 1 */
	COL_SPAN_CHAIN,	   /* index in the columns of chains */
	COL_SPAN_BY_CHAIN, /* likewise */
	COL_MERGED_RUN,	   /* of each merged span, in order: ns */
	COL_MERGED_READY,
	COL_MERGED_SLEEP,
	COL_MERGED_BLOCKED,
	COL_SAMPLE_NS, /* since the previous one */
	COL_SAMPLE_THREAD,
	COL_SAMPLE_CPU, /* + 1 */
	COL_SAMPLE_CHAIN,
	COL_CHAIN_NODE,	 /* node of its innermost frame + 1; 0: none */
	COL_NODE_PARENT, /* how many nodes back; 0: outermost */
	COL_NODE_FRAME,
	COL_CALL_GAP, /* ns since the thread's previous call began; the first: since base_ns */
	COL_CALL_NS,
	COL_CALL_DEPTH,
	COL_CALL_NAME,
	COL_CALL_FLAGS, /* PT_SPANS_* */
	COL_LIFE_NS,	/* since base_ns */
	COL_LIFE_TID,
	COL_LIFE_OTHER,
	COL_LIFE_KIND,
	COL_LIFE_SIGNAL,
	NR_COLUMNS
};

/* State in the column of a span that several short ones were merged into. */
#define HTML_MERGED 7u

struct columns {
	struct buf b[NR_COLUMNS];
	size_t nr[NR_COLUMNS];
	int rc;
};

void column_put(struct columns *c, enum column_id id, uint64_t v);
/* Empties the columns `first` to `last`. */
void columns_clear(struct columns *c, enum column_id first, enum column_id last);
void columns_free(struct columns *c);
const char *column_name(enum column_id id);

/* A time in a ring in which records are missing. */
struct html_loss {
	uint64_t from_ns, to_ns;
	uint64_t nr; /* 0: unknown */
	int32_t cpu;
	bool throttled; /* the kernel dropped samples */
};

struct html {
	const struct html_options *opt;
	const struct meta *m;
	struct why why;
	struct why_options why_opt;
	struct info info;
	struct buf losses;   /* struct html_loss */
	struct buf rings_at; /* u64 by ring: time of its last record so far */
	uint64_t nr_seen, nr_total;

	uint64_t base_ns, end_ns;     /* time range of the page */
	uint64_t known_ns;	      /* switches of all CPUs are known from here on */
	uint64_t whole_ns, wholes_ns; /* time range in which no spans are merged */
	uint64_t merge_ns;	      /* shorter spans elsewhere are merged; 0: none */
	uint64_t nr_merged;
	uint32_t *nr_spans_of; /* by thread: spans in the columns */
	struct columns cols;
	struct text frames;	/* JSON */
	struct pt_calls *calls; /* NULL: none */
	struct buf others;	/* uint32_t: tids of threads that have calls but no spans */
	size_t nr_frames;
};

/* html_stacks.c: nodes of all chains, and their frames. 0, -ENOMEM. */
int html_stacks(struct html *h);
/* html_spans.c: samples, and at most about `max` spans. 0, -ENOMEM. */
int html_spans(struct html *h, size_t max);
int html_samples(struct html *h);
/* html_calls.c: loads the calls. 0, or an error. */
int html_calls_load(struct html *h, struct err *err);
void html_calls_free(struct html *h);
/* The time from the first to the last call; false: none. */
bool html_calls_window(const struct html *h, uint64_t *from_ns, uint64_t *to_ns);
/* Writes the columns of calls and their description in JSON; before the threads are written. */
void html_calls_put(struct html *h, struct json *j);
size_t html_nr_others(const struct html *h);
uint32_t html_other(const struct html *h, size_t i);
/* html_data.c: writes to `t` all data for the page's script: u32 length of the JSON, JSON, columns.
 * 0, -ENOMEM, or the error of `t`. */
int html_data(struct html *h, struct text *t, struct err *err);
/* The verdict as `why` prints it. */
int html_verdict(const struct html *h, struct text *t);
