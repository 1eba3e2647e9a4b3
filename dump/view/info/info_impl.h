/* SPDX-License-Identifier: MIT */
/* What info prints, found out once for both of its forms; for info*.c, and for reports, that begin
 * with what was lost. */
#pragma once

#include "dump/file/aux_areas.h"
#include "dump/view/analysis/analysis.h"
#include "dump/view/info/trigger_cause.h"
#include "dump/view/info/info.h"
#include "dump/view/base/json.h"

#define INFO_MAX_FINDINGS 24

/* A part of time in the dump's clock. */
struct info_span {
	uint64_t from_ns, to_ns;
};

struct info {
	struct analysis a;
	const struct info_options *opt;
	struct history_counts nr;
	/* Rings that are there, by channel, then CPU, then thread. */
	const struct fmt_window **rings;
	size_t nr_rings;
	/* What all rings together cover, and the ring that reaches back least. */
	struct info_span common;
	const struct fmt_window *shortest;
	/* What was lost, one sentence each; none: nothing was. */
	char findings[INFO_MAX_FINDINGS][200];
	size_t nr_findings;
	struct cause cause;    /* set by info_print(), as is: */
	struct aux_list areas; /* AUX areas */
	struct text text;
};

/* From r, m and people, which are set: the rest; `rings` is the caller's to free. 0, -ENOMEM. */
int info_collect(struct info *in, struct err *err);
/*
 * The time of which a ring holds everything: from its oldest record, or from when it was armed if
 * nothing has been overwritten since, to when it was paused.
 */
struct info_span info_ring_span(const struct fmt_window *w);
const char *info_channel_name(const struct info *in, const struct fmt_window *w);
/* Fills findings. */
void info_find_losses(struct info *in);

/* `ns` of the dump's clock relative to the trigger, with its sign: "-1.204 s", "+12 us". */
char *info_rel_time(const struct info *in, char *out, size_t n, uint64_t ns);

void info_text(struct info *in);
void info_json(struct info *in);

/* AUX areas: a line for each channel, a table, and the member "aux". Nothing where there are none.
 */
void info_aux_channels(struct info *in);
/* info_cgroups.c */
void info_cgroups_text(struct info *in);
void info_cgroups_json(const struct info *in, struct json *j);

void info_aux_text(struct info *in);
void info_aux_json(const struct info *in, struct json *j);

struct info_flag {
	uint32_t flag;
	const char *name;
};
/* The member "flags": the names of those that are set. */
void info_flags_json(struct json *j, uint32_t set, const struct info_flag *flags, size_t nr);

/* A label and a text that is safe already, in lines of 100 columns. */
void info_put_line(struct info *in, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A table's cell and what follows it. `width` negative: text stands left, and is cut. */
void info_put_cell(struct info *in, int width, const char *s, bool last);

/* How the search for names ended: a word, and as a part of a sentence. */
struct info_symbols_end {
	const char *word, *text;
};
struct info_symbols_end info_symbols_end(const struct meta *m);
