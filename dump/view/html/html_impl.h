/* SPDX-License-Identifier: MIT */
/*
 * Shared by html*.c. What a page knows goes through these:
 *
 *	dump ─▶ why_load() ─▶ columns ─▶ deflate ─▶ base64 ─▶ page
 *	        schedule,      numbers, one kind together: small once compressed;
 *	        verdict        names and the like as JSON before them
 */
#pragma once

#include "dump/view/html/html.h"
#include "dump/view/info/info_impl.h"
#include "dump/view/base/json.h"
#include "dump/view/base/row_map.h"
#include "dump/view/why/why_impl.h"

/* Numbers of one kind, one after the other, as LEB128. */
enum column_id {
	COL_SPAN_GAP, /* ns from the end of the thread's span before, the first: from base_ns */
	COL_SPAN_NS,
	COL_SPAN_STATE, /* enum span_state, or HTML_MERGED */
	COL_SPAN_FLAGS,
	COL_SPAN_CPU,	   /* + 1 */
	COL_SPAN_BY,	   /* thread + 1 */
	COL_SPAN_CHAIN,	   /* of the column of chains */
	COL_SPAN_BY_CHAIN, /* the same */
	COL_MERGED_RUN,	   /* of each merged span, in their order: ns */
	COL_MERGED_READY,
	COL_MERGED_SLEEP,
	COL_MERGED_BLOCKED,
	COL_SAMPLE_NS, /* since the one before */
	COL_SAMPLE_THREAD,
	COL_SAMPLE_CPU, /* + 1 */
	COL_SAMPLE_CHAIN,
	COL_CHAIN_NODE,	 /* its innermost frame's node + 1; 0: it has none */
	COL_NODE_PARENT, /* how many nodes before this one; 0: outermost */
	COL_NODE_FRAME,
	COL_CALL_GAP, /* ns from the beginning of the thread's call before; the first: base_ns */
	COL_CALL_NS,
	COL_CALL_DEPTH,
	COL_CALL_NAME,
	COL_CALL_FLAGS, /* PT_SPANS_* */
	COL_LIFE_NS,	/* from base_ns */
	COL_LIFE_TID,
	COL_LIFE_OTHER,
	COL_LIFE_KIND,
	COL_LIFE_SIGNAL,
	NR_COLUMNS
};

/* Several short spans in one: state of the column. */
#define HTML_MERGED 7u

struct columns {
	struct buf b[NR_COLUMNS];
	size_t nr[NR_COLUMNS];
	int rc;
};

void column_put(struct columns *c, enum column_id id, uint64_t v);
/* Empties those from `first` to `last`. */
void columns_clear(struct columns *c, enum column_id first, enum column_id last);
void columns_free(struct columns *c);
const char *column_name(enum column_id id);

/* A part of a ring's time of which records are missing. */
struct html_loss {
	uint64_t from_ns, to_ns;
	uint64_t nr; /* 0: unknown */
	int32_t cpu;
	bool throttled; /* by the kernel, which left out samples */
};

struct html {
	const struct html_options *opt;
	const struct meta *m;
	struct why why;
	struct why_options why_opt;
	struct info info;
	struct buf losses;   /* struct html_loss */
	struct buf rings_at; /* u64 by ring: time of its last record */
	uint64_t nr_seen, nr_total;

	uint64_t base_ns, end_ns;     /* what the page shows */
	uint64_t known_ns;	      /* all CPUs' switches are known from here on */
	uint64_t whole_ns, wholes_ns; /* within: every span as recorded */
	uint64_t merge_ns;	      /* elsewhere shorter ones are merged; 0: none */
	uint64_t nr_merged;
	uint32_t *nr_spans_of; /* by thread: in the columns */
	struct columns cols;
	struct text frames;	/* JSON */
	struct pt_calls *calls; /* NULL: there are none */
	struct buf others;	/* uint32_t: tids of threads that only calls are known of */
	size_t nr_frames;
};

/* Of html_stacks.c: nodes of all chains, and their frames. 0, -ENOMEM. */
int html_stacks(struct html *h);
/* Of html_spans.c: spans, at most about `max`, and samples. 0, -ENOMEM. */
int html_spans(struct html *h, size_t max);
int html_samples(struct html *h);
/* Of html_calls.c: loads them; 0, or an error. */
int html_calls_load(struct html *h, struct err *err);
void html_calls_free(struct html *h);
/* The time that they take; false: there are none. */
bool html_calls_window(const struct html *h, uint64_t *from_ns, uint64_t *to_ns);
/* Columns, and what says how they are to be read; before the threads are put. */
void html_calls_put(struct html *h, struct json *j);
size_t html_nr_others(const struct html *h);
uint32_t html_other(const struct html *h, size_t i);
/* Of html_data.c: all that the page's script reads, to `t`: u32 bytes of JSON, the JSON, columns.
 * 0, -ENOMEM, or the error of `t`. */
int html_data(struct html *h, struct text *t, struct err *err);
/* The verdict as `why` prints it. */
int html_verdict(const struct html *h, struct text *t);
